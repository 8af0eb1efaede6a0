"""Single rows that a person should see, and results by the values of columns that the user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.columns.table import (
    as_typed,
    column_names,
    column_of,
    exact_column_of,
    is_gap,
    is_table,
    refuse_repeated,
    with_columns,
)
from sepc.decisions.decisions import Decisions, index_of, weighed_behind
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.reporting._held_out import Group, group_of
from sepc.reporting._model_figures import largest_terms
from sepc.views.outcomes import rows_to_review
from sepc.views.planes import most_separating_features
from sepc.wording import decimal, did_you_mean, name_of, plain, quantity, short, shown, visible

N_REVIEW = 100
N_WRONG = 100
# Features whose values are shown.
N_VALUES = 4
# Longer values and reasons are cut.
LONGEST_VALUE = 40
LONGEST_TEXT = 800

# Names with values: as text, or as numbers.
Texts: TypeAlias = tuple[tuple[str, str], ...]
Numbers: TypeAlias = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class ReportedRow:
    """A row, its decision and the reason."""

    position: int
    row: str
    label: str
    true_label: str | None
    right: bool | None
    trust: float
    cause: str
    why: str
    region: int | None = None
    region_name: str = ""
    values: Texts = ()
    runner_up: str | None = None
    runner_up_trust: float | None = None
    terms: Numbers = ()
    groups: Texts = ()

    @property
    def in_short(self) -> str:
        """The row and its decision in a line."""
        true = "" if self.true_label is None else f", true label {self.true_label}"
        where = f", {self.region_name}" if self.region_name else ""
        return f"row {self.row}: {self.label} with trust {decimal(self.trust)}{true}{where}"


@dataclass(frozen=True, eq=False)
class RowReporter:
    """Describes single rows of a table and their decisions."""

    estimator: Any
    decisions: Decisions
    partition: SEPDecisions | None
    X: Any
    y: NDArray[Any] | None
    right: BoolArray | None
    names: Mapping[int, str]
    ids: NDArray[Any] | None = None
    groups: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def accepted_but_wrong(self) -> tuple[ReportedRow, ...]:
        """Rows that were accepted with a wrong label, the most trusted first."""
        if self.right is None:
            return ()
        wrong = np.flatnonzero(np.asarray(self.decisions.accepted) & ~self.right)
        return self._describe_rows(wrong[np.argsort(-self.decisions.trust[wrong], kind="stable")][:N_WRONG])

    def to_review(self) -> tuple[ReportedRow, ...]:
        """Rows that were not accepted, the least trusted first."""
        return self._describe_rows(rows_to_review(self.decisions, N_REVIEW))

    def _describe_rows(self, positions: IntArray) -> tuple[ReportedRow, ...]:
        values, terms = self._values(positions), self._terms(positions)
        return tuple(map(self._describe_row, positions.tolist(), values, terms))

    def _values(self, positions: IntArray) -> list[Texts]:
        """For each row, the most important features, with their values in the user's table."""
        if self.partition is None or len(positions) == 0:
            return [()] * len(positions)
        model = self.partition.model
        columns = tuple(model.feature_names[j] for j in model.column_of)
        features = separating_features(self.partition, positions, columns)
        given = {str(name): name for name in column_names(self.X)} if is_table(self.X) else {}
        texts = []
        for column, j in features.items():
            values = exact_column_of(self.X, given[column]) if column in given else self._feature(j)
            texts.append([(name_of(column), _short_text(value)) for value in values[positions]])
        return list(zip(*texts, strict=True))

    def _feature(self, j: int) -> NDArray[Any]:
        """A feature as the partition sees it, with NaN where it is missing."""
        assert self.partition is not None
        return np.where(self.partition.missing[:, j], np.nan, self.partition.features[:, j])

    def _terms(self, positions: IntArray) -> list[Numbers]:
        """For each row, the largest terms of its label, if the labels come from weights."""
        partition = self.partition
        if partition is None or partition.model.weights is None or weighed_behind(self.decisions) is None:
            return [()] * len(positions)
        return [largest_terms(terms) for terms in partition[positions].terms()]

    def _describe_row(self, i: int, values: Texts, terms: Numbers) -> ReportedRow:
        decision, partition = self.decisions[i], self.partition
        index = index_of(self.X) if self.ids is None else self.ids
        runner_up, its_trust = _runner_up(self.decisions, i)
        return ReportedRow(
            position=i,
            row=name_of(i if index is None else _as_whole(index[i])),
            label=name_of(decision.label),
            true_label=None if self.y is None else name_of(self.y[i]),
            right=None if self.right is None else bool(self.right[i]),
            trust=float(decision.trust),
            cause=decision.cause.name,
            why=short(visible(decision.why()), LONGEST_TEXT),
            region=None if partition is None else int(partition.region[i]),
            region_name="" if partition is None else self.names[int(partition.region[i])],
            values=values,
            runner_up=runner_up,
            runner_up_trust=its_trust,
            terms=terms,
            groups=tuple((name, str(values[i])) for name, values in self.groups.items()),
        )


def separating_features(partition: SEPDecisions, positions: IntArray, columns: Sequence[str]) -> dict[str, int]:
    """The most important columns for some rows, at most `N_VALUES`, each with the position of its first feature."""
    model = partition.model
    if model.weights is not None and len(model.classes) > 1:
        order = np.argsort(-np.abs(partition[positions].terms().features).mean(axis=0), kind="stable")
    elif model.n_ellipsoids > 1:
        order = most_separating_features([model.ellipsoid(k) for k in range(model.n_ellipsoids)])
    else:
        order = np.arange(len(columns))
    chosen = list(dict.fromkeys(columns[j] for j in order.tolist()))[:N_VALUES]
    return {column: columns.index(column) for column in chosen}


