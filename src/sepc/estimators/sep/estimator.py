"""SEPClassifier: sequential ellipsoidal partitioning as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, validate_data

from sepc._typing import FloatArray, IntArray
from sepc.columns.preparation import Preparation, feature_displays, numbers_of_table, plain_rows
from sepc.columns.table import is_table
from sepc.estimators.base import DecidingClassifier
from sepc.estimators.fitted_record import as_fitted, at_once
from sepc.estimators.sep._constraints import best_columns
from sepc.estimators.sep.crossing import out_of_fold, refit_out_of_fold
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.editing import edit_model
from sepc.estimators.sep.fitted import (
    FittedEllipsoids,
    History,
    Regions,
    RowsUsed,
    fitted_ellipsoids,
    histories,
    importances_of,
)
from sepc.estimators.sep.fitting import Fit, FitSettings, Learned, fit_model
from sepc.estimators.sep.given_tables import complete, prepare
from sepc.estimators.sep.multiclass import warn_if_flat
from sepc.estimators.sep.training_set import (
    GivenColumns,
    TableRows,
    TrainingSet,
    weights_of_classes,
    with_class_weights,
)
from sepc.io.codec import Node, Reader, Writer, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, fields_to_node, restore_fields
from sepc.model.edits import Edit, Edits
from sepc.model.proofs import Proofs, proofs_of
from sepc.model.rules import labels_of, probabilities_of
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import FeatureDisplay
from sepc.partition.sequence import Round
from sepc.tables.fitted_rows import rows_for_fit
from sepc.tables.table_file import TableFile
from sepc.wording import plain

Listener = Callable[[Round], None]

# Set by `listen_to_rounds`; a context variable, so that fits in other threads are not affected.
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("_listeners", default=())


@contextmanager
def listen_to_rounds(listener: Listener) -> Iterator[None]:
    """Context manager: calls `listener` with the rows left after every round of every partition."""
    before = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(before)


def _tell_listeners(left: Round) -> None:
    for listener in _listeners.get():
        listener(left)


class SEPClassifier(DecidingClassifier[SEPDecisions]):
    """Classify by ellipsoids carved out of the training set, and say how far to trust each label and why.

    Parameters
    ----------
    n_impure : int or float, default=0.2
        How many training rows of other labels an ellipsoid may hold: a number, or a share of its own rows. Smaller
        values give more and purer ellipsoids, and more rows outside all of them; larger values give fewer ellipsoids
        that are easier to read.
    trust : {"weights", "counts", "published"}, default="weights"
        Where labels and trust come from. "weights" is a generalised additive (logistic) model of the ellipsoids and a
        shape function for each feature; `decide(X)[0].terms()` lists what each contributes. "counts" uses the training
        rows of each class where a row lies; trust grows with their number and fades outside the ellipsoids.
        "published" follows the paper to the letter, also in what it cuts and when it stops, and does not scale
        features by their standard deviations; its trust is 1 for any pure region, even of one row.
    min_trust : float, default=0.95
        The minimum trust at which a label is accepted; below it the model abstains. Labels do not depend on it.
    max_ellipsoids : int or None, default=None
        Stop a partition once it has this many ellipsoids. Fewer are faster and coarser. By default as many as pay: of
        two classes, until the log loss of rows left out no longer falls, at most 40 for up to 2,000 rows, growing to 60
        for 10,000 or more; of more classes at most 15 each, fewer with more than 26 classes.
    fit_rows : "auto", int or None, default="auto"
        Partition at most this many rows, chosen by a hash of their values such that repeated rows keep their share, and
        then count all rows in the ellipsoids. More rows take longer and gain little. "auto" means 400 per feature, but
        at least 4,000 and at most 10,000; None means all rows, which must then be in memory. `rows_used_` reports how
        many were used.
    categorical_features : "from_dtype" or list of names, default="from_dtype"
        Columns of a DataFrame that hold categories, in addition to those with text or a categorical dtype.
    force_features : list of names or None, default=None
        Columns of a DataFrame to use as features although they look like an id, an index, a constant or free text;
        by default such columns are left out, with a warning that names them.
    monotone : mapping of columns to "up" or "down", sequence of -1, 0 and 1, or None, default=None
        Columns whose larger values may only raise (or lower) the log-odds of `monotone_for`, by name or position, such
        as ``{"income": "up", "debt": "down"}``; or a direction for every column, as in scikit-learn's `monotonic_cst`.
        Each enters through a curve of its own alone, so this holds for every row, whatever its other values.
    monotone_for : label or None, default=None
        The label that directions refer to, against each of the others; by default the second of two.
    features_alone : list of columns or None, default=None
        Columns that enter through a curve of their own, in no particular direction, and not through ellipsoids. Beyond
        the range seen in training they lose trust. Of more than 20 features, all but the at most 20 most useful numbers
        enter in this way, too.
    max_features : int or None, default=None
        Use at most this many columns of a DataFrame: those on which a first fit to all of them relies most, and always
        those that `monotone`, `features_alone` and `force_features` name. The others are left out.
    class_weight : "balanced", mapping of labels to weights or None, default=None
        Decide as if class frequencies differed from training: a class of weight 2 is twice as frequent relative to the
        others, and "balanced" makes all equally frequent. For a rare class whose rows must not be missed. The fit is
        the same.
    keep_rows : bool, default=True
        Whether the model holds isolated training rows, hashes of up to 1,000 rows, and a digest of all of them. If
        not, isolated rows are left out (a class without an ellipsoid gets one around them), and training rows among
        supposedly new ones are not recognised. Single values, such as the smallest of a column, stay in either case.
    out_of_fold : bool, default=False
        Also compute `out_of_fold_`: weights are fitted for two more models, without fitting more ellipsoids; with
        missing values, two more models are fitted in full. Needs trust="weights" and rows in memory.
    n_jobs : int or None, default=None
        Number of classes to partition in parallel, if there are more than two.
    random_state : int, RandomState or None, default=0
        For drawing rows if there are more than `fit_rows` or 40,000. Nothing else is random.

    Attributes
    ----------
    classes_ : (C,) array
        The labels.
    ellipsoids_ : sequence of FittedEllipsoid
        The ellipsoids in the order they were found, with the hyperplanes of their cuts.
    history_ : tuple of History
        For every partition, the rows left after each round and why it stopped.
    rows_used_ : RowsUsed
        How many rows were partitioned, and how many the weights were fitted to; prints as a sentence.
    regions_ : Regions
        Every region a row can lie in, with its training rows of each class; `apply` gives positions in it.
    preparation_ : Preparation
        How the columns of a table become features; `summary` says it in a line.
    encoding_ : Preparation or None
        The same, or None if all columns are numbers and used unchanged.
    out_of_fold_ : (n, C) array
        With `out_of_fold`: probabilities of the training rows, each from a model of about half of the rows that has
        seen neither it nor equal rows. NaN for rows without one: with more than `fit_rows` rows those that were
        partitioned, with more than 40,000 also those the weights were not fitted to. Not kept in model files.
    learned_ : Learned or None
        How many ellipsoids pay, and the penalties of the weights, for `fit_again`; with weights only, and not kept in
        model files.
    model_ : SEPModel
        The arrays that all decisions are computed from. They hold no training rows, or isolated ones (`keep_rows`).
    feature_importances_ : array
        How much each column matters: the mean absolute term in log-odds; with weights only.
    edits_ : tuple of Edit
        What experts changed in the model, with `edited`.
    provenance_ : Provenance or None
        A digest of the training rows, and versions; None if read from a file of 0.1.0.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sepc import SEPClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean texture", "worst area", "worst concavity"]]
    >>> classifier = SEPClassifier().fit(X[::2], y[::2])
    >>> decisions = classifier.decide(X[1::2])
    >>> bool((decisions.label == y[1::2])[decisions.accepted].mean() > 0.95)
    True
    >>> print(decisions[0].why())
    0 with trust ...
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    encoding_: Preparation | None
    model_: SEPModel
    rows_used_: RowsUsed
    learned_: Learned | None
    out_of_fold_: FloatArray

    is_partition = True
    _learned_before: Learned | None = None

    def __init__(
        self,
        n_impure: int | float = 0.2,
        *,
        trust: str = "weights",
        min_trust: float = 0.95,
        max_ellipsoids: int | None = None,
        fit_rows: int | str | None = "auto",
        categorical_features: Any = "from_dtype",
        force_features: Collection[Any] | None = None,
        monotone: Any = None,
        monotone_for: Any = None,
        features_alone: Collection[Any] | None = None,
        max_features: int | None = None,
        class_weight: Any = None,
        keep_rows: bool = True,
        out_of_fold: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_impure = n_impure
        self.trust = trust
        self.min_trust = min_trust
        self.max_ellipsoids = max_ellipsoids
        self.fit_rows = fit_rows
        self.categorical_features = categorical_features
        self.force_features = force_features
        self.monotone = monotone
        self.monotone_for = monotone_for
        self.features_alone = features_alone
        self.max_features = max_features
        self.class_weight = class_weight
        self.keep_rows = keep_rows
        self.out_of_fold = out_of_fold
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def as_published(cls, n_impure: int | float = 2, **options: Any) -> Self:
        """A classifier that follows the paper to the letter wherever the paper is specific enough."""
        return cls(n_impure, **dict[str, Any](trust="published", max_ellipsoids=500, fit_rows=None) | options)

    @at_once
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Partition the training set into ellipsoids, and fit their weights.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d), Dask array or DataFrame, path or TableFile
            A pandas or polars DataFrame or an Arrow table may hold numbers, categories and dates; an array holds
            numbers. NaN is a missing value, which is imputed from other rows of the class. Dask collections stay on
            the workers of the current client. A path names a CSV, Parquet or Excel file, read as by `read_table`, whose
            rows without a label are left out; or a folder of Parquet files, which is read block by block, as is a file
            of more than 8 million cells without missing numbers. Collections and blocks may hold categories and dates,
            whose encoding is learnt from at most 40,000 rows; their numbers and dates must not be missing.
        y : array of shape (n,), Dask array or Series, or str
            Labels of any type. With a Dask DataFrame it may be, with a file it must be, the name of their column.
        sample_weight : array of shape (n,), optional
            How much each row counts: 2 counts it twice, 0 leaves it out. Not for Dask collections and files.

        Returns
        -------
        self
        """
        settings = self._settings()
        if isinstance(X, str | PathLike | TableFile):
            if sample_weight is not None:
                raise TypeError("sample_weight is for rows in memory; for files it must be None.")
            X, y = rows_for_fit(X, y, self.force_features or ())
        return self._fit_table(X, y, sample_weight, settings)

    def _fit_table(self, X: Any, y: Any, sample_weight: Any, settings: FitSettings) -> Self:
        """Fit to a table in memory or a collection."""
        if self.max_features is not None:
            settings = replace(settings, kept=best_columns(self, X, y, sample_weight))
        training = prepare(X, y, settings, sample_weight)
        fit = self._fit_training(training, settings)
        table = training.table
        if self.out_of_fold and table is not None:
            refitted = refit_out_of_fold(self, X, y, sample_weight, table) if table.has_gaps else None
            self.out_of_fold_ = table.of_table(self._out_of_fold(fit, table) if refitted is None else refitted)
        return self

    def fit_again(self, other: SEPClassifier, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to most of the rows of another fit, as in cross-validation, with its penalties and number of ellipsoids.

        Parameters
        ----------
        other : SEPClassifier
            Fitted with the same parameters. Where it has other columns, this is `fit`.
        X : DataFrame or array of shape (n, d)
        y : array of shape (n,)
        """
        self._learned_before = getattr(as_fitted(other), "learned_", None)
        try:
            self.fit(X, y)
        finally:
            self._learned_before = None
        return self

    @at_once
    def fit_like(self, other: SEPClassifier, rows: FloatArray, labels: NDArray[Any]) -> Self:
        """Fit to rows as another classifier has prepared them, so that both take the same columns.

        Parameters
        ----------
        other : SEPClassifier
            Fitted.
        rows : (n, d) array
            Its features and category codes, as in `SEPDecisions.given_rows`; missing values are NaN.
        labels : array of shape (n,)
        """
        settings, names = self._settings(), getattr(other, "feature_names_in_", None)
        columns = GivenColumns(other.n_features_in_, None if names is None else tuple(names), other.encoding_)
        alone = other.model_.alone
        if alone is not None:
            alone = alone.among(other.classes_, np.unique(labels))
        self._fit_training(complete(rows, labels, columns, alone), settings)
        return self

    def _settings(self) -> FitSettings:
        """The parameters, checked."""
        return FitSettings(**self.get_params(deep=False), who=type(self).__name__, learned=self._learned_before)

    def _fit_training(self, training: TrainingSet, settings: FitSettings) -> Fit:
        """Fit to complete rows, and set the fitted attributes."""
        columns = training.columns
        self.classes_, self.n_features_in_, self.encoding_ = training.labels, columns.n, columns.preparation
        if columns.names is not None:
            self.feature_names_in_ = np.array(columns.names, dtype=object)
        training.extent.refuse_extremes(columns.feature_names)
        warn_if_flat(training)
        fit = fit_model(training, settings, _tell_listeners)
        self.model_ = fit.model if self.class_weight is None else with_class_weights(fit.model, self.class_weight)
        self.model_.check_units()
        self.rows_used_, self.provenance_, self.learned_ = fit.rows_used, fit.provenance, fit.learned
        self.ellipsoids_: FittedEllipsoids = fitted_ellipsoids(self.model_, fit.pieces)
        self.history_: tuple[History, ...] = histories(self.model_, fit.pieces.partitions)
        self.regions_: Regions = Regions(self.model_)
        return fit

    def _out_of_fold(self, fit: Fit, table: TableRows) -> FloatArray:
        """Out-of-fold probabilities of the rows of a table without missing values."""
        found = out_of_fold(fit.fold_models, table.rows, len(self.classes_))
        if self.class_weight is not None:
            found *= weights_of_classes(self.class_weight, self.classes_, fit.model.class_counts)
            found /= found.sum(axis=1, keepdims=True)
        return found

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, applied in order to the weights that `fit` found.

        They must be signed, such as the `edits_` of the model that this one replaces.
        """
        fitted = as_fitted(self)
        model = edit_model(fitted.model_, fitted.encoding_, edits)
        ellipsoids = replace(fitted.ellipsoids_, model=model)
        # Out-of-fold probabilities are those of models without the edits.
        return fitted.with_fitted(["out_of_fold_"], model_=model, ellipsoids_=ellipsoids, regions_=Regions(model))

    def _decide(self, X: Any) -> SEPDecisions:
        rows = self._rows(X)
        if (preparation := self.encoding_) is not None:
            used = self.model_.with_typical(rows)
            notes, empty = preparation.notes_on(X, used), preparation.empty_in(X, used)
            return SEPDecisions.of(self.model_, rows, self.min_trust, notes, empty, preparation)
        # A copy, since causes and reasons are computed from these rows later, when `X` may have changed.
        return SEPDecisions.of(self.model_, rows.copy(), self.min_trust)

    def _labels(self, X: Any) -> NDArray[Any]:
        return labels_of(self.model_, self._rows(X))

    def _probabilities(self, X: Any) -> FloatArray:
        return probabilities_of(self.model_, self._rows(X))

    def _rows(self, X: Any) -> FloatArray:
        """Rows of numbers, as the model takes them; they may share their memory with `X`."""
        if self.encoding_ is not None:
            self.check_columns(X)
            validate_data(self, X, skip_check_array=True, reset=False)
            return self.encoding_.check_finite(self.encoding_.rows_of(X))
        rows = plain_rows(X, self.n_features_in_, getattr(self, "feature_names_in_", None))
        if rows is None:
            numbers = numbers_of_table(X)
            if numbers is not X:
                validate_data(self, X, skip_check_array=True, reset=False)
                return np.asarray(check_array(numbers, ensure_all_finite="allow-nan", estimator=self, input_name="X"))
            # To look for NaN, scikit-learn adds up all cells; the sum of huge ones may overflow.
            with np.errstate(invalid="ignore"):
                rows = validate_data(self, X, dtype=np.float64, reset=False, ensure_all_finite="allow-nan")
        return rows

    def check_columns(self, X: Any) -> None:
        """Raise if a column is not numeric or, for a model of a table, if `X` is not a table."""
        kind = type(self).__name__
        if self.encoding_ is None:
            numbers_of_table(X)
        elif not is_table(X):
            raise TypeError(f"{kind} was fitted to a table with named columns; give it a DataFrame with these columns.")

    def empty_decisions(self) -> SEPDecisions:
        """Decisions on zero rows, with all columns and their types."""
        n_columns = len(self.model_.feature_names) + self.model_.n_codes
        return SEPDecisions.of(self.model_, np.empty((0, n_columns)), self.min_trust, preparation=self.encoding_)

    @property
    def preparation_(self) -> Preparation:
        """How the columns of a table become features; those of an array are numbers, named x0, x1 and so on."""
        fitted = as_fitted(self)
        return fitted.encoding_ or Preparation.of_numbers(fitted.model_.feature_names)

    @property
    def feature_importances_(self) -> FloatArray:
        """How much each column matters: the mean absolute term in log-odds over the training rows.

        0 for columns that are left out. With several classes, the size of a term is the largest difference it makes
        between two of them. Terms of ellipsoids belong to no single column, and are not counted here.
        """
        fitted = as_fitted(self)
        if fitted.model_.weights is None:
            raise AttributeError(f"With trust={fitted.trust!r} columns have no terms, and therefore no importances.")
        sizes = importances_of(fitted.model_, fitted.encoding_)
        names = getattr(fitted, "feature_names_in_", fitted.model_.feature_names)
        return np.array([sizes.get(str(name), 0.0) for name in names])

    def proofs(self) -> Proofs:
        """What is proved of the features of `monotone`, in words, and what follows from it.

        Every statement is checked against the weights that the model has now, also after edits.

        Returns
        -------
        Proofs
            A sequence with an entry for each monotone feature; `print` shows it in words.
        """
        return proofs_of(self.model_)

    def apply(self, X: ArrayLike) -> IntArray:
        """The region of every row: a position in `regions_`, or -1 for an unseen combination of ellipsoids."""
        region: IntArray = self.decide(X).region
        return region

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value."""
        self._settings()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# Parameters that files of earlier versions lack; a file has them only if they are used.
