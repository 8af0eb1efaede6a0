"""Trust shown as the strength of a colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.model.sep_model import SEPModel
from sepc.plot.palette import NO_TRUST, as_rgb, lightened, look, strength
from sepc.views.planes import Plane
from sepc.views.trust_surface import trust_over

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_background(ax: Axes, model: SEPModel, plane: Plane, min_trust: float) -> None:
    """Draw the labels of a model of two features as a background, stronger where trust is higher."""
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    label, trust = trust_over(model, plane, low, high)
    colours = as_rgb([look(k).colour for k in range(len(model.classes))])
    image = lightened(colours[label], strength(trust, min_trust))
    ax.imshow(image, origin="lower", extent=(low[0], high[0], low[1], high[1]), aspect="auto", zorder=0.5)


def trust_entries(min_trust: float, *, by_counts: bool = False) -> list[tuple[Any, str]]:
    """Legend entries for the shades of trust, in grey; with `by_counts`, they do not say what is accepted."""
    from matplotlib.patches import Patch

    trust = "trust by counts" if by_counts else "trust"
    texts = {min_trust: f"{trust} ≥ {min_trust:g}" if by_counts else f"accepted: trust ≥ {min_trust:g}"}
    middle = round(0.5 * (NO_TRUST + min_trust), 1)
    if NO_TRUST < middle < min_trust:
        texts[middle] = f"{trust} {middle:g}"
    if min_trust > NO_TRUST:
        texts[NO_TRUST] = f"{trust} ≤ {NO_TRUST:g}"
    greys = lightened(as_rgb(["0.35"]), strength(np.array(list(texts)), min_trust))
    return [
        (Patch(facecolor=tuple(grey), edgecolor="0.6", linewidth=0.5), text)
        for grey, text in zip(greys, texts.values(), strict=True)
    ]
