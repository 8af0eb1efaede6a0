"""Summary of the training rows: ranges of every feature by class and ellipsoid, and hashes of some rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.imputation import quantiles_of
from sepc.points.row_digest import row_hashes
from sepc.records import counts, floats, given, ints, record

# Maps rows back to the features that went into a pipeline; returns None if that is not possible.
Restore: TypeAlias = Callable[[FloatArray], FloatArray | None]

# A range holds the middle 80 % of the rows of a group, which has at least this many rows in the sample.
RANGE = (0.1, 0.9)
FEWEST_ROWS = 5
# Quantiles stored for all rows, including the smallest and the largest value.
N_QUANTILES = 41
# A numeric feature with at most this many distinct values is described by how frequent its value is.
MOST_LEVELS = 6
# Stands for all rows of a class, whatever the ellipsoid.
ANYWHERE = -1


class FeatureKind(StrEnum):
    """What a feature stands for in reasons and names."""

    NUMBER = "number"
    DATE = "date"  # days since 1970
    CATEGORY = "category"
    PART = "part"  # one of the other numbers that encode a category or a time of year


class FeatureDisplay(NamedTuple):
    """How a feature is displayed: its kind and, if it encodes categories, their names."""

    kind: FeatureKind = FeatureKind.NUMBER
    categories: tuple[str, ...] = ()


@record
class TrainingSummary:
    """What is usual among training rows, from a sample of them.

    A group is the rows of one class in one ellipsoid, or all rows of a class.

    Attributes
    ----------
    n_rows : (G,) array
        Rows of the sample in each group.
    ellipsoid, owner : (G,) arrays
        The ellipsoid of each group, or -1 for all rows of a class; and the class.
    ranges : (G, d, 2) array
        For each group and feature, the bounds of the middle 80 % of its rows; both values occur in training.
    overall : (d, Q) array
        Quantiles of each feature in training, ascending, including the smallest and the largest value.
    displays : tuple of FeatureDisplay
        How each feature is displayed.
    category_counts : (G, S) array
        Rows of each group with each category, column by column.
    n_levels : (d,) array
        How many distinct values a numeric feature has, if they are few; else 0.
    levels : (L,) array
        These values, feature by feature, ascending.
    level_counts : (G, L) array
        Rows of each group with each of them.
    restore : callable or None
        For a model at the end of a pipeline, maps rows back to the features that went in, or None if that is not
        possible; `ranges` and `overall` are then already in these features.
    """

    n_rows: IntArray = counts("G")
    ellipsoid: IntArray = ints("G", low=ANYWHERE, below="K")
    owner: IntArray = ints("G", below="C")
    ranges: FloatArray = floats("G", "d", "2")
    overall: FloatArray = floats("d", f"{N_QUANTILES}")
    displays: tuple[FeatureDisplay, ...] = given()
    category_counts: IntArray = counts("G", "S")
    n_levels: IntArray = ints("d", high=MOST_LEVELS)
    levels: FloatArray = floats("L")
    level_counts: IntArray = counts("G", "L")
    restore: Restore | None = given(default=None)

    @property
    def n_classes(self) -> int:
        """The number of classes: of groups that are all rows of a class."""
        return int((self.ellipsoid == ANYWHERE).sum())

    def flaw(self) -> str | None:
        """What is wrong with the groups or their counts, if anything."""
        groups = list(zip(self.ellipsoid.tolist(), self.owner.tolist(), strict=True))
        if groups != sorted(set(groups)) or self.owner[: self.n_classes].tolist() != list(range(self.n_classes)):
            return "has groups that are missing, repeated or not in order"
        if (self.n_rows < np.where(self.ellipsoid == ANYWHERE, 1, FEWEST_ROWS)).any():
            return "has groups of too few rows"
        if (np.diff(self.ranges, axis=2) < 0.0).any() or (np.diff(self.overall, axis=1) < 0.0).any():
            return "has values that do not ascend"
        sizes = [len(display.categories) for display in self.displays if display.kind is FeatureKind.CATEGORY]
        if len(self.displays) != len(self.n_levels) or self.category_counts.shape[1] != sum(sizes):
            return "has features or categories that do not match its columns"
        if self.n_levels.sum() != len(self.levels):
            return "has levels that do not match its features"
        for table, parts in ((self.category_counts, sizes), (self.level_counts, self.n_levels[self.n_levels > 0])):
            starts = np.cumsum([0, *parts])[:-1]
            if len(starts) and (np.add.reduceat(table, starts, axis=1) != self.n_rows[:, None]).any():
                return "counts values of more or fewer rows than there are"
        return None

    def with_restore(self, restore: Restore | None) -> TrainingSummary:
        """The summary in the features that went into a pipeline; unchanged if they cannot be restored."""
        if restore is None:
            return self
        ends = restore(self.ranges.transpose(0, 2, 1).reshape(-1, len(self.displays)))
        overall = restore(self.overall.T)
        if ends is None or overall is None:
            return replace(self, restore=restore)
        ranges = np.sort(ends.reshape(len(self.n_rows), 2, -1).transpose(0, 2, 1), axis=2)
        return replace(self, ranges=ranges, overall=np.sort(overall.T, axis=1), restore=restore)

    def in_own_units(self, rows: FloatArray) -> FloatArray | None:
        """Rows in the features that went into a pipeline; None if they cannot be restored."""
        return rows if self.restore is None else self.restore(rows)

    def group(self, ellipsoid: int, owner: int) -> int | None:
        """The group of a class in an ellipsoid; None if it has too few rows."""
        return self._places.get((ellipsoid, owner))

    def ellipsoids_of(self, owner: int) -> IntArray:
        """The ellipsoids in which a class has a group."""
        return np.asarray(self.ellipsoid[(self.owner == owner) & (self.ellipsoid != ANYWHERE)])

    def category_share(self, group: int, feature: int, code: int) -> float:
        """The share of a group's rows that have a category of a feature; 0 for one not seen in training."""
        counts = self.category_counts[group, self.categories_of(feature)]
        return float(counts[code] / self.n_rows[group]) if code < len(counts) else 0.0

    def level_share(self, group: int, feature: int, value: float) -> float | None:
        """The share of a group's rows that have this value of a feature; None if the feature has many values."""
        end = int(self.n_levels[: feature + 1].sum())
        places = slice(end - int(self.n_levels[feature]), end)
        if places.start == places.stop:
            return None
        return float(self.level_counts[group, places][self.levels[places] == value].sum() / self.n_rows[group])

    def categories_of(self, feature: int) -> slice:
        """Where `category_counts` has the categories of a feature."""
        start = self._first_category[feature]
        return slice(start, start + len(self.displays[feature].categories))

    def code_column(self, feature: int) -> int:
        """Position of a categorical feature's code among the codes that follow the features of a row."""
        return self.category_features.index(feature)

    @cached_property
    def category_features(self) -> list[int]:
        """The categorical features."""
        return [j for j, display in enumerate(self.displays) if display.kind is FeatureKind.CATEGORY]

    @cached_property
    def _places(self) -> dict[tuple[int, int], int]:
        pairs = zip(self.ellipsoid.tolist(), self.owner.tolist(), strict=True)
        return {pair: group for group, pair in enumerate(pairs)}

    @cached_property
    def _first_category(self) -> dict[int, int]:
        sizes = [len(self.displays[j].categories) for j in self.category_features]
        starts = np.cumsum([0, *sizes])[:-1].tolist()
        return dict(zip(self.category_features, starts, strict=True))


