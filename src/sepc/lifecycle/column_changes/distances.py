"""How far new values of a column are from training, by the quantiles and counts that a model keeps."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray

# Values that differ by less than this share of the column's size are equal: a factor undone leaves some round-off.
SAME = 1e-9
# The share of a class below its lower bound, and above its upper one, in `TrainingSummary.ranges`.
TAIL = 0.1
# A column was divided if this share of a class's tail is gone on both sides.
MOST_OF_TAIL = 0.9
# Classes with fewer new rows than this are left out.
FEWEST_OF_CLASS = 10


def kolmogorov(values: FloatArray, kept: FloatArray, tolerance: float = 0.0) -> float:
    """The Kolmogorov distance of sorted values from training, as far as the training quantiles can tell.

    Between two quantiles the training distribution is unknown, so ties and steps never count as a difference. Values
    that moved by up to `tolerance` count as unchanged; otherwise whole numbers that grew by a thousandth would differ.

    Examples
    --------
    >>> kept = np.linspace(0.0, 1.0, 41)
    >>> round(kolmogorov(np.linspace(0.0, 1.0, 1000), kept), 2), round(kolmogorov(np.linspace(0.5, 1.5, 1000), kept), 2)
    (0.0, 0.5)
    >>> grades = np.repeat(np.arange(1.0, 6.0), 9)[:41]
    >>> round(kolmogorov(grades + 0.001, grades), 2), round(kolmogorov(grades + 0.001, grades, tolerance=0.01), 2)
    (0.22, 0.0)
    """
    slack = SAME * max(float(np.abs(kept).max()), float(np.ptp(kept)))
    first, last = np.searchsorted(kept, kept - slack), np.searchsorted(kept, kept + slack, side="right") - 1
    n, steps = max(len(values), 1), max(len(kept) - 1, 1)
    below, up_to = (
        np.searchsorted(values, kept - slack - tolerance) / n,
        np.searchsorted(values, kept + slack + tolerance, side="right") / n,
    )
    return float(max((last / steps - up_to).max(), (below - first / steps).max(), 0.0))


def critical_distance(n_new: int, n_training: int, level: float) -> float:
    """The distance that two samples of one distribution exceed with about this probability, or less.

    By the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart.
    """
    return float(np.sqrt(0.5 * np.log(2.0 / level) * (1.0 / max(n_new, 1) + 1.0 / max(n_training, 1))))


def total_variation(new: IntArray | FloatArray, training: IntArray | FloatArray) -> float:
    """Half the sum of the absolute differences of shares."""
    return float(0.5 * np.abs(new / max(new.sum(), 1) - training / max(training.sum(), 1)).sum())


def moved_within_classes(values: FloatArray, owner: IntArray, ranges: FloatArray) -> float:
    """How far values moved within the classes, from 0 to 1, by the share of rows beyond the bounds of their class.

    A change of the class mix alone leaves it near 0.

    Parameters
    ----------
    values, owner : (n,) arrays
        Values without missing ones, and the class of each row.
    ranges : (C, 2) array
        The bounds of the middle 80 % of every class in training.
    """
    moved = np.zeros(len(ranges))
    n_rows = np.bincount(owner, minlength=len(ranges))[: len(ranges)]
    for c in np.flatnonzero(n_rows >= FEWEST_OF_CLASS):
        in_class, (low, high) = values[owner == c], ranges[c]
        slack = SAME * max(abs(low), abs(high))
        beyond = max(float((in_class < low - slack).mean()), float((in_class > high + slack).mean()))
        # If all rows are nearer to the middle than nine in ten training rows, the column was divided.
        inner = TAIL - max(float((in_class <= low + slack).mean()), float((in_class >= high - slack).mean()))
        moved[c] = max((beyond - TAIL) / (1.0 - TAIL), inner / TAIL if inner > MOST_OF_TAIL * TAIL else 0.0, 0.0)
    enough = np.where(n_rows >= FEWEST_OF_CLASS, n_rows, 0)
    return float(np.average(moved, weights=enough)) if enough.any() else 0.0
