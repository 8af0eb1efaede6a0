"""Rows drawn as points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.model.sep_model import SEPModel
from sepc.plot.palette import look
from sepc.views.outcomes import is_right
from sepc.views.planes import Plane
from sepc.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNKNOWN = "0.45"


@dataclass(frozen=True, eq=False, repr=False)
class Rows(ShownOnOneLine):
    """A sample of rows to draw.

    Attributes
    ----------
    values : (n, d) array
        In the features of the model, with gaps filled in.
    owner : (n,) array
        Their classes as positions in `model.classes`; -1 if unknown.
    n_all : int
        The number of rows before sampling.
    """

    values: FloatArray
    owner: IntArray
    n_all: int

    @classmethod
    def checked(cls, classifier: SEPClassifier, X: ArrayLike | None, y: ArrayLike | None) -> Self:
        """Check the user's rows and labels; without X there are no rows."""
        model = classifier.model_
        if X is None:
            if y is not None:
                raise ValueError("y is given without X; give the rows that the labels belong to.")
            return cls(np.empty((0, len(model.feature_names))), np.empty(0, dtype=np.int64), 0)
        # This also checks the names and the order of the columns, and fills in gaps.
        values = classifier.decide(X).features if np.shape(X)[0] else np.empty((0, len(model.feature_names)))
        owner = np.full(len(values), -1)
        if y is not None:
            labels = np.asarray(y)
            for k, label in enumerate(model.classes):
                owner[is_right(np.full(len(values), label), labels)] = k
        return cls(values, owner, len(values))

    def sample(self, most: int) -> Rows:
        """At most this many rows, chosen at random with a fixed seed."""
        if len(self.values) <= most:
            return self
        chosen = np.sort(np.random.default_rng(0).choice(len(self.values), most, replace=False))
        return Rows(self.values[chosen], self.owner[chosen], self.n_all)

    def summary(self) -> str | None:
        """How many rows are drawn, if not all of them."""
        return f"{len(self.values):,} of {self.n_all:,} rows drawn" if len(self.values) < self.n_all else None


def draw_rows(ax: Axes, plane: Plane, rows: Rows) -> None:
    """Draw each row as a point in the look of its class."""
    size = 16.0 if len(rows.values) < 1_000 else 8.0
    for k in np.unique(rows.owner):
        x, y = plane.place(rows.values[rows.owner == k]).T
        colour, marker = (UNKNOWN, ".") if k < 0 else (look(k).colour, look(k).marker)
        ax.scatter(x, y, s=size, c=colour, marker=marker, edgecolors="0.15", linewidths=0.4, zorder=3)


def draw_isolated(ax: Axes, model: SEPModel, plane: Plane) -> list[tuple[Any, str]]:
    """Draw isolated training rows as hollow points, and return their legend entry."""
    from matplotlib.lines import Line2D

    for k in np.unique(model.isolated_owners):
        rows = model.shift + model.scale * model.isolated[model.isolated_owners == k]
        how = look(int(k))
        x, y = plane.place(rows).T
        ax.scatter(x, y, s=48.0, marker=how.marker, facecolors="none", edgecolors=how.colour, zorder=3.2)
    n = len(model.isolated)
    sign = Line2D([], [], linestyle="", marker="o", markersize=7, markerfacecolor="none", markeredgecolor="0.35")
    return [(sign, counted(n, "isolated row"))] if n else []
