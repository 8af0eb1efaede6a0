"""The monitors that `monitor.py` compares: Monitor, two tests of MAPIE, and KS tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from mapie.classification import SplitConformalClassifier
from mapie.exchangeability_testing import OnlineMartingaleTest, RiskMonitoring
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from sepc.lifecycle import Monitor
from sepc_benchmarks.planted_drift import Labels, Population, Rows

CONFIDENCE = 0.95

METHODS = {
    "Monitor": "monitor_with_labels",
    "Monitor without labels": "monitor_without",
    "MAPIE RiskMonitoring": "mapie_risk",
    "MAPIE martingale": "mapie_martingale",
    "KS per feature": "ks",
}


class Watchers:
    """Everything that watches one stream; each tells after a batch whether it has raised an alarm."""

    def __init__(self, whole: Population, rows: NDArray[np.int64]) -> None:
        self.model, self.X, self.y = whole.model, whole.X[rows], whole.y[rows]
        self.with_labels = Monitor(whole.model, self.X, self.y, confidence=CONFIDENCE)
        self.without = Monitor(whole.model, self.X, confidence=CONFIDENCE)
        self.risk = RiskMonitoring(risk="accuracy", test_level=1.0 - CONFIDENCE, tolerance=0.0, warn=False)
        self.codes = {label: i for i, label in enumerate(whole.model.classes_)}
        self.risk.compute_threshold(self._coded(self.y), self._coded(self.model.predict(self.X)))
        conformal = SplitConformalClassifier(self.model, prefit=True)
        self.martingale = OnlineMartingaleTest(conformal, task="classification", warn=False, random_state=0)
        self.scores = np.empty(0)
        self._mapie_martingale(self.X, self.y)
        self.n_batches = 0

    def _coded(self, labels: Labels) -> NDArray[np.int64]:
        return np.array([self.codes[label] for label in labels])

    def first_alarm(self, method: str, batches: Sequence[tuple[Rows, Labels]]) -> int | None:
        """The batch after which a method raised its first alarm."""
        if method == "mapie_risk":
            return self._first_of_risk(batches)
        told: Callable[[Rows, Labels], bool] = getattr(self, "_" + method)
        return next((i for i, (X, y) in enumerate(batches) if told(X, y)), None)

    def _monitor_with_labels(self, X: Rows, y: Labels) -> bool:
        return bool(self.with_labels.update(X, y))

    def _monitor_without(self, X: Rows, y: Labels) -> bool:
        return bool(self.without.update(X))

    def _first_of_risk(self, batches: Sequence[tuple[Rows, Labels]]) -> int | None:
        """All rows at once, since each update computes all bounds anew; the bounds are of each row."""
        X, y = np.concatenate([X for X, _ in batches]), np.concatenate([y for _, y in batches])
        self.risk.update(self._coded(y), self._coded(self.model.predict(X)))
        above = np.flatnonzero(self.risk.online_risk_lower_bound_sequence_history > self.risk.threshold)
        return int(above[0]) // len(batches[0][0]) if len(above) else None

    def _mapie_martingale(self, X: Rows, y: Labels) -> bool:
        """What its `update` does, which copies all scores for every row."""
        test, n_old, largest = self.martingale, len(self.scores), 0.0
        self.scores = np.append(self.scores, np.ravel(test._compute_non_conformity_scores(X, y)))
        for i in range(n_old, len(self.scores)):
            p_value = test.compute_p_value(self.scores[i], self.scores[:i])
            largest = max(largest, test.update_simple_jumper_martingale(p_value))
        return largest >= test.reject_threshold

    def _ks(self, X: Rows, y: Labels) -> bool:
        """KS tests of each feature; the level is spent over batches and features."""
        self.n_batches += 1
        level = (1.0 - CONFIDENCE) / (self.n_batches * (self.n_batches + 1) * X.shape[1])
        return any(ks_2samp(X[:, j], self.X[:, j]).pvalue <= level for j in range(X.shape[1]))
