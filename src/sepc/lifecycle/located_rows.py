"""Where the rows of any estimator with regions lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.opened import opened
from sepc.estimators.repaired.decisions import RepairedDecisions
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.trusted.decisions import TrustedDecisions
from sepc.estimators.trusted.estimator import TrustedClassifier
from sepc.lifecycle.decided_rows import decide_in_memory
from sepc.model.sep_model import SEPModel


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Decisions on rows, with the region of each row and its features as the regions' model sees them."""

    decisions: Decisions
    region: IntArray
    features: FloatArray


def placed(estimator: Any, X: Any) -> LocatedRows:
    """Decide on rows, and find where they lie in the partition behind the decisions."""
    decisions = decide_in_memory(estimator, X)
    return LocatedRows(decisions, decisions.region, _partition_of(decisions).rows)


def _partition_of(decisions: Decisions) -> SEPDecisions:
    """The decisions of the partition that the regions are of."""
    match decisions:
        case SelectiveDecisions():
            return _partition_of(decisions.inner)
        case TrustedDecisions():
            return decisions.partition
        case RepairedDecisions():
            return decisions.parts.outer
    assert isinstance(decisions, SEPDecisions)  # `sep_models` has refused all others.
    return decisions


def sep_models(estimator: Any) -> list[SEPModel]:
    """The model of the regions inside an estimator, and those that repairs gave to some of them."""
    check_is_fitted(estimator)
    found, repaired = estimator, _no_repairs()
    while (found := opened(found).classifier) is not None and not isinstance(getattr(found, "model_", None), SEPModel):
        repaired = getattr(found, "repaired_", repaired)
        found = found.partition_ if isinstance(found, TrustedClassifier) else getattr(found, "estimator_", None)
    if found is None:
        kind = type(estimator).__name__
        raise TypeError(
            f"Monitor watches the regions of a fitted SEPClassifier, alone or in a wrapper; {kind} has none."
        )
    return [found.model_, *(one.model_ for one in repaired.values())]


def _no_repairs() -> Mapping[int, Any]:
    return {}
