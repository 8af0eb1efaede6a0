"""Find the classifier inside pipelines, searches and frozen estimators."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline

from sepc._typing import FloatArray
from sepc.columns.kinds import Kind
from sepc.columns.preparation import Preparation
from sepc.columns.table import column_names
from sepc.errors import BrokenPromiseWarning

# Steps that impute missing values and leave all others unchanged.
AS_THEY_ARE = (SimpleImputer, KNNImputer)


@dataclass(frozen=True)
class Unwrapped:
    """A classifier, and the transformers that come before it, in order."""

    classifier: Any
    before: tuple[Any, ...] = ()

    def transform(self, X: Any) -> Any:
        """The rows as the classifier sees them."""
        for steps in self.before:
            X = steps.transform(X)
        return X

    def feature_names(self, X: Any) -> list[str] | None:
        """Names of the features that the classifier sees; None if a transformer does not name its outputs."""
        names = [str(name) for name in column_names(X)] if hasattr(X, "columns") else None
        for steps in self.before:
            try:
                names = [str(name) for name in steps.get_feature_names_out(names)]
            except (AttributeError, ValueError):  # The step has no names, or none for these inputs.
                return None
        return names

    def restore(self, rows: FloatArray) -> FloatArray | None:
        """Rows in the input features, if every step keeps the columns and can be inverted; else None."""
        for steps in reversed(self.before):
            for _, step in reversed(steps.steps):
                if step == "passthrough" or isinstance(step, AS_THEY_ARE):
                    continue
                if not (isinstance(step, OneToOneFeatureMixin) and hasattr(step, "inverse_transform")):
                    return None
                rows = np.asarray(step.inverse_transform(rows), dtype=np.float64)
        return rows


def unwrap(model: Any) -> Unwrapped:
    """Take a fitted classifier out of the pipelines, searches and frozen estimators around it."""
    if isinstance(model, FrozenEstimator):
        return unwrap(model.estimator)
    if hasattr(model, "best_estimator_"):
        return unwrap(model.best_estimator_)
    if isinstance(model, Pipeline):
        last = unwrap(model[-1])
        return Unwrapped(last.classifier, ((model[:-1],) if len(model) > 1 else ()) + last.before)
    return Unwrapped(model)


def classifier_name(model: Any) -> str:
    """The class name of the classifier inside a model."""
    return type(unwrap(model).classifier).__name__


def why_broken(model: Any) -> str:
    """Why the promise of the classifier inside a model does not hold, in words; empty if it holds or there is none."""
    search = _search_around(model)
    if search is None or not hasattr(unwrap(model).classifier, "promise_"):
        return ""
    kind, tried = type(search).__name__, len(search.cv_results_["params"])
    if tried < 2:
        return ""
    name = classifier_name(model)
    return (
        f"The promise does not hold: {kind} chose it as the best of {tried:,}, and the best is the luckiest. Search "
        f"inside the promise instead, {name}({kind}(...)), or calibrate the model that was found on rows that the "
        "search has not seen."
    )


def warn_if_broken(model: Any) -> None:
    """Warn the caller if the promise of a model does not hold."""
    if why := why_broken(model):
        warnings.warn(why, BrokenPromiseWarning, stacklevel=3)


def _search_around(model: Any) -> Any:
    """The outermost search that `unwrap` strips off; None if there is none."""
    if isinstance(model, FrozenEstimator):
        return _search_around(model.estimator)
    if isinstance(model, Pipeline):
        return _search_around(model[-1])
    return model if hasattr(model, "best_estimator_") and hasattr(model, "cv_results_") else None


def layers(model: Any) -> Iterator[Unwrapped]:
    """The classifiers inside one another, the outermost first, each with the transformers before it."""
    layer = unwrap(model)
    yield layer
    if hasattr(layer.classifier, "estimator_"):
        yield from layers(layer.classifier.estimator_)


def region_layers(model: Any) -> Iterator[Unwrapped]:
    """`layers` down to the partition with the regions, which a `TrustedClassifier` has beside its classifier."""
    layer = unwrap(model)
    yield layer
    for holder in ("partition_", "estimator_"):
        if hasattr(layer.classifier, holder):
            yield from region_layers(getattr(layer.classifier, holder))
            return


def category_positions(model: Any) -> list[int]:
    """Positions of the columns that a `StratifiedClassifier` takes as categories, even inside a wrapper."""
    stratified = (layer.classifier for layer in layers(model) if hasattr(layer.classifier, "strata_"))
    return [int(position) for position in getattr(next(stratified, None), "by_", ())]


def column_kinds(model: Any) -> Mapping[str, Kind]:
    """Column types for a model that takes a table directly; columns not listed are numbers."""
    unwrapped = unwrap(model)
    classifier = unwrapped.classifier
    if unwrapped.before:
        return {}
    if hasattr(classifier, "strata_"):
        return {**column_kinds(classifier.pooled_), **dict.fromkeys(classifier.strata_.by, Kind.CATEGORY)}
    if hasattr(classifier, "encoding_"):
        preparation = classifier.encoding_
        return {} if preparation is None else {column.name: column.kind for column in preparation.columns}
    return column_kinds(classifier.estimator_) if hasattr(classifier, "estimator_") else {}


def fitted_names(model: Any) -> list[str] | None:
    """Names of the columns that a model was fitted to; None if they had none, or names that are not strings."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def group_columns(model: Any) -> tuple[Any, ...]:
    """The columns that define groups with their own promises, as names or positions; they need not be features."""
    unwrapped = unwrap(model)
    promise = None if unwrapped.before else getattr(unwrapped.classifier, "promise_", None)
    return () if promise is None or promise.groups is None else promise.groups.by


def needed_columns(model: Any) -> set[str] | None:
    """Names of the columns that a model reads; None if that is unknown, because other libraries read some.

    Other columns, such as ids, were left out by `fit`.
    """
    unwrapped = unwrap(model)
    classifier = unwrapped.classifier
    if unwrapped.before or not hasattr(classifier, "decide") or hasattr(classifier, "transformer_"):
        return None
    if hasattr(classifier, "encoding_"):
        preparation = classifier.encoding_
        return set(fitted_names(classifier) or () if preparation is None else preparation.used_columns)
    parts = [getattr(classifier, name) for name in ("estimator_", "partition_", "pooled_") if hasattr(classifier, name)]
    names = fitted_names(classifier) or ()
    needed = set(classifier.strata_.by) if hasattr(classifier, "strata_") else set()
    needed |= {names[j] for j in group_columns(classifier) if names and not isinstance(j, str)}
    for part in [*parts, *getattr(classifier, "estimators_", {}).values()]:
        read = needed_columns(part)
        if read is None:
            return None
        needed |= read
    return needed


def written_columns(model: Any) -> frozenset[str]:
    """The columns that a model reads as numbers or dates although they come as text."""
    preparation = preparation_of(model)
    return (
        frozenset(column.name for column in preparation.columns if column.written is not None)
        if preparation
        else frozenset()
    )


def preparation_of(model: Any) -> Preparation | None:
    """How the `SEPClassifier` inside a model prepares the columns of a table; None if it only takes numbers."""
    return next((layer.classifier.encoding_ for layer in layers(model) if hasattr(layer.classifier, "encoding_")), None)
