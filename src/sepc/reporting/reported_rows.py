"""Single rows that a person should see: accepted ones that are wrong, and those to review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.decisions.decisions import Decisions
from sepc.decisions.frames import index_of
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import unwrap
from sepc.plain_values import plain
from sepc.reporting.partitions import columns_behind, gives_labels, named_region, partition_preparation
from sepc.reporting.what_counts import largest_terms
from sepc.views.outcomes import rows_to_review
from sepc.views.planes import most_separating_features
from sepc.wording import name_of, short, visible

N_REVIEW = 30
N_WRONG = 30
# Features whose values are shown.
N_VALUES = 4
# Longer reasons are cut.
LONGEST_TEXT = 800


@dataclass(frozen=True)
class ReportedRow:
    """A row, its decision and the reason.

    Attributes
    ----------
    position : int
        Its position among the held-out rows.
    row : str
        Its index in the table, or else its position.
    label : str
    true_label, right : str and bool, or None
        None without true labels.
    trust : float
    cause : str
    why : str
    region : int or None
        Where it lies; None without regions.
    region_name : str
    values : tuple of (feature, value)
        Values of the features that matter most, in text; empty if it is not known which do.
    runner_up : str or None
        The second most likely label; None if the model gives no probabilities, or has one class.
    runner_up_trust : float or None
        The probability of that label.
    terms : tuple of (name, log-odds)
        With weights, what counts most for the label against the runner-up.
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
    values: tuple[tuple[str, str], ...] = ()
    runner_up: str | None = None
    runner_up_trust: float | None = None
    terms: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class RowReporter:
    """Describes single rows of a table that was decided on."""

    estimator: Any
    decisions: Decisions
    partition: SEPDecisions | None
    X: Any
    y: NDArray[Any] | None
    right: BoolArray | None

    def accepted_but_wrong(self) -> tuple[ReportedRow, ...]:
        """Rows that were accepted with a wrong label, the most trusted first."""
        if self.right is None:
            return ()
        wrong = np.flatnonzero(np.asarray(self.decisions.accepted) & ~self.right)
        return self._described(wrong[np.argsort(-self.decisions.trust[wrong], kind="stable")][:N_WRONG])

    def to_review(self) -> tuple[ReportedRow, ...]:
        """Rows that were not accepted, the least trusted first."""
        return self._described(rows_to_review(self.decisions, N_REVIEW))

    def _described(self, positions: IntArray) -> tuple[ReportedRow, ...]:
        features: Mapping[str, int] = {}
        if self.partition is not None and len(positions):
            columns = columns_behind(self.partition.model, partition_preparation(self.estimator))
            features = telling_features(self.partition, positions, columns)
        terms = self._terms(positions)
        return tuple(self._one(i, features, own) for i, own in zip(positions.tolist(), terms, strict=True))

    def _terms(self, positions: IntArray) -> list[tuple[tuple[str, float], ...]]:
        """For each row, what counts most for its label, if the labels come from weights."""
        partition = self.partition
        if partition is None or partition.model.weights is None or not gives_labels(self.decisions):
            return [()] * len(positions)
        return [largest_terms(terms) for terms in partition[positions].terms()]

    def _one(self, i: int, features: Mapping[str, int], terms: tuple[tuple[str, float], ...]) -> ReportedRow:
        decision, index, partition = self.decisions[i], index_of(self.X), self.partition
        runner_up, its_trust = _second(self.decisions, i)
        return ReportedRow(
            position=i,
            row=name_of(i if index is None else index[i]),
            label=name_of(decision.label),
            true_label=None if self.y is None else name_of(self.y[i]),
            right=None if self.right is None else bool(self.right[i]),
            trust=float(decision.trust),
            cause=decision.cause.name,
            why=short(visible(decision.why()), LONGEST_TEXT),
            region=None if partition is None else int(partition.region[i]),
            region_name="" if partition is None else named_region(partition.model, int(partition.region[i])),
            values=tuple((name_of(name), _shown(self._value(i, name, j))) for name, j in features.items()),
            runner_up=runner_up,
            runner_up_trust=its_trust,
            terms=terms,
        )

    def _value(self, i: int, column: str, feature: int) -> Any:
        """The value of a column as it came in; if the table lacks the column, that of the feature."""
        if column in getattr(self.X, "columns", ()):
            values = self.X[column]
            return values.iloc[i] if hasattr(values, "iloc") else values[i]
        if not hasattr(self.X, "columns") and not unwrap(self.estimator).before:
            return plain(np.asarray(self.X[i]))[feature]
        return None if self.partition is None else float(self.partition.features[i, feature])


def telling_features(partition: SEPDecisions, positions: IntArray, columns: Sequence[str]) -> dict[str, int]:
    """The columns that matter most for some rows, at most `N_VALUES`, each with the position of its first feature.

    With weights, those with the largest terms on these rows; else those that separate the ellipsoids best.
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


def _second(decisions: Decisions, i: int) -> tuple[str | None, float | None]:
    """The second most likely label and its probability, if there is one."""
    probabilities = decisions.probabilities[i]
    others = [k for k, label in enumerate(decisions.classes.tolist()) if label != plain(decisions.label[i])]
    if not others or np.isnan(probabilities).any():
        return None, None
    best = max(others, key=lambda k: probabilities[k])
    return name_of(decisions.classes[best]), float(probabilities[best])


def _shown(value: Any) -> str:
    """A value of a table as short text; numbers to four digits, or whole."""
    value = plain(value)
    if value is None or value != value:
        return "missing"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return short(visible(str(value)), 40)
    if value == round(value) and abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:,.4g}" if 1e-4 <= abs(value) < 1e4 else f"{value:.4g}"
