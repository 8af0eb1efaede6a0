"""How the columns of a table become rows of numbers."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import Categories, category, fit_categories, folds_of, known_categories
from sepc.columns.kinds import Column, Kind
from sepc.columns.recognition import NEEDED, is_gap_text
from sepc.columns.table import NUMBER_KINDS, column_names, column_of, exact_column_of, is_table, zones_of
from sepc.model.training_summary import FeatureDisplay, FeatureKind
from sepc.records import parts, record, texts
from sepc.wording import MOST_NAMES, counted, listed, name_of, shown, visible

DAY = np.timedelta64(1, "D")
DAYS_A_YEAR = 365.2425
# How the remark on a cell that cannot be read ends.
UNREAD = ", and counts as missing."


@record
class Preparation:
    """How the columns of a table become rows: first the features, then a code for every categorical column.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the table, in order.
    all_categories : tuple of Categories
        The categories of each categorical column, in order.
    seasons : tuple of str
        Date columns that span more than a year, whose time of year is a feature too.
    """

    columns: tuple[Column, ...] = parts(Column)
    all_categories: tuple[Categories, ...] = parts(Categories, name="categories")
    seasons: tuple[str, ...] = texts("s")

    def flaw(self) -> str | None:
        """What does not match its columns, if anything."""
        if len({column.name for column in self.columns}) < len(self.columns):
            return "has two columns of the same name"
        if [categories.name for categories in self.all_categories] != [
            column.name for column in self._of_kind(Kind.CATEGORY)
        ]:
            return "has categories that do not match its categorical columns"
        if list(self.seasons) != [column.name for column in self._of_kind(Kind.DATE) if column.name in self.seasons]:
            return "has a time of year for a column without dates"
        return None

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> Preparation:
        """The preparation of columns that are numbers and used unchanged."""
        return cls(tuple(Column(name, Kind.NUMBER, "") for name in names), (), ())

    @classmethod
    def fit(
        cls,
        columns: tuple[Column, ...],
        values: Mapping[str, NDArray[Any]],
        labels: IntArray,
        unit: float,
        seed: int,
    ) -> tuple[Preparation, FloatArray]:
        """Prepare a table for these classes: the preparation, and the rows to train on, with cross-fitted encodings."""
        if all(column.kind is Kind.LEFT_OUT for column in columns):
            raise ValueError(
                f"No column can be used: {left_out_in_words(columns)}. Name the ones to use in force_features."
            )
        used = [(column, values[column.name]) for column in columns if column.kind is not Kind.LEFT_OUT]
        of_kind = {kind: [pair for pair in used if pair[0].kind is kind] for kind in Kind}
        seasons = tuple(column.name for column, cells in of_kind[Kind.DATE] if _spans_a_year(cells))
        known = tuple(known_categories(column.name, cells) for column, cells in of_kind[Kind.CATEGORY])
        unfitted = cls(columns, known, seasons)
        folds = folds_of(unfitted._rows(used, {}), labels, seed) if known else labels
        fits = [fit_categories(column.name, cells, labels, unit, folds) for column, cells in of_kind[Kind.CATEGORY]]
        preparation = cls(columns, tuple(categories for categories, _ in fits), seasons)
        return preparation, preparation._rows(used, {categories.name: encoded for categories, encoded in fits})

    @cached_property
    def categories(self) -> Mapping[str, Categories]:
        """The categories of each categorical column, by name."""
        return {categories.name: categories for categories in self.all_categories}

    @cached_property
    def features(self) -> tuple[tuple[str, str], ...]:
        """The column that each feature comes from, and its name."""
        return tuple((column.name, name) for column in self.columns for name in self._names_of(column))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(name for _, name in self.features)

    @cached_property
    def category_features(self) -> IntArray:
        """The position of the first feature of each categorical column."""
        origins = [origin for origin, _ in self.features]
        return np.array([origins.index(name) for name in self.categories], dtype=np.int64)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the columns used as features."""
        return tuple(column.name for column in self.columns if column.kind is not Kind.LEFT_OUT)

    @property
    def n_codes(self) -> int:
        """How many category codes follow the features."""
        return len(self.categories)

    def rows_of(self, X: Any) -> FloatArray:
        """The rows of a table that has the columns of training."""
        return self._rows(_used_values(X, self.columns), {})

    def check_finite(self, rows: FloatArray) -> FloatArray:
        """Return the rows, or raise an error that names the column if a number is infinite."""
        is_infinite = np.isinf(rows).any(axis=0)
        if is_infinite.any():
            raise ValueError(f"Column {shown(self.features[int(is_infinite.argmax())][0])} contains infinite values.")
        return rows

    def notes_on(self, X: Any, rows: FloatArray) -> NDArray[Any]:
        """For each row, unreadable values and categories not seen in training, in words; empty for most."""
        notes = self._assumptions(X, rows)
        codes = rows[:, len(self.feature_names) :]
        n_known = [len(self.categories[column.name].values) for column in self._of_kind(Kind.CATEGORY)]
        unseen = codes == n_known
        odd = [column for column, some in zip(self._of_kind(Kind.CATEGORY), unseen.any(axis=0), strict=True) if some]
        for is_unseen, (column, values) in zip(unseen.T[unseen.any(axis=0)], _used_values(X, odd), strict=True):
            for i in np.flatnonzero(is_unseen):
                given = category(values[i])
                seen = "is missing, which it never was" if given is None else f"{shown(given)} was not seen"
                notes[i] += f"{' ' if notes[i] else ''}{visible(column.name)} {seen} in training."
        return notes

    def empty_in(self, X: Any, rows: FloatArray) -> BoolArray:
        """Which categorical columns are missing in each row, of shape (n, Q)."""
        codes = rows[:, len(self.feature_names) :]
        empty = np.zeros(codes.shape, dtype=bool)
        for q, column in enumerate(self._of_kind(Kind.CATEGORY)):
            values = self.categories[column.name].values
            if None in values:
                empty[:, q] = codes[:, q] == values.index(None)
            elif len(unseen := np.flatnonzero(codes[:, q] == len(values))):
                ((_, given),) = _used_values(X, [column])
                empty[unseen, q] = [category(given[i]) is None for i in unseen]
        return empty

    def _assumptions(self, X: Any, rows: FloatArray) -> NDArray[Any]:
        """For each row, what was assumed of its cells, in words."""
        notes: NDArray[Any] = np.full(len(rows), "", dtype=object)
        origins = [origin for origin, _ in self.features]
        by_name = {str(name): name for name in column_names(X)}
        for column in self.columns:
            if column.written is not None or column.kind is Kind.DATE:
                for i, note in _assumed(column, X, by_name[column.name], rows[:, origins.index(column.name)]):
                    notes[i] += f"{' ' if notes[i] else ''}{visible(column.name)} {note}"
        return notes

    def summary(self) -> str:
        """The types of the columns, in a line."""
        kinds = [column.kind for column in self.columns]
        plural = {Kind.NUMBER: "numbers", Kind.CATEGORY: "categories", Kind.DATE: "dates"}
        parts = [counted(kinds.count(kind), kind.value, many) for kind, many in plural.items() if kind in kinds]
        n_used = len(kinds) - kinds.count(Kind.LEFT_OUT)
        used = f"{counted(n_used, 'feature')}: {', '.join(parts)}"
        return f"{used}; left out: {left_out_in_words(self.columns)}" if n_used < len(kinds) else used

    def _of_kind(self, kind: Kind) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.kind is kind)

    def _names_of(self, column: Column) -> list[str]:
        if column.kind is Kind.LEFT_OUT:
            return []
        if column.kind is Kind.CATEGORY:
            k = self.categories[column.name].encodings.shape[1]
            return [column.name, *(f"{column.name} ({i})" for i in range(2, k + 1))]
        if column.kind is Kind.DATE and column.name in self.seasons:
            return [column.name, *(f"{column.name}, time of year ({wave})" for wave in ("sine", "cosine"))]
        return [column.name]

    def _rows(self, used: list[tuple[Column, NDArray[Any]]], encoded: Mapping[str, FloatArray]) -> FloatArray:
        features, codes = [], []
        for column, values in used:
            if column.kind is Kind.CATEGORY:
                categories = self.categories[column.name]
                codes.append(categories.codes_of(values).astype(np.float64))
                features.append(encoded.get(column.name, categories.encode(codes[-1].astype(np.int64))))
            elif column.kind is Kind.DATE:
                features.append(self._date(column.name, values))
            else:
                features.append(values[:, None])
        return np.column_stack([*features, *codes])

    def _date(self, name: str, values: NDArray[Any]) -> FloatArray:
        days = np.where(np.isnat(values), np.nan, (values - np.datetime64(0, "us")) / DAY)
        if name not in self.seasons:
            return np.asarray(days[:, None])
        angle = 2.0 * np.pi * days / DAYS_A_YEAR
        return np.column_stack([days, np.sin(angle), np.cos(angle)])


