"""Decisions on rows in memory, and the regions that the rows lie in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import NO_REGIONS, Decisions
from sepc.estimators.base import decide_with_trust
from sepc.estimators.dask_scoring import is_lazy
from sepc.estimators.partition_behind import partition_behind
from sepc.estimators.unwrapping import Unwrapped, region_layers
from sepc.model.names import region_name
from sepc.model.sep_model import SEPModel


def decide_in_memory(model: Any, X: Any) -> Decisions:
    """Decide on rows in memory, with any model that gives trust."""
    if is_lazy(X):
        raise TypeError(
            "X is a Dask collection; sepc.lifecycle needs rows in memory. Give X.compute(), or one block at a time."
        )
    return decide_with_trust(model, X, "wrap it in a TrustedClassifier")


def has_regions(decisions: Decisions) -> bool:
    """Whether the model behind the decisions has regions."""
    return not (decisions.region == NO_REGIONS).any()


@dataclass(frozen=True, eq=False)
class RowRegions:
    """The regions of some rows: their numbers, the share of all rows in each, and where each lies, in words."""

    number: IntArray
    share: FloatArray
    where: NDArray[Any]

    @classmethod
    def of(cls, number: IntArray, share: FloatArray, model: SEPModel) -> RowRegions:
        """Regions of a model, described in terms of its features."""
        regions, which = np.unique(number, return_inverse=True)
        words = np.array([region_name(model, int(region)) for region in regions], dtype=object)
        return cls(number, share, words[which])


def chosen_regions(decisions: Decisions, positions: IntArray) -> RowRegions | None:
    """The regions of chosen rows; None if the model has no regions."""
    partition = partition_behind(decisions)
    if partition is None:
        return None
    _, which, counts = np.unique(decisions.region, return_inverse=True, return_counts=True)
    share = (counts / max(len(which), 1))[which][positions]
    return RowRegions.of(decisions.region[positions], share, partition.model)


def feature_names(decisions: Decisions) -> tuple[str, ...]:
    """The features of the model that defines the regions, named as in the table; empty if there are no regions."""
    partition = partition_behind(decisions)
    return () if partition is None else partition.model.feature_names


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Decisions on rows, with the region of each row and its features in the model that defines the regions.

    Features have the names of the table, also through the steps of a pipeline where these can be traced.
    """

    decisions: Decisions
    region: IntArray
    features: FloatArray
    names: tuple[str, ...]


def locate(estimator: Any, X: Any) -> LocatedRows:
    """Decide on rows, and locate them in the partition behind the decisions."""
    decisions = decide_in_memory(estimator, X)
    partition = partition_behind(decisions)
    assert partition is not None  # `sep_models` refuses all others.
    return LocatedRows(decisions, decisions.region, partition.features, partition.model.feature_names)


def sep_models(estimator: Any) -> list[SEPModel]:
    """The model that defines the regions inside an estimator, followed by those of repaired regions.

    The training summary of the first one, and so its names, are in the features that went into a pipeline.
    """
    check_is_fitted(estimator)
    around = list(region_layers(estimator))
    model = getattr(around[-1].classifier, "model_", None)
    if not isinstance(model, SEPModel):
        kind = type(estimator).__name__
        raise TypeError(
            f"Monitor watches the regions of a fitted SEPClassifier, alone or in a wrapper; {kind} has none."
        )
    repaired = [one for layer in around for one in getattr(layer.classifier, "repaired_", {}).values()]
    return [_in_own_units(model, around), *(classifier.model_ for classifier in repaired)]


def _in_own_units(model: SEPModel, around: Sequence[Unwrapped]) -> SEPModel:
    """The model with its training summary in the features that went into the pipelines around it."""
    usual = model.usual
    for layer in reversed([layer for layer in around if layer.before]):
        usual = None if usual is None else usual.with_restore(layer.restore)
    return replace(model, usual=usual)
