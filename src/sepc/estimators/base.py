"""The base class of all estimators, and `decide` for any classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray, LazyTable, RowsLike
from sepc.decisions.decisions import NO_REGIONS, Decisions, positions_of, probability_of, rename_features
from sepc.decisions.frames import index_of
from sepc.decisions.kinds import Cause
from sepc.estimators.dask_scoring import array_of_blocks, frame_of_blocks, is_lazy
from sepc.estimators.fitted_record import FittedAtOnce, as_fitted
from sepc.estimators.given_rows import check_order, decide_as_given, given_features, pointing_to_decide, with_left_out
from sepc.estimators.unwrapping import classifier_name, unwrap, warn_if_broken
from sepc.wording import check_number, counted

if TYPE_CHECKING:
    import dask.dataframe as dd

# The default `min_trust` for classifiers of other libraries.
MIN_TRUST = 0.95

# Round-off that probabilities may have.
SLACK = 1e-6

D = TypeVar("D", bound=Decisions)


class DecidingClassifier(FittedAtOnce, ClassifierMixin, BaseEstimator, Generic[D]):
    """Base class: `predict` and `predict_proba` are parts of what `decide` returns."""

    classes_: NDArray[Any]

    @overload
    def decide(self, X: LazyTable) -> dd.DataFrame: ...

    @overload
    def decide(self, X: RowsLike) -> D: ...

    def decide(self, X: Any) -> Any:
        """Label, trust, cause and region of every row, and whether to accept it.

        Parameters
        ----------
        X : array or DataFrame of n rows, one row as a dict or a Series, a list of such rows, or Dask collection
            Named columns may be in any order, and among others, which a warning names; those that training left out
            may be absent.

        Returns
        -------
        Decisions
            For a Dask collection, a lazy Dask DataFrame with the columns of ``Decisions.to_frame``.
        """
        fitted = as_fitted(self)
        return _lazily(fitted, X, None) if is_lazy(X) else decide_as_given(fitted, X, fitted._decide, warns=True)

    @pointing_to_decide()
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of rows; for a Dask collection, as a Dask array."""
        fitted = as_fitted(self)
        if is_lazy(X):
            return cast(NDArray[Any], array_of_blocks(_labels, fitted, X, fitted.classes_[:0]))
        return fitted._labels(with_left_out(fitted, X))

    @pointing_to_decide()
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, of shape (n, C); for a Dask collection, as a Dask array."""
        fitted = as_fitted(self)
        if is_lazy(X):
            none = np.empty((0, len(fitted.classes_)))
            return cast(FloatArray, array_of_blocks(_probabilities, fitted, X, none))
        return fitted._probabilities(with_left_out(fitted, X))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of labels that are right, accepted or not; takes columns as `decide` does."""
        fitted = as_fitted(self)
        given = X if is_lazy(X) else given_features(fitted, X, warns=True)
        return float(super(DecidingClassifier, fitted).score(given, y, sample_weight))

    def _decide(self, X: Any) -> D:
        """Decide on rows in memory."""
        raise NotImplementedError

    def empty_decisions(self) -> D:
        """Decisions on zero rows, with all columns and their types."""
        raise NotImplementedError

    def _labels(self, X: Any) -> NDArray[Any]:
        check_order(self, X)
        return self._decide(X).label

    def _probabilities(self, X: Any) -> FloatArray:
        check_order(self, X)
        return self._decide(X).probabilities


@overload
def decide(model: Any, X: LazyTable, *, min_trust: float | None = None) -> dd.DataFrame: ...


@overload
def decide(model: Any, X: RowsLike, *, min_trust: float | None = None) -> Decisions: ...


def decide(model: Any, X: Any, *, min_trust: float | None = None) -> Any:
    """Label, trust, cause and region of every row, from any fitted classifier.

    Parameters
    ----------
    model : fitted classifier
        An estimator of this library; a pipeline, a search or a `FrozenEstimator` around one, in which case reasons
        name the input columns where these can be traced; or any other classifier, whose trust is its own probability
        of the label.
    X : array or DataFrame of n rows, one row as a dict or a Series, a list of such rows, or Dask collection
        Whatever `model` takes. If the model was fitted to named columns, these may come in any order, and others are
        ignored, with a warning that names them. Missing columns raise an error, except those that training left out.
    min_trust : float, optional
        The minimum trust at which labels of other libraries' classifiers are accepted; 0.95 by default. Estimators of
        this library have their own `min_trust`.

    Returns
    -------
    Decisions
        For a Dask collection, a lazy Dask DataFrame with the columns of ``Decisions.to_frame``.

    Raises
    ------
    TypeError
        If `model` is not a classifier, or gives several labels per row.
    ValueError
        If a column is missing, or if `min_trust` is not a probability or is given for an estimator of this library.

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
    0 with trust 0.9..., by LogisticRegression.
    """
    if min_trust is not None:
        check_number("min_trust", min_trust, least=0, most=1)
    warn_if_broken(model)
    model = _as_it_is(model)
    if is_lazy(X):
        return _lazily(model, X, min_trust)
    return decide_as_given(model, X, lambda rows: _decide_by_any(model, rows, min_trust), warns=True)