def _used_values(X: Any, columns: Collection[Column]) -> list[tuple[Column, NDArray[Any]]]:
    """The columns used as features, with their values."""
    by_name = {str(name): name for name in column_names(X)}
    missing = [column.name for column in columns if column.kind is not Kind.LEFT_OUT and column.name not in by_name]
    if missing:
        raise ValueError(f"There is no column {shown(missing[0])}, which the model was fitted to.")
    used = [column for column in columns if column.kind is not Kind.LEFT_OUT]
    return [(column, _read(column, X, by_name[column.name])) for column in used]


def _read(column: Column, X: Any, name: Any) -> NDArray[Any]:
    return exact_column_of(X, name) if column.kind is Kind.CATEGORY else column.read(column_of(X, name))


def _assumed(column: Column, X: Any, name: Any, numbers: FloatArray) -> Iterator[tuple[int, str]]:
    """What was assumed of cells of a column, given as read: their rows, and a remark without the name of the column."""
    written, gone = column.written, np.isnan(numbers)
    may_be_share = (np.abs(numbers) <= 1.0) & (numbers != 0.0) if written and written.unit == NEEDED else ~gone & gone
    if written is not None and (gone.any() or may_be_share.any()):
        given = column_of(X, name)
        for i in np.flatnonzero(gone) if given.dtype.kind == "O" else ():
            if given[i] is not None and not (isinstance(given[i], str) and is_gap_text(given[i])):
                yield int(i), f"{shown(given[i])} cannot be read as a {written.what}{UNREAD}"
        for i in np.flatnonzero(may_be_share):
            if not isinstance(given[i], str):
                yield int(i), f"{numbers[i]:g} has no {NEEDED}, and is taken as {numbers[i]:g} {NEEDED}."
    if column.kind is Kind.DATE:
        taken = "is taken as UTC: it has no time zone, as times in training."
        converted = "is converted to UTC: it has a time zone, unlike times in training."
        for i in np.flatnonzero(~gone & (zones_of(X, name) != bool(column.zone))):
            yield int(i), taken if column.zone else converted


