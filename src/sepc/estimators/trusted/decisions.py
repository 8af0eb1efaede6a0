"""Decisions of a `TrustedClassifier`: another model's labels, and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.decisions.decisions import Decisions, positions_of, probability_of
from sepc.decisions.deferred import defer
from sepc.decisions.row_wise import SHARED, replace_columns
from sepc.decisions.sentences import Reason, Sentence
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.reasons import SEPReasons, about_edits, edited_mark
from sepc.estimators.trusted.trust_model import TrustModel
from sepc.wording import decimal, percent, shown


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrustedDecisions(Decisions):
    """Decisions of a `TrustedClassifier`, as arrays with one entry per row.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`. Labels and probabilities are the other model's; a region is a position in the partition's
        `regions_`.
    base_trust : array of float
        The other model's own probability of its label; NaN if it gives none.
    partition : SEPDecisions
        The decisions of the partition alone.
    """

    model: TrustModel = field(metadata=SHARED)
    base_trust: FloatArray
    partition: SEPDecisions

    @classmethod
    def of(cls, model: TrustModel, base: Decisions, partition: SEPDecisions, min_trust: float) -> Self:
        """Combine the base model's decisions with those of the partition."""
        trust = model.trust(base, partition)
        accepted = trust >= min_trust
        return cls(
            classes=base.classes,
            label=base.label,
            trust=trust,
            accepted=accepted,
            cause=defer(partial(model.causes, min_trust), partition, accepted),
            probabilities=base.probabilities,
            region=partition.region,
            by="TrustedClassifier",
            model=model,
            base_trust=base.trust,
            partition=partition,
        )

    @property
    def rows(self) -> FloatArray:
        """The rows, in the features of the partition."""
        return self.partition.rows

    @property
    def gauge(self) -> FloatArray:
        """How far out the row lies in the partition, as in `SEPDecisions`."""
        return self.partition.gauge

    @cached_property
    def support(self) -> FloatArray:
        """The partition's probability of the label."""
        return probability_of(self.partition.probabilities, positions_of(self.label, self.partition.classes))

    @cached_property
    def agreement(self) -> BoolArray:
        """Whether the partition gives the same label."""
        return np.asarray(self.partition.label == self.label)

    def _with_feature_names(self, features: Sequence[str], restore: Any = None) -> Self:
        """The same decisions, with these feature names in their reasons, and values converted by `restore`."""
        return replace_columns(self, partition=self.partition._with_feature_names(features, restore))

    def _extra_columns(self) -> dict[str, Any]:
        """Columns that are specific to this class of decisions."""
        return {name: getattr(self, name) for name in ("base_trust", "support", "agreement", "gauge")}

    def _reasons(self) -> list[Reason]:
        """The reasons for every decision, without the verdicts.

        They explain the trust; why the other model chose its label is not known.
        """
        # The partition describes the row with this cause, although its own may be different.
        partition = SEPReasons(replace_columns(self.partition, cause=np.asarray(self.cause)))
        return [self._reason(i, partition) for i in range(len(self))]

    def _reason(self, i: int, partition: SEPReasons) -> Reason:
        head = f"{shown(self.label[i])} by {self.model.base} with trust {decimal(self.trust[i])}"
        head += edited_mark(self.partition.model)
        sure = "" if np.isnan(self.base_trust[i]) else f" (itself {percent(self.base_trust[i])} sure)"
        opinion = self._opinion_of_the_partition(i)
        sentences = (
            partition.place_sentence(i, head, sure),
            Sentence(opinion),
            *partition.about_gaps(i),
            *partition.about_features(i, by=self.model.base),
            *about_edits(self.partition.model),
        )
        return Reason(sentences, f"{head}. {opinion}")

    def _opinion_of_the_partition(self, i: int) -> str:
        if self.agreement[i]:
            return f"The nearest cases agree ({percent(self.support[i])})."
        opinion = f"{shown(self.partition.label[i])} ({percent(self.partition.trust[i])})"
        return f"The nearest cases suggest {opinion} instead."
