"""What probably happened to a column of numbers: known changes are undone, or repeated on training, and compared."""

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
from sepc.lifecycle.column_changes.distances import SAME, critical_distance, kolmogorov

# Units of time, decimal prefixes and per cent, units of length, mass, volume and energy; and their inverses.
TIMES = (7.0, 12.0, 24.0, 30.4375, 60.0, 365.25, 1440.0, 3600.0, 86400.0)
PREFIXES = (10.0, 100.0, 1e3, 1e4, 1e6, 1e9)
MEASURES = (2.54, 3.280839895, 1.609344, 2.2046226218, 28.349523125, 3.785411784, 4.184)
FACTORS = (*TIMES, *PREFIXES, *MEASURES, *(1.0 / factor for factor in (*TIMES, *PREFIXES, *MEASURES)))
# A column is like training again if its distance is not significant at this level, with a margin for other changes,
# and this many times smaller than before.
ALIKE_LEVEL, ALIKE_MARGIN, TIMES_NEARER = 0.01, 0.02, 2.5
# Fitted factors and shifts explain a column if they bring it this much nearer than listed ones, and if they are not
# small: the least factor, and the least shift in standard deviations.
FREE_PENALTY, LEAST_FACTOR, LEAST_SHIFT = 0.02, 1.2, 0.25
# Once a conversion is undone, the spreads of the column and of training differ at most by this factor.
MOST_SPREAD = 2.0
# A new class mix cannot explain a factor as large as this, whatever the classes.
LARGE_FACTOR = 9.0
# A column that moved less than this within the classes, from 0 to 1, may have a new class mix and no other change.
LEAST_WITHIN = 0.15
# A column is constant if at least this share of its rows has the same value.
CONSTANT_SHARE = 0.99
# A column is clipped if at least this share of its rows is at the bound, and of training beyond it.
CLIPPED_SHARE = 0.05
# A column is rounded if this share of new values lies on a grid, and at least this share of training does not.
ON_GRID, OFF_GRID = 0.995, 0.8
FEWEST_ON_GRID, FEWEST_STEPS = 30, 3
# Values count as multiples of a step up to this share of the step.
ROUND_OFF = 1e-6


def guess_number(
    values: FloatArray, kept: FloatArray, n_training: int, distance: float, within: float, can_convert: bool = True
) -> Guess:
    """What probably happened to sorted values, none of them missing; `kept` are quantiles of training.

    Factors and shifts are tried only if `can_convert`; dates, for example, are usually later than in training.
    """
    constant = _guess_constant(values, kept)
    if constant is not None:
        return constant
    most = largest_alike_distance(len(values), n_training)
    found = [
        guess
        for guess in (_guess_rounded(values, kept), _guess_clipped(values, kept, distance))
        if guess and guess.after <= most
    ]
    if found or not can_convert:
        return min(found, key=lambda guess: guess.after, default=Guess())
    fitting = [
        (guess.after + penalty, i, guess)
        for i, (undone, guess, penalty) in enumerate(_undo_conversions(values, kept))
        if guess.after <= min(most, distance / TIMES_NEARER)
        and (within >= LEAST_WITHIN or _is_large(guess))
        and _has_same_spread(undone, kept)
    ]
    return min(fitting, default=(0.0, 0, Guess()))[2]


def largest_alike_distance(n_new: int, n_training: int) -> float:
    """The largest distance between similar columns."""
    return critical_distance(n_new, n_training, ALIKE_LEVEL) + ALIKE_MARGIN


def _is_large(guess: Guess) -> bool:
    return guess.kind == FACTOR and not 1.0 / LARGE_FACTOR < guess.amount < LARGE_FACTOR


def _has_same_spread(undone: FloatArray, kept: FloatArray) -> bool:
    """Whether values spread about as far as training; among many zeros, a huge divisor would hide the other values."""
    spreads = [np.abs(part - np.median(part)).mean() for part in (_inner_quantiles(undone, len(kept)), kept[1:-1])]
    return bool(min(spreads) * MOST_SPREAD >= max(spreads))


def _inner_quantiles(values: FloatArray, n: int) -> FloatArray:
    return np.asarray(np.quantile(values, np.linspace(0.0, 1.0, n), method="inverted_cdf")[1:-1])


def _undo_conversions(values: FloatArray, kept: FloatArray) -> Iterator[tuple[FloatArray, Guess, float]]:
    """The column with each conversion undone, the guess with its distance, and a penalty if it was fitted."""
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


def _guess_constant(values: FloatArray, kept: FloatArray) -> Guess | None:
    middle = float(values[len(values) // 2])
    is_same = float((values == middle).mean()) >= CONSTANT_SHARE
    varies = float((kept == middle).mean()) < CONSTANT_SHARE - CLIPPED_SHARE
    return Guess(CONSTANT, middle, after=0.0) if is_same and varies else None


def _guess_clipped(values: FloatArray, kept: FloatArray, distance: float) -> Guess | None:
    """A guess if many values equal the largest or the smallest one, and training goes beyond it."""
    found = []
    for side, bound, beyond in (("above", values[-1], kept > values[-1]), ("below", values[0], kept < values[0])):
        at_bound, usual = float((values == bound).mean()), float((kept == bound).mean())
        if beyond.mean() >= CLIPPED_SHARE and at_bound >= CLIPPED_SHARE + usual:
            cut = np.minimum(kept, bound) if side == "above" else np.maximum(kept, bound)
            found.append(Guess(CLIPPED, float(bound), side, kolmogorov(values, cut)))
    best = min(found, key=lambda guess: guess.after, default=None)
    return best if best is not None and best.after <= max(distance / TIMES_NEARER, ALIKE_MARGIN) else None


def _guess_rounded(values: FloatArray, kept: FloatArray) -> Guess | None:
    """A guess if nearly all values lie on a grid, and few training values do."""
    distinct, usual = np.unique(values), np.unique(kept)
    if len(values) < FEWEST_ON_GRID or len(distinct) < FEWEST_STEPS:
        return None
    for step in grid_steps(kept):
        if _on_grid(values, step) >= ON_GRID:
            # The widest grid decides, because most training values are off it.
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
