"""StratifiedClassifier: a model for each combination of categories, and a pooled one for the rest."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, validate_data

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import positions_of
from sepc.errors import LeftOutWarning
from sepc.estimators.base import (
    Wrapper,
    categories_of,
    check_classes,
    check_given,
    check_labels,
    column_names,
    column_positions,
    decide_rows,
)
from sepc.estimators.decided_rows import digest_of_numbers
from sepc.estimators.fitted_record import at_once
from sepc.estimators.strata import POOLED, Strata, StratifiedDecisions, StratifiedParts, find_strata, text_columns
from sepc.estimators.unwrapping import unwrap
from sepc.io.codec import Node, Reader, Writer, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, check_inner, fields_to_node, restore_fields
from sepc.model.provenance import Provenance
from sepc.model.sep_model import SEPModel, keeps_hashes
from sepc.points.inputs import refuse_missing_labels
from sepc.wording import check_number


def _all_have_probabilities(self: StratifiedClassifier) -> bool:
    return all(hasattr(model, "predict_proba") for model in (self.estimator, self.pooled) if model is not None)


class StratifiedClassifier(Wrapper[StratifiedDecisions]):
    """Fit one classifier for each combination of categories with enough rows, and a pooled one for the rest.

    An `SEPClassifier` handles categories itself, in one model of all rows. This is the paper's approach, for groups
    that need their own models: numbers may mean different things in different combinations of categories. The models of
    the strata do not see the columns `by`.

    Parameters
    ----------
    estimator : classifier
        A clone of it is fitted in every stratum.
    by : names or positions of columns, one or a list of them, or a function
        The columns whose combinations of categories form strata; names need a pandas or polars DataFrame. A function
        takes `X` and returns them, like scikit-learn's `make_column_selector`. A missing value is a category of its
        own. Without any column, the pooled model decides everything.
    min_rows : int, default=100
        Strata with fewer rows do not get their own model. As a rule of thumb, ellipsoids in d features need at least
        d (d + 3) / 2 rows of each class.
    min_class_rows : int, default=5
        Nor do strata whose second largest class has fewer rows than this. With 0, strata of a single class are fitted
        too, if the estimator allows it.
    pooled : classifier or None, default=None
        Decides on rows of all other strata and of unseen combinations; fitted on all rows. None uses a clone of
        `estimator`, which does not see the columns `by`. A classifier given here sees all columns, so it may be a
        pipeline that encodes them.
    n_jobs : int or None, default=None
        Number of strata to fit in parallel. The result does not depend on it.

    Attributes
    ----------
    classes_ : (C,) array
        The labels.
    strata_ : Strata
        All combinations of categories among the training rows, the largest first: `values`, `n_rows`, `counts` of each
        class, and `fitted`, whether it has a model of its own. `strata_.to_frame()` gives a readable table.
    estimators_ : dict of int to classifier
        The models of the strata, by position in `strata_`.
    provenance_ : Provenance or None
        A digest of the training rows, and versions; None if read from a file of 0.1.0.
    pooled_ : classifier
        The model for all other rows.
    sees_all_ : bool
        Whether that model also sees the columns `by`.
    by_ : array of int
        Positions of the columns `by`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import SEPClassifier
    >>> from sepc import StratifiedClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=600)
    >>> turned = rng.integers(2, size=600)  # in half of the rows the classes trade places
    >>> numbers = rng.normal(size=(600, 2)) + 4.0 * (y ^ turned)[:, None]
    >>> X = np.column_stack([turned, numbers])
    >>> classifier = StratifiedClassifier(SEPClassifier(), by=[0]).fit(X[:400], y[:400])
    >>> classifier.score(X[400:], y[400:]) > 0.95
    True
    >>> print(classifier.decide(X[400:])[0].why())
    among x0 = ...: ... with trust ...
    """

    def __init__(
        self,
        estimator: Any,
        by: Any,
        *,
        min_rows: int = 100,
        min_class_rows: int = 5,
        pooled: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.by = by
        self.min_rows = min_rows
        self.min_class_rows = min_class_rows
        self.pooled = pooled
        self.n_jobs = n_jobs

    @at_once
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the strata, fit a model in each that has enough rows, and fit the pooled model.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The columns `by`, and whatever the estimator takes.
        y : array of shape (n,)
            Labels of any type.

        Returns
        -------
        self
        """
        self.check_parameters()
        X, labels = self._check_input(X, y)
        self.classes_, which = np.unique(labels, return_inverse=True)
        names = column_names(X)
        self.by_: IntArray = column_positions(self.by, X)
        if len(self.by_) == len(names):
            raise ValueError(f"by names all {len(names)} columns, so no column is left for the models.")
        self.strata_, stratum = find_strata(
            tuple(str(names[j]) for j in self.by_),
            categories_of(X, self.by_),
            self.classes_,
            which,
            self.min_rows,
            self.min_class_rows,
        )
        rest = self._without_by(X)
        with_model = np.flatnonzero(self.strata_.fitted)
        # A column may be constant in one stratum only. The pooled model warns of others, if it is of the same kind.
        quiet = self.pooled is None
        jobs = [
            delayed(_fit)(clone(self.estimator), *_take(rest, labels, stratum == s), quiet=quiet) for s in with_model
        ]
        if self.pooled is None:
            pooled = delayed(_fit)(clone(self.estimator), rest, labels)
        else:
            pooled = delayed(_fit)(clone(self.pooled), X, labels, advice="")
        # The pooled model has the most rows, so it starts first.
        self.sees_all_: bool = self.pooled is not None
        self.pooled_, *fitted = Parallel(n_jobs=self.n_jobs)([pooled, *jobs])
        self.estimators_: dict[int, Any] = {int(s): model for s, model in zip(with_model, fitted, strict=True)}
        inside = getattr(unwrap(self.pooled_).classifier, "model_", None)
        is_kept = not isinstance(inside, SEPModel) or keeps_hashes(inside)
        self.provenance_ = Provenance.now(digest_of_numbers(X, labels) if is_kept else "", len(labels))
        return self

    def _labels(self, X: Any) -> NDArray[Any]:
        X, strata, _ = self._locate_rows(X)
        labels = np.empty(len(strata), dtype=self.classes_.dtype)
        for _, model, rows, part in self._parts(X, strata):
            labels[rows] = model.predict(part)
        return labels

    @available_if(_all_have_probabilities)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, of shape (n, C); 0 for classes that a row's stratum has not seen.

        For a Dask collection, as a Dask array.
        """
        return super().predict_proba(X)

    def _probabilities(self, X: Any) -> FloatArray:
        X, strata, _ = self._locate_rows(X)
        probabilities = np.zeros((len(strata), len(self.classes_)))
        for _, model, rows, part in self._parts(X, strata):
            probabilities[np.ix_(rows, positions_of(model.classes_, self.classes_))] = model.predict_proba(part)
        return probabilities

    def _decide(self, X: Any) -> StratifiedDecisions:
        X, strata, values = self._locate_rows(X)
        decisions = {s: decide_rows(model, part) for s, model, _, part in self._parts(X, strata)}
        return StratifiedDecisions.gather(StratifiedParts(self.strata_, decisions), strata, values)

    def empty_decisions(self) -> StratifiedDecisions:
        """Decisions on zero rows, with all columns and their types."""
        values = np.empty((0, len(self.strata_.by)), dtype=object)
        return StratifiedDecisions.gather(StratifiedParts(self.strata_, {}), np.empty(0, dtype=np.int64), values)

    def _locate_rows(self, X: Any) -> tuple[Any, IntArray, NDArray[Any]]:
        """Checked rows, the stratum of each, and its categories."""
        X = self._check_input(X)
        values = categories_of(X, self.by_)
        return X, self.strata_.of(values), values

    def _parts(self, X: Any, strata: IntArray) -> Any:
        """For each stratum that occurs: its number, its model, its rows, and the columns that the model sees."""
        rest = self._without_by(X)
        for s in map(int, np.unique(strata)):
            rows = np.flatnonzero(strata == s)
            seen = X if s == POOLED and self.sees_all_ else rest
            yield s, self.pooled_ if s == POOLED else self.estimators_[s], rows, _safe_indexing(seen, rows)

    def _without_by(self, X: Any) -> Any:
        kept = np.setdiff1d(np.arange(X.shape[1]), self.by_)
        return X if len(self.by_) == 0 else _safe_indexing(X, kept, axis=1)

    def _check_input(self, X: Any, y: Any = "no_validation") -> Any:
        """Check `X`, and in `fit` also `y`: a DataFrame is returned unchanged, anything else as an array."""
        fitting = not isinstance(y, str)
        refuse_missing_labels(y)
        if fitting:
            check_given(X, y)
        if not hasattr(X, "columns"):
            # NumPy would turn the numbers of a list that contains text into text.
            X = np.array(X, dtype=object) if isinstance(X, list) and np.asarray(X).dtype.kind in "US" else X
            checked = validate_data(self, X, y, dtype=None, ensure_all_finite=False, reset=fitting)
            if fitting:
                check_classes(checked[1])
            return checked
        if X.shape[0] == 0:
            raise ValueError("X has 0 rows while a minimum of 1 is required.")
        validate_data(self, X, skip_check_array=True, reset=fitting)
        if not fitting:
            return X
        labels = check_labels(y, type(self).__name__)
        check_consistent_length(X, labels)
        return X, labels

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value; `fit` calls this first."""
        for name, least in (("min_rows", 1), ("min_class_rows", 0)):
            check_number(name, getattr(self, name), least=least, whole=True)


