"""Alarms: which rate of which region changed, and which features shifted there."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card, ShownInLists, ShownOnOneLine
from sepc.lifecycle.monitoring.column_guesses import ColumnChange, columns_in_short, columns_in_words
from sepc.lifecycle.monitoring.evidence import ALL_ROWS, COLUMN_KINDS, ERROR, FEATURE, GAP, KINDS, OUTSIDE, ROUND, SHARE
from sepc.lifecycle.monitoring.state import Tally
from sepc.model.names import region_name
from sepc.model.sep_model import SEPModel
from sepc.records import given, number, parts, record, text, whole
from sepc.wording import counted, listed, name_of, percent

# A feature is named if its mean differs with this confidence, corrected for all features; at most this many are.
CONFIDENCE = 0.99
NAMED_MOST = 3
# Means of fewer rows than this are not compared.
FEWEST_ROWS = 5


@record
class FeatureShift(ShownOnOneLine):
    """A feature that shifted.

    Attributes
    ----------
    name : str
        The feature.
    shift : float
        By how many standard deviations of the reference its mean shifted.
    """

    name: str = text()
    shift: float = number()

    def __str__(self) -> str:
        return f"{name_of(self.name)} ({self.shift:+.2f} deviations)"


def shifted_features(
    before: Tally, now: Tally, regions: BoolArray, names: tuple[str, ...], first: int | None = None
) -> tuple[FeatureShift, ...]:
    """The features whose means in these regions differ by Welch's test, the largest shift first."""
    n_old, old, old_variance = _moments(before, regions)
    n_new, new, new_variance = _moments(now, regions)
    if min(n_old, n_new) < FEWEST_ROWS:
        return () if first is None else (FeatureShift(names[first], float(new[first] - old[first])),)
    # Avoids division by zero for features that are constant in both.
    spread = np.maximum(old_variance / n_old + new_variance / n_new, 1e-12)
    freedom = spread**2 / _sum_of_shares(old_variance / n_old, n_old, new_variance / n_new, n_new)
    p_values = 2.0 * stdtr(freedom, -np.abs(new - old) / np.sqrt(spread))
    order = np.argsort(-np.abs(new - old), kind="stable")
    named = [j for j in order if p_values[j] * len(names) <= 1.0 - CONFIDENCE and j != first]
    named = named if first is None else [first, *named]
    return tuple(FeatureShift(names[j], float(new[j] - old[j])) for j in named[:NAMED_MOST])


def _moments(tally: Tally, regions: BoolArray) -> tuple[int, FloatArray, FloatArray]:
    n = int(tally.rows[regions].sum())
    mean = tally.sums[regions].sum(axis=0) / max(n, 1)
    squared = tally.squares[regions].sum(axis=0) / max(n, 1)
    return n, mean, np.maximum(squared - mean**2, 0.0) * n / max(n - 1, 1)


def _sum_of_shares(old: FloatArray, n_old: int, new: FloatArray, n_new: int) -> FloatArray:
    return np.maximum(old**2 / (n_old - 1) + new**2 / (n_new - 1), 1e-30)


HEAD = ("where", "what changed", "before", "now", "rows")
# The columns of a table of alarms, beside the columns that moved.
COLUMNS = ("where", "kind", "before", "now", "n_rows", "n_since", "refuses", "log_evidence", "region", "shifted")


