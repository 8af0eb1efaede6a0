"""Critical-difference diagrams (Demšar 2006): mean ranks on a line, bars over those that chance may have ordered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib
import numpy as np

from sepc_benchmarks.trust.judgement import Ranks

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

ROW = 0.28  # inches
FORE, BAR = "#333333", "#c44e52"


def draw(found: Mapping[str, Ranks], folder: Path) -> None:
    """Write one picture of the models and one of the layers, with a panel for each base model."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "models": {title: ranks for title, ranks in found.items() if title == "models"},
        "layers": {title: ranks for title, ranks in found.items() if title != "models"},
    }
    for name, panels in pictures.items():
        if panels:
            _draw(panels, folder / f"critical_difference_{name}.png")


def _draw(panels: Mapping[str, Ranks], path: Path) -> None:
    heights = [ROW * (len(ranks.names) / 2 + len(cliques(ranks)) * 0.4 + 5) for ranks in panels.values()]
    figure, axes = plt.subplots(len(panels), 1, figsize=(9, sum(heights)), height_ratios=heights, squeeze=False)
    for one, (title, ranks) in zip(axes[:, 0], panels.items(), strict=True):
        _panel(one, "" if title == "models" else title, ranks)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def cliques(ranks: Ranks) -> list[tuple[float, float]]:
    """Largest groups of mean ranks that lie within one critical difference: their ends."""
    ordered = np.sort(ranks.mean)
    ends = [(low, ordered[ordered <= low + ranks.critical_difference].max()) for low in ordered]
    kept: list[tuple[float, float]] = []
    for low, high in ends:
        if high > low and not (kept and high <= kept[-1][1]):
            kept.append((float(low), float(high)))
    return kept


def _panel(axes: Axes, title: str, ranks: Ranks) -> None:
    order, k = np.argsort(ranks.mean), len(ranks.names)
    groups, half = cliques(ranks), (len(ranks.names) + 1) // 2
    first = 0.9 + 0.4 * len(groups)
    span = (k - 1) * 0.35
    axes.set_xlim(1 - span, k + span)
    axes.set_ylim(first + half, -2.6)
    axes.axis("off")
    axes.plot([1, k], [0, 0], color=FORE, lw=1)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, -0.15], color=FORE, lw=1)
        axes.text(tick, -0.25, str(tick), ha="center", va="bottom", fontsize=9)
    axes.plot([1, 1 + ranks.critical_difference], [-1.5, -1.5], color=BAR, lw=2)
    note = f"critical difference {ranks.critical_difference:.2f} ({ranks.n_sets} data sets)"
    axes.text(1, -1.65, note, fontsize=9, va="bottom", color=BAR)
    axes.text(k, -1.65, title, fontsize=10, va="bottom", ha="right", weight="bold", color=FORE)
    for place, j in enumerate(order):
        on_left = place < half
        height = first + (place if on_left else k - 1 - place)
        end = 1 - 0.1 * span if on_left else k + 0.1 * span
        axes.plot([ranks.mean[j], ranks.mean[j], end], [0, height, height], color=FORE, lw=0.8)
        name, mean = ranks.names[j], f"{ranks.mean[j]:.2f}"
        text = f"{name}  {mean} " if on_left else f" {mean}  {name}"
        weight = "bold" if name.startswith(("SEP", "RF +", "Trusted")) else "normal"
        axes.text(end, height, text, ha="right" if on_left else "left", va="center", fontsize=9, weight=weight)
    for place, (low, high) in enumerate(groups):
        height = 0.4 + 0.4 * place
        axes.plot([low - 0.05, high + 0.05], [height, height], color=BAR, lw=3, solid_capstyle="butt")
