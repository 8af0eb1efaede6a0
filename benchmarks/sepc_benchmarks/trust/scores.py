"""Ways to say how far to trust the labels of one base model; all learn from the training rows alone.

The base model is fitted on all training rows, and five times more to see its probabilities of rows it has not seen.
These out-of-fold probabilities are what isotonic regression and temperature learn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.preprocessing import StandardScaler

from sepc_benchmarks.trust.jiang import JiangScore
from sepc_benchmarks.trust.learners import FOLDS_OF_LAYERS

OURS = "TrustedClassifier"
PEERS = ("raw", "isotonic", "temperature", "Jiang")
NOT_PROBABILITIES = ("Jiang",)
SMALLEST_PROBABILITY = 1e-6


@dataclass(frozen=True)
class Unseen:
    """What the base model says of training rows that it has not seen, and their true classes."""

    probabilities: NDArray[np.float64]
    y: NDArray[np.int64]

    @classmethod
    def of(cls, base: Any, X: NDArray[np.float64], y: NDArray[np.int64]) -> Unseen:
        """Cross-fit the base model."""
        probabilities = np.zeros((len(y), int(y.max()) + 1))
        for train, test in FOLDS_OF_LAYERS.split(X, y):
            probabilities[test] = clone(base).fit(X[train], y[train]).predict_proba(X[test])
        return cls(probabilities, y)


def all_scores(
    base: Any, X: NDArray[np.float64], y: NDArray[np.int64], X_new: NDArray[np.float64]
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """The base model's labels of new rows, and the trust in them of each score but ours."""
    unseen = Unseen.of(base, X, y)
    probabilities = clone(base).fit(X, y).predict_proba(X_new)
    label = probabilities.argmax(axis=1)
    scaler = StandardScaler().fit(X)
    return label, {
        "raw": probabilities.max(axis=1),
        "isotonic": isotonic(unseen, probabilities),
        "temperature": temperature(unseen, probabilities),
        "Jiang": JiangScore().fit(scaler.transform(X), y).score(scaler.transform(X_new), label),
    }


def isotonic(unseen: Unseen, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of right labels as an increasing function of the largest probability."""
    correct = unseen.probabilities.argmax(axis=1) == unseen.y
    learnt = IsotonicRegression(out_of_bounds="clip").fit(unseen.probabilities.max(axis=1), correct)
    return learnt.predict(probabilities.max(axis=1))


def temperature(unseen: Unseen, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest probability after all logarithms are divided by the one number that suits the unseen rows best."""
    rows, logs = np.arange(len(unseen.y)), _logs(unseen.probabilities)

    def loss(log_temperature: float) -> float:
        return -float(log_softmax(logs / np.exp(log_temperature), axis=1)[rows, unseen.y].mean())

    found = minimize_scalar(loss, bounds=(-3, 3), method="bounded")
    return softmax(_logs(probabilities) / np.exp(found.x), axis=1).max(axis=1)


def _logs(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(np.maximum(probabilities, SMALLEST_PROBABILITY))