@record
class Alarm(ShownInLists):
    """What changed, and where.

    ``print`` and `summary` describe it in a few sentences.

    Attributes
    ----------
    kind : {"share", "outside", "feature", "error", "gap", "round"}
        Which rate of the region changed: its share of all rows; how many of the rows in or near its ellipsoid lie
        outside it; how many of its rows have a feature above the region's middle; how many of its labels are wrong.
        Or which rate of a column changed, over all rows: how many have a missing value or an unseen category there;
        how many have a round number.
    region : int
        Position in `SEPClassifier.regions_`; -1 for sets of ellipsoids that no training row has, and -2 for all rows
        together: a rate of a column, or a feature that shifted too little to be clear in any single region.
    before, now : float
        The rate before the window that raised the alarm (including the reference), and in that window.
    n_rows : int
        The number of rows behind the rate `now`.
    n_since : int
        Rows since the start of the window that raised the alarm.
    log_evidence : float
        Logarithm of the evidence against "nothing changed", corrected for the number of rates and windows.
    moved : tuple of FeatureShift
        Features whose mean shifted in and around the region, the largest shift first; for the kind "feature", that
        feature comes first. For the kinds "gap" and "round", the feature of that column alone, shifted or not.
    columns : tuple of ColumnChange
        Columns of the latest rows that differ from training: those with a guess at the cause first, then those that
        moved farthest.
    where : str
        The region in words.
    """

    kind: str = text(*KINDS)
    region: int = whole(ALL_ROWS)
    before: float = number(0.0, 1.0)
    now: float = number(0.0, 1.0)
    n_rows: int = whole()
    n_since: int = whole()
    log_evidence: float = number()
    moved: tuple[FeatureShift, ...] = parts(FeatureShift)
    columns: tuple[ColumnChange, ...] = parts(ColumnChange, default=())
    where: str = given(default="")

    def flaw(self) -> str | None:
        """What is wrong with the alarm, if anything."""
        if not self._is_watched:
            return "is an alarm about something that is not watched"
        names_one = self.kind == FEATURE or self.is_of_column
        return "is about a feature, but names none" if names_one and not self.moved else None

    @property
    def _is_watched(self) -> bool:
        if self.is_of_column:
            return self.region == ALL_ROWS
        return self.kind == FEATURE or self.region != ALL_ROWS

    @property
    def is_of_column(self) -> bool:
        """Whether it is about a column's missing or round values."""
        return self.kind in COLUMN_KINDS

    @property
    def rises(self) -> bool:
        """Whether the rate is higher than it was."""
        return self.now > self.before

    @property
    def refuses(self) -> bool:
        """Whether rows of the region are no longer accepted: a feature shifted, or another rate is higher.

        An alarm about all rows together does not change what is accepted.
        """
        return self.region != ALL_ROWS and (self.kind == FEATURE or self.rises)

    @property
    def rate(self) -> str:
        """What changed, in a few words."""
        level = "a level" if self.region == ALL_ROWS else "the middle"
        feature = (
            f"rows with {name_of(self.moved[0].name)} above {level}" if self.moved else "rows with a higher feature"
        )
        name = name_of(self.moved[0].name) if self.moved else "a column"
        return {
            SHARE: "share of all rows",
            OUTSIDE: "rows just outside",
            ERROR: "wrong labels",
            GAP: f"rows without a known {name}",
            ROUND: f"rows with a round {name}",
        }.get(self.kind, feature)

    @property
    def shifted(self) -> str:
        """The features that shifted, in words."""
        is_shift = self.moved and not self.is_of_column
        return listed([str(shift) for shift in self.moved]) if is_shift else "no single feature"

    @property
    def consequence(self) -> str:
        """What `Monitor.decide` does with the rows of the region."""
        return "no longer accepted" if self.refuses else "accepted as before"

    def cells(self) -> tuple[str, str, str, str, str]:
        """The alarm as a row of a table: where, what changed, before, now, and of how many rows."""
        return self.where, self.rate, percent(self.before), percent(self.now), f"{self.n_rows:,}"

    def summary(self) -> str:
        """The alarm in a few sentences: the columns that moved, and then where and what changed."""
        columns = columns_in_words(self.columns)
        return f"{columns} {self.rate_in_words()}" if columns else self.rate_in_words()

    def rate_in_words(self) -> str:
        """Where and what changed, without the columns."""
        where = "All rows" if self.region == ALL_ROWS else self.where
        text = f"{where}: {self.rate} {percent(self.before)} before, "
        text += f"{percent(self.now)} of {counted(self.n_rows, 'row')} now."
        return f"{text} Shifted: {self.shifted}." if self.moved and not self.is_of_column else text

    def __str__(self) -> str:
        return self.summary()

    def _card(self) -> Card:
        where, rate, before, now, n_rows = self.cells()
        facts = (
            ("columns that moved", columns_in_short(self.columns)),
            ("where", where),
            ("what changed", rate),
            ("before", before),
            ("now", f"{now} of {n_rows} rows"),
            ("shifted", self.shifted),
            ("decisions there", self.consequence),
        )
        return Card(f"Alarm, {where}: {rate} {before} before, {now} now", facts)


def describe_region(model: SEPModel, region: int) -> str:
    """Where a region lies, in words."""
    return "all rows" if region == ALL_ROWS else region_name(model, region)
