"""The pictures of the page "The algorithm in pictures", drawn by the library itself whenever the pages are built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from sepc import SEPClassifier, enclose
from sepc.geometry import Ellipsoid, nearest_points
from sepc.results import FittedEllipsoid

IMAGES = Path(__file__).parent / "images"
COLORS = ("#0072B2", "#D55E00")
MARKERS = ("o", "x")
LINES = ("-", "--")
NAMES = ("healthy", "ill")
N_IMPURE = 2
X_RANGE, Y_RANGE = (-1.95, 3.05), (-2.1, 3.2)


def rows_and_labels() -> tuple[np.ndarray, np.ndarray]:
    """Two bent classes of unequal size that mix a little; standardising them changes no angle."""
    X, y = make_moons((130, 80), noise=0.24, random_state=4)
    return X / X.std(axis=0), y


def fitted() -> SEPClassifier:
    """The classifier whose steps are shown."""
    X, y = rows_and_labels()
    return SEPClassifier(N_IMPURE).fit(X, np.array(NAMES)[y])


def class_of(one: FittedEllipsoid) -> int:
    """Which of the two classes an ellipse was made for."""
    return NAMES.index(str(one.label))


def panels(n: int, height: float) -> tuple[Figure, list[Axes]]:
    """A row of `n` panels with the same axes."""
    figure = Figure(figsize=(9.7, height), layout="constrained")
    axes = figure.subplots(1, n, sharex=True, sharey=True, squeeze=False)[0]
    for ax in axes:
        ax.set(xlim=X_RANGE, ylim=Y_RANGE, aspect="equal", xticks=[], yticks=[])
    return figure, list(axes)


def draw_rows(ax: Axes, X: np.ndarray, y: np.ndarray, faint: np.ndarray | None = None) -> None:
    """Rows of both classes; those in `faint` have been taken away."""
    faint = np.zeros(len(y), dtype=bool) if faint is None else faint
    for k in range(2):
        style: dict[str, Any] = {"color": COLORS[k], "markerfacecolor": "none", "markersize": 4.5}
        ax.plot(*X[(y == k) & ~faint].T, MARKERS[k], **style, alpha=0.85, label=NAMES[k])
        ax.plot(*X[(y == k) & faint].T, MARKERS[k], color="0.8", markerfacecolor="none", markersize=3)


def draw_ellipse(ax: Axes, ellipse: Ellipsoid, k: int, **style: Any) -> None:
    """An ellipse in the colour and line of its class."""
    ax.plot(*ellipse.boundary(200).T, LINES[k], color=COLORS[k], **{"linewidth": 2.0, **style})


def number(ax: Axes, one: FittedEllipsoid, k: int) -> None:
    """The number of an ellipse, in its middle."""
    box = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": COLORS[k], "linestyle": LINES[k]}
    ax.annotate(str(one.number), one.ellipsoid.center, ha="center", va="center", fontsize=9, bbox=box, zorder=5)


def draw_line(ax: Axes, normal: np.ndarray, offset: float, **style: Any) -> None:
    """The line of all x with ``x @ normal == offset``."""
    point, along = normal * offset / (normal @ normal), np.array([-normal[1], normal[0]])
    ax.axline(point, point + along, **{"color": "0.25", "linewidth": 1.2, **style})


def label_below(figure: Figure, ax: Axes, n_columns: int = 4) -> None:
    """One legend for all panels."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=n_columns, frameon=False)


def draw_start() -> Figure:
    """The rows, and the smallest ellipse around each class."""
    X, y = rows_and_labels()
    figure, axes = panels(2, 3.9)
    for ax in axes:
        draw_rows(ax, X, y)
    ellipses = [enclose(X[y == k]).ellipsoid for k in range(2)]
    for k, ellipse in enumerate(ellipses):
        draw_ellipse(axes[1], ellipse, k, label=f"smallest ellipse of {NAMES[k]}")
    n_both = int(np.all([one.contains(X) for one in ellipses], axis=0).sum())
    axes[0].set_title("A labelled table")
    axes[1].set_title(f"{n_both} of {len(X)} rows lie in both ellipses")
    label_below(figure, axes[1])
    return figure


def reduced_hull(rows: np.ndarray, k: int) -> np.ndarray:
    """Corners of all means of rows in which none has a weight above 1/k: the `k` rows farthest in every direction."""
    angles = np.linspace(0, 2 * np.pi, 721)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    farthest = np.argsort(-(rows @ directions.T), axis=0)[:k]
    return rows[farthest].mean(axis=0)


def draw_cut() -> Figure:
    """Hulls that are reduced until they are apart, their nearest points, and the two lines of the cut."""
    X, y = rows_and_labels()
    large, small = X[y == 0], X[y == 1]
    found = nearest_points(large, small)
    figure, axes = panels(2, 3.9)
    for ax in axes:
        draw_rows(ax, X, y)
    for share, alpha in ((1, 0.10), (10, 0.14), (len(small), 0.35)):
        axes[0].fill(*reduced_hull(large, share).T, color=COLORS[0], alpha=alpha, linewidth=0)
        axes[0].fill(*reduced_hull(small, share).T, color=COLORS[1], alpha=alpha, linewidth=0)
    near = np.array([found.near_pos, found.near_neg])
    normal = (near[0] - near[1]) / np.linalg.norm(near[0] - near[1])
    for k in range(2):
        draw_line(axes[1], normal, near[k] @ normal, color=COLORS[k], linestyle=LINES[k], linewidth=2)
    for ax in axes:
        ax.plot(*near.T, "k-", linewidth=1.5, marker="D", markersize=6, markerfacecolor="w", label="nearest points")
    axes[0].set_title("Hulls, reduced until they are apart")
    axes[1].set_title("The cut: a line through each nearest point")
    label_below(figure, axes[1])
    return figure