def summarise_rows(
    rows: FloatArray,
    owners: IntArray,
    shares: FloatArray,
    inside: BoolArray,
    displays: Sequence[FeatureDisplay],
) -> TrainingSummary:
    """Summarise rows of several classes."""
    d, n_classes = len(displays), int(owners.max()) + 1
    groups = [(ANYWHERE, c, np.flatnonzero(owners == c)) for c in range(n_classes)]
    for k in range(inside.shape[1]):
        held = np.flatnonzero(inside[:, k])
        groups += [(k, c, held[owners[held] == c]) for c in np.unique(owners[held]).tolist()]
    groups = [group for group in groups if group[0] == ANYWHERE or len(group[2]) >= FEWEST_ROWS]
    levels = [_levels(rows[:, j], display.kind) for j, display in enumerate(displays)]
    return TrainingSummary(
        ellipsoid=np.array([k for k, _, _ in groups], dtype=np.int64),
        owner=np.array([c for _, c, _ in groups], dtype=np.int64),
        n_rows=np.array([len(held) for _, _, held in groups], dtype=np.int64),
        ranges=np.array([_range(rows[held, :d]) for _, _, held in groups]),
        overall=np.array([quantiles_of(column, shares, N_QUANTILES) for column in rows[:, :d].T]),
        displays=tuple(displays),
        category_counts=np.array([_category_counts(rows[held, d:], displays) for _, _, held in groups], dtype=np.int64),
        n_levels=np.array([len(values) for values in levels], dtype=np.int64),
        levels=np.concatenate(levels),
        level_counts=np.array([_level_counts(rows[held], levels) for _, _, held in groups], dtype=np.int64),
    )


