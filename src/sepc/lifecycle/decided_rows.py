"""Decisions on rows in memory, by any model that gives trust."""

from __future__ import annotations

from typing import Any

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import NO_REGIONS, Decisions
from sepc.estimators.base import decide_with_trust
from sepc.estimators.dask_scoring import is_lazy


def decide_in_memory(model: Any, X: Any) -> Decisions:
    """What a model decides of rows at hand."""
    if is_lazy(X):
        raise TypeError(
            "X is a Dask collection; sepc.lifecycle takes rows in memory. Give X.compute(), or one block after another."
        )
    return decide_with_trust(model, X, "wrap it in a TrustedClassifier")


def has_regions(decisions: Decisions) -> bool:
    """Whether the model that decided knows regions."""
    return not (decisions.region == NO_REGIONS).any()


def chosen_regions(decisions: Decisions, positions: IntArray) -> tuple[IntArray | None, FloatArray | None]:
    """The region of each chosen row, and its share among all rows; None if the model knows no regions."""
    if not has_regions(decisions):
        return None, None
    _, which, counts = np.unique(decisions.region, return_inverse=True, return_counts=True)
    return decisions.region[positions], (counts / len(which))[which][positions]