def _runner_up(decisions: Decisions, i: int) -> tuple[str | None, float | None]:
    """The second most likely label and its probability, if there is one."""
    probabilities = decisions.probabilities[i]
    others = [k for k, label in enumerate(decisions.classes.tolist()) if label != plain(decisions.label[i])]
    if not others or np.isnan(probabilities).any():
        return None, None
    best = max(others, key=lambda k: probabilities[k])
    return name_of(decisions.classes[best]), float(probabilities[best])


def _as_whole(value: Any) -> Any:
    """A float that is a whole number as an int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _short_text(value: Any) -> str:
    """A value of a table as short text."""
    if value is None or value != value:
        return "missing"
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    if isinstance(value, float):
        return quantity(float(value))
    return short(visible(str(value)), LONGEST_VALUE)


# Numbers and dates with more values than this are cut into ranges of about as many rows each.
MOST_VALUES, N_RANGES = 12, 4
# For other columns, this many of the most frequent values are listed; the rest form one group.
MOST_GROUPS = 30

MISSING, OTHERS = "missing", "all other values"


@dataclass(frozen=True)
class ColumnResults:
    """Results by the values of a column."""

    column: str
    groups: tuple[Group, ...]


@dataclass(frozen=True, eq=False)
class Beside:
    """Columns that are not features: row ids, and columns to break results down by."""

    ids: NDArray[Any] | None
    columns: dict[str, NDArray[Any]]

    def groups_of(self) -> dict[str, NDArray[Any]]:
        """For each column, the name of each row's group."""
        return {name: group_names(values) for name, values in self.columns.items()}


def set_aside(estimator: Any, X: Any, id: Any, by: Any) -> tuple[Any, Beside]:  # noqa: A002 - the user's word for it
    """Split off the columns that are not features, and return the others first."""
    named = [id] if isinstance(id, str) else []
    columns: dict[str, NDArray[Any]] = {}
    if isinstance(by, Mapping):
        columns = {name_of(name): as_typed(np.asarray(values)) for name, values in by.items()}
    elif by is not None:
        names = [by] if isinstance(by, str) else list(by)
        columns = {name_of(name): column_of(X, _find_column(X, name)) for name in names}
        named += names
    ids = exact_column_of(X, _find_column(X, id)) if isinstance(id, str) else None if id is None else np.asarray(id)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    for what, values in (("id", ids), *columns.items()):
        if values is not None and len(values) != n_rows:
            raise ValueError(f"There are {n_rows:,} rows, but {len(values):,} values of {what}.")
    known = {str(name) for name in getattr(estimator, "feature_names_in_", ())}
    away = {str(name) for name in named} - known
    kept = [name for name in column_names(X) if str(name) not in away] if away else []
    return (with_columns(X, kept) if away else X), Beside(ids, columns)


def _find_column(X: Any, name: Any) -> Any:
    """The column of this name; raises if there is none."""
    names = column_names(X) if is_table(X) else []
    refuse_repeated(names, [name])
    for candidate in names:
        if str(candidate) == str(name):
            return candidate
    similar = did_you_mean([str(name)], map(str, names))
    raise ValueError(f"There is no column {shown(name)}.{similar}" if names else "Names of columns need a DataFrame.")


def group_names(values: NDArray[Any]) -> NDArray[Any]:
    """The name of each row's group, as an array of text: a value, or a range of numbers or dates."""
    if values.dtype.kind in "fM":
        gone = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
        if len(np.unique(values[~gone])) > MOST_VALUES:
            return _ranges(values, gone)
    return np.array([MISSING if is_gap(value) else _value_text(value) for value in values], dtype=object)


def _ranges(values: NDArray[Any], gone: BoolArray) -> NDArray[Any]:
    present = values[~gone]
    cuts = np.unique(np.quantile(present, np.arange(1, N_RANGES) / N_RANGES, method="lower"))
    place = np.searchsorted(cuts, values, side="left")
    names = np.full(len(values), MISSING, dtype=object)
    for k in range(len(cuts) + 1):
        inside = ~gone & (place == k)
        if inside.any():
            names[inside] = f"{_value_text(values[inside].min())} to {_value_text(values[inside].max())}"
    return names


def _value_text(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    return quantity(float(value)) if isinstance(value, float) else name_of(value)


def results_by(
    beside: Beside, groups: Mapping[str, NDArray[Any]], accepted: BoolArray, right: BoolArray | None
) -> tuple[ColumnResults, ...]:
    """The results of each group, for each column."""
    return tuple(results_of(name, names, beside.columns[name], accepted, right) for name, names in groups.items())


def results_of(
    column: str, names: NDArray[Any], values: NDArray[Any], accepted: BoolArray, right: BoolArray | None
) -> ColumnResults:
    """The results of each group of a column, given the name of each row's group."""
    ordered = _in_order(names, values)
    rest = ordered[MOST_GROUPS:]
    made = [group_of(name, names == name, accepted, right) for name in ordered[:MOST_GROUPS]]
    return ColumnResults(column, (*made, *([group_of(OTHERS, np.isin(names, rest), accepted, right)] if rest else [])))


def _in_order(names: NDArray[Any], values: NDArray[Any]) -> Sequence[str]:
    """Groups of numbers and dates in ascending order, others by size; missing values last."""
    each, first, counts = np.unique(names.astype(str), return_index=True, return_counts=True)
    by_value = values.dtype.kind in "fM"
    keys = [values[i] for i in first] if by_value else (-counts).tolist()
    order = sorted(range(len(each)), key=lambda k: (each[k] == MISSING, 0 if each[k] == MISSING else keys[k]))
    return [str(each[k]) for k in order]
