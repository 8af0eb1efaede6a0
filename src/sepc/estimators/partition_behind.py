"""The partition behind the decisions of any estimator."""

from __future__ import annotations

from sepc.decisions.decisions import Decisions
from sepc.estimators.repaired import RepairedDecisions
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.trusted_decisions import TrustedDecisions


def partition_behind(decisions: Decisions) -> SEPDecisions | None:
    """The decisions of the one partition that defines the regions; None if there is none, or several."""
    match decisions:
        case SelectiveDecisions():
            return partition_behind(decisions.inner)
        case RepairedDecisions():
            return partition_behind(decisions.parts.outer)
        case TrustedDecisions():
            return decisions.partition
        case SEPDecisions():
            return decisions
    return None
