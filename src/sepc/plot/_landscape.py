"""LandscapeDisplay: the ellipsoid of every class, and the rows that lie in two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sepc.cards import ShownOnOneLine
from sepc.documents.charts import Axis, Chart, Oval, Points
from sepc.documents.drawing import draw_all
from sepc.landscape.landscape import Landscape, LandscapeFigures
from sepc.views.charts import overlap_chart
from sepc.views.planes import Plane, feature_plane, limits, most_separating_features, outline
from sepc.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class LandscapeDisplay(ShownOnOneLine):
    """A data set before any model: the ellipsoid of every class, and how many rows lie in two of them.

    Create it with `from_landscape`. The left panel shows the exact projections of the ellipsoids; ellipsoids whose
    projections overlap may still be disjoint. The right panel shows, for each pair of classes, the share of the rows of
    the first that also lie in the ellipsoid of the second.

    Attributes
    ----------
    figures : LandscapeFigures
    plane : Plane
        The features on the axes.
    is_chosen : bool
        Whether the features were chosen automatically.
    axes_, figure_
        The axes of the panels (of one class or more than 30, the first alone), and the figure, after `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import Landscape
    >>> from sepc.plot import LandscapeDisplay
    >>> display = LandscapeDisplay.from_landscape(Landscape(*load_iris(return_X_y=True)))
    >>> display.plane.names
    ('x2', 'x3')
    """

    figures: LandscapeFigures
    plane: Plane
    is_chosen: bool = False

    @classmethod
    def from_landscape(
        cls,
        landscape: Landscape | LandscapeFigures,
        features: tuple[str | int, str | int] | None = None,
        ax: Axes | tuple[Axes, Axes] | None = None,
    ) -> Self:
        """Draw a landscape.

        Parameters
        ----------
        landscape : Landscape or LandscapeFigures
        features : pair of str or int, optional
            The features on the axes, by name or position. By default the two that separate the classes' ellipsoids
            best: for each feature, the distance between two centres over the sum of the half widths, averaged over
            all pairs of classes.
        ax : matplotlib axes, or a pair of them, optional
            One for each panel; a single one is divided. By default a new figure.

        Returns
        -------
        LandscapeDisplay
        """
        figures = landscape.figures if isinstance(landscape, Landscape) else landscape
        if len(figures.feature_names) < 2:
            raise ValueError(f"This plot needs two features; the table has only {figures.feature_names[0]!r}.")
        chosen = features or tuple(most_separating_features(figures.ellipsoids)[:2].tolist())
        plane = feature_plane(figures.feature_names, chosen)
        return cls(figures, plane, is_chosen=features is None and len(figures.feature_names) > 2).plot(ax)

    def plot(self, ax: Axes | tuple[Axes, Axes] | None = None) -> Self:
        """Draw on the given axes, or on a new figure."""
        overlaps = overlap_chart(self.figures.classes, self.figures.inside.tolist(), fewest=2)
        charts = [self._ellipses()] if overlaps is None else [self._ellipses(), overlaps]
        self.axes_: tuple[Axes, ...] = draw_all(charts, ax)
        self.figure_: Any = self.axes_[0].figure
        return self

    def _ellipses(self) -> Chart:
        plane, pairs = self.plane, zip(self.figures.classes, self.figures.n_rows, strict=True)
        shadows = [plane.shadow(ellipsoid) for ellipsoid in self.figures.ellipsoids]
        marks: list[Any] = []
        for k, (shadow, (name, n)) in enumerate(zip(shadows, pairs, strict=True)):
            (x, y), key = shadow.center.tolist(), f"{name}: {counted(n, 'row')}"
            marks += [
                Oval((x, y), shadow.inverse_root.ravel().tolist(), k, fill=0.12, width=2.0),
                Points([x], [y], k, key, size=3.0),
            ]
        (left, low), (right, high) = limits(np.concatenate([outline(shadow) for shadow in shadows]))
        title = f"Ellipsoids of the classes{', in the features that separate them best' if self.is_chosen else ''}"
        x_axis, y_axis = Axis(plane.names[0], left, right), Axis(plane.names[1], low, high)
        return Chart("landscape", title, title, x_axis, y_axis, marks, 480.0, 400.0)
