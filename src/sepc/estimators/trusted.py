"""TrustedClassifier: any classifier's labels, with trust, causes and reasons from a partition of the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.errors import FlatSetWarning, LeftOutWarning
from sepc.estimators.base import LabelPreservingWrapper, check_given, check_labels, decide_rows, empty_decisions
from sepc.estimators.fitted_record import as_fitted, at_once
from sepc.estimators.sep import estimator as sep_state
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted_decisions import N_SIGNALS, Calibration, TrustedDecisions, TrustModel, signals
from sepc.estimators.unwrapping import classifier_name
from sepc.io.codec import Node, Reader, Writer, are_text, labels_from, labels_to_node, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, check_inner, fields_to_node, fingerprint_of, reattach, restore_fields
from sepc.model.edits import Edit
from sepc.statistics.rates import stratified_folds
from sepc.wording import check_number


class TrustedClassifier(LabelPreservingWrapper[TrustedDecisions]):
    """Keep the labels of any classifier, and say how far to trust each one and why.

    An `SEPClassifier`, the partition, is fitted alongside the classifier on the same rows. By cross-fitting, a logistic
    model learns when the label is right, from the probabilities of both on rows that neither has seen. A classifier may
    be confident where it has seen nothing; the partition shows where the training rows lie, and far from them no label
    is trusted.

    Parameters
    ----------
    estimator : classifier
        Fitted on all rows, and once more for every fold of `cv`. In a `FrozenEstimator` it is not refitted, and `fit`
        must be given rows that it has not seen.
    partition : SEPClassifier or None, default=None
        The partition, fitted in the same way on all rows and for every fold; by default an `SEPClassifier` with default
        settings.
    transformer : transformer or None, default=None
        Turns `X` into the columns that the partition sees, for example a subset. By default it sees `X` itself, with
        categories, dates and missing values.
    cv : int, splitter or iterable of splits, default=5
        The folds of cross-fitting; a number means folds of rows drawn at random. Grouped rows or time series need a
        suitable splitter.
    min_trust : float, default=0.95
        The minimum trust at which a label is accepted; below it the model abstains. Labels do not depend on it.
    n_jobs : int or None, default=None
        Number of folds to fit in parallel.
    random_state : int, RandomState or None, default=0
        For folds drawn at random, and for the default partition.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier, whose labels are kept.
    partition_ : SEPClassifier
        The fitted partition.
    transformer_ : transformer
        The fitted transformer; only if one was given.
    classes_ : (C,) array
        The classifier's labels.
    model_ : TrustModel
        Everything that trust is computed from.
    edits_ : tuple of Edit
        What experts changed in the partition, with `edited`. Labels are the classifier's and do not change; trust does.
    provenance_ : Provenance or None
        A digest of the training rows, and versions; None if read from a file of 0.1.0.
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
    0 by RandomForestClassifier with trust ...: ... The nearest cases agree ...
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

    @at_once
    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Fit the classifier, unless it is frozen, and the partition, and calibrate the trust.

        Parameters
        ----------
        X : array, DataFrame or whatever the estimator takes, of n rows
        y : array of shape (n,)
            Labels.
        groups : array of shape (n,), optional
            Passed to `cv`, if that is a splitter that keeps groups together.

        Returns
        -------
        self
        """
        self.check_parameters()
        check_given(X, y)
        X, labels = indexable(X, check_labels(y, type(self).__name__))
        validate_data(self, X, skip_check_array=True)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
        self.estimator_ = clone(self.estimator).fit(X, labels)
        self.classes_ = np.asarray(self.estimator_.classes_)
        partition = SEPClassifier(random_state=self.random_state) if self.partition is None else self.partition
        beside = partition, self.transformer
        self.partition_, transformer = _fit_clones(*beside, X, labels)
        self.provenance_ = self.partition_.provenance_
        if transformer is not None:
            self.transformer_ = transformer
        splits = splits_of(self.cv, labels, groups, self.random_state)
        common = self.estimator, *beside, self.partition_, X, labels
        jobs = (delayed(_signals_on_left_out)(*common, train, test) for train, test in splits)
        given, correct = zip(*Parallel(n_jobs=self.n_jobs)(jobs), strict=True)
        calibration = Calibration.fit(np.concatenate(given), np.concatenate(correct))
        self.model_ = TrustModel(self.partition_.model_, calibration, classifier_name(self.estimator_))
        return self

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model whose partition has exactly these edits, which are signed."""
        fitted = as_fitted(self)
        partition = fitted.partition_.with_edits(edits)
        return fitted.with_fitted(partition_=partition, model_=replace(fitted.model_, partition=partition.model_))

    @property
    def located_by(self) -> SEPClassifier:
        """The partition."""
        return self.partition_

    def _decide(self, X: Any) -> TrustedDecisions:
        partition = _decide_beside(self.partition_, getattr(self, "transformer_", None), X)
        return TrustedDecisions.of(self.model_, decide_rows(self.estimator_, X), partition, self.min_trust)

    def empty_decisions(self) -> TrustedDecisions:
        """Decisions on zero rows, with all columns and their types."""
        base, partition = empty_decisions(self.estimator_), self.partition_.empty_decisions()
        return TrustedDecisions.of(self.model_, base, partition, self.min_trust)

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value; `fit` calls this first."""
        check_number("min_trust", self.min_trust, least=0, most=1)
        if not (self.partition is None or isinstance(self.partition, SEPClassifier)):
            raise TypeError(f"partition is {self.partition!r}; it must be an SEPClassifier, or None for the default.")


def _fit_clones(
    partition: SEPClassifier, transformer: Any, X: Any, labels: NDArray[Any], like: SEPClassifier | None = None
) -> tuple[SEPClassifier, Any]:
    """Fit clones of both, with `fit_transform`, since a transformer that uses labels may cross-fit.

    `like` is a partition fitted to these rows and some others, whose penalties are used again.
    """
    transformer = None if transformer is None else clone(transformer)
    rows = X if transformer is None else transformer.fit_transform(X, labels)
    fresh = clone(partition)
    return fresh.fit(rows, labels) if like is None else fresh.fit_again(like, rows, labels), transformer


def _decide_beside(partition: SEPClassifier, transformer: Any, X: Any) -> SEPDecisions:
    """The partition's decisions on what the transformer makes of `X`; None leaves the columns as they are."""
    decisions: SEPDecisions = partition.decide(X if transformer is None else transformer.transform(X))
    return decisions


