"""Facts about a fitted estimator, as names and values in text."""

from __future__ import annotations

from typing import Any

import numpy as np

from sepc.estimators.unwrapping import (
    classifier_name,
    decider_in,
    edits_in,
    makes_promise,
    strata_of,
    unwrap,
    why_broken,
)
from sepc.wording import name_of, version_of

Facts = tuple[tuple[str, str], ...]


def facts_of(estimator: Any) -> Facts:
    """The library, the features, the classes and the size of the model, as far as the estimator has them."""
    facts = {"library": f"sepc {version_of('sepc')}", "features": _features(estimator)}
    estimator = unwrap(estimator).classifier
    counts = getattr(getattr(estimator, "model_", None), "class_counts", None)
    labels = [str(label) for label in estimator.classes_]
    if counts is None:
        facts["classes"] = ", ".join(labels)
    else:
        facts["training rows"] = f"{int(np.sum(counts)):,}"
        facts["classes"] = ", ".join(f"{label} ({n:,})" for label, n in zip(labels, counts, strict=True))
    if hasattr(estimator, "ellipsoids_"):
        facts["ellipsoids"] = f"{len(estimator.ellipsoids_):,}"
    if hasattr(estimator, "regions_"):
        facts["regions"] = f"{estimator.regions_.model.table.n_regions:,}"
    alone = getattr(getattr(estimator, "model_", None), "alone", None)
    if alone is not None:
        named = ", ".join(str(estimator.model_.feature_names[j]) for j in alone.features.tolist())
        facts["standalone features"] = f"{named} (in no ellipsoid or region)"
    edits = {f"edit {i}": str(edit) for i, edit in enumerate(edits_in(estimator))}
    return tuple({**facts, **_of_wrapper(estimator), **edits}.items())


def promise_of(estimator: Any) -> tuple[str, ...]:
    """What a `SelectiveClassifier` promises, line by line, after the reason if it does not hold; else empty."""
    classifier = unwrap(estimator).classifier
    if not makes_promise(classifier):
        return ()
    why = why_broken(estimator)
    return (*([why] if why else []), *classifier.summary().splitlines())


def _features(estimator: Any) -> str:
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    n_features = getattr(estimator, "n_features_in_", None)
    if n_features is None:
        return "not recorded"
    preparation = getattr(unwrap(estimator).classifier, "encoding_", None)
    if preparation is not None and len(preparation.used_columns) < len(names) == n_features:
        used = preparation.used_columns
        return f"{len(used)} of {n_features} columns: {', '.join(used)}"
    return f"{n_features}" + (f": {', '.join(names)}" if names else "")


def _of_wrapper(estimator: Any) -> dict[str, str]:
    facts = {}
    inner, strata = getattr(estimator, "inner", None), strata_of(estimator)
    if inner is not None and strata is None:
        facts["around"] = classifier_name(inner)
    if hasattr(estimator, "promise_"):
        facts["calibration rows"] = f"{estimator.promise_.n_rows:,}"
    if strata is not None:
        facts["strata"] = f"{len(strata):,}, {len(estimator.routes_):,} with a model of their own"
    return facts


def parameters_of(estimator: Any) -> Facts:
    """The parameters of the estimator."""
    return tuple((name, repr(value)) for name, value in estimator.get_params(deep=False).items())


def proofs_of(estimator: Any) -> tuple[str, ...]:
    """What is proved of monotone features, in sentences; empty if there are none, or labels come from elsewhere."""
    classifier = decider_in(estimator)
    if classifier is None or classifier.model_.alone is None:
        return ()
    return tuple(str(classifier.proofs()).splitlines())


def importances_of(estimator: Any) -> tuple[tuple[str, float], ...]:
    """The importance of each column, the largest first; empty if labels do not come from the terms of columns."""
    classifier = decider_in(estimator)
    if classifier is None or classifier.model_.weights is None:
        return ()
    names = getattr(classifier, "feature_names_in_", classifier.model_.feature_names)
    used = names if classifier.encoding_ is None else classifier.encoding_.used_columns
    sizes = zip(names, classifier.feature_importances_, strict=True)
    pairs = [(name_of(name), float(size)) for name, size in sizes if name in used]
    return tuple(sorted(pairs, key=lambda pair: -pair[1]))
