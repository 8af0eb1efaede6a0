"""The peers of Track A, none of them tuned."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from hbbrain.numerical_data.ensemble_learner.random_hyperboxes import RandomHyperboxesClassifier
from hbbrain.numerical_data.incremental_learner.iol_gfmm import ImprovedOnlineGFMM
from interpret.glassbox import ExplainableBoostingClassifier
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

ROWS_PER_COMPONENT = 10


class GaussianMixtures(ClassifierMixin, BaseEstimator):
    """A Gaussian mixture for each class, and Bayes' rule; a class of few rows gets fewer components."""

    def __init__(self, n_components: int = 3, reg_covar: float = 0.01) -> None:
        self.n_components = n_components
        self.reg_covar = reg_covar

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Fit one mixture to the rows of each class."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_shares_ = np.log(counts / counts.sum())
        self.mixtures_ = [self._mixture(X[y == label]) for label in self.classes_]
        return self

    def _mixture(self, rows: NDArray[np.float64]) -> GaussianMixture:
        n_components = int(np.clip(len(rows) // ROWS_PER_COMPONENT, 1, self.n_components))
        return GaussianMixture(n_components, reg_covar=self.reg_covar, random_state=0).fit(rows)

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes."""
        densities = [mixture.score_samples(X) for mixture in self.mixtures_]
        return softmax(np.column_stack(densities) + self.log_shares_, axis=1)


class Hyperboxes(ClassifierMixin, BaseEstimator):
    """A learner of hyperbox-brain on rows scaled to the unit cube.

    Its labels are its own; its confidence is the largest of its class probabilities, which are shares of membership.
    """

    def __init__(self, theta: float = 0.1, n_estimators: int | None = None) -> None:
        self.theta = theta
        self.n_estimators = n_estimators

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Grow the boxes; of one net, or of many if `n_estimators` is given."""
        self.classes_ = np.unique(y)
        self.scaler_ = MinMaxScaler(clip=True).fit(X)
        self.boxes_ = ImprovedOnlineGFMM(theta=self.theta)
        if self.n_estimators is not None:
            self.boxes_ = RandomHyperboxesClassifier(self.boxes_, self.n_estimators, random_state=0)
        self.boxes_.fit(self.scaler_.transform(X), y)
        return self

    def label_and_trust(self, X: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The winning box's label, and the largest share of membership."""
        scaled = self.scaler_.transform(X)
        return np.asarray(self.boxes_.predict(scaled)), np.asarray(self.boxes_.predict_proba(scaled)).max(axis=1)


BOOSTING = {  # the extra `boosting`: learner, package, class, and what makes it silent on one thread
    "LightGBM": ("lightgbm", "LGBMClassifier", {"n_jobs": 1, "verbose": -1}),
    "XGBoost": ("xgboost", "XGBClassifier", {"n_jobs": 1}),
    "CatBoost": ("catboost", "CatBoostClassifier", {"thread_count": 1, "verbose": False, "allow_writing_files": False}),
}


def boosting() -> dict[str, Any]:
    """Those of the boosting libraries that are installed, with their defaults; a line for each that is not."""
    found = {}
    for learner, (package, name, settings) in BOOSTING.items():
        if find_spec(package) is None:
            sys.stderr.write(f"{learner} is left out: {package} is not installed (the extra boosting).\n")
        else:
            found[learner] = getattr(import_module(package), name)(random_state=0, **settings)
    return found


PEERS: dict[str, Any] = {
    "DT": DecisionTreeClassifier(max_depth=10, random_state=0),
    "RF": RandomForestClassifier(200, random_state=0),
    "ExtraTrees": ExtraTreesClassifier(200, random_state=0),
    "SVC": make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)),
    "kNN": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    "LR": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
    "QDA": make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)),
    "GMM": make_pipeline(StandardScaler(), GaussianMixtures()),
    "HGB": HistGradientBoostingClassifier(random_state=0),
    **boosting(),
    "EBM": ExplainableBoostingClassifier(outer_bags=4, interactions=10, n_jobs=1, random_state=0),
    "hyperboxes": Hyperboxes(),
    "random hyperboxes": Hyperboxes(n_estimators=20),
}
