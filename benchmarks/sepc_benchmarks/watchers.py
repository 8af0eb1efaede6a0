"""The monitors that `monitor.py` compares: Monitor, two tests of MAPIE, KS tests, Wasserstein distances and ADWIN."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from mapie.classification import SplitConformalClassifier
from mapie.exchangeability_testing import OnlineMartingaleTest, RiskMonitoring
from numpy.typing import NDArray
from scipy.stats import ks_2samp, wasserstein_distance

from sepc.lifecycle import Monitor
from sepc_benchmarks.adaptive_window import AdaptiveWindow
from sepc_benchmarks.planted_drift import Labels, Population, Rows

CONFIDENCE = 0.95

METHODS = {
    "Monitor": "monitor_with_labels",
    "Monitor without labels": "monitor_without",
    "MAPIE RiskMonitoring": "mapie_risk",
    "MAPIE martingale": "mapie_martingale",
    "KS per feature": "ks",
}
# More for slow drift, where longer windows help. The last two have no bound on false alarms over a stream.
SLOW_METHODS = METHODS | {
    "KS per feature, last 5,000 rows": "ks_of_latest",
    "Wasserstein above 0.1, last 5,000 rows": "wasserstein",
    "ADWIN per feature": "adwin",
}
# Rows in the longer window; the distance, in deviations, that Evidently calls a drift.
LATEST, FAR = 5_000, 0.1


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
        self.n_batches, self.n_looks = 0, 0
        self.latest: dict[str, Rows] = {}
        self.window = AdaptiveWindow(self.X)

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
        self.n_batches += 1
        return self._differs(X, self.n_batches)

    def _ks_of_latest(self, X: Rows, y: Labels) -> bool:
        self.n_looks += 1
        return self._differs(self._with_latest("ks", X), self.n_looks)

    def _differs(self, X: Rows, look: int) -> bool:
        """KS tests of each feature; the level is spent over looks and features."""
        level = (1.0 - CONFIDENCE) / (look * (look + 1) * X.shape[1])
        return any(ks_2samp(X[:, j], self.X[:, j]).pvalue <= level for j in range(X.shape[1]))

    def _with_latest(self, method: str, X: Rows) -> Rows:
        """The last 5,000 rows of the stream, these included."""
        self.latest[method] = np.concatenate([self.latest.get(method, X[:0]), X])[-LATEST:]
        return self.latest[method]

    def _wasserstein(self, X: Rows, y: Labels) -> bool:
        X, scale = self._with_latest("wasserstein", X), np.maximum(self.X.std(axis=0), 1e-12)
        return any(wasserstein_distance(X[:, j], self.X[:, j]) > FAR * scale[j] for j in range(X.shape[1]))

    def _adwin(self, X: Rows, y: Labels) -> bool:
        return self.window.update(X)
