"""A model that many sites use, their rows, and a classifier whose trust is given."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from zoo import fitted_once

from sepc import SEPClassifier


@fitted_once
def shared_model():
    X, y = rows(0)
    return SEPClassifier().fit(X[:800], y[:800])


def rows(seed):
    X, y = make_classification(
        6000, n_features=5, n_informative=5, n_redundant=0, class_sep=1.2, flip_y=0.02, random_state=3
    )
    order = np.random.default_rng(seed).permutation(np.arange(800, 6000))
    chosen = np.concatenate([np.arange(800), order])
    return X[chosen], y[chosen]


class GivenTrust(ClassifierMixin, BaseEstimator):
    """Always says 1, with the first feature as its probability."""

    def __init__(self):
        self.classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=int)

    def predict_proba(self, X):
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])
