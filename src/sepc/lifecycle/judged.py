"""What a model says of rows: labels, trust, and regions if it knows any."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.estimator.training import is_lazy
from sepc.selective._inner import inner_decisions


def decisions_in_memory(estimator: Any, X: Any) -> Any:
    """What `decide` says of rows at hand, also at the end of a pipeline; None if there is no `decide`."""
    if is_lazy(X):
        raise TypeError(
            "X is a Dask collection; sepc.lifecycle takes rows in memory. Give X.compute(), or one block after another."
        )
    return inner_decisions(estimator, X)


def judged(model: Any, X: Any) -> tuple[NDArray[Any], FloatArray, Any]:
    """Labels, trust, and the model's own decisions if it makes any."""
    inner = decisions_in_memory(model, X)
    if inner is not None:
        return np.asarray(inner.label), np.asarray(inner.trust, dtype=np.float64), inner
    if not hasattr(model, "predict_proba"):
        kind = type(model).__name__
        raise TypeError(f"{kind} has neither decide nor predict_proba; wrap it in a TrustedClassifier.")
    return np.asarray(model.predict(X)), np.max(model.predict_proba(X), axis=1), None


def with_regions(decisions: Any) -> Any:
    """The decisions, or those inside them, that know regions; None if none do."""
    while decisions is not None and not hasattr(decisions, "region"):
        decisions = getattr(decisions, "inner", None)
    return decisions


def regions_of(inner: Any, positions: IntArray) -> tuple[IntArray | None, FloatArray | None]:
    """The region of each chosen row, and its share among all rows."""
    found = with_regions(inner)
    if found is None:
        return None, None
    _, which, counts = np.unique(found.region, return_inverse=True, return_counts=True)
    return np.asarray(found.region)[positions], (counts / len(which))[which][positions]