def empty_decisions(model: Any) -> Decisions:
    """A model's decisions on zero rows, with all columns and their types."""
    classifier = unwrap(model).classifier
    if isinstance(classifier, DecidingClassifier):
        none: Decisions = classifier.empty_decisions()
        return none
    classes = _classes_of(classifier)
    return _by_other(classifier, classes[:0], np.empty((0, len(classes))), MIN_TRUST)


def decide_rows(model: Any, X: Any, min_trust: float | None = None) -> Decisions:
    """`decide` for rows in memory."""
    model = _as_it_is(model)
    return decide_as_given(model, X, lambda rows: _decide_by_any(model, rows, min_trust))


def decide_with_trust(model: Any, X: Any, instead: str) -> Decisions:
    """`decide` for rows in memory; raises a TypeError with the advice `instead` if the model gives no trust."""
    decisions = decide_rows(model, X)
    if np.isnan(decisions.trust).any():
        raise TypeError(f"{classifier_name(model)} has neither decide nor predict_proba; {instead}.")
    return decisions


def _as_it_is(model: Any) -> Any:
    """The model as it is now, as far as it is an estimator of this library; see `as_fitted`."""
    if isinstance(model, FrozenEstimator):
        return FrozenEstimator(_as_it_is(model.estimator))
    return as_fitted(model) if isinstance(model, DecidingClassifier) else model


def _decide_by_any(model: Any, X: Any, min_trust: float | None) -> Decisions:
    inside = unwrap(model)
    classifier = inside.classifier
    if hasattr(classifier, "decide"):
        if min_trust is not None:
            raise ValueError(
                f"{classifier_name(model)} has its own min_trust; set it there instead of passing it here."
            )
        decisions = classifier.decide(inside.transform(X))
        if not isinstance(decisions, Decisions):
            raise TypeError(f"{classifier_name(model)}.decide returned {type(decisions).__name__}, not sepc.Decisions.")
        is_named = hasattr(classifier, "feature_names_in_") and not inside.before
        names = None if is_named else inside.feature_names(X)
        return (
            decisions if names is None else rename_features(decisions, names, inside.restore if inside.before else None)
        )
    if hasattr(classifier, "fit"):
        check_is_fitted(classifier)
    classes = _classes_of(classifier)
    rows = inside.transform(X)
    label = np.asarray(classifier.predict(rows))
    label = label[:, 0] if label.ndim == 2 and label.shape[1] == 1 else label
    if label.ndim != 1 or classes.ndim != 1:
        raise TypeError(f"{classifier_name(model)} gives several labels per row, so there is no single label to trust.")
    probabilities = np.full((len(label), len(classes)), np.nan)
    if hasattr(classifier, "predict_proba"):
        probabilities = np.asarray(classifier.predict_proba(rows), dtype=np.float64)
        _check_probabilities(classifier_name(model), probabilities, (len(label), len(classes)))
    return _by_other(classifier, label, probabilities, MIN_TRUST if min_trust is None else min_trust)


def _check_probabilities(name: str, probabilities: FloatArray, shape: tuple[int, int]) -> None:
    """Raise if another library's classifier gives something else than a probability for each row and class."""
    if probabilities.shape != shape:
        raise ValueError(
            f"predict_proba of {name} returned an array of shape {probabilities.shape} instead of {shape}: a row for "
            "each row of X, and a column for each of classes_."
        )
    is_wrong = ~((probabilities >= -SLACK) & (probabilities <= 1.0 + SLACK))
    if is_wrong.any():
        first, column = np.argwhere(is_wrong)[0]
        raise ValueError(
            f"predict_proba of {name} gives no probabilities for {counted(int(is_wrong.any(axis=1).sum()), 'row')}: "
            f"for row {first:,} it returned {probabilities[first, column]}. Look for missing or extreme values in "
            "these rows, or choose a model that returns numbers from 0 to 1 for them."
        )


def _by_other(classifier: Any, label: NDArray[Any], probabilities: FloatArray, min_trust: float) -> Decisions:
    """Decisions of another library's classifier: its labels, with its own probabilities as trust."""
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
        raise TypeError(f"{kind} is not a classifier: it lacks classes_ or predict, so there is nothing to decide.")
    return np.asarray(classifier.classes_)


def _lazily(model: Any, X: Any, min_trust: float | None) -> Any:
    return frame_of_blocks(_Frames(min_trust), model, X, empty_decisions(model).to_frame())


class _Frames:
    """Decides on one block; tokenised by value, so that Dask names equal tasks alike."""

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