def kept_by(cuts: tuple[Any, ...], X: np.ndarray) -> np.ndarray:
    """Which rows lie on the own side of all cuts."""
    return np.all([X @ cut.normal >= cut.offset - 1e-9 for cut in cuts], axis=0)


def draw_carving() -> Figure:
    """The first piece of the larger class, after each of its cuts."""
    X, y = rows_and_labels()
    first = next(one for one in fitted().ellipsoids_ if class_of(one) == 0)
    cuts = first.cuts
    shown = sorted({1, (len(cuts) + 1) // 2, len(cuts)})
    figure, axes = panels(len(shown), 3.9)
    for ax, n in zip(axes, shown, strict=True):
        kept = kept_by(cuts[:n], X) & (y == 0)
        ellipse = enclose(X[kept]).ellipsoid
        n_other = int(ellipse.contains(X[y == 1]).sum())
        draw_rows(ax, X, y, faint=(y == 0) & ~kept)
        draw_ellipse(ax, ellipse, 0)
        for cut in cuts[:n]:
            draw_line(ax, cut.normal, cut.offset, linestyle=":" if cut is not cuts[n - 1] else "-")
        verdict = "go on" if n_other > N_IMPURE else "pure enough"
        ax.set_title(f"after cut {n}: {n_other} ill inside, {verdict}")
    label_below(figure, axes[0])
    return figure


def draw_rounds() -> Figure:
    """What each of the first rounds finds and takes away."""
    X, y = rows_and_labels()
    ellipsoids = fitted().ellipsoids_
    figure, axes = panels(3, 3.2)
    gone = np.zeros(len(y), dtype=bool)
    for n_round, ax in enumerate(axes, start=1):
        news = [one for one in ellipsoids if one.n_round == n_round and not one.is_terminal]
        draw_rows(ax, X, y, faint=gone)
        for one in news:
            draw_ellipse(ax, one.ellipsoid, class_of(one))
            number(ax, one, class_of(one))
            gone |= one.ellipsoid.contains(X) & (y == class_of(one))
        ax.set_title(f"round {n_round}, {int((~gone).sum())} rows left after it")
    label_below(figure, axes[0])
    return figure


QUESTIONS = np.array([[-0.83, 1.78], [0.13, 0.56], [2.56, 2.54]])


def draw_decisions() -> Figure:
    """The whole partition, with three new rows; and trust everywhere."""
    X, y = rows_and_labels()
    classifier = fitted()
    figure, axes = panels(2, 4.2)
    draw_rows(axes[0], X, y)
    for one in classifier.ellipsoids_:
        draw_ellipse(axes[0], one.ellipsoid, class_of(one), linewidth=1.0 if one.is_terminal else 1.8)
        number(axes[0], one, class_of(one))
    grid = np.stack(np.meshgrid(np.linspace(*X_RANGE, 360), np.linspace(*Y_RANGE, 382)), axis=-1)
    decisions = classifier.decide(grid.reshape(-1, 2))
    trust = decisions.trust.reshape(grid.shape[:2])
    shading = axes[1].pcolormesh(grid[..., 0], grid[..., 1], trust, cmap="gray", vmin=0.5, vmax=1, rasterized=True)
    healthy = (decisions.label == NAMES[0]).reshape(grid.shape[:2])
    axes[1].contour(grid[..., 0], grid[..., 1], healthy, levels=[0.5], colors=[COLORS[1]], linewidths=1.5)
    figure.colorbar(shading, ax=axes[1], label="trust in the label", shrink=0.8)
    for ax in axes:
        ax.plot(*QUESTIONS.T, "*", color="#009E73", markersize=15, markeredgecolor="k", label="new rows")
        for place, name in zip(QUESTIONS, "ABC", strict=True):
            box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "0.5", "alpha": 0.9}
            ax.annotate(name, place, (8, 8), textcoords="offset points", fontsize=11, weight="bold", bbox=box)
    axes[0].set_title(f"{len(classifier.ellipsoids_)} ellipses, in the order found")
    axes[1].set_title("Trust; the line is where the label changes")
    label_below(figure, axes[0])
    return figure


PICTURES = {
    "start": draw_start,
    "cut": draw_cut,
    "carving": draw_carving,
    "rounds": draw_rounds,
    "decisions": draw_decisions,
}


def draw_all(folder: Path = IMAGES) -> None:
    """Write every picture; the same versions of the libraries give the same bytes."""
    with mpl.rc_context({"font.size": 10, "axes.titlesize": 11}):
        for name, draw in PICTURES.items():
            draw().savefig(folder / f"algorithm_{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    draw_all()
