"""RoutedClassifier: models of their own for groups of rows or repaired regions, and a default for all others."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias, TypeGuard

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, validate_data

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import Decisions, partition_behind, positions_of
from sepc.errors import LeftOutWarning
from sepc.estimators.base import (
    Wrapper,
    categories_of,
    check_given,
    check_labels,
    column_names,
    column_positions,
    decide_rows,
    empty_decisions,
    take_features,
)
from sepc.estimators.decided_rows import digest_of_numbers
from sepc.estimators.fitted_record import as_fitted, at_once
from sepc.estimators.routes import DEFAULT, Change, Changes, RoutedDecisions, Strata, find_strata
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.editing import edits_for_region
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted import TrustedClassifier
from sepc.estimators.unwrapping import partition_in
from sepc.io.codec import Node, Reader, Writer, are_among, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, check_inner, fields_to_node, restore_fields
from sepc.model.edits import Edit
from sepc.model.provenance import Provenance
from sepc.model.sep_model import keeps_hashes
from sepc.wording import check_number

HasRegions: TypeAlias = SEPClassifier | TrustedClassifier

NEW_PROMISE = (
    "The promise of the SelectiveClassifier was about the previous labels and no longer holds. Make a new one on "
    "rows that were not used for this repair: SelectiveClassifier(FrozenEstimator(repaired), ...).fit(X, y)."
)


def has_own_regions(model: Any) -> TypeGuard[HasRegions]:
    """Whether a model defines regions that `repair` can give models of their own."""
    return isinstance(model, HasRegions)


def _all_have_probabilities(self: RoutedClassifier) -> bool:
    return all(hasattr(model, "predict_proba") for model in (self.estimator, self.default) if model is not None)


class RoutedClassifier(Wrapper[RoutedDecisions]):
    """Classifiers of their own for some rows, and a default for all others.

    With `by`, `fit` gives each combination of categories with enough rows a model of its own; the default is fitted on
    all rows. An `SEPClassifier` handles categories itself, in one model; this is the paper's approach, for groups that
    need their own models, where numbers may mean different things. The models do not see the columns `by`.

    Without `by`, `fit` fits the default alone, and `sepc.lifecycle.repair` returns such a classifier in which failing
    regions have new models. Decisions in all other regions are those of the default, bit for bit.

    Parameters
    ----------
    estimator : classifier
        A clone of it is fitted for every combination of categories, and as the default. Without `by`, an
        `SEPClassifier` or a `TrustedClassifier`, whose regions can be repaired.
    by : names or positions of columns, one or a list of them, or a function, optional
        The columns whose combinations of categories form strata; names need a pandas or polars DataFrame. A function
        takes `X` and returns them, like scikit-learn's `make_column_selector`. A missing value is a category of its
        own. With an empty list, the default decides everything.
    min_rows : int, default=100
        Strata with fewer rows do not get their own model. As a rule of thumb, ellipsoids in d features need at least
        d (d + 3) / 2 rows of each class.
    min_class_rows : int, default=5
        Nor do strata whose second largest class has fewer rows than this. With 0, strata of a single class are fitted
        too, if the estimator allows it.
    default : classifier or None, default=None
        Decides on rows of all other strata and of unseen combinations; fitted on all rows. None uses a clone of
        `estimator`, which does not see the columns `by`. A classifier given here sees all columns, so it may be a
        pipeline that encodes them.
    n_jobs : int or None, default=None
        Number of strata to fit in parallel. The result does not depend on it.

    Attributes
    ----------
    classes_ : (C,) array
        The labels.
    default_ : classifier
        The model for all rows without a model of their own; the one that was repaired.
    routes_ : dict of int to classifier
        The other models: by position in `strata_`, or by region. Those of regions are SEPClassifiers that take the same
        columns as the partition.
    strata_ : Strata or None
        All combinations of categories among the training rows, the largest first: `values`, `n_rows`, `counts` of each
        class, and `fitted`, whether it has a model of its own. `strata_.to_frame()` gives a readable table. None
        without `by`.
    changes_ : Changes
        What a repair tried, as a `Change` for each region; `summary` puts it in words. Only without `by`.
    lost_promise_ : bool
        Whether the repaired classifier was inside a `SelectiveClassifier`, whose promise no longer holds.
    edits_ : tuple of Edit
        What experts changed in the default, with `edited`. Edits of columns also hold in the models of repaired
        regions, as far as these know the label; edits of ellipsoids do not, since these models have ellipsoids of
        their own.
    provenance_ : Provenance or None
        Digests of the training rows, or of the rows of the repair and of the model that was repaired; and versions.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import RoutedClassifier, SEPClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=600)
    >>> turned = rng.integers(2, size=600)  # in half of the rows the classes trade places
    >>> numbers = rng.normal(size=(600, 2)) + 4.0 * (y ^ turned)[:, None]
    >>> X = np.column_stack([turned, numbers])
    >>> classifier = RoutedClassifier(SEPClassifier(), by=[0]).fit(X[:400], y[:400])
    >>> classifier.score(X[400:], y[400:]) > 0.95
    True
    >>> print(classifier.decide(X[400:])[0].why())
    among x0 = ...: ... with trust ...
    """

    default_: Any
    routes_: dict[int, Any]
    strata_: Strata | None
    changes_: Changes
    lost_promise_: bool
    provenance_: Provenance | None

    is_routed = True

    def __init__(
        self,
        estimator: Any,
        by: Any = None,
        *,
        min_rows: int = 100,
        min_class_rows: int = 5,
        default: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.by = by
        self.min_rows = min_rows
        self.min_class_rows = min_class_rows
        self.default = default
        self.n_jobs = n_jobs

    @classmethod
    def of(
        cls,
        default: HasRegions,
        routes: Mapping[int, SEPClassifier],
        changes: Iterable[Change],
        lost_promise: bool = False,
        provenance: Provenance | None = None,
    ) -> Self:
        """A fitted classifier with the models of its repaired regions."""
        routed = cls(default)
        routed.default_, routed.strata_ = default, None
        routed.routes_ = {int(region): routes[region] for region in sorted(routes)}
        routed.changes_, routed.lost_promise_ = Changes(changes), lost_promise
        routed.provenance_, routed.classes_ = provenance, default.classes_
        take_features(routed, default)
        return routed

    @at_once
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Find the strata, fit a model in each that has enough rows, and fit the default; without `by` only that.

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
        if self.by is None:
            fitted = clone(self.estimator).fit(X, y)
            return self.of(fitted, {}, (), provenance=fitted.provenance_)
        check_given(X, y)
        labels = check_labels(y, type(self).__name__)
        X = self._check_input(X, fitting=True)
        check_consistent_length(X, labels)
        self.classes_, which = np.unique(labels, return_inverse=True)
        names = column_names(X)
        self.by_: IntArray = column_positions(self.by, X)
        if len(self.by_) == len(names):
            raise ValueError(f"by names all {len(names)} columns, so no column is left for the models.")
        by, values = tuple(str(names[j]) for j in self.by_), categories_of(X, self.by_)
        strata, route = find_strata(by, values, self.classes_, which, self.min_rows, self.min_class_rows)
        rest = self._without_by(X)
        with_model = np.flatnonzero(strata.fitted)
        rows_of = (np.flatnonzero(route == s) for s in with_model)
        # A column may be constant in one stratum only. The default model warns of others, if it is of the same kind.
        jobs = [
            delayed(_fit)(clone(self.estimator), _safe_indexing(rest, rows), labels[rows], quiet=self.default is None)
            for rows in rows_of
        ]
        self.strata_ = strata
        self.sees_all_: bool = self.default is not None
        default, seen = (self.default, X) if self.sees_all_ else (self.estimator, rest)
        # The default model has the most rows, so it starts first.
        jobs.insert(0, delayed(_fit)(clone(default), seen, labels))
        self.default_, *fitted = Parallel(n_jobs=self.n_jobs)(jobs)
        self.routes_ = {int(s): model for s, model in zip(with_model, fitted, strict=True)}
        partition = partition_in(self.default_)
        is_kept = partition is None or keeps_hashes(partition.model_)
        self.provenance_ = Provenance.now(digest_of_numbers(X, labels) if is_kept else "", len(labels))
        return self

    @property
    def inner(self) -> Any:
        """The default model."""
        return self.default_

    @property
    def located_by(self) -> Any:
        """The default model, if its regions have the other models."""
        return self.default_ if self.strata_ is None else None

    @property
    def regions_(self) -> Any:
        """The regions of the default model; only without `by`."""
        if self.strata_ is not None:
            raise AttributeError("Models of strata have regions of their own: see routes_.")
        return partition_in(self.default_).regions_

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, which are signed; only without `by`."""
        fitted = as_fitted(self)
        if fitted.strata_ is not None:
            raise TypeError("The models of strata are edited one by one: edit those in routes_, or default_.")
        # A model that several regions share stays one model.
        models = {
            id(model): model.with_edits(edits_for_region(edits, model.model_)) for model in fitted.routes_.values()
        }
        routes = {region: models[id(model)] for region, model in fitted.routes_.items()}
        return fitted.with_fitted(default_=fitted.default_.with_edits(edits), routes_=routes)

    def _labels(self, X: Any) -> NDArray[Any]:
        if self.strata_ is None:
            return super()._labels(X)
        route, _, parts = self._split(X, self.strata_)
        labels = np.empty(len(route), dtype=self.classes_.dtype)
        for rows, model, part in parts.values():
            labels[rows] = model.predict(part)
        return labels

    @available_if(_all_have_probabilities)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes, of shape (n, C); 0 for classes that the model of a row has not seen.

        For a Dask collection, as a Dask array.
        """
        return super().predict_proba(X)

    def _probabilities(self, X: Any) -> FloatArray:
        if self.strata_ is None:
            return super()._probabilities(X)
        route, _, parts = self._split(X, self.strata_)
        probabilities = np.zeros((len(route), len(self.classes_)))
        for rows, model, part in parts.values():
            probabilities[np.ix_(rows, positions_of(model.classes_, self.classes_))] = model.predict_proba(part)
        return probabilities

    def _decide(self, X: Any) -> RoutedDecisions:
        if self.strata_ is not None:
            route, values, parts = self._split(X, self.strata_)
            decided = {s: decide_rows(model, part) for s, (_, model, part) in parts.items()}
            return RoutedDecisions.of_strata(self.strata_, decided, route, values)
        outer: Decisions = self.default_.decide(X)
        located: SEPDecisions = partition_behind(outer)
        inner: dict[int, SEPDecisions] = {}
        for region, model in self.routes_.items():
            rows = np.flatnonzero(outer.region == region)
            if len(rows):
                own = located[rows]
                given = own.given_rows, model.min_trust, own.notes, own.empty, own.preparation
                inner[region] = SEPDecisions.of(model.model_, *given)
        return RoutedDecisions.of_regions(outer, inner)

    def empty_decisions(self) -> RoutedDecisions:
        """Decisions on zero rows, with all columns and their types."""
        none = empty_decisions(self.default_)
        if self.strata_ is None:
            return RoutedDecisions.of_regions(none, {})
        values = np.empty((0, len(self.strata_.by)), dtype=object)
        return RoutedDecisions.of_strata(self.strata_, {DEFAULT: none}, np.empty(0, dtype=np.int64), values)

    def _split(self, X: Any, strata: Strata) -> tuple[IntArray, NDArray[Any], dict[int, tuple[IntArray, Any, Any]]]:
        """The stratum of each row, its categories, and for each stratum its rows, its model and what that sees."""
        X = self._check_input(X)
        values, rest = categories_of(X, self.by_), self._without_by(X)
        route, parts = strata.of(values), {}
        for s in np.unique(route).tolist():
            rows = np.flatnonzero(route == s)
            is_default = s == DEFAULT
            seen = X if is_default and self.sees_all_ else rest
            parts[s] = rows, self.default_ if is_default else self.routes_[s], _safe_indexing(seen, rows)
        return route, values, parts

    def _without_by(self, X: Any) -> Any:
        kept = np.setdiff1d(np.arange(X.shape[1]), self.by_)
        return X if len(self.by_) == 0 else _safe_indexing(X, kept, axis=1)

    def _check_input(self, X: Any, *, fitting: bool = False) -> Any:
        """Check `X`: a DataFrame is returned unchanged, anything else as an array."""
        if hasattr(X, "columns"):
            if X.shape[0] == 0:
                raise ValueError("X has 0 rows while a minimum of 1 is required.")
            validate_data(self, X, skip_check_array=True, reset=fitting)
            return X
        # NumPy would turn the numbers of a list that contains text into text.
        X = np.array(X, dtype=object) if isinstance(X, list) and np.asarray(X).dtype.kind in "US" else X
        return validate_data(self, X, dtype=None, ensure_all_finite=False, reset=fitting)

    def apply(self, X: ArrayLike) -> IntArray:
        """The region of every row, numbered as in the default classifier; -2 with models of strata."""
        return np.asarray(self.decide(X).region)

    def summary(self) -> str:
        """What a repair changed, or how many strata have models of their own, in words."""
        fitted = as_fitted(self)
        if fitted.strata_ is not None:
            return f"{len(fitted.strata_):,} strata, {len(fitted.routes_):,} with a model of their own."
        return "\n".join([fitted.changes_.summary(), *([NEW_PROMISE] if fitted.lost_promise_ else [])])

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "changes_") else repr(self)

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value; `fit` calls this first."""
        for name, least in (("min_rows", 1), ("min_class_rows", 0)):
            check_number(name, getattr(self, name), least=least, whole=True)
        if self.by is None and not has_own_regions(self.estimator):
            kind = type(self.estimator).__name__
            raise TypeError(
                f"estimator is a {kind}; only the regions of an SEPClassifier or a TrustedClassifier can be repaired. "
                "For a model of each group, name its columns in by."
            )
        if self.by is None and self.default is not None:
            raise ValueError("default is for models of groups: name their columns in by, or leave it out.")


