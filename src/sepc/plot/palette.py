"""Colours that colour-blind readers tell apart (Okabe and Ito's), with markers and lines that differ in grey too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray

# The first two differ most in grey. Numbers of colours, markers and dashes have no common divisor, so that 30 classes
# differ in both colour and dashes taken together, and 42 in colour and marker.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
RIGHT, WRONG, WRONG_HATCH = "#56B4E9", "#D55E00", "////"

# Shades run from white, for a trust of no more than this, ...
NO_TRUST = 0.5
# ... up to this share of the class's colour; what is accepted has one of its own, so that its border is seen.
DOUBTFUL, ACCEPTED = 0.25, 0.5


@dataclass(frozen=True)
class Look:
    """How one class, or one curve, is drawn."""

    colour: str
    marker: str
    dashes: Any


def look(i: int) -> Look:
    """How class or curve `i` is drawn."""
    return Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], DASHES[i % len(DASHES)])


def strength(trust: FloatArray, min_trust: float) -> FloatArray:
    """Share of the class's colour, in [0, 1], that stands for this trust."""
    doubt = np.clip((trust - NO_TRUST) / max(min_trust - NO_TRUST, 1e-9), 0.0, 1.0)
    return np.asarray(np.where(trust >= min_trust, ACCEPTED, DOUBTFUL * doubt))


def as_rgb(colours: Sequence[str]) -> FloatArray:
    """Colours as red, green and blue in [0, 1], of shape (n, 3)."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(colour) for colour in colours]).reshape(-1, 3)


def lightened(rgb: FloatArray, shares: FloatArray) -> FloatArray:
    """Colours mixed with white, `shares` being what is left of them."""
    return np.asarray(1.0 - shares[..., None] * (1.0 - rgb))
