"""What probably happened to a column of numbers: changes are undone, or repeated, and compared with training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sepc._typing import FloatArray
from sepc.lifecycle.column_changes.column_change import (
    CELSIUS,
    CLIPPED,
    CONSTANT,
    FACTOR,
    FAHRENHEIT,
    ROUNDED,
    SHIFT,
    SIGN,
    Guess,
)
from sepc.lifecycle.column_changes.distances import SAME, critical, kolmogorov

# Units of time, decimal prefixes and per cent, units of length, mass, volume and energy; and their inverses.
TIMES = (7.0, 12.0, 24.0, 30.4375, 60.0, 365.25, 1440.0, 3600.0, 86400.0)
PREFIXES = (10.0, 100.0, 1e3, 1e4, 1e6, 1e9)
MEASURES = (2.54, 3.280839895, 1.609344, 2.2046226218, 28.349523125, 3.785411784, 4.184)
FACTORS = (*TIMES, *PREFIXES, *MEASURES, *(1.0 / own for own in (*TIMES, *PREFIXES, *MEASURES)))
# A column is like training again if it is not farther than two samples are with this chance, with some room for what
# else may have changed, and if the distance is so many times smaller than before.
ALIKE_LEVEL, ROOM, TIMES_NEARER = 0.01, 0.02, 2.5
# Factors and shifts that are in no list explain a column if they are that much nearer than those that are, and if they
# are not small: the factor, and the shift in deviations.
FREE_PENALTY, LEAST_FACTOR, LEAST_SHIFT = 0.02, 1.2, 0.25
# Once a conversion is undone, a column spreads at most so many times as far as in training, or training as it.
MOST_SPREAD = 2.0
# Factors from here on are no change of the class mix, whatever the classes.
LARGE_FACTOR = 9.0
# A column that moved less than this within the classes, from 0 to 1, may have another class mix and no other change.
LEAST_WITHIN = 0.15
# At least this share of the rows has the same value, if a column is constant.
CONSTANT_SHARE = 0.99
# At least this share of the rows is at the bound, if a column is cut off, and of training beyond it.
CLIPPED_SHARE = 0.05
# On a grid of this step lie nearly all new values, and at most so many of training.
ON_GRID, OFF_GRID = 0.995, 0.8
FEWEST_ON_GRID, FEWEST_STEPS = 30, 3
# A multiple of a step, up to this share of the step.
ROUND_OFF = 1e-6


def guess_number(
    values: FloatArray, kept: FloatArray, n_training: int, distance: float, within: float, can_convert: bool = True
) -> Guess:
    """What probably happened to sorted values without gaps; `kept` are quantiles of training.

    Dates are converted neither by factors nor by shifts: they are later than in training as a rule.
    """
    constant = _constant(values, kept)
    if constant is not None:
        return constant
    most = alike(len(values), n_training)
    found = [own for own in (_rounded(values, kept), _clipped(values, kept, distance)) if own and own.after <= most]
    if found or not can_convert:
        return min(found, key=lambda own: own.after, default=Guess())
    fitting = [
        (own.after + penalty, i, own)
        for i, (undone, own, penalty) in enumerate(_converted(values, kept))
        if own.after <= min(most, distance / TIMES_NEARER)
        and (within >= LEAST_WITHIN or _is_large(own))
        and _has_same_spread(undone, kept)
    ]
    return min(fitting, default=(0.0, 0, Guess()))[2]


def alike(n_new: int, n_training: int) -> float:
    """The largest distance of columns that are alike."""
    return critical(n_new, n_training, ALIKE_LEVEL) + ROOM


def _is_large(guess: Guess) -> bool:
    return guess.kind == FACTOR and not 1.0 / LARGE_FACTOR < guess.amount < LARGE_FACTOR


def _has_same_spread(undone: FloatArray, kept: FloatArray) -> bool:
    """Whether values spread about as far as those kept; in a column of zeros a huge divisor would hide all others."""
    spreads = [np.abs(own - np.median(own)).mean() for own in (_inner_quantiles(undone, len(kept)), kept[1:-1])]
    return bool(min(spreads) * MOST_SPREAD >= max(spreads))


def _inner_quantiles(values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.quantile(values, np.linspace(0.0, 1.0, n), method="inverted_cdf")[1:-1])


def _converted(values: FloatArray, kept: FloatArray) -> Iterator[tuple[FloatArray, Guess, float]]:
    """Columns with a conversion undone, the guess with its distance, and a penalty for conversions that are fitted."""
    listed = [(SIGN, 0.0, -values[::-1]), (FAHRENHEIT, 0.0, (values - 32.0) / 1.8), (CELSIUS, 0.0, values * 1.8 + 32.0)]
    for kind, amount, undone in [*listed, *((FACTOR, factor, values / factor) for factor in FACTORS)]:
        yield undone, Guess(kind, amount, after=kolmogorov(undone, kept)), 0.0
    quantiles, inner = _inner_quantiles(values, len(kept)), kept[1:-1]
    shift, deviation = float(np.median(quantiles - inner)), float(inner.std())
    if deviation > 0.0 and abs(shift) >= LEAST_SHIFT * deviation:
        yield values - shift, Guess(SHIFT, shift, after=kolmogorov(values - shift, kept)), FREE_PENALTY
    known = np.abs(inner) > SAME * np.abs(kept).max()
    factor = float(np.median(quantiles[known] / inner[known])) if known.any() else 0.0
    if factor > 0.0 and not 1.0 / LEAST_FACTOR < factor < LEAST_FACTOR:
        yield values / factor, Guess(FACTOR, factor, after=kolmogorov(values / factor, kept)), FREE_PENALTY


def _constant(values: FloatArray, kept: FloatArray) -> Guess | None:
    middle = float(values[len(values) // 2])
    is_same = float((values == middle).mean()) >= CONSTANT_SHARE
    varies = float((kept == middle).mean()) < CONSTANT_SHARE - CLIPPED_SHARE
    return Guess(CONSTANT, middle, after=0.0) if is_same and varies else None


def _clipped(values: FloatArray, kept: FloatArray, distance: float) -> Guess | None:
    """Whether many values are at the largest or the smallest one, and training goes on beyond it."""
    found = []
    for side, bound, beyond in (("above", values[-1], kept > values[-1]), ("below", values[0], kept < values[0])):
        at_bound, usual = float((values == bound).mean()), float((kept == bound).mean())
        if beyond.mean() >= CLIPPED_SHARE and at_bound >= CLIPPED_SHARE + usual:
            cut = np.minimum(kept, bound) if side == "above" else np.maximum(kept, bound)
            found.append(Guess(CLIPPED, float(bound), side, kolmogorov(values, cut)))
    best = min(found, key=lambda own: own.after, default=None)
    return best if best is not None and best.after <= max(distance / TIMES_NEARER, ROOM) else None


def _rounded(values: FloatArray, kept: FloatArray) -> Guess | None:
    """Whether all values lie on a grid, and hardly any of training do."""
    distinct, usual = np.unique(values), np.unique(kept)
    if len(values) < FEWEST_ON_GRID or len(distinct) < FEWEST_STEPS:
        return None
    for step in grid_steps(kept):
        if _on_grid(values, step) >= ON_GRID:
            # Of a multiple of the step, fewer values of training are off the grid; so the widest grid decides.
            if 1.0 - _on_grid(usual, step) < OFF_GRID:
                return None
            return Guess(ROUNDED, step, after=kolmogorov(values, np.round(kept / step) * step))
    return None


def grid_steps(kept: FloatArray) -> list[float]:
    """Steps that a column may be rounded to, the widest first; none if it is constant."""
    width = float(np.ptp(kept))
    if width == 0.0:
        return []
    power = int(np.floor(np.log10(width)))
    return [base * 10.0 ** (power - i) for i in range(7) for base in (5.0, 2.0, 1.0)]


def _on_grid(values: FloatArray, step: float) -> float:
    """The share of values that are multiples of a step."""
    return float((np.abs(values / step - np.round(values / step)) < ROUND_OFF).mean())