def _fit(estimator: Any, X: Any, labels: NDArray[Any], quiet: bool = False) -> Any:
    """Fit; `quiet` about columns that are left out."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", LeftOutWarning)
        return estimator.fit(X, labels)


def write(routed: RoutedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write the default, which may be any model, and the others, which must be of this library; shared ones once."""
    models = list({id(model): model for model in routed.routes_.values()}.values())
    place = {id(model): i for i, model in enumerate(models)}
    writer.put(
        routes=np.array(list(routed.routes_), dtype=np.int64),
        asked=np.array([place[id(model)] for model in routed.routes_.values()], dtype=np.int64),
    )
    nodes = [inner.write(model, writer.under(f"models/{i}")) for i, model in enumerate(models)]
    if None in nodes:
        kind = type(models[nodes.index(None)]).__name__
        raise TypeError(f"A model of a stratum is a {kind}, which is not an estimator of sepc, so it cannot be saved.")
    node = fields_to_node(routed, without=("estimator", "by", "default")) | {"models": nodes}
    if routed.strata_ is None:
        return node | {
            "estimator": inner.to_node(routed.default_, writer.under("estimator")),
            "changes": [record_to_node(change, writer) for change in routed.changes_],
            "lost_promise": routed.lost_promise_,
        }
    writer.put(by=routed.by_)
    return node | {
        **record_to_node(routed.strata_, writer),
        "sees_all": routed.sees_all_,
        "default": inner.to_node(routed.default_, writer.under("default")),
    }


