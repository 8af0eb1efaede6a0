"""What several of these scripts draw: rows and ellipses of up to three classes, told apart without colour as well."""

import numpy as np

COLORS = ("#0072B2", "#D55E00", "#009E73")
MARKERS = ("o", "x", "^")
LINES = ("-", "--", "-.")


def draw_rows(ax, X, y, name="class {}"):
    """Every class in its colour and marker."""
    for label, color, marker in zip(np.unique(y), COLORS, MARKERS, strict=False):
        style = {"color": color, "marker": marker, "markersize": 4, "markerfacecolor": "none"}
        ax.plot(*X[y == label].T, linestyle="", alpha=0.55, label=name.format(label), **style)
    ax.set(xlabel="feature 1", ylabel="feature 2")


def draw_ellipses(ax, classifier):
    """Every ellipse in the colour and line of its class, with its place in the order found; terminal ones thin."""
    middle = np.mean([one.ellipsoid.center for one in classifier.ellipsoids_], axis=0)
    for one in classifier.ellipsoids_:
        k = list(classifier.classes_).index(one.label)
        outline = one.ellipsoid.boundary(200)
        ax.plot(*outline.T, LINES[k], color=COLORS[k], linewidth=1.0 if one.is_terminal else 2.0)
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": COLORS[k], "linestyle": LINES[k]}
        outermost = outline[np.argmax(np.linalg.norm(outline - middle, axis=1))]
        ax.annotate(str(one.number + 1), outermost, ha="center", va="center", fontsize=8, bbox=box)
