"""Single rows that a person should see: accepted ones that are wrong, and those to review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.columns.table import column_names, exact_column_of, is_table
from sepc.decisions.decisions import Decisions
from sepc.decisions.frames import index_of
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.plain_values import plain
from sepc.reporting.partitions import gives_labels
from sepc.reporting.what_counts import largest_terms
from sepc.views.outcomes import rows_to_review
from sepc.views.planes import most_separating_features
from sepc.wording import name_of, quantity, short, visible

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
    """A row, its decision and the reason.

    Attributes
    ----------
    position : int
        Its position among the held-out rows.
    row : str
        Its id, or else its index in the table, or else its position.
    label : str
    true_label, right : str and bool, or None
        None without true labels.
    trust : float
    cause : str
    why : str
    region : int or None
        The number of the row's region; None without regions.
    region_name : str
    values : tuple of (feature, value)
        Values of the most important features, as text; empty without a partition.
    runner_up : str or None
        The second most likely label; None if the model gives no probabilities, or has one class.
    runner_up_trust : float or None
        The probability of that label.
    terms : tuple of (name, log-odds)
        With weights, the largest terms of the label against the runner-up.
    groups : tuple of (column, value)
        The row's group in each column that results are broken down by.
    """

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
        if partition is None or partition.model.weights is None or not gives_labels(self.decisions):
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
    """The most important columns for some rows, at most `N_VALUES`, each with the position of its first feature.

    With weights, they have the largest terms on these rows; otherwise they separate the ellipsoids best.
    """
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