def read(reader: Reader, inner: InnerModels) -> RoutedClassifier:
    """Read a classifier and its models."""
    models = [inner.read(part) for part in reader.parts("models")]
    routes = reader.ints("routes", None, low=-1)
    asked = reader.ints("asked", len(routes), below=len(models))
    if (np.diff(routes) <= 0).any() or list(dict.fromkeys(asked.tolist())) != list(range(len(models))):
        raise reader.wrong("has repeated regions or strata, or models that none of them uses")
    model_of = {int(route): models[i] for route, i in zip(routes, asked, strict=True)}
    return (_read_strata if reader.has("default") else _read_regions)(reader, inner, model_of)


def _read_regions(reader: Reader, inner: InnerModels, model_of: Mapping[int, Any]) -> RoutedClassifier:
    default = inner.from_node(reader.part("estimator"))
    if not has_own_regions(default):
        raise reader.wrong("repairs something that has no regions")
    partition = partition_in(default)
    if any(region >= len(partition.regions_) for region in model_of):
        raise reader.wrong("repairs regions that the classifier does not have")
    for model in model_of.values():
        labels, known = getattr(model, "classes_", np.empty(0)), default.classes_
        same_labels = labels.dtype.kind == known.dtype.kind and are_among(labels, known)
        if model is not partition_in(model) or not same_labels or _columns(model) != _columns(partition):
            raise reader.wrong("differs in features or labels from the classifier it repairs")
    changes = tuple(record_from(Change, part) for part in reader.parts("changes"))
    routed = restore_fields(RoutedClassifier.of(default, model_of, changes, reader.value("lost_promise", bool)), reader)
    if routed.n_features_in_ != default.n_features_in_:
        raise reader.wrong("differs from its estimator in the number of features")
    return routed


