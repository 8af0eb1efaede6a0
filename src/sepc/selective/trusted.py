"""TrustedClassifier: any classifier's labels, with trust, causes and reasons from a forest of partitions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from sepc._typing import IntArray
from sepc.estimator.calibrating import splits_of
from sepc.estimator.columns import number_columns
from sepc.regions.calibration import Calibration
from sepc.selective._kept_labels import KeptLabels
from sepc.selective._labels import checked_labels
from sepc.selective._trust_layer import Labelled, TrustedDecisions, TrustModel, learn, positions, supports
from sepc.selective.forest import SEPForestClassifier


class TrustedClassifier(KeptLabels, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Keep the labels of any classifier, and say how far to trust each one and why.

    Beside the classifier stands an `SEPForestClassifier` of the same rows. What each of them says of a row that it has
    not seen, the classifier by cross-fitting and the forest by its out-of-bag members, is weighed by a logistic model
    of whether the label was right. A classifier may be sure where it has seen nothing; the forest knows where rows lie.

    Parameters
    ----------
    estimator : classifier
        Fitted on all rows given, and once more for every fold of `cv`. In a `FrozenEstimator` it is left as it is, and
        the rows given to `fit` must be rows it has not seen.
    forest : SEPForestClassifier or None, default=None
        The forest to fit; by default one of 50 members. One in a `FrozenEstimator` is taken to be fitted already, on
        the very rows that are given to `fit`.
    view : transformer or None, default=None
        Makes of `X` the finite numbers that the forest sees, for instance an imputer or an encoder. By default the
        forest sees all columns of numbers.
    cv : int, splitter or iterable of splits, default=5
        The folds of cross-fitting. Rows that belong together, or come in time, need a splitter that knows.
    min_trust : float, default=0.95
        Decisions with at least this trust are accepted; the others should go to a person. Labels do not depend on it.
    n_jobs : int or None, default=None
        Folds, and members of the default forest, fitted in parallel.
    random_state : int, RandomState or None, default=None
        For the default forest.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier, whose labels are kept.
    forest_ : SEPForestClassifier
        The fitted forest.
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
    >>> from sepc import SEPForestClassifier, TrustedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> base = RandomForestClassifier(50, random_state=0)
    >>> forest = SEPForestClassifier(10, random_state=0)
    >>> trusted = TrustedClassifier(base, forest=forest).fit(X[::2], y[::2])
    >>> decisions = trusted.decide(X[1::2])
    >>> bool((decisions.label == trusted.estimator_.predict(X[1::2])).all())
    True
    >>> print(decisions[0].why())
    0 by RandomForestClassifier, itself ... sure, with trust ... Of the forest's partitions, ... of 10 members agree...
    """

    def __init__(
        self,
        estimator: Any,
        *,
        forest: Any = None,
        view: Any = None,
        cv: Any = 5,
        min_trust: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.forest = forest
        self.view = view
        self.cv = cv
        self.min_trust = min_trust
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Fit the classifier, unless it is frozen, and the forest, and learn when labels are right.

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
        self._check_parameters()
        X, labels = indexable(X, checked_labels(y, type(self).__name__))
        validate_data(self, X, skip_check_array=True)
        rows = self._fit_view(X, labels)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            unseen = np.arange(len(labels))
            labelled = Labelled.by(self.estimator_, X)
        else:
            self.estimator_ = clone(self.estimator).fit(X, labels)
            unseen, labelled = self._left_out(X, labels, groups)
        self.classes_ = np.asarray(self.estimator_.classes_)
        self.forest_ = self._fitted_forest(rows, labels)
        calibration = self._learnt(labels, unseen, labelled)
        self.model_ = TrustModel(self.forest_.model_, calibration, _name(self.estimator_))
        return self

    def _left_out(self, X: Any, labels: NDArray[Any], groups: Any) -> tuple[IntArray, Labelled]:
        """Positions of rows that a fold leaves out, and what the classifier fitted without them says of them."""
        splits = splits_of(self.cv, labels, groups, type(self).__name__)
        jobs = (delayed(_fit_and_ask)(self.estimator, X, labels, train, test) for train, test in splits)
        parts = Parallel(n_jobs=self.n_jobs)(jobs)
        asked = Labelled(*(np.concatenate([getattr(one, name) for one in parts]) for name in ("label", "confidence")))
        return np.concatenate([test for _, test in splits]), asked

    def _fitted_forest(self, rows: Any, labels: NDArray[Any]) -> Any:
        if not isinstance(self.forest, FrozenEstimator):
            default = SEPForestClassifier(n_jobs=self.n_jobs, random_state=self.random_state)
            return clone(default if self.forest is None else self.forest).fit(rows, labels)
        forest: SEPForestClassifier = self.forest.estimator
        check_is_fitted(forest)
        if len(forest.oob_decision_function_) != len(labels):
            raise ValueError(
                f"The frozen forest was fitted on {len(forest.oob_decision_function_):,} rows, but {len(labels):,} are "
                "given; it must have been fitted on these very rows."
            )
        return forest

    def _learnt(self, labels: NDArray[Any], unseen: IntArray, labelled: Labelled) -> Calibration:
        """Learn from rows that neither the classifier nor some members of the forest have seen."""
        probabilities = self.forest_.oob_decision_function_[unseen]
        voted = np.isfinite(probabilities[:, 0])
        if not voted.any():
            raise ValueError(
                "Every member of the forest has seen every row, so none is left to learn trust from; give more rows, "
                "or a forest with a larger n_estimators."
            )
        support = supports(probabilities, positions(self.forest_.classes_, labelled.label))
        correct = labelled.label == labels[unseen]
        return learn(labelled.confidence[voted], support[voted], correct[voted])

    def decide(self, X: ArrayLike) -> TrustedDecisions:
        """The classifier's label of every row, how far to trust it, whether to accept it and if not, why."""
        check_is_fitted(self)
        rows = self.forest_.rows_of(self._viewed(X))
        return self.model_.decide(rows, Labelled.by(self.estimator_, X), self.min_trust)

    def _fit_view(self, X: Any, labels: NDArray[Any]) -> Any:
        """Numbers for the forest; an encoder that looks at labels may cross-fit them here."""
        if self.view is None:
            return _finite(number_columns(X, type(self).__name__))
        self.view_ = clone(self.view)
        return _finite(self.view_.fit_transform(X, labels))

    def _viewed(self, X: Any) -> Any:
        return _finite(number_columns(X, type(self).__name__) if self.view is None else self.view_.transform(X))

    def _check_parameters(self) -> None:
        if not 0 <= self.min_trust <= 1:
            raise ValueError(f"min_trust is {self.min_trust!r}; it is a probability, so it must lie in [0, 1].")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.view is not None and get_tags(self.estimator).input_tags.allow_nan
        return tags


def _fit_and_ask(estimator: Any, X: Any, labels: NDArray[Any], train: IntArray, test: IntArray) -> Labelled:
    fitted = clone(estimator).fit(_safe_indexing(X, train), labels[train])
    return Labelled.by(fitted, _safe_indexing(X, test))


def _finite(rows: Any) -> Any:
    """The rows, if all their numbers are finite; else say which column has what."""
    values = np.asarray(rows, dtype=np.float64) if not hasattr(rows, "toarray") else rows.toarray()
    if np.isfinite(values).all():
        return rows
    j = int(np.flatnonzero(~np.isfinite(values).all(axis=0))[0])
    name = list(getattr(rows, "columns", range(values.shape[1])))[j]
    raise ValueError(
        f"Input X contains NaN or infinity in column {name!r}, and the forest needs finite numbers; give "
        "TrustedClassifier a view that fills them, for example view=SimpleImputer()."
    )


def _name(estimator: Any) -> str:
    """What a classifier is called: a pipeline by its last step, a frozen one by what it holds."""
    if isinstance(estimator, FrozenEstimator):
        return _name(estimator.estimator)
    return _name(estimator[-1]) if isinstance(estimator, Pipeline) else type(estimator).__name__