def splits_of(cv: Any, labels: NDArray[Any], groups: Any, random_state: Any) -> list[tuple[IntArray, IntArray]]:
    """The folds of `cv`: a number of folds, a scikit-learn splitter, or an iterable of splits."""
    if isinstance(cv, Integral):
        fewest = int(np.unique(labels, return_counts=True)[1].min())
        if fewest > 1:
            cv = StratifiedKFold(min(cv, fewest), shuffle=True, random_state=random_state)
        else:
            cv = _keeping_single_rows(int(cv), labels, random_state)
    return list(check_cv(cv, labels, classifier=True).split(np.zeros(len(labels)), labels, groups))


def _keeping_single_rows(n_folds: int, labels: NDArray[Any], random_state: Any) -> PredefinedSplit:
    """Folds that never leave out the only row of a class."""
    folds = stratified_folds(labels, n_folds, check_random_state(random_state))
    if (folds < 0).all():
        raise ValueError(
            "TrustedClassifier compares labels on held-out rows, but every class has a single row; give it at least 2 "
            "rows of some class."
        )
    return PredefinedSplit(folds)


def _signals_on_left_out(
    estimator: Any,
    partition: SEPClassifier,
    transformer: Any,
    like: SEPClassifier,
    X: Any,
    labels: NDArray[Any],
    train: IntArray,
    test: IntArray,
) -> tuple[FloatArray, BoolArray]:
    """Signals for the predicted labels of left-out rows, and whether they are right; a frozen model is not refitted."""
    seen, left_out = _safe_indexing(X, train), _safe_indexing(X, test)
    with warnings.catch_warnings():
        # The fit on all rows has warned already.
        for category in (FlatSetWarning, LeftOutWarning):
            warnings.simplefilter("ignore", category)
        base = decide_rows(clone(estimator).fit(seen, labels[train]), left_out)
        decided = _decide_beside(*_fit_clones(partition, transformer, seen, labels[train], like), left_out)
    return signals(base, decided), np.asarray(base.label == labels[test])


def write(trusted: TrustedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier with its partition and trust model."""
    return fields_to_node(trusted, without=("estimator", "partition", "transformer")) | {
        "classes": labels_to_node(trusted.classes_),
        "estimator": inner.to_node(trusted.estimator_, writer.under("estimator")),
        "transformer": fingerprint_of(trusted.transformer_) if hasattr(trusted, "transformer_") else None,
        "partition": sep_state.write(trusted.partition_, writer.under("partition"), inner),
        "own_partition": trusted.partition is not None,
        "trust": {
            "base": trusted.model_.base,
            **record_to_node(trusted.model_.calibration, writer.under("trust")),
        },
    }


def read(reader: Reader, inner: InnerModels) -> TrustedClassifier:
    """Read a classifier with its partition and trust model."""
    estimator = inner.from_node(reader.part("estimator"))
    trusted = restore_fields(TrustedClassifier(estimator), reader)
    trusted.estimator_, trusted.classes_ = estimator, labels_from(reader.part("classes"))
    if reader.has("transformer"):
        trusted.transformer = trusted.transformer_ = reattach(
            inner.transformer, reader.part("transformer"), "transformer"
        )
    check_inner(estimator, reader, trusted.n_features_in_, trusted.classes_, all_classes=True)
    trusted.partition_ = sep_state.read(reader.part("partition"), inner)
    if are_text(trusted.partition_.classes_) is not are_text(trusted.classes_):
        raise reader.wrong("has a partition with labels of another type")
    if trusted.transformer is None and not _sees(trusted.partition_, trusted):
        raise reader.wrong("has a partition with other features")
    if reader.value("own_partition", bool):
        trusted.partition = clone(trusted.partition_)
    trust = reader.part("trust")
    calibration = record_from(Calibration, trust, {"s": N_SIGNALS})
    trusted.model_ = TrustModel(trusted.partition_.model_, calibration, trust.text("base"))
    return trusted


def _sees(partition: SEPClassifier, trusted: TrustedClassifier) -> bool:
    """Whether the features of the partition are among those of the classifier."""
    seen, every = (getattr(estimator, "feature_names_in_", None) for estimator in (partition, trusted))
    if seen is None or every is None:
        return seen is every and partition.n_features_in_ <= trusted.n_features_in_
    return set(seen) <= set(every)