def _columns(classifier: SEPClassifier) -> Any:
    """The columns a classifier takes and how they become features, as comparable values."""
    names, preparation = getattr(classifier, "feature_names_in_", None), classifier.encoding_
    named = classifier.n_features_in_, None if names is None else list(names)
    if preparation is None:
        return named
    return (
        *named,
        preparation.columns,
        preparation.feature_names,
        {name: each.values for name, each in preparation.categories.items()},
    )


def _read_strata(reader: Reader, inner: InnerModels, model_of: Mapping[int, Any]) -> RoutedClassifier:
    strata = record_from(Strata, reader)
    by, classes = reader.ints("by", len(strata.by)), strata.classes
    if list(model_of) != np.flatnonzero(strata.fitted).tolist():
        raise reader.wrong("has strata whose models are missing")
    default = inner.from_node(reader.part("default"))
    routed = restore_fields(RoutedClassifier(next(iter(model_of.values()), default), by.tolist()), reader)
    if (by >= routed.n_features_in_).any() or len(set(by.tolist())) < len(by):
        raise reader.wrong("names columns that it does not have, or the same column twice")
    routed.sees_all_ = reader.value("sees_all", bool)
    routed.default = default if routed.sees_all_ else None
    n_features = routed.n_features_in_ - len(by)
    for model in model_of.values():
        check_inner(model, reader, n_features, classes, all_classes=False)
    n_default = n_features if routed.default is None else routed.n_features_in_
    check_inner(default, reader, n_default, classes, all_classes=False)
    routed.classes_, routed.strata_, routed.by_ = classes, strata, by
    routed.default_, routed.routes_ = default, dict(model_of)
    return routed
