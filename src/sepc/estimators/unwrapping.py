"""What is inside a model: pipelines, searches, frozen estimators, and our own estimators around others."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline

from sepc._typing import FloatArray
from sepc.columns.kinds import Kind
from sepc.columns.table import column_names
from sepc.errors import BrokenPromiseWarning
from sepc.model.edits import Edit

# Steps that impute missing values and leave all others unchanged.
AS_THEY_ARE = (SimpleImputer, KNNImputer)


@dataclass(frozen=True)
class Unwrapped:
    """A classifier, the transformers that come before it, in order, and the outermost search that chose it."""

    classifier: Any
    before: tuple[Any, ...] = ()
    search: Any = None

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
        return replace(unwrap(model.best_estimator_), search=model if hasattr(model, "cv_results_") else None)
    if isinstance(model, Pipeline):
        last = unwrap(model[-1])
        return replace(last, before=((model[:-1],) if len(model) > 1 else ()) + last.before)
    return Unwrapped(model)


def classifier_name(model: Any) -> str:
    """The class name of the classifier inside a model."""
    return type(unwrap(model).classifier).__name__


def why_broken(model: Any) -> str:
    """Why the promise of the classifier inside a model does not hold, in words; empty if it holds or there is none."""
    search = unwrap(model).search
    if search is None or not makes_promise(model):
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


def makes_promise(model: Any) -> bool:
    """Whether the classifier inside a model is a `SelectiveClassifier`."""
    return bool(getattr(unwrap(model).classifier, "makes_promise", False))


def is_partition(classifier: Any) -> bool:
    """Whether a classifier is an `SEPClassifier`."""
    return bool(getattr(classifier, "is_partition", False))


def is_repaired(classifier: Any) -> bool:
    """Whether a classifier has models of its own for regions, not for groups of rows."""
    return getattr(classifier, "is_routed", False) and classifier.strata_ is None


def strata_of(classifier: Any) -> Any:
    """The groups of rows that have models of their own; None for any other classifier."""
    return classifier.strata_ if getattr(classifier, "is_routed", False) else None


def decider_in(model: Any) -> Any:
    """The `SEPClassifier` whose labels and trust a model gives, from the columns themselves; None if there is none."""
    inside = without_promise(model)
    return inside.classifier if not inside.before and is_partition(inside.classifier) else None


def without_promise(model: Any) -> Unwrapped:
    """The classifier inside a model and inside its promises, up to the first steps that come before one."""
    inside = unwrap(model)
    while not inside.before and makes_promise(inside.classifier):
        inside = unwrap(inside.classifier.inner)
    return inside


def partition_in(model: Any) -> Any:
    """The `SEPClassifier` whose regions a model's decisions name; None if there is none, or several."""
    *_, layer = region_layers(model)
    return layer.classifier if is_partition(layer.classifier) else None


def layers(model: Any, question: str = "inner") -> Iterator[Unwrapped]:
    """The classifiers inside one another, the outermost first, each with the transformers before it."""
    while model is not None:
        layer = unwrap(model)
        yield layer
        model = getattr(layer.classifier, question, None)


def region_layers(model: Any) -> Iterator[Unwrapped]:
    """`layers` down to the partition with the regions, which a `TrustedClassifier` has beside its classifier."""
    return layers(model, "located_by")


def models_in(model: Any) -> Iterator[Any]:
    """The classifier of a model, and all classifiers inside it."""
    classifier = unwrap(model).classifier
    yield classifier
    parts = [getattr(classifier, question, None) for question in ("inner", "located_by")]
    if getattr(classifier, "is_routed", False):
        parts += classifier.routes_.values()
    for part in {id(part): part for part in parts if part is not None}.values():
        yield from models_in(part)


def category_positions(model: Any) -> list[int]:
    """Positions of the columns that a model takes as categories, because they have models of their own."""
    routed = (layer.classifier for layer in layers(model) if strata_of(layer.classifier) is not None)
    return [int(position) for position in getattr(next(routed, None), "by_", ())]


def edits_in(model: Any) -> tuple[Edit, ...]:
    """The edits of a fitted model, or of the model inside wrappers, pipelines and searches; empty for most."""
    classifier = unwrap(model).classifier
    if is_partition(classifier):
        made: tuple[Edit, ...] = () if classifier.model_.edits is None else classifier.model_.edits.made
        return made
    inside = (getattr(classifier, question, None) for question in ("located_by", "inner"))
    return next((edits for part in inside if part is not None and (edits := edits_in(part))), ())


def column_kinds(model: Any) -> Mapping[str, Kind]:
    """Column types for a model that takes a table directly; columns not listed are numbers."""
    inside = unwrap(model)
    classifier = inside.classifier
    if inside.before or classifier is None:
        return {}
    if is_partition(classifier):
        columns = () if classifier.encoding_ is None else classifier.encoding_.columns
        return {column.name: column.kind for column in columns}
    strata = strata_of(classifier)
    groups = () if strata is None else strata.by
    return {**column_kinds(getattr(classifier, "inner", None)), **dict.fromkeys(groups, Kind.CATEGORY)}


def fitted_names(model: Any) -> list[str] | None:
    """Names of the columns that a model was fitted to; None if they had none, or names that are not strings."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def group_columns(model: Any) -> tuple[Any, ...]:
    """The columns that define groups with their own promises, as names or positions; they need not be features."""
    unwrapped = unwrap(model)
    if unwrapped.before or not makes_promise(unwrapped.classifier):
        return ()
    groups = unwrapped.classifier.promise_.groups
    return () if groups is None else groups.by


def needed_columns(model: Any) -> set[str] | None:
    """Names of the columns that a model reads; None if that is unknown, because other libraries read some.

    Other columns, such as ids, were left out by `fit`.
    """
    unwrapped = unwrap(model)
    classifier = unwrapped.classifier
    if unwrapped.before or not hasattr(classifier, "located_by") or hasattr(classifier, "transformer_"):
        return None
    names = fitted_names(classifier) or ()
    if classifier.is_partition:
        preparation = classifier.encoding_
        return set(names if preparation is None else preparation.used_columns)
    strata = strata_of(classifier)
    needed = set() if strata is None else set(strata.by)
    needed |= {names[j] for j in group_columns(classifier) if names and not isinstance(j, str)}
    routes = classifier.routes_.values() if classifier.is_routed else ()
    for part in (classifier.inner, classifier.located_by, *routes):
        read = set[str]() if part is None else needed_columns(part)
        if read is None:
            return None
        needed |= read
    return needed


def written_columns(model: Any) -> frozenset[str]:
    """The columns that a model reads as numbers or dates although they come as text."""
    preparations = (layer.classifier.encoding_ for layer in layers(model) if is_partition(layer.classifier))
    preparation = next(preparations, None)
    columns = () if preparation is None else preparation.columns
    return frozenset(column.name for column in columns if column.written is not None)
