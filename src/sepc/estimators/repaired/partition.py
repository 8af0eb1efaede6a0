"""The partition behind a classifier with regions: an `SEPClassifier` itself, or that of a `TrustedClassifier`."""

from __future__ import annotations

from typing import TypeAlias

from sepc.decisions.decisions import Decisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted.decisions import TrustedDecisions
from sepc.estimators.trusted.estimator import TrustedClassifier

HasRegions: TypeAlias = SEPClassifier | TrustedClassifier


def partition_of(fitted: HasRegions) -> SEPClassifier:
    """The fitted `SEPClassifier` whose regions these are."""
    return fitted.partition_ if isinstance(fitted, TrustedClassifier) else fitted


def partition_decisions(decisions: Decisions) -> SEPDecisions:
    """The decisions of the partition alone."""
    if isinstance(decisions, TrustedDecisions):
        return decisions.partition
    assert isinstance(decisions, SEPDecisions)
    return decisions
