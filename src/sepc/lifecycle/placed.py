"""Where the rows of any estimator with regions lie, and its decisions once some regions have drifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.lifecycle.judged import decisions_in_memory, with_regions
from sepc.regions.kinds import Cause
from sepc.regions.model import SEPModel
from sepc.selective._repaired_decisions import RepairedParts
from sepc.selective.trusted import TrustedClassifier


@dataclass(frozen=True, eq=False)
class Placed:
    """Decisions on rows, with the region of each row and its features as the regions' model sees them."""

    decisions: Any
    region: IntArray
    features: FloatArray


def placed(estimator: Any, X: Any) -> Placed:
    """Decide on rows, and find the regions in the decisions or in those inside them."""
    decisions = decisions_in_memory(estimator, X)
    inner = with_regions(decisions)
    own = inner.model.outer if isinstance(inner.model, RepairedParts) else inner
    return Placed(decisions, np.asarray(inner.region), np.asarray(own.rows, dtype=np.float64))


def sep_models(estimator: Any) -> list[SEPModel]:
    """The model of the regions inside an estimator, and those that repairs gave to some of them."""
    check_is_fitted(estimator)
    found, repaired = estimator, _no_repairs()
    while found is not None and not isinstance(getattr(found, "model_", None), SEPModel):
        repaired = getattr(found, "repaired_", repaired)
        if isinstance(found, Pipeline):
            found = found[-1]
        elif isinstance(found, TrustedClassifier):
            found = found.partition_
        else:
            found = found.estimator if isinstance(found, FrozenEstimator) else getattr(found, "estimator_", None)
    if found is None:
        kind = type(estimator).__name__
        raise TypeError(
            f"Monitor watches the regions of a fitted SEPClassifier, alone or in a wrapper; {kind} has none."
        )
    return [found.model_, *(one.model_ for one in repaired.values())]


def _no_repairs() -> Mapping[int, Any]:
    return {}


def drifted(decisions: Any, rows: BoolArray) -> Any:
    """The decisions with these rows not accepted and DRIFTED, here and in the decisions inside."""
    names = {one.name for one in fields(decisions)}
    changed: dict[str, Any] = {"accepted": decisions.accepted & ~rows}
    if "cause" in names:
        changed["cause"] = np.where(rows, int(Cause.DRIFTED), decisions.cause)
    if "inner" in names:
        changed["inner"] = drifted(decisions.inner, rows)
    if "model" in names and isinstance(decisions.model, RepairedParts):
        changed["model"] = _drifted_parts(decisions.model, rows)
    return replace(decisions, **changed)


def _drifted_parts(parts: RepairedParts, rows: BoolArray) -> RepairedParts:
    """The same in the decisions that reasons are taken from."""
    inner = {region: drifted(own, rows[parts.outer.region == region]) for region, own in parts.inner.items()}
    return replace(parts, outer=drifted(parts.outer, rows), inner=inner)
