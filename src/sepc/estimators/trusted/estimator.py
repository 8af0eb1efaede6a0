"""TrustedClassifier: any classifier's labels, with trust, causes and reasons from a partition of the same rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from sepc.estimators.base import decide_rows, empty_decisions
from sepc.estimators.checks import check_share, checked_labels
from sepc.estimators.kept_labels import KeptLabels
from sepc.estimators.opened import name_of
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted.cross_fitting import Beside, asked_of_left_out, splits_of
from sepc.estimators.trusted.decisions import TrustedDecisions
from sepc.estimators.trusted.trust_model import TrustModel, learn


class TrustedClassifier(MetaEstimatorMixin, KeptLabels[TrustedDecisions]):
    """Keep the labels of any classifier, and say how far to trust each one and why.

    Beside the classifier stands an `SEPClassifier` of the same rows. What the two say of rows that neither has seen, by
    cross-fitting, is weighed by a logistic model of whether the label was right. A classifier may be sure where it has
    seen nothing; the partition knows where rows lie, and far from all of them no label is trusted.

    Parameters
    ----------
    estimator : classifier
        Fitted on all rows given, and once more for every fold of `cv`. In a `FrozenEstimator` it is left as it is, and
        the rows given to `fit` must be rows it has not seen.
    partition : SEPClassifier or None, default=None
        The classifier to stand beside it, fitted likewise on all rows and for every fold; by default one with its
        default settings.
    transformer : transformer or None, default=None
        Makes of `X` the finite numbers that the partition sees, for instance an imputer or an encoder. By default the
        partition sees all columns of numbers.
    cv : int, splitter or iterable of splits, default=5
        The folds of cross-fitting; a number for folds of rows drawn at random. Rows that belong together, or come in
        time, need a splitter that knows.
    min_trust : float, default=0.95
        Decisions with at least this trust are accepted; the others should go to a person. Labels do not depend on it.
    n_jobs : int or None, default=None
        Folds fitted in parallel.
    random_state : int, RandomState or None, default=0
        For folds drawn at random, and for the default partition.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier, whose labels are kept.
    partition_ : SEPClassifier
        The fitted partition.
    transformer_ : transformer
        The fitted transformer, if there is one.
    classes_ : (C,) array
        The classifier's labels.
    model_ : TrustModel
        Everything that trust is made from.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sepc import TrustedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean texture", "worst area", "worst concavity"]]
    >>> trusted = TrustedClassifier(RandomForestClassifier(50, random_state=0)).fit(X[::2], y[::2])
    >>> decisions = trusted.decide(X[1::2])
    >>> bool((decisions.label == trusted.estimator_.predict(X[1::2])).all())
    True
    >>> print(decisions[0].why())
    0 by RandomForestClassifier, itself ... % sure, with trust ...: ... The partition agrees ...
    """

    def __init__(
        self,
        estimator: Any,
        *,
        partition: Any = None,
        transformer: Any = None,
        cv: Any = 5,
        min_trust: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.partition = partition
        self.transformer = transformer
        self.cv = cv
        self.min_trust = min_trust
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Fit the classifier, unless it is frozen, and the partition, and learn when labels are right.

        Parameters
        ----------
        X : array, DataFrame or whatever the estimator takes, of n rows
        y : array of shape (n,)
            Labels.
        groups : array of shape (n,), optional
            Handed to `cv`, if that is a splitter that keeps groups together.

        Returns
        -------
        self
        """
        self.check_parameters()
        X, labels = indexable(X, checked_labels(y, type(self).__name__))
        validate_data(self, X, skip_check_array=True)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
        self.estimator_ = clone(self.estimator).fit(X, labels)
        self.classes_ = np.asarray(self.estimator_.classes_)
        fresh = Beside(
            SEPClassifier(random_state=self.random_state) if self.partition is None else self.partition,
            self.transformer,
        )
        beside = fresh.fitted(X, labels)
        self.partition_ = beside.partition
        if beside.transformer is not None:
            self.transformer_ = beside.transformer
        splits = splits_of(self.cv, labels, groups, self.random_state)
        jobs = (delayed(asked_of_left_out)(self.estimator, fresh, X, labels, train, test) for train, test in splits)
        given, correct = zip(*Parallel(n_jobs=self.n_jobs)(jobs), strict=True)
        calibration = learn(np.concatenate(given), np.concatenate(correct))
        self.model_ = TrustModel(self.partition_.model_, calibration, name_of(self.estimator_))
        return self

    def _decide(self, X: Any) -> TrustedDecisions:
        partition = Beside(self.partition_, None if self.transformer is None else self.transformer_).decide(X)
        return TrustedDecisions.of(self.model_, decide_rows(self.estimator_, X), partition, self.min_trust)

    def empty_decisions(self) -> TrustedDecisions:
        """Decisions on no rows: what columns there are, and of which types."""
        base, partition = empty_decisions(self.estimator_), self.partition_.empty_decisions()
        return TrustedDecisions.of(self.model_, base, partition, self.min_trust)

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it cannot have; `fit` does so first."""
        check_share("min_trust", self.min_trust)
        if not (self.partition is None or isinstance(self.partition, SEPClassifier)):
            raise TypeError(f"partition is {self.partition!r}; it must be an SEPClassifier, or None for the default.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.transformer is not None and get_tags(self.estimator).input_tags.allow_nan
        return tags
