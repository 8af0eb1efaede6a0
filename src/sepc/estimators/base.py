"""The base classes of all estimators, their checks, and `decide` for any classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from sepc._typing import FloatArray, IntArray, LazyTable, RowsLike
from sepc.columns.table import LARGEST_EXACT, cells_of, is_gap, is_table, refuse_masked, refuse_repeated
from sepc.columns.table import column_names as names_in_table
from sepc.decisions.decisions import NO_REGIONS, Decisions, index_of, positions_of, probability_of, rename_features
from sepc.decisions.kinds import Cause
from sepc.estimators.fitted_record import FittedAtOnce, as_fitted
from sepc.estimators.given_rows import (
    array_of_blocks,
    check_order,
    decide_as_given,
    frame_of_blocks,
    given_features,
    is_lazy,
    pointing_to_decide,
    with_left_out,
)
from sepc.estimators.unwrapping import classifier_name, edits_in, unwrap, warn_if_broken
from sepc.model.edits import Edit
from sepc.points.inputs import refuse_missing_labels
from sepc.wording import MOST_NAMES, check_number, counted, listed, shown

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
    # Whether it is a partition with regions, makes a promise, or has models of its own for some rows.
    is_partition = makes_promise = is_routed = False

    @property
    def inner(self) -> Any:
        """The fitted classifier inside, of whatever library; None if there is none."""
        return None

    @property
    def located_by(self) -> Any:
        """The fitted classifier inside whose regions decisions name; None if there is none, or several."""
        return self.inner

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

    @property
    def edits_(self) -> tuple[Edit, ...]:
        """The edits of the model, in the order in which they were made; empty for most models."""
        return edits_in(as_fitted(self))

    def edited(self, *edits: Edit, author: str, reason: str, date: Any) -> Self:
        """A copy of the model with more edits; the model itself stays as it is.

        A `SelectiveClassifier` refuses, since its promise is about the model as it is: edit the model inside.

        Parameters
        ----------
        *edits : Edit
            Applied in this order, after those that the model has already.
        author, reason : str
            Who edits the model, and why; kept in the model and its file.
        date : datetime.date or str
            The day of the edit, such as "2026-05-04".

        Returns
        -------
        model
            `edits_` lists its edits, and `without_edits` takes them off.
        """
        fitted = as_fitted(self)
        if not edits:
            raise ValueError("There is nothing to edit; give at least one Edit, such as Edit.flatten('age', 80).")
        return fitted.with_edits((*fitted.edits_, *(edit.signed(author, reason, date) for edit in edits)))

    def without_edits(self, *numbers: int) -> Self:
        """A copy of the model without some edits, given by their positions in `edits_`; by default without any.

        The others are applied again, in order. Without any, the model is the one that `fit` made, bit for bit.
        """
        fitted = as_fitted(self)
        edits = fitted.edits_
        for number in numbers:
            if not -len(edits) <= number < len(edits):
                raise ValueError(f"There is no edit {number}; the model has {len(edits)}, numbered from 0.")
        gone = {number % len(edits) for number in numbers}
        return fitted.with_edits([edit for i, edit in enumerate(edits) if numbers and i not in gone])

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, which are signed."""
        raise NotImplementedError

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
    decide_block = partial(_frame_of_block, min_trust=min_trust)
    return frame_of_blocks(decide_block, model, X, empty_decisions(model).to_frame())


def _frame_of_block(block: Any, model: Any, min_trust: float | None) -> Any:
    if len(block):
        return decide_rows(model, block, min_trust).to_frame()
    none = empty_decisions(model).to_frame()
    return none if index_of(block) is None else none.set_index(block.index)


def _labels(block: Any, model: Any) -> Any:
    return model.predict(block) if len(block) else model.classes_[:0]


def _probabilities(block: Any, model: Any) -> Any:
    return model.predict_proba(block) if len(block) else np.empty((0, len(model.classes_)))


def column_names(X: Any) -> tuple[Any, ...]:
    """Names of the columns of a DataFrame; for an array x0, x1 and so on."""
    return tuple(names_in_table(X)) if hasattr(X, "columns") else tuple(f"x{j}" for j in range(X.shape[1]))


