"""SEPForestClassifier: many small partitions, each of some rows and a few directions, and one calibrated trust."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from sepc._typing import FloatArray, IntArray
from sepc.estimator.columns import refuse_text
from sepc.estimator.standard import Standardization
from sepc.points.in_memory import ArrayPoints
from sepc.selective._forest_model import ForestModel, Head, Platt
from sepc.selective._members import Member, grow_member
from sepc.selective.forest_decisions import ForestDecisions


class SEPForestClassifier(ClassifierMixin, BaseEstimator):
    """Classify by the average of many partitions, each of a bootstrap of the rows and of a few directions.

    High dimension empties ellipsoids: m (m + 3) / 2 rows fix one of m features. So each member sees only as many
    directions as its rows allow. Half of the members take features as they are, half a random rotation of twice as
    many. The rows that a member has not seen calibrate the average, so trust costs no further fit. A logistic model of
    the nearness to all ellipsoids has an equal say; it has seen every row, so a promise about trust needs fresh rows.

    Parameters
    ----------
    n_estimators : int, default=50
        How many members.
    n_impure : int or float, default=2
        How many training rows of other labels an ellipsoid may hold: a number, or a share of its own rows.
    max_features : int, default=8
        The most directions a member sees. It sees fewer if the smallest class has few rows.
    max_rows : int, default=500
        About the most rows a member is fitted on; small classes are thinned out less. The time of a fit grows with it.
    min_trust : float, default=0.95
        Decisions with at least this trust are accepted; the others should go to a person. Labels do not depend on it.
    n_jobs : int or None, default=None
        Members fitted in parallel. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        For the choice of rows and directions.

    Attributes
    ----------
    classes_ : (C,) array
        The labels.
    members_ : tuple of Member
        The partitions: `model`, an SEPModel, and `projection`, from standardised features to its directions.
    model_ : ForestModel
        Everything that decisions are made from.
    oob_decision_function_ : (n, C) array
        For each training row, the calibrated average of the members that have not seen it, without the say of the
        logistic model; NaN if all have seen it.
    oob_score_ : float
        Accuracy of these; NaN if there are none.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sepc import SEPForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> forest = SEPForestClassifier(10, random_state=0).fit(X[::2], y[::2])
    >>> decisions = forest.decide(X[1::2])
    >>> bool((decisions.label == y[1::2])[decisions.accepted].mean() > 0.95)
    True
    >>> print(decisions[0].why())
    0 with trust ...: ... of 10 members agree, and ... of 10 have seen nothing near it; the surest that ...
    """

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        n_impure: int | float = 2,
        max_features: int = 8,
        max_rows: int = 500,
        min_trust: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_impure = n_impure
        self.max_features = max_features
        self.max_rows = max_rows
        self.min_trust = min_trust
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the members, and calibrate them on the rows they have not seen.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
            Finite numbers.
        y : array of shape (n,)
            Labels of any type.

        Returns
        -------
        self
        """
        self._check_parameters()
        refuse_text(X, type(self).__name__)
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, which = np.unique(labels, return_inverse=True)
        standard = Standardization.of(ArrayPoints(rows))
        standardized = standard.apply(rows)
        self.members_, averages = self._grow(standardized, which)
        voted = np.isfinite(averages[:, 0])
        platt = Platt.learnt(averages[voted], which[voted])
        head = Head.learnt(self.members_, standardized, which)
        self.model_ = ForestModel(self.classes_, self._names(), standard, self.members_, platt, head)
        self.oob_decision_function_: FloatArray = np.full_like(averages, np.nan)
        self.oob_decision_function_[voted] = platt.apply(averages[voted])
        right = self.oob_decision_function_[voted].argmax(axis=1) == which[voted]
        self.oob_score_: float = float(right.mean()) if len(right) else float("nan")
        return self

    def _grow(self, standardized: FloatArray, which: IntArray) -> tuple[tuple[Member, ...], FloatArray]:
        """The members, and for each row the average of those that have not seen it (NaN if all have)."""
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        n_impure = float(self.n_impure) if isinstance(self.n_impure, float) else int(self.n_impure)
        common = (standardized, which, self.classes_, n_impure, self.max_features, self.max_rows)
        jobs = (delayed(grow_member)(*common, b % 2 == 1, int(seed)) for b, seed in enumerate(seeds))
        total, n_voted = np.zeros((len(which), len(self.classes_))), np.zeros(len(which))
        members = []
        for member, unseen, probabilities in Parallel(n_jobs=self.n_jobs)(jobs):
            members.append(member)
            total[unseen] += probabilities
            n_voted += unseen
        averages = np.full_like(total, np.nan)
        np.divide(total, n_voted[:, None], out=averages, where=n_voted[:, None] > 0)
        return tuple(members), averages

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of rows."""
        return self.decide(X).label

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Calibrated probabilities of the classes, of shape (n, C)."""
        return self.decide(X).probabilities

    def decide(self, X: ArrayLike) -> ForestDecisions:
        """Label, trust, cause, agreement and probabilities of every row, and whether to accept it."""
        rows = self.rows_of(X)
        return self.model_.decide(rows, self.min_trust)

    def rows_of(self, X: ArrayLike) -> FloatArray:
        """The rows as an array of numbers, checked against those it was fitted on."""
        check_is_fitted(self)
        refuse_text(X, type(self).__name__)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        return tuple(f"x{j}" for j in range(self.n_features_in_)) if names is None else tuple(map(str, names))

    def _check_parameters(self) -> None:
        for name in ("n_estimators", "max_features", "max_rows"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
                raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1.")
        if isinstance(self.n_impure, bool) or not isinstance(self.n_impure, Real) or self.n_impure < 0:
            raise ValueError(f"n_impure is {self.n_impure!r}; it must be a number of rows (int) or a share (float).")
        if not isinstance(self.n_impure, Integral) and self.n_impure >= 1:
            raise ValueError(f"n_impure is {self.n_impure!r}; as a float it is a share, so it must be below 1.")
        if not 0 <= self.min_trust <= 1:
            raise ValueError(f"min_trust is {self.min_trust!r}; it is a probability, so it must lie in [0, 1].")
