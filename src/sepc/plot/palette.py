"""Okabe and Ito's colour-blind-safe palette, with markers and line styles that are also distinct in greyscale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray

# The first two differ most in greyscale. The numbers of colours, markers and dashes have no common divisor, so that 30
# classes differ in colour or dashes, and 42 in colour or marker.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
RIGHT, WRONG, WRONG_HATCH = "#56B4E9", "#D55E00", "////"

# Up to this trust, the shade is white.
NO_TRUST = 0.5
# Above it, the shade grows to the first share of the class's colour; accepted rows get the second, a visible step.
DOUBTFUL, ACCEPTED = 0.25, 0.5


@dataclass(frozen=True)
class Look:
    """The colour, marker and line style of a class or curve."""

    colour: str
    marker: str
    dashes: Any


def look(i: int) -> Look:
    """The look of class or curve `i`."""
    return Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], DASHES[i % len(DASHES)])


def strength(trust: FloatArray, min_trust: float) -> FloatArray:
    """Strength of the class's colour, in [0, 1], for this trust."""
    doubt = np.clip((trust - NO_TRUST) / max(min_trust - NO_TRUST, 1e-9), 0.0, 1.0)
    return np.asarray(np.where(trust >= min_trust, ACCEPTED, DOUBTFUL * doubt))


def as_rgb(colours: Sequence[str]) -> FloatArray:
    """Colours as red, green and blue in [0, 1], of shape (n, 3)."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(colour) for colour in colours]).reshape(-1, 3)


def lighten(rgb: FloatArray, shares: FloatArray) -> FloatArray:
    """Colours mixed with white; `shares` is the share of the colour that stays."""
    return np.asarray(1.0 - shares[..., None] * (1.0 - rgb))
