"""A `SelectiveClassifier` around a fitted classifier, from thresholds that were chosen elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from sepc.estimators.base import take_features
from sepc.estimators.selective._made_for import MadeFor
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.groups import Groups
from sepc.estimators.selective.thresholds import Control


def selective_from(
    fitted: Any,
    controls: Mapping[Any, Control],
    groups: Groups | None,
    *,
    max_risk: float | Mapping[Any, float],
    confidence: float,
    confidence_each: float,
    n_rows: int,
    sites: tuple[str, ...],
) -> SelectiveClassifier:
    """A classifier that accepts what these controls allow."""
    by = None if groups is None else (groups.by[0] if len(groups.by) == 1 else list(groups.by))
    selective = SelectiveClassifier(FrozenEstimator(fitted), max_risk, confidence, by=by)
    selective.check_parameters()
    selective.estimator_, selective.made_for_ = selective.estimator, MadeFor(selective.estimator)
    selective.classes_ = np.asarray(fitted.classes_)
    take_features(selective, fitted)
    selective.controls_, selective.groups_, selective.shift_ = dict(controls), groups, None
    selective.lost_promise_ = selective.errors_by_label_ = None
    selective.n_erased_ = 0
    selective.max_risk_, selective.confidence_ = max_risk, confidence
    selective.n_calibration_, selective.sites_ = n_rows, sites
    selective.coverage_ = min(1.0, sum(control.n_accepted for control in controls.values()) / max(n_rows, 1))
    several = isinstance(max_risk, Mapping) or groups is not None
    thresholds = {key: control.threshold for key, control in controls.items()}
    bounds = {key: control.risk_bound(confidence_each) for key, control in controls.items()}
    selective.threshold_ = thresholds if several else thresholds[None]
    selective.risk_bound_ = bounds if several else bounds[None]
    return selective
