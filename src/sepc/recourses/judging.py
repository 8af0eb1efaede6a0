"""Query a model about rows in the model's features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.base import decide_rows
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.unwrapping import unwrap
from sepc.model.membership import squared_radii
from sepc.model.rules import weigh_and_locate
from sepc.model.sep_model import SEPModel
from sepc.model.trust import most_likely
from sepc.recourses.tables import Tables
from sepc.recourses.targets import Judgements


@dataclass(frozen=True, eq=False)
class Deciding:
    """Queries a model about rows in the model's features.

    Attributes
    ----------
    model : fitted classifier
    label : object
        The target label.
    min_trust : float or None
        The trust required; None for that at which the model accepts.
    tables : Tables
    """

    model: Any
    label: Any
    min_trust: float | None
    tables: Tables

    def judge(self, rows: FloatArray) -> Judgements:
        """How likely the label is for each row, whether the row passes, and which ellipsoids it lies in.

        A row passes if it gets this label and is accepted (or reaches `min_trust`).
        """
        if self.least_probability is not None:
            return self._judge_by_weights(unwrap(self.model).classifier.model_, self.least_probability, rows)
        decisions = self.decide(rows)
        chance = decisions.probabilities[:, _position(decisions.classes, self.label)]
        is_trusted = decisions.accepted if self.min_trust is None else decisions.trust >= self.min_trust
        model = self.tables.limits.model
        inside = squared_radii(model.place(rows), model.centers, model.roots) <= 1.0 + model.slack
        return Judgements.of(chance, np.asarray(decisions.label == self.label) & is_trusted, inside)

    @property
    def least_probability(self) -> float | None:
        """The probability that the label needs; None if something else than the weights of a partition decides."""
        partition = unwrap(self.model).classifier
        if not isinstance(partition, SEPClassifier) or partition.model_.weights is None:
            return None
        return float(partition.min_trust if self.min_trust is None else self.min_trust)

    def decide(self, rows: FloatArray) -> Decisions:
        """Decisions on rows: directly from the partition if it decides alone, otherwise on rows of the table."""
        classifier = unwrap(self.model).classifier
        if isinstance(classifier, SEPClassifier):
            return SEPDecisions.of(classifier.model_, rows, classifier.min_trust)
        if isinstance(classifier, SelectiveClassifier):
            inner = unwrap(classifier.estimator_).classifier
            if isinstance(inner, SEPClassifier) and classifier.groups_ is None:
                return classifier.covered(SEPDecisions.of(inner.model_, rows, inner.min_trust))
        return decide_rows(self.model, self.tables.of(rows))

    def _judge_by_weights(self, model: SEPModel, least: float, rows: FloatArray) -> Judgements:
        """The same result as through `decide`, without computing what is not needed here."""
        probabilities, inside = weigh_and_locate(model, rows)
        owner = _position(model.classes, self.label)
        is_label = most_likely(probabilities, model.shares) == owner
        return Judgements.of(probabilities[:, owner], is_label & (probabilities[:, owner] >= least), inside)


def _position(classes: NDArray[Any], label: Any) -> int:
    return int(np.flatnonzero(classes == label)[0])