def column_positions(by: Any, X: Any) -> IntArray:
    """Positions of the columns `by`: one or several names or positions, or a function of `X` that returns them."""
    chosen = by(X) if callable(by) else by
    if not isinstance(chosen, str | int | np.integer | Iterable):
        raise ValueError(f"by is {chosen!r}; it must name columns, or give their positions.")
    chosen = [chosen] if isinstance(chosen, str | int | np.integer) else list(chosen)
    positions = [column_position(column, column_names(X), "by") for column in chosen]
    if len(set(positions)) < len(positions):
        raise ValueError(f"by names a column twice: {chosen}.")
    return np.array(positions, dtype=np.int64)


def column_position(column: Any, names: Sequence[Any], parameter: str) -> int:
    """The position of a column that a parameter names, given its name or position."""
    n, is_position = len(names), isinstance(column, int | np.integer) and not isinstance(column, bool)
    if not is_position and column not in names:
        raise ValueError(f"{parameter} names {shown(column)}; the columns are {listed(map(shown, names), MOST_NAMES)}.")
    if is_position and not -n <= column < n:
        raise ValueError(f"{parameter} has position {column}, but there are {counted(n, 'column')}.")
    return int(column) % n if is_position else list(names).index(column)


def categories_of(X: Any, positions: IntArray) -> NDArray[Any]:
    """The cells of some columns, of shape (n, k), with None for all missing values."""
    cells = np.empty((X.shape[0], len(positions)), dtype=object)
    for j, position in enumerate(positions):
        column = _safe_indexing(X, int(position), axis=1)
        values = np.asarray(column, dtype=object).tolist()
        has_large = any(isinstance(cell, float) and abs(cell) >= LARGEST_EXACT for cell in values)
        if has_large and hasattr(column, "to_list"):
            values = cells_of(column)
        cells[:, j] = [None if is_gap(cell) else cell for cell in values]
    return cells


class Wrapper(MetaEstimatorMixin, DecidingClassifier[D]):
    """A wrapper around `estimator`; it accepts missing values if `estimator` does."""

    estimator: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


class LabelPreservingWrapper(Wrapper[D]):
    """A wrapper whose labels and probabilities are those of `estimator_`, the fitted classifier inside."""

    estimator_: Any

    @property
    def inner(self) -> Any:
        """The fitted classifier whose labels these are."""
        return self.estimator_

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The classifier's probabilities, of shape (n, C); for a Dask collection, as a Dask array."""
        return super().predict_proba(X)

    def _labels(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict(X))

    def _probabilities(self, X: Any) -> FloatArray:
        return np.asarray(self.estimator_.predict_proba(X))


def take_features(wrapper: Any, fitted: Any) -> None:
    """Copy the number and the names of features from a fitted classifier."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(wrapper, name, getattr(fitted, name))


def check_given(X: Any, y: Any) -> None:
    """Raise for training rows and labels that scikit-learn would refuse in its own terms, or take for others."""
    for name, given, kinds in (("X", X, (Mapping, str, PathLike)), ("y", y, (Mapping,))):
        if isinstance(given, kinds) and not hasattr(given, "shape"):  # as a sparse array of keys has
            kind = "text" if isinstance(given, str) else f"a {type(given).__name__}"
            raise TypeError(f"{name} is {kind}; give a DataFrame or an array of rows as X, and their labels as y.")
    refuse_masked(X)
    if is_table(X):
        names = names_in_table(X)
        refuse_repeated(names)
        if not names:
            raise ValueError("X has no columns.")
        if isinstance(y, str):
            raise ValueError(f"y is the text {shown(y)}; with a table in memory, give the labels themselves.")
        if len(X) == 0:
            raise ValueError("X has no rows.")


def check_classes(labels: NDArray[Any]) -> None:
    """Raise unless labels can be classes; those of several types have no order."""
    of_type = {type(label): label for label in labels.tolist()}
    if len(of_type) > 1:
        first, second, *_ = of_type.values()
        raise ValueError(
            f"Labels must be of one type, but y holds {listed(kind.__name__ for kind in of_type)}, as in "
            f"{shown(first)} and {shown(second)}. Convert them, as with map(str, y)."
        )
    check_classification_targets(labels)


def check_labels(y: ArrayLike, who: str) -> NDArray[Any]:
    """Check `y` and return it as a 1-d array of labels of any type."""
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    refuse_missing_labels(labels)
    assert_all_finite(labels, input_name="y")
    check_classes(labels)
    return np.asarray(labels)
