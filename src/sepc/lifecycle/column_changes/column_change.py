"""ColumnChange: a column that moved, by how much, and a guess at the cause with its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sepc.cards import ShownOnOneLine
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
        amount, detail = _amount(self.amount), short(visible(self.detail), LONGEST_DETAIL)
        return {
            FACTOR: f"multiplied by {amount}" if self.amount >= 1.0 else f"divided by {_inverse(self.amount)}",
            SHIFT: f"{_amount(abs(self.amount))} {'added' if self.amount > 0.0 else 'subtracted'}",
            FAHRENHEIT: "converted from Celsius to Fahrenheit",
            CELSIUS: "converted from Fahrenheit to Celsius",
            SIGN: "its sign was changed",
            SWAPPED: f"swapped with {detail}",
            ROUNDED: f"rounded to multiples of {_amount(self.amount)}",
            CLIPPED: f"cut off {detail} {_amount(self.amount)}",
            CONSTANT: f"constant: always {detail if self.is_category else _amount(self.amount)}",
            EMPTIED: "emptied",
            NEW_CATEGORY: f"a new category, {detail}, in {percent(self.amount)} of the rows",
            RENAMED: f"categories renamed: {detail}",
        }.get(self.kind, "")

    @property
    def evidence(self) -> str:
        """The evidence for the guess, in words; empty if there is no guess."""
        undone = f"{{}} it is like training (distance {self.after:.2f} instead of {self.distance:.2f})"
        back = f"multiplied by {_inverse(self.amount)}" if self.amount < 1.0 else f"divided by {_amount(self.amount)}"
        return {
            FACTOR: undone.format(back),
            SHIFT: undone.format("without that"),
            FAHRENHEIT: undone.format("converted back"),
            CELSIUS: undone.format("converted back"),
            SIGN: undone.format("with the other sign"),
            SWAPPED: undone.format("swapped back"),
            ROUNDED: f"rounded in the same way, training values are like these (distance {self.after:.2f})",
            CLIPPED: f"cut off in the same way, training values are like these (distance {self.after:.2f})",
            CONSTANT: f"it varies in training, but is the same in {counted(self.n_rows, 'row')}",
            EMPTIED: f"it has values in training, but almost none in {counted(self.n_rows, 'row')}",
            NEW_CATEGORY: f"no training row has it; {counted(self.n_rows, 'row')} compared",
            RENAMED: undone.format("with the old names"),
        }.get(self.kind, "")

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
