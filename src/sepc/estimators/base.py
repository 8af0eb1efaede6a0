"""What all estimators share: labels and probabilities from `decide`, and `decide` for anything that classifies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray, LazyTable
from sepc.decisions.decisions import NO_REGIONS, Decisions, positions_of, probability_of
from sepc.decisions.frames import index_of
from sepc.decisions.kinds import Cause
from sepc.estimators.dask_scoring import array_of_blocks, frame_of_blocks, is_lazy
from sepc.estimators.opened import name_of, opened

if TYPE_CHECKING:
    import dask.dataframe as dd

# Labels of models that are not ours are accepted from this probability on.
MIN_TRUST = 0.95

D = TypeVar("D", bound=Decisions)


class DecidingClassifier(ClassifierMixin, BaseEstimator, Generic[D]):
    """A classifier with `decide`, of which labels and probabilities are parts."""

    classes_: NDArray[Any]

    @overload
    def decide(self, X: LazyTable) -> dd.DataFrame: ...

    @overload
    def decide(self, X: ArrayLike) -> D: ...

    def decide(self, X: Any) -> Any:
        """Label, trust, cause and region of every row, and whether to accept it.

        Parameters
        ----------
        X : array or DataFrame of n rows, or Dask collection

        Returns
        -------
        Decisions
            Of a Dask collection a Dask DataFrame with the columns of ``Decisions.to_frame``, of which nothing is
            computed yet.
        """
        check_is_fitted(self)
        return _lazily(self, X, None) if is_lazy(X) else self._decide(X).indexed_like(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of rows; of a Dask collection, a Dask array of them."""
        check_is_fitted(self)
        if is_lazy(X):
            return cast(NDArray[Any], array_of_blocks(_labels, self, X, self.classes_[:0]))
        return self._labels(X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, of shape (n, C); of a Dask collection, a Dask array."""
        check_is_fitted(self)
        if is_lazy(X):
            none = np.empty((0, len(self.classes_)))
            return cast(FloatArray, array_of_blocks(_probabilities, self, X, none))
        return self._probabilities(X)

    def _decide(self, X: Any) -> D:
        """Decide on rows in memory."""
        raise NotImplementedError

    def empty_decisions(self) -> D:
        """Decisions on no rows."""
        raise NotImplementedError

    def _labels(self, X: Any) -> NDArray[Any]:
        return self._decide(X).label

    def _probabilities(self, X: Any) -> FloatArray:
        return self._decide(X).probabilities


@overload
def decide(model: Any, X: LazyTable, *, min_trust: float | None = None) -> dd.DataFrame: ...


@overload
def decide(model: Any, X: ArrayLike, *, min_trust: float | None = None) -> Decisions: ...


def decide(model: Any, X: Any, *, min_trust: float | None = None) -> Any:
    """Label, trust, cause and region of every row, by anything that classifies.

    Parameters
    ----------
    model : fitted classifier
        An estimator of this library; or a pipeline, a search or a `FrozenEstimator` around one, which then speaks of
        the columns that went in, where their names can be followed; or any other classifier, whose trust in its label
        is its own probability of it.
    X : array or DataFrame of n rows, or Dask collection
        As `model` takes them.
    min_trust : float, optional
        From which trust on labels of a model that is not ours are accepted, 0.95 if not given. Estimators of this
        library have their own.

    Returns
    -------
    Decisions
        Of a Dask collection a Dask DataFrame with the columns of ``Decisions.to_frame``, of which nothing is computed
        yet.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import sepc
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> pipeline = make_pipeline(StandardScaler(), sepc.SEPClassifier()).fit(X[::2], y[::2])
    >>> print(sepc.decide(pipeline, X[1::2]).why(0))
    0 with trust ...
    >>> print(sepc.decide(LogisticRegression().fit(X[::2], y[::2]), X[1::2]).why(0))
    0 with trust 0.98..., by LogisticRegression.
    """
    if min_trust is not None and not 0.0 <= min_trust <= 1.0:
        raise ValueError(f"min_trust is {min_trust!r}; it is a probability, so it must lie in [0, 1].")
    return _lazily(model, X, min_trust) if is_lazy(X) else decide_rows(model, X, min_trust)


def empty_decisions(model: Any) -> Decisions:
    """Decisions of a model on no rows: what columns there are, and of which types."""
    classifier = opened(model).classifier
    if isinstance(classifier, DecidingClassifier):
        none: Decisions = classifier.empty_decisions()
        return none
    classes = _classes_of(classifier)
    return _by_other(classifier, classes[:0], np.empty((0, len(classes))), MIN_TRUST)


def decide_rows(model: Any, X: Any, min_trust: float | None = None) -> Decisions:
    """What `decide` gives, of rows in memory."""
    return _decided(model, X, min_trust).indexed_like(X)


def decide_with_trust(model: Any, X: Any, instead: str) -> Decisions:
    """What `decide` gives, of rows in memory and a model that gives trust; else an error that says what to do."""
    decisions = decide_rows(model, X)
    if np.isnan(decisions.trust).any():
        raise TypeError(f"{name_of(model)} has neither decide nor predict_proba; {instead}.")
    return decisions


def _decided(model: Any, X: Any, min_trust: float | None) -> Decisions:
    inside = opened(model)
    classifier = inside.classifier
    if hasattr(classifier, "decide"):
        if min_trust is not None:
            raise ValueError(f"{name_of(model)} has a min_trust of its own; set that, and give none here.")
        decisions = classifier.decide(inside.transform(X))
        if not isinstance(decisions, Decisions):
            raise TypeError(f"{name_of(model)}.decide gives {type(decisions).__name__}, which are no sepc.Decisions.")
        names = None if hasattr(classifier, "feature_names_in_") else inside.feature_names(X)
        return decisions if names is None else decisions.renamed(names)
    if hasattr(classifier, "fit"):
        check_is_fitted(classifier)
    classes = _classes_of(classifier)
    rows = inside.transform(X)
    label = np.asarray(classifier.predict(rows))
    label = label[:, 0] if label.ndim == 2 and label.shape[1] == 1 else label
    if label.ndim != 1 or classes.ndim != 1:
        raise TypeError(f"{name_of(model)} gives several labels to a row; there is no one label to trust.")
    probabilities = np.full((len(label), len(classes)), np.nan)
    if hasattr(classifier, "predict_proba"):
        probabilities = np.asarray(classifier.predict_proba(rows), dtype=np.float64)
    return _by_other(classifier, label, probabilities, MIN_TRUST if min_trust is None else min_trust)


def _by_other(classifier: Any, label: NDArray[Any], probabilities: FloatArray, min_trust: float) -> Decisions:
    """Decisions of a classifier that is not ours: its label, trusted as far as it says itself."""
    classes = _classes_of(classifier)
    trust = probability_of(probabilities, positions_of(label, classes))
    accepted = trust >= min_trust
    return Decisions(
        classes=classes,
        label=label,
        trust=trust,
        accepted=accepted,
        cause=np.where(accepted, int(Cause.ACCEPTED), int(Cause.UNEXPLAINED)),
        probabilities=probabilities,
        region=np.full(len(label), NO_REGIONS),
        by=type(classifier).__name__,
    )


def _classes_of(classifier: Any) -> NDArray[Any]:
    if not (hasattr(classifier, "classes_") and hasattr(classifier, "predict")):
        kind = type(classifier).__name__
        raise TypeError(f"{kind} does not classify: it has no classes_ and predict, so there is nothing to decide.")
    return np.asarray(classifier.classes_)


def _lazily(model: Any, X: Any, min_trust: float | None) -> Any:
    return frame_of_blocks(_Frames(min_trust), model, X, empty_decisions(model).to_frame())


class _Frames:
    """Decides on blocks; a value, so that equal tasks have equal names."""

    def __init__(self, min_trust: float | None) -> None:
        self.min_trust = min_trust

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.min_trust

    def __call__(self, block: Any, model: Any) -> Any:
        if len(block):
            return decide_rows(model, block, self.min_trust).to_frame()
        none = empty_decisions(model).to_frame()
        return none if index_of(block) is None else none.set_index(block.index)


def _labels(block: Any, model: Any) -> Any:
    return model.predict(block) if len(block) else model.classes_[:0]


def _probabilities(block: Any, model: Any) -> Any:
    return model.predict_proba(block) if len(block) else np.empty((0, len(model.classes_)))
