"""ColumnChange: a column that moved, by how much, and a guess at the cause with its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.documents.document import Table
from sepc.lifecycle.monitoring.columns import SAME, critical_distance, kolmogorov, total_variation
from sepc.records import flag, number, record, text, whole
from sepc.wording import counted, listed, name_of, percent, quantity, short, visible

FACTOR, SHIFT, FAHRENHEIT, CELSIUS, SIGN, SWAPPED = "factor", "shift", "fahrenheit", "celsius", "sign", "swapped"
ROUNDED, CLIPPED, CONSTANT, EMPTIED = "rounded", "clipped", "constant", "emptied"
NEW_CATEGORY, RENAMED, UNKNOWN = "new category", "renamed", "unknown"
CHANGES = (
    *(FACTOR, SHIFT, FAHRENHEIT, CELSIUS, SIGN, SWAPPED, ROUNDED, CLIPPED, CONSTANT, EMPTIED),
    *(NEW_CATEGORY, RENAMED, UNKNOWN),
)
# Columns named in a sentence; the others are counted.
MOST_NAMED = 3
# Characters of a detail that are shown.
LONGEST_DETAIL = 160


class Guess(NamedTuple):
    """What probably happened to a column; the fields are those of `ColumnChange`."""

    kind: str = UNKNOWN
    amount: float = 0.0
    detail: str = ""
    after: float = 1.0


@record
class ColumnChange(ShownOnOneLine):
    """A column that differs from training.

    ``print`` describes it in a sentence or two.

    Attributes
    ----------
    name : str
        The column.
    kind : str
        What probably happened: "factor", "shift", "fahrenheit", "celsius", "sign", "swapped", "rounded", "clipped",
        "constant", "emptied", "new category" or "renamed"; "unknown" if nothing simple explains it.
    amount : float
        The factor, the shift, the step of rounding, the bound, the constant, or the share of rows with new categories.
    detail : str
        The column it was swapped with, the new category, the old and new names, or "above" or "below" the bound.
    distance : float
        How far the column is from training: the Kolmogorov distance of numbers, the total variation of categories.
    after : float
        The same distance once the change is undone or, if values cannot be restored, from training values changed in
        the same way. 1 if there is no guess.
    within : float
        How far the column moved within the classes, from 0 to 1; a change of the class mix alone leaves it near 0.
    is_category : bool
        Whether the column holds categories.
    before, now : float
        The median in training and now; of categories, the share of the one that changed most.
    shift : float
        How far the median moved, in standard deviations of training; 0 for categories.
    n_rows : int
        The number of rows compared with training.
    """

    name: str = text()
    kind: str = text(*CHANGES)
    amount: float = number()
    detail: str = text()
    distance: float = number(0.0, 1.0)
    after: float = number(0.0, 1.0)
    within: float = number(0.0, 1.0)
    is_category: bool = flag()
    before: float = number()
    now: float = number()
    shift: float = number()
    n_rows: int = whole()

    @property
    def is_guessed(self) -> bool:
        """Whether something simple explains the change."""
        return self.kind != UNKNOWN

    @property
    def guess(self) -> str:
        """What probably happened to the column, in a few words; empty if nothing simple explains it."""
        return self._explained[0]

    @property
    def evidence(self) -> str:
        """The evidence for the guess, in words; empty if there is no guess."""
        return self._explained[1]

    @property
    def _explained(self) -> tuple[str, str]:
        amount, inverse, rows = _amount(self.amount), _inverse(self.amount), counted(self.n_rows, "row")
        size, detail = _amount(abs(self.amount)), short(visible(self.detail), LONGEST_DETAIL)
        undone = f"it is like training (distance {self.after:.2f} instead of {self.distance:.2f})"
        alike = f"in the same way, training values are like these (distance {self.after:.2f})"
        is_larger, more = self.amount >= 1.0, "added" if self.amount > 0.0 else "subtracted"
        return {
            FACTOR: (
                f"multiplied by {amount}" if is_larger else f"divided by {inverse}",
                f"{f'divided by {amount}' if is_larger else f'multiplied by {inverse}'} {undone}",
            ),
            SHIFT: (f"{size} {more}", f"without that {undone}"),
            FAHRENHEIT: ("converted from Celsius to Fahrenheit", f"converted back {undone}"),
            CELSIUS: ("converted from Fahrenheit to Celsius", f"converted back {undone}"),
            SIGN: ("its sign was changed", f"with the other sign {undone}"),
            SWAPPED: (f"swapped with {detail}", f"swapped back {undone}"),
            ROUNDED: (f"rounded to multiples of {amount}", f"rounded {alike}"),
            CLIPPED: (f"cut off {detail} {amount}", f"cut off {alike}"),
            CONSTANT: (
                f"constant: always {detail if self.is_category else amount}",
                f"it varies in training, but is the same in {rows}",
            ),
            EMPTIED: ("emptied", f"it has values in training, but almost none in {rows}"),
            NEW_CATEGORY: (
                f"a new category, {detail}, in {percent(self.amount)} of the rows",
                f"no training row has it; {rows} compared",
            ),
            RENAMED: (f"categories renamed: {detail}", f"with the old names {undone}"),
        }.get(self.kind, ("", ""))

    @property
    def moved(self) -> str:
        """By how much the column moved, in words."""
        if self.kind == EMPTIED:
            return "no values"
        if self.is_category:
            return f"{percent(self.distance)} of the rows are in different categories than in training"
        medians = f"median {quantity(self.before)} in training, {quantity(self.now)} now"
        return f"{medians} ({self.shift:+,.{2 if abs(self.shift) < 10.0 else 0}f} deviations)"

    def __str__(self) -> str:
        sentence = f"{name_of(self.name)} moved: {self.moved}"
        return f"{sentence}. Probably {self.guess}: {self.evidence}." if self.is_guessed else f"{sentence}."


def columns_in_words(changes: Sequence[ColumnChange]) -> str:
    """The columns that moved, in sentences; empty if there are none."""
    n_more = len(changes) - MOST_NAMED
    more = [f"{counted(n_more, 'more column')} moved."] if n_more > 0 else []
    return " ".join([*map(str, changes[:MOST_NAMED]), *more])


def columns_in_short(changes: Sequence[ColumnChange]) -> str:
    """The columns that moved and the guesses, in a few words."""
    named = [f"{name_of(change.name)} ({change.guess or change.moved})" for change in changes[:MOST_NAMED]]
    n_more = len(changes) - MOST_NAMED
    return listed([*named, counted(n_more, "more column")] if n_more > 0 else named) if named else "none"


def _amount(value: float) -> str:
    return f"{value:,.4g}" if 1e-3 <= abs(value) < 1e4 else quantity(value)


def _inverse(factor: float) -> str:
    return _amount(1.0 / factor) if factor else "0"


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
    """What probably happened to sorted values, none of them missing; `kept` are quantiles of training."""
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


# A category is gone if it keeps at most this share of its frequency in training; rarer ones than this are ignored.
GONE_SHARE, LEAST_SHARE = 0.1, 0.02
# Renamed categories that are listed; the others are counted.
MOST_LISTED = 4
# A category with at least this share of training was effectively the only one.
ONLY_BEFORE = 0.9
# A new category with at least this many rows is no accident.
FEWEST_NEW = 5


def guess_category(
    new: IntArray, training: FloatArray, names: Sequence[str], unseen: Counter[str], distance: float, most: float
) -> Guess:
    """What probably happened to categories."""
    n_new, shares = int(new.sum()), new / max(new.sum(), 1)
    if int(new[-1]) >= FEWEST_NEW:
        renamed = _guess_renamed(new, training, names, unseen)
        if renamed is not None and renamed.after <= min(most, distance / TIMES_NEARER):
            return renamed
        gone = (training[:-1] / max(training.sum(), 1) >= LEAST_SHARE) & (new[:-1] == 0)
        if not gone.any() or renamed is None:
            named = listed([name_of(name) for name, _ in unseen.most_common(MOST_LISTED)]) if unseen else "unknown"
            return Guess(NEW_CATEGORY, float(shares[-1]), named, _without_new(new, training))
    top = int(new.argmax())
    if top < len(names) and shares[top] >= CONSTANT_SHARE and training[top] / max(training.sum(), 1) < ONLY_BEFORE:
        return Guess(CONSTANT, 0.0, names[top], 0.0) if n_new else Guess()
    return Guess()


def _guess_renamed(new: IntArray, training: FloatArray, names: Sequence[str], unseen: Counter[str]) -> Guess | None:
    """New names for the categories that are gone, matched by how frequent they are."""
    usual = training[:-1] / max(training.sum(), 1)
    shares = new[:-1] / max(new.sum(), 1)
    gone = np.flatnonzero((usual >= LEAST_SHARE) & (shares <= GONE_SHARE * usual))
    if len(gone) == 0 or not unseen:
        return None
    ordered = gone[np.argsort(-usual[gone], kind="stable")]
    pairs = list(zip(ordered.tolist(), unseen.most_common(len(ordered)), strict=False))
    restored = new.copy()
    for code, (_, count) in pairs:
        restored[code] += count
        restored[-1] -= count
    # The rest are rare categories that were renamed too.
    rare = np.flatnonzero((usual < LEAST_SHARE) & (shares <= GONE_SHARE * usual))
    if len(pairs) == len(ordered) and len(rare) and restored[-1] > 0:
        left = np.append(restored[:-1][rare].sum() + restored[-1], 0)
        restored[rare], restored[-1] = 0, 0
        restored[rare[0]] = left[0]
        training = training.copy()
        training[rare[0]], training[rare[1:]] = training[rare].sum(), 0
    renames = [f"{names[code]} is now {name_of(name)}" for code, (name, _) in pairs]
    return Guess(RENAMED, 0.0, listed(renames, MOST_LISTED), total_variation(restored, training))


def _without_new(new: IntArray, training: FloatArray) -> float:
    return total_variation(np.append(new[:-1], 0), training)


HEAD = ("column", "moved", "probably", "evidence")


def column_tables(changes: Sequence[ColumnChange]) -> list[Table]:
    """A table of the columns that moved; none if there are none."""
    rows = [(name_of(one.name), one.moved, one.guess or "unknown", one.evidence or "none") for one in changes]
    return [Table("Columns that moved", HEAD, rows)] if rows else []
