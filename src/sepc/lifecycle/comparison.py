"""The result of comparing two models: which decisions change, where, and what that comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import BoolArray
from sepc.cards import Card
from sepc.decisions.decisions import frame_of
from sepc.documents.charts import Chart
from sepc.documents.document import Table
from sepc.lifecycle._changed_parts import ChangedRows, ModelPart
from sepc.lifecycle._paired_decisions import ChangeCounts, known_labels
from sepc.lifecycle.result import DrawnResult
from sepc.statistics.rates import rate_interval
from sepc.views.charts import Pair, bar_chart
from sepc.wording import counted, interval, listed, percent

if TYPE_CHECKING:
    import pandas as pd


HEAD = ("where", "rows", "changed", "label", "accepted", "only cause", "right among changed")
NOUNS = {"region": "regions", "group": "groups", "class": "classes"}
# Entries listed in the tables of a page, and in a summary.
MOST_ON_A_PAGE, MOST_LISTED = 50, 5
IN_WORDS = {
    ModelPart.THRESHOLD: "another threshold",
    ModelPart.REGIONS: "the models of repaired regions",
    ModelPart.WEIGHTS: "other weights",
    ModelPart.MODEL: "another model",
}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Comparison(DrawnResult):
    """The decisions of two models compared: `summary` in words, `to_frame` as tables, `to_html` as a page.

    Attributes
    ----------
    total : ChangeCounts
        All rows, as one entry.
    regions, groups, classes : ChangeCounts
        By region of the old model, by group, and by label of the old model; no entries if there are none.
    rows : ChangedRows
        Every row whose decision changed, with both decisions.
    parts : frozenset of str
        The parts of the model that differ: "threshold", "regions" (models of repaired regions), "weights" (of features
        and ellipsoids, with the same ellipsoids), and "model" for anything else. Empty if the models are the same.
    thresholds : (str, str)
        From which trust the old and the new model accept, in words.
    promises : (tuple of str, tuple of str)
        What the old and the new model promise, in sentences.
    """

    total: ChangeCounts
    regions: ChangeCounts
    groups: ChangeCounts
    classes: ChangeCounts
    rows: ChangedRows
    parts: frozenset[str]
    thresholds: tuple[str, str]
    promises: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def n_rows(self) -> int:
        """Rows compared."""
        return int(self.total.n_rows[0])

    @property
    def n_changed(self) -> int:
        """Rows whose decision changed."""
        return len(self.rows)

    @property
    def is_same(self) -> bool:
        """Whether no decision changed."""
        return self.n_changed == 0

    def to_frame(self, by: str = "row") -> pd.DataFrame:
        """What changed, as a pandas DataFrame.

        Parameters
        ----------
        by : {"row", "region", "group", "class", "part"}
            A row for each changed row (the default); counts by region, group or class; or changed rows by the part of
            the model they come from.

        Returns
        -------
        DataFrame
        """
        if by == "row":
            return self.rows.to_frame()
        if by in NOUNS:
            counts: ChangeCounts = getattr(self, NOUNS[by])
            return counts.to_frame()
        if by == "part":
            counted_parts = self._by_part()
            return frame_of({"part": list(counted_parts), "n_changed": list(counted_parts.values())})
        raise ValueError(f"by is {by!r}; it must be 'row', 'region', 'group', 'class' or 'part'.")

    def summary(self) -> str:
        """What changed, in words: how many decisions, what it comes from, and what that does to errors."""
        if self.is_same:
            differ = "the models are the same" if not self.parts else f"the models differ in {self._parts_in_words()}"
            return f"No decision changes on {counted(self.n_rows, 'row')}; {differ}."
        lines = [self.headline(), *self._part_lines(), *self._outcome_lines(), *self._where_lines()]
        return "\n".join([*lines, *self._promise_lines()])

    def headline(self) -> str:
        """How many decisions change, and in what way."""
        total = self.total
        kinds = [
            (int(total.n_label[0]), "with another label"),
            (int(np.sum(self._newly_accepted)), "newly accepted"),
            (int(np.sum(self._newly_rejected)), "no longer accepted"),
            (int(total.n_cause[0]), "rejected for another cause"),
        ]
        told = listed([f"{n:,} {what}" for n, what in kinds if n])
        share = percent(self.n_changed / self.n_rows)
        return f"{self.n_changed:,} of {counted(self.n_rows, 'decision')} change ({share}): {told}."

    @property
    def _newly_accepted(self) -> BoolArray:
        return self.rows.accepted_after & ~self.rows.accepted_before

    @property
    def _newly_rejected(self) -> BoolArray:
        return self.rows.accepted_before & ~self.rows.accepted_after

    def _by_part(self) -> dict[str, int]:
        found = {part.value: int(self.rows.is_from(part).sum()) for part in ModelPart}
        return {part: n for part, n in found.items() if n or part in self.parts}

    def _parts_in_words(self) -> str:
        return listed([IN_WORDS[part] for part in ModelPart if part.value in self.parts])

    def _part_lines(self) -> list[str]:
        told = [f"{n:,} from {IN_WORDS[ModelPart(part)]}" for part, n in self._by_part().items() if n]
        lines = [f"Of these, {listed(told)}."]
        if self.thresholds[0] != self.thresholds[1]:
            lines.append(f"Accepted before: {self.thresholds[0]}; now: {self.thresholds[1]}.")
        return lines

    def _outcome_lines(self) -> list[str]:
        n = int(self.total.n_labelled[0])
        if not n:
            return []
        before, after = int(self.total.n_right_before[0]), int(self.total.n_right_after[0])
        lines = [
            f"Right among the {counted(n, 'changed row')} with a known label: {_share(before, n)} before, "
            f"{_share(after, n)} after."
        ]
        for rows, what, label in (
            (self._newly_accepted, "Newly accepted", self.rows.label_after),
            (self._newly_rejected, "No longer accepted", self.rows.label_before),
        ):
            known = rows & self._is_known
            if known.any():
                right = int(np.sum(label[known] == self._true[known]))
                lines.append(f"{what}: {_share(right, int(known.sum()))} right.")
        return lines

    @property
    def _true(self) -> Any:
        return np.zeros(len(self.rows), dtype=object) if self.rows.true_label is None else self.rows.true_label

    @property
    def _is_known(self) -> BoolArray:
        if self.rows.true_label is None:
            return np.zeros(len(self.rows), dtype=bool)
        return known_labels(self.rows.true_label, len(self.rows))[1]

    def _where_lines(self) -> list[str]:
        lines = []
        for noun, counts in self._counts():
            if len(counts) > 1 and (places := _changed(counts)):
                told = [f"{counts.name[i]} ({counts.n_changed[i]:,} of {counts.n_rows[i]:,})" for i in places]
                lines.append(f"By {noun}: {listed(told, MOST_LISTED)}.")
        return lines

    def _counts(self) -> list[tuple[str, ChangeCounts]]:
        return [(noun, getattr(self, plural)) for noun, plural in NOUNS.items()]

    def _promise_lines(self) -> list[str]:
        old, new = self.promises
        if not (old or new):
            return []
        if old == new:
            return [f"Both promise: {' '.join(old)}"]
        return [f"{who} promises: {' '.join(lines) or 'nothing.'}" for who, lines in (("Old", old), ("New", new))]

    def _card(self) -> Card:
        total = self.total
        facts = [
            ("changed", f"{self.n_changed:,} of {self.n_rows:,} ({percent(self.n_changed / self.n_rows)})"),
            ("another label", f"{total.n_label[0]:,}"),
            ("accepted", f"{total.n_accepted_before[0]:,} before, {total.n_accepted_after[0]:,} after"),
            ("rejected for another cause", f"{total.n_cause[0]:,}"),
            ("comes from", listed([f"{part} ({n:,})" for part, n in self._by_part().items()]) or "nothing"),
        ]
        if n := int(total.n_labelled[0]):
            before, after = total.n_right_before[0], total.n_right_after[0]
            facts.append(("right among changed", f"{before:,} of {n:,} before, {after:,} after"))
        counts = self.groups if len(self.groups) else self.regions
        change = "no decision changes" if self.is_same else f"{counted(self.n_changed, 'decision')} changed"
        rows = tuple(_cells(counts, i) for i in _changed(counts))
        note = "In words: print(comparison). As DataFrames: to_frame(by=...)"
        return Card(f"Comparison on {counted(self.n_rows, 'row')}: {change}", tuple(facts), HEAD, rows, note)

    def _page_title(self) -> str:
        return "Comparison of two models"

    def _tables(self) -> list[Table]:
        return [
            Table(f"Changed decisions by {noun}", HEAD, [_cells(counts, i) for i in _changed(counts)[:MOST_ON_A_PAGE]])
            for noun, counts in self._counts()
        ]

    def _notes(self) -> list[str]:
        return self.summary().splitlines()[1:]

    def _chart(self) -> Chart:
        counts = self.regions
        pairs = [
            Pair(counts.name[i], float(counts.n_label[i]), float(counts.n_changed[i] - counts.n_label[i]))
            for i in _changed(counts)
        ]
        keys = ("another label", "only accepted or not, or the cause")
        return bar_chart("Changed decisions by region", "changed rows", keys, pairs)


def _share(n_right: int, n_rows: int) -> str:
    """A share with its exact 95 % interval."""
    low, high = rate_interval(n_right, n_rows)
    return f"{n_right:,} of {n_rows:,} ({interval(float(low), float(high))})"


def _changed(counts: ChangeCounts) -> list[int]:
    """The positions of the entries with changes."""
    return np.flatnonzero(counts.n_changed).tolist()


def _cells(counts: ChangeCounts, i: int) -> tuple[str, ...]:
    named = ("n_rows", "n_changed", "n_label", "n_acceptance", "n_cause")
    n = int(counts.n_labelled[i])
    right = f"{counts.n_right_before[i]:,}, then {counts.n_right_after[i]:,} of {n:,}" if n else ""
    return counts.name[i], *(f"{getattr(counts, name)[i]:,}" for name in named), right
