"""The first picture of the README and the pages: one decision with its reason, by the README's own code."""

from __future__ import annotations

import contextlib
import re
import textwrap
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

HERE = Path(__file__).parent
PICTURE = HERE / "images" / "decision.png"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FEATURES = ("worst perimeter", "worst smoothness")
COLOURS = {"benign": "#0072b2", "malignant": "#e69f00"}  # as PartitionDisplay has them
STAR = "#D55E00"


def draw() -> None:
    """Run the README's first block and draw the case that it explains."""
    mpl.use("Agg")
    first = BLOCK.findall((HERE.parent / "README.md").read_text(encoding="utf-8"))[0]
    made: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(None):
        exec(first, made)
    decisions = made["decisions"]
    position = int((~decisions.accepted).argmax())
    with plt.rc_context({"font.size": 9}):
        figure = plt.figure(figsize=(10, 4.6), layout="constrained")
        left, right = figure.subfigures(1, 2, width_ratios=(1, 1.1))
        draw_place(left, made, made["X_test"].iloc[position])
        draw_card(right, decisions[position])
        figure.savefig(PICTURE, dpi=110, metadata={"Software": None})
        plt.close(figure)


def draw_place(figure: Figure, made: dict[str, Any], case: Any) -> None:
    """Where the case lies among the training rows and the shadows of the ellipsoids."""
    from sepc.plot import PartitionDisplay

    axes = figure.subplots()
    rows = made["X_train"], made["y_train"]
    PartitionDisplay.from_estimator(made["classifier"], *rows, features=FEATURES, ax=axes)
    axes.plot(*case[list(FEATURES)], marker="*", color=STAR, markeredgecolor="white", markersize=20, zorder=10)
    axes.annotate(
        "the case",
        case[list(FEATURES)],
        xytext=(14, 10),
        textcoords="offset points",
        fontweight="bold",
        bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        zorder=11,
    )
    axes.set_title("Where it lies: ellipsoids of the training cases", loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def draw_card(figure: Figure, decision: Any) -> None:
    """What was decided, the reason in words, and what counted."""
    words, bars = figure.subfigures(2, 1, height_ratios=(0.72, 1.25))
    verdict = "accepted" if decision.accepted else "left to a person"
    text = f"{decision.label}, trust {decision.trust:.3f}: {verdict}"
    words.text(0.0, 0.95, text, fontsize=13, fontweight="bold", color=STAR, va="top")
    words.text(0.0, 0.68, textwrap.fill(decision.why(), 78), va="top", linespacing=1.45)
    draw_terms(bars.subplots(), decision)


def draw_terms(axes: Axes, decision: Any) -> None:
    """The largest terms of the log-odds, as bars in the colour of the label they speak for."""
    terms = decision.terms()
    names, values = zip(*terms.largest(6)[:6], strict=True)
    shown = [textwrap.fill(name, 40) for name in names]
    colours = [COLOURS[decision.label if value > 0 else terms.runner_up] for value in values]
    for bar, value in zip(axes.barh(shown, values, color=colours, height=0.65), values, strict=True):
        axes.annotate(
            f"{value:+.2f}",
            (value, bar.get_y() + bar.get_height() / 2),
            (3, 0),
            textcoords="offset points",
            va="center",
        )
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.margins(x=0.12)
    axes.set_title(
        f"What speaks for {decision.label!r} against {terms.runner_up!r}: the largest parts of the log-odds",
        loc="right",
        fontsize=9,
    )


if __name__ == "__main__":
    draw()