LATER_PARAMETERS = ("monotone", "monotone_for", "features_alone", "max_features")


def write(classifier: SEPClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier with the history of its fit."""
    preparation, edits = classifier.encoding_, classifier.model_.edits
    prepared = None if preparation is None else record_to_node(preparation, writer.under("preparation"))
    unused = tuple(name for name in LATER_PARAMETERS if getattr(classifier, name) is None)
    return fields_to_node(classifier, without=unused) | {
        "preparation": prepared,
        "model": record_to_node(classifier.model_, writer.under("model")),
        **record_to_node(classifier.ellipsoids_, writer),
        "rows_used": record_to_node(classifier.rows_used_, writer),
        "history": [record_to_node(history, writer) for history in classifier.history_],
        # A model without edits has the same file as ever.
        **({} if edits is None else {"edits": record_to_node(edits, writer.under("edits"))}),
    }


def read(reader: Reader, inner: InnerModels) -> SEPClassifier:
    """Read a classifier."""
    classifier = restore_fields(SEPClassifier(), reader)
    preparation = _preparation_from(reader, classifier)
    part = reader.part("model")
    plain_numbers = (FeatureDisplay(),) * len(part.texts("feature_names"))
    displays = plain_numbers if preparation is None else tuple(feature_displays(preparation))
    model = _with_edits(record_from(SEPModel, part, displays=displays), reader)
    _check_features(reader, model, preparation, classifier.n_features_in_)
    classifier.encoding_ = preparation
    classifier.model_, classifier.classes_ = model, model.classes
    sizes = {"K": model.n_ellipsoids, "g": len(model.placed)}
    classifier.ellipsoids_ = record_from(FittedEllipsoids, reader, sizes, model=model)
    if len(reader.value("history", list)) > len(model.classes):
        raise reader.wrong("has more partitions than classes")
    histories = zip(reader.parts("history"), model.classes, strict=False)
    classifier.history_ = tuple(record_from(History, part, label=plain(label)) for part, label in histories)
    classifier.rows_used_ = record_from(RowsUsed, reader.part("rows_used"))
    classifier.regions_ = Regions(model)
    return classifier


def _with_edits(model: SEPModel, reader: Reader) -> SEPModel:
    """The model with the edits of its file, if there are any; their originals must have the sizes of the model."""
    if not reader.has("edits"):
        return model
    part, weights = reader.part("edits"), model.weights
    if weights is None:
        raise reader.wrong("has edits without weights")
    n_features, n_classes = weights.lines.shape
    sizes = {"d": n_features, "C": n_classes, "K": len(weights.near), "J": len(weights.isolated)}
    edits = record_from(Edits, part, sizes)
    same = ("category_features", "n_categories")
    if not all(np.array_equal(getattr(edits.original, name), getattr(weights, name)) for name in same):
        raise part.wrong("has categories that do not match its model")
    if edits.fixed.max(initial=-1) >= n_features + model.n_codes or len(np.unique(edits.fixed)) < len(edits.fixed):
        raise part.wrong("drops columns that do not exist, or one twice")
    codes = edits.fixed >= n_features
    values, n_known = edits.typical[codes], weights.n_categories[edits.fixed[codes] - n_features]
    if (values < 0).any() or (values > n_known).any() or (values != np.floor(values)).any():
        raise part.wrong("has typical categories that do not exist")
    return replace(model, edits=edits)


def _preparation_from(reader: Reader, classifier: SEPClassifier) -> Preparation | None:
    """The preparation of tables, or None; raises if its columns are not those of the classifier."""
    if not reader.has("preparation"):
        return None
    preparation = record_from(Preparation, reader.part("preparation"))
    if len(preparation.columns) != classifier.n_features_in_:
        raise reader.wrong("has a number of columns that does not match its features")
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None and [column.name for column in preparation.columns] != names.tolist():
        raise reader.wrong("has columns that do not match its feature names")
    return preparation


def _check_features(reader: Reader, model: SEPModel, preparation: Preparation | None, n_columns: int) -> None:
    """Raise if the model's features or categories do not match the preparation."""
    if preparation is None:
        if len(model.feature_names) != n_columns or model.n_codes:
            raise reader.wrong("has a model with a different number of features")
        return
    weights = model.weights
    sizes = [len(categories.values) for categories in preparation.categories.values()]
    if weights is not None and (
        weights.n_categories.tolist() != sizes
        or weights.category_features.tolist() != preparation.category_features.tolist()
    ):
        raise reader.wrong("has a model whose categories do not match its columns")
    if preparation.feature_names != model.feature_names:
        raise reader.wrong("has a model whose features do not match its columns")
