"""The curves of the page, drawn from the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sepc_benchmarks.timing.learners import EBM, HGB, LIGHTGBM, LR, OURS, RF
from sepc_benchmarks.timing.scoring import DECIDE, ONNX
from sepc_benchmarks.timing.turns import Records

# Colours of Okabe and Ito with a marker and a line each, so that curves are told apart in grey as well.
STYLES: dict[str, dict[str, Any]] = {
    OURS: {"color": "#0072B2", "marker": "o", "linestyle": "-", "linewidth": 2.6, "zorder": 5},
    HGB: {"color": "#D55E00", "marker": "s", "linestyle": "--"},
    RF: {"color": "#009E73", "marker": "^", "linestyle": "-."},
    LIGHTGBM: {"color": "#CC79A7", "marker": "D", "linestyle": "--"},
    EBM: {"color": "#E69F00", "marker": "P", "linestyle": "-."},
    LR: {"color": "0.45", "marker": "v", "linestyle": ":"},
}
STYLES |= {
    "SEP-C, in blocks": {"color": "#0072B2", "marker": "o", "linestyle": "-", "markerfacecolor": "white", "zorder": 4},
    ONNX: {"color": "#56B4E9", "marker": "o", "linestyle": ":", "markerfacecolor": "white", "zorder": 4},
    "bare pass": {"color": "black", "marker": None, "linestyle": ":", "linewidth": 1.4},
}
Curve = tuple[list[float], list[float]]


def draw(results: Mapping[str, Records], folder: Path) -> None:
    """Draw every curve whose table has been measured."""
    folder.mkdir(parents=True, exist_ok=True)
    if {"rows", "blocks"} <= set(results):
        _saved(_rows(results), folder / "speed-rows.png")
    if {"features", "classes"} <= set(results):
        _saved(_widths(results), folder / "speed-features-classes.png")
    if "batches" in results:
        _saved(_batches(results["batches"]), folder / "speed-batches.png")


def _saved(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=110)


def _figure(n_panels: int) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(9.7, 4.6), layout="constrained")
    return figure, list(figure.subplots(1, n_panels, squeeze=False)[0])


def _curve(records: Records, x: str, y: str, name: str | None = None) -> Curve:
    chosen = [one for one in records if name is None or one["model"] == name]
    return [one[x] for one in chosen], [one[y] for one in chosen]


def _plot(ax: Axes, curves: Mapping[str, Curve], x_label: str, y_label: str) -> None:
    """Curves on logarithmic axes with plain numbers, ticks where something was measured."""
    for name, (x, y) in curves.items():
        if x:
            ax.plot(x, y, label=name, markersize=6, **{"linewidth": 1.8, **STYLES[name]})
    measured = sorted({value for x, _ in curves.values() for value in x})
    ax.set(xscale="log", yscale="log", xlabel=x_label, ylabel=y_label)
    ax.set_xticks(measured, [_plain(value) for value in measured])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.minorticks_off()
    low, high = ax.get_ylim()
    if high < 200 * low:  # few powers of ten
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    ax.grid(True, color="0.9")
    ax.spines[["top", "right"]].set_visible(False)


def _plain(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} million"
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _legend(figure: Figure, axes: list[Axes]) -> None:
    shown = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=5, frameon=False)


def _rows(results: Mapping[str, Records]) -> Figure:
    figure, axes = _figure(1)
    curves = {name: _curve(results["rows"], "rows", "seconds", name) for name in (OURS, HGB, RF, LIGHTGBM, EBM, LR)}
    curves["SEP-C, in blocks"] = _curve(results["blocks"], "rows", "seconds")
    curves["bare pass"] = _curve(results["blocks"], "rows", "bare pass, s")
    _plot(axes[0], curves, "training rows, 10 features", "seconds to fit")
    _legend(figure, axes)
    return figure


def _widths(results: Mapping[str, Records]) -> Figure:
    figure, axes = _figure(2)
    by_features, by_classes = results["features"], results["classes"]
    curves = {name: _curve(by_features, "features", "seconds to fit", name) for name in (OURS, HGB)}
    _plot(axes[0], curves, f"features, {by_features[0]['rows']:,} rows", "seconds to fit")
    curves = {name: _curve(by_classes, "classes", "seconds to fit", name) for name in (OURS, HGB, RF)}
    _plot(axes[1], curves, f"classes, {by_classes[0]['rows']:,} rows in all", "seconds to fit")
    _legend(figure, axes)
    return figure


def _batches(records: Records) -> Figure:
    figure, axes = _figure(1)
    own = {record["model"]: _per_row(record) for record in records}
    curves = {OURS: own[DECIDE]} | {name: own[name] for name in (ONNX, HGB, RF, LIGHTGBM, EBM, LR) if name in own}
    _plot(axes[0], curves, "rows decided at once", "microseconds a row")
    _legend(figure, axes)
    return figure


def _per_row(record: Mapping[str, Any]) -> Curve:
    sizes = {int(name.split()[0].replace(",", "")): ms for name, ms in record.items() if name != "model"}
    return [float(n) for n in sizes], [1e3 * ms / n for n, ms in sizes.items()]
