"""The partition behind decisions, and the names of its regions."""

from __future__ import annotations

from typing import Any

from sepc.columns.preparation import Preparation
from sepc.decisions.decisions import Decisions
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import region_layers
from sepc.model.names import ellipsoid_name, region_name
from sepc.model.sep_model import SEPModel
from sepc.wording import name_of, short, visible

# Longer names of regions are cut.
LONGEST_REGION = 120


def gives_labels(decisions: Decisions) -> bool:
    """Whether labels come from the partition alone, not from another model or from repaired regions."""
    while isinstance(decisions, SelectiveDecisions):
        decisions = decisions.inner
    return isinstance(decisions, SEPDecisions)


def named_ellipsoid(model: SEPModel, k: int) -> str:
    """An ellipsoid and its class in words, as every part of a report names it."""
    return short(visible(f"{name_of(model.classes[model.owners[k]])}: {ellipsoid_name(model, k)}"), LONGEST_REGION)


def named_region(model: SEPModel, region: int) -> str:
    """A region in words, as every part of a report names it."""
    return short(visible(region_name(model, region)), LONGEST_REGION)


def category_positions(preparation: Preparation | None) -> tuple[int, ...]:
    """Positions of the features that stand for categories."""
    if preparation is None:
        return ()
    return tuple(j for j, (column, _) in enumerate(preparation.features) if column in preparation.categories)


def partition_preparation(estimator: Any) -> Preparation | None:
    """How columns of a table are encoded for the partition of a fitted model; None if it takes numbers only."""
    *_, layer = region_layers(estimator)
    return getattr(layer.classifier, "encoding_", None)
