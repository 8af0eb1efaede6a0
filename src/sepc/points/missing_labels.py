"""Refuse missing labels, with the same wording wherever they are stored."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepc.points.inputs import is_gap
from sepc.wording import counted


def refuse_missing_labels(y: ArrayLike) -> None:
    """Raise a ValueError if labels are missing, with their number and the position of the first, counted from 0."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "fOmM":
        return
    missing = [i for i, label in enumerate(labels.tolist()) if is_gap(label)]
    if missing:
        raise ValueError(missing_labels("y", len(missing), f"row {missing[0]:,}"))


def missing_labels(name: str, n: int, first: str) -> str:
    """The message for `n` missing labels, the first of them at `first`."""
    return f"{name} has {counted(n, 'missing label')}, the first in {first}; leave these rows out or give them a label."
