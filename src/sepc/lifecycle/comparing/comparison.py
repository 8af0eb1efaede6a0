"""The result of comparing two models: which decisions change, where, and what that comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import BoolArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.frames import frame_of
from sepc.lifecycle.comparing.changed_parts import ModelPart
from sepc.lifecycle.comparing.changed_rows import ChangedRows
from sepc.lifecycle.comparing.paired_decisions import known_labels
from sepc.lifecycle.comparing.tallies import ChangeCounts
from sepc.lifecycle.comparing.term_shifts import TermShift
from sepc.lifecycle.results.charts import BarChart, Chart, Pair
from sepc.lifecycle.results.result import Result, table_of
from sepc.reporting.result_page import PageTable
from sepc.statistics.binomial import rate_interval
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
class Comparison(Result, ShownAsCard):
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
    shifts : tuple of TermShift
        The columns whose terms changed, over changed rows that come from other weights or another model. Empty if none
        do, or if the two models have no terms of the same columns.
    n_explained : int
        How many rows that is: at most some thousand of a batch.
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
    shifts: tuple[TermShift, ...]
    n_explained: int
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
        by : {"row", "region", "group", "class", "part", "column"}
            A row for each changed row (the default); counts by region, group or class; changed rows by the part of the
            model they come from; or how much the terms of each column changed.

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
        if by == "column":
            names = ("name", "mean_size", "n_largest")
            return frame_of({name: [getattr(shift, name) for shift in self.shifts] for name in names})
        raise ValueError(f"by is {by!r}; it must be 'row', 'region', 'group', 'class', 'part' or 'column'.")

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

    def __str__(self) -> str:
        return self.summary()

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
        if self.shifts:
            columns = [f"{shift.name} {shift.mean_size:.2f}" for shift in self.shifts]
            lines.append(
                f"Terms that changed most, by the mean size of the change in log-odds on {self.n_explained:,} of "
                f"these rows: {listed(columns, MOST_LISTED)}."
            )
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
        for noun, plural in NOUNS.items():
            counts: ChangeCounts = getattr(self, plural)
            places = [i for i in range(len(counts)) if counts.n_changed[i]]
            if len(counts) > 1 and places:
                told = [f"{counts.name[i]} ({counts.n_changed[i]:,} of {counts.n_rows[i]:,})" for i in places]
                lines.append(f"By {noun}: {listed(told, MOST_LISTED)}.")
        return lines

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
        changed = [i for i in range(len(counts)) if counts.n_changed[i]]
        change = "no decision changes" if self.is_same else f"{counted(self.n_changed, 'decision')} changed"
        rows = tuple(_cells(counts, i) for i in changed)
        note = "In words: print(comparison). As DataFrames: to_frame(by=...)"
        return Card(f"Comparison on {counted(self.n_rows, 'row')}: {change}", tuple(facts), HEAD, rows, note)

    def _page_title(self) -> str:
        return "Comparison of two models"

    def _tables(self) -> list[PageTable]:
        tables: list[tuple[Sequence[str], Sequence[Sequence[str]], str]] = []
        for noun, plural in NOUNS.items():
            counts: ChangeCounts = getattr(self, plural)
            places = [i for i in range(len(counts)) if counts.n_changed[i]][:MOST_ON_A_PAGE]
            tables.append((HEAD, [_cells(counts, i) for i in places], f"Changed decisions by {noun}"))
        shifts = [(shift.name, f"{shift.mean_size:.2f}", f"{shift.n_largest:,}") for shift in self.shifts]
        head = ("term", "mean size of change", "rows where it changed most")
        caption = f"Terms that changed, on {counted(self.n_explained, 'changed row')}"
        every = [*tables, (head, shifts[:MOST_ON_A_PAGE], caption)]
        return [table_of(*one) for one in every if one[1]]

    def _notes(self) -> list[str]:
        return self.summary().splitlines()[1:]

    def _chart(self) -> Chart:
        counts = self.regions
        pairs = [
            Pair(counts.name[i], float(counts.n_label[i]), float(counts.n_changed[i] - counts.n_label[i]))
            for i in range(len(counts))
            if counts.n_changed[i]
        ]
        keys = ("another label", "only accepted or not, or the cause")
        return BarChart("Changed decisions by region", "changed rows", keys, pairs)


def _share(n_right: int, n_rows: int) -> str:
    """A share with its exact 95 % interval."""
    low, high = rate_interval(n_right, n_rows)
    return f"{n_right:,} of {n_rows:,} ({interval(float(low), float(high))})"


def _cells(counts: ChangeCounts, i: int) -> tuple[str, ...]:
    named = ("n_rows", "n_changed", "n_label", "n_acceptance", "n_cause")
    n = int(counts.n_labelled[i])
    right = f"{counts.n_right_before[i]:,}, then {counts.n_right_after[i]:,} of {n:,}" if n else ""
    return counts.name[i], *(f"{getattr(counts, name)[i]:,}" for name in named), right