def _take(X: Any, labels: NDArray[Any], chosen: NDArray[np.bool_]) -> tuple[Any, NDArray[Any]]:
    rows = np.flatnonzero(chosen)
    return _safe_indexing(X, rows), labels[rows]


def _fit(
    estimator: Any,
    X: Any,
    labels: NDArray[Any],
    advice: str = "Name them in by, or encode them",
    quiet: bool = False,
) -> Any:
    """Fit; if that fails and there are text columns, raise an error that names them and says how to encode them."""
    try:
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", LeftOutWarning)
            return estimator.fit(X, labels)
    except ValueError as error:
        text = text_columns(X)
        if not (text and advice):
            raise
        several = len(text) > 1
        kind = type(estimator).__name__
        raise ValueError(
            f"{kind} could not be fitted; column{'s' if several else ''} {', '.join(map(repr, text))}, not in by, "
            f"hold{'' if several else 's'} text or categories. {advice} in a pipeline, for example make_pipeline("
            f"make_column_transformer((TargetEncoder(), {text}), remainder='passthrough'), {kind}()). "
            f"The error of {kind}: {error}"
        ) from error


def write(stratified: StratifiedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write strata and their models, which must be estimators of this library; the pooled model may be any."""
    models = {}
    for s, model in stratified.estimators_.items():
        models[str(s)] = inner.write(model, writer.under(f"models/{s}"))
        if models[str(s)] is None:
            kind = type(model).__name__
            raise TypeError(
                f"A model of a stratum is a {kind}, which is not an estimator of sepc, so it cannot be saved."
            )
    writer.put(by=stratified.by_)
    return fields_to_node(stratified, without=("estimator", "by", "pooled")) | {
        **record_to_node(stratified.strata_, writer),
        "sees_all": stratified.sees_all_,
        "pooled": inner.to_node(stratified.pooled_, writer.under("pooled")),
        "models": models,
    }


def read(reader: Reader, inner: InnerModels) -> StratifiedClassifier:
    """Read strata and their models."""
    strata, models = record_from(Strata, reader), reader.value("models", dict)
    by, classes = reader.ints("by", len(strata.by)), strata.classes
    if set(models) != {str(s) for s in np.flatnonzero(strata.fitted)}:
        raise reader.wrong("has strata whose models are missing")
    estimators = {int(s): inner.read(reader.under(f"models/{s}", node)) for s, node in models.items()}
    pooled = inner.from_node(reader.part("pooled"))
    stratified = restore_fields(StratifiedClassifier(next(iter(estimators.values()), pooled), by.tolist()), reader)
    if (by >= stratified.n_features_in_).any() or len(set(by.tolist())) < len(by):
        raise reader.wrong("names columns that it does not have, or the same column twice")
    stratified.sees_all_ = reader.value("sees_all", bool)
    stratified.pooled = pooled if stratified.sees_all_ else None
    n_features = stratified.n_features_in_ - len(by)
    for model in estimators.values():
        check_inner(model, reader, n_features, classes, all_classes=False)
    n_pooled = n_features if stratified.pooled is None else stratified.n_features_in_
    check_inner(pooled, reader, n_pooled, classes, all_classes=False)
    stratified.classes_, stratified.strata_, stratified.by_ = classes, strata, by
    stratified.pooled_, stratified.estimators_ = pooled, dict(sorted(estimators.items()))
    return stratified