def _levels(column: FloatArray, kind: FeatureKind) -> FloatArray:
    """The distinct values of a numeric feature, ascending, if they are few; else none."""
    if kind is not FeatureKind.NUMBER:
        return np.empty(0)
    values = np.unique(column)
    return values if len(values) <= MOST_LEVELS else np.empty(0)


def _level_counts(rows: FloatArray, levels: Sequence[FloatArray]) -> IntArray:
    counts = [(rows[:, j, None] == values).sum(axis=0) for j, values in enumerate(levels)]
    return np.concatenate(counts)


def _range(rows: FloatArray) -> FloatArray:
    """The bounds of the middle 80 % of every column, of shape (d, 2)."""
    return np.asarray(np.quantile(rows, RANGE, axis=0, method="inverted_cdf").T)


def _category_counts(codes: FloatArray, displays: Sequence[FeatureDisplay]) -> IntArray:
    sizes = [len(display.categories) for display in displays if display.kind is FeatureKind.CATEGORY]
    pairs = zip(codes.astype(np.int64).T, sizes, strict=True)
    counts = [np.bincount(column, minlength=size)[:size] for column, size in pairs]
    return np.concatenate(counts) if counts else np.empty(0, dtype=np.int64)


# Number of hashes, and the seed that all models share.
MOST_HASHES = 1_000
SEED = 0
# Training rows are reported only if at least this many are found, which by chance has at most this probability.
FEWEST_AGAIN = 3
UNLIKELY = 1e-6


@record
class SeenRows:
    """Hashes of training rows.

    Attributes
    ----------
    hashes : (M,) array
        Of the numbers, dates and categories of some rows. A hash does not reveal its row, but anyone who guesses all of
        the row's values can check the guess.
    """

    hashes: IntArray = ints("M", low=-(2**63), high=2**63 - 1, name="seen_rows")

    @classmethod
    def of(cls, rows: FloatArray, displays: Sequence[FeatureDisplay]) -> SeenRows:
        """Hash some of these rows, given in the user's own features followed by category codes."""
        few = rows[:: max(1, -(-len(rows) // MOST_HASHES))]
        return cls(_hashes(few, displays))

    @classmethod
    def none(cls) -> SeenRows:
        """No hashes, so that nobody can check a guess."""
        return cls(np.empty(0, dtype=np.int64))

    def n_again(self, rows: FloatArray, displays: Sequence[FeatureDisplay]) -> int:
        """How many of the hashed rows are among other rows, if more than by chance; else 0."""
        from scipy.stats import hypergeom  # imported late: `sepc look` has no use for it

        given = _hashes(rows, displays)
        n_again = int(np.isin(self.hashes, given).sum())
        _, which, copies = np.unique(given, return_inverse=True, return_counts=True)
        n_repeated, n = int((copies[which] > 1).sum()), len(given)
        chance = hypergeom.sf(n_again - 1, len(self.hashes) + n, n_again + n_repeated, len(self.hashes))
        return n_again if n_again >= FEWEST_AGAIN and chance <= UNLIKELY else 0


def _hashes(rows: FloatArray, displays: Sequence[FeatureDisplay]) -> IntArray:
    """Hashes of rows without encoded categories, which are encoded differently in training and in new rows."""
    given = given_columns(displays, rows.shape[1])
    return row_hashes(np.ascontiguousarray(rows[:, given]), SEED).view(np.int64)


def given_columns(displays: Sequence[FeatureDisplay], n_columns: int) -> BoolArray:
    """Which columns of rows hold values as given: numbers, dates and category codes."""
    is_given = [display.kind in (FeatureKind.NUMBER, FeatureKind.DATE) for display in displays]
    return np.concatenate([np.array(is_given, dtype=bool), np.ones(n_columns - len(is_given), dtype=bool)])