def _spans_a_year(values: NDArray[Any]) -> bool:
    known = values[~np.isnat(values)]
    return len(known) > 0 and bool((known.max() - known.min()) / DAY > DAYS_A_YEAR)


def left_out_in_words(columns: Collection[Column]) -> str:
    """The columns that are left out, and what they appear to be."""
    named = [f"{shown(column.name)} ({column.why})" for column in columns if column.kind is Kind.LEFT_OUT]
    return listed(named, MOST_NAMES)


def feature_displays(preparation: Preparation) -> tuple[FeatureDisplay, ...]:
    """How each feature of a prepared table is displayed."""
    kinds = {column.name: column.kind for column in preparation.columns}
    return tuple(_feature_display(preparation, kinds[origin], origin, name) for origin, name in preparation.features)


def _feature_display(preparation: Preparation, kind: Kind, origin: str, feature: str) -> FeatureDisplay:
    if feature != origin:
        return FeatureDisplay(FeatureKind.PART)
    if kind is Kind.CATEGORY:
        values = preparation.categories[origin].values
        return FeatureDisplay(
            FeatureKind.CATEGORY, tuple("missing" if value is None else name_of(value) for value in values)
        )
    return FeatureDisplay(FeatureKind.DATE if kind is Kind.DATE else FeatureKind.NUMBER)


DOUBLE = np.dtype(np.float64)

# Converting so few rows costs next to nothing.
FEW_ROWS = 8


def plain_rows(X: Any, n_features: int, names: NDArray[Any] | None) -> FloatArray | None:
    """A fast path: the rows of `X` if they need no conversion, else None."""
    rows = X if names is None else _named_columns(X, names.tolist())
    if type(rows) is not np.ndarray or rows.dtype != DOUBLE or rows.ndim != 2:
        return None
    return rows if len(rows) and rows.shape[1] == n_features and _is_finite(rows) else None


def _named_columns(X: Any, names: list[Any]) -> Any:
    """The array in a pandas DataFrame of doubles with these column names, else None."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or type(X) is not pandas.DataFrame or X.columns.tolist() != names:
        return None
    if len(X) <= FEW_ROWS:
        rows = X.to_numpy()
        # If this is not a copy, all columns have one type. Looking at the type of each takes five times as long.
        if np.may_share_memory(rows, X.to_numpy()):
            return rows
    return X.to_numpy() if all(dtype == DOUBLE for dtype in X.dtypes.tolist()) else None


def _is_finite(rows: FloatArray) -> bool:
    """Whether the sum of all numbers is finite, which implies that each number is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(rows.sum()))


def numbers_of_table(X: Any) -> Any:
    """The rows of a table of numbers, some of which may be text, as an array; anything else unchanged."""
    kinds = list(getattr(X, "dtypes", [None]))
    if not is_table(X) or all(isinstance(kind, np.dtype) and kind.kind in NUMBER_KINDS for kind in kinds):
        return X
    return np.column_stack([Column(str(name), Kind.NUMBER, "").read(column_of(X, name)) for name in column_names(X)])


def number_columns(X: Any) -> tuple[FloatArray, list[Any]]:
    """The numeric columns of a table or an array as doubles, NaN where they are missing, and their names."""
    if not is_table(X):
        rows = np.array(X, dtype=np.float64)
        return rows, [f"x{j}" for j in range(rows.shape[1])]
    columns = {name: column_of(X, name) for name in column_names(X)}
    numbers = {name: values for name, values in columns.items() if values.dtype.kind == "f"}
    return np.column_stack([*numbers.values(), np.empty((len(X), 0))]), list(numbers)
