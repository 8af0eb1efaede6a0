"""What a repair changed: the outcome in each region that was tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sepc.cards import Card, ShownAsCard, ShownInLists
from sepc.decisions.frames import frame_of
from sepc.records import flag, number, record, text, whole
from sepc.wording import counted, p_in_short, with_number

if TYPE_CHECKING:
    import pandas as pd

# Regions listed in a summary; the others are counted.
MOST_LISTED = 10
COLUMNS = ("region", "where", "kept", "n_made", "n_judged", "errors_before", "errors_after", "p_value", "n_together")


@record
class Change(ShownInLists):
    """The outcome of a repair in one region.

    Attributes
    ----------
    region : int
        Its number.
    where : str
        The region in words.
    n_made : int
        Rows that the region's new model was fitted to; 0 if there were too few.
    n_judged : int
        Held-out rows of the region; each was tested on a new model that was not fitted to it.
    errors_before, errors_after : int
        Errors on these rows, of the original model and of the new ones.
    p_value : float
        Of an exact one-sided sign test (McNemar's): the probability, if new models were no better, that they are right
        on at least as many of the rows on which only one of the two is right.
    n_together : int
        Number of regions tested together, including this one; regions with few rows are pooled.
    kept : bool
        Whether the new model is used.
    """

    region: int = whole(low=-1)
    where: str = text()
    n_made: int = whole()
    n_judged: int = whole()
    errors_before: int = whole()
    errors_after: int = whole()
    p_value: float = number(0.0, 1.0)
    n_together: int = whole(low=1)
    kept: bool = flag()

    def __str__(self) -> str:
        name = with_number(self.where, self.region)
        if self.n_made == 0:
            return f"{name}: left as it was, too few rows to fit a model to"
        outcome = "repaired" if self.kept else "left as it was, a new model is not shown to be better"
        if self.n_judged == 0:
            return f"{name}: {outcome}; no rows to judge it"
        errors = f"{self.errors_before:,} before, {self.errors_after:,} after"
        return f"{name}: {outcome}; errors on {counted(self.n_judged, 'row')}: {errors}{self._p}"

    @property
    def _p(self) -> str:
        others = f", together with {counted(self.n_together - 1, 'other region')}" if self.n_together > 1 else ""
        return f" (p {p_in_short(self.p_value, '= ')}{others})"

    def _card(self) -> Card:
        facts = (
            ("where", self.where),
            ("fitted on", counted(self.n_made, "row")),
            ("judged by", f"{counted(self.n_judged, 'row')} that it was not fitted on"),
            ("errors of these", f"{self.errors_before:,} before, {self.errors_after:,} after{self._p}"),
        )
        outcome = "repaired" if self.kept else "left as it was"
        errors = f", {self.errors_before:,} errors before, {self.errors_after:,} after" if self.n_judged else ""
        return Card(f"Region {self.region}: {outcome}{errors}", facts)


class Changes(ShownAsCard, tuple[Change, ...]):
    """The outcome of a repair in each region: a tuple of `Change` that prints as a table."""

    __slots__ = ()

    @property
    def kept(self) -> tuple[Change, ...]:
        """The changes of repaired regions."""
        return tuple(change for change in self if change.kept)

    def headline(self) -> str:
        """How many regions were repaired, and their errors before and after, in a sentence."""
        if not self:
            return "Nothing repaired: no region fails."
        head = f"{len(self.kept):,} of {counted(len(self), 'region')} repaired"
        if not self.kept:
            return f"{head}: no new model is shown to be better."
        before, after = (sum(getattr(change, f"errors_{when}") for change in self.kept) for when in ("before", "after"))
        return f"{head}; errors there on rows not fitted on: {before:,} before, {after:,} after."

    def summary(self) -> str:
        """What was changed, in words."""
        lines = [self.headline(), *(f"- {change}" for change in self[:MOST_LISTED])]
        if len(self) > MOST_LISTED:
            lines.append(f"- and {counted(len(self) - MOST_LISTED, 'more region')}: see changes_.to_frame()")
        return "\n".join([*lines, "All other decisions stay as they were."] if self else lines)

    def to_frame(self) -> pd.DataFrame:
        """The changes as a pandas DataFrame, a row for each region."""
        return frame_of({name: [getattr(change, name) for change in self] for name in COLUMNS})

    def _card(self) -> Card:
        rows = tuple(
            (
                change.where,
                str(change.region),
                "repaired" if change.kept else "as it was",
                *(f"{n:,}" for n in (change.n_judged, change.errors_before, change.errors_after)),
                p_in_short(change.p_value),
            )
            for change in self
        )
        head = ("where", "region", "outcome", "rows", "wrong before", "after", "p")
        note = "All other decisions stay as they were." if self else ""
        return Card(self.headline().removesuffix("."), (), head, rows, note)
