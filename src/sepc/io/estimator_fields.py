"""What a model file stores for every estimator, and how it recognises models of other libraries."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from sepc.errors import ForeignModelError
from sepc.io.codec import (
    Node,
    Reader,
    Writer,
    are_among,
    parameters_from,
    parameters_to_node,
    record_from,
    record_to_node,
)
from sepc.model.provenance import Provenance

Estimator = TypeVar("Estimator")


def fields_to_node(estimator: Any, *, without: tuple[str, ...] = ()) -> Node:
    """Write the parameters, except those in `without`, the number and names of the features, and how it was made."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name not in without}
    names, provenance = (getattr(estimator, name, None) for name in ("feature_names_in_", "provenance_"))
    return {
        "parameters": parameters_to_node(parameters),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "n_features_in": int(estimator.n_features_in_),
        **({} if provenance is None else {"provenance": record_to_node(provenance, Writer())}),
    }


def check_inner(inner: Any, reader: Reader, n_features: int, classes: NDArray[Any], *, all_classes: bool) -> None:
    """Raise if an inner estimator has different features or labels, as far as it reports them."""
    labels = np.asarray(getattr(inner, "classes_", classes))
    if getattr(inner, "n_features_in_", n_features) != n_features:
        raise reader.wrong("has a different number of features from the estimator inside")
    if labels.ndim != 1 or not are_among(labels, classes) or (all_classes and len(labels) != len(classes)):
        raise reader.wrong("has different labels from the estimator inside")


def restore_fields(fresh: Estimator, reader: Reader) -> Estimator:
    """Set the parameters, the features and the provenance that were read on a new estimator."""
    estimator: Any = fresh
    estimator.set_params(**parameters_from(reader.part("parameters"), set(estimator.get_params(deep=False))))
    try:
        estimator.check_parameters()
    except (TypeError, ValueError, OverflowError) as error:
        raise reader.wrong("has an invalid parameter") from error
    estimator.n_features_in_ = reader.integer("n_features_in", low=1)
    if reader.has("feature_names_in"):
        names = reader.texts("feature_names_in")
        if len(names) != estimator.n_features_in_:
            raise reader.wrong("has a number of feature names that does not match its features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    has_one = reader.has("provenance")
    estimator.provenance_ = record_from(Provenance, reader.part("provenance")) if has_one else None
    return fresh


# The qualified name of a class, shown in errors.
NAME = re.compile(r"[\w.<>]{1,300}")


def fingerprint_of(estimator: Any) -> Node:
    """The class of a fitted model and a hash of its contents; the hash is None if it cannot be computed."""
    fitted = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    try:
        hashed = joblib.hash(fitted, hash_name="sha1")
    except (pickle.PicklingError, TypeError, AttributeError):
        hashed = None
    return {"kind": f"{type(fitted).__module__}.{type(fitted).__qualname__}", "hash": hashed}


def reattach(given: Any, reader: Reader, argument: str) -> Any:
    """Return the model given to `load` if it is the one that the file was saved with, else raise."""
    kind = reader.text("kind")
    if not NAME.fullmatch(kind) or "hash" not in reader.node:
        raise reader.wrong("does not name a class of another library")
    if given is None:
        raise ForeignModelError(
            f"This file was saved with a model of another library, {kind!r}, which it does not contain; "
            f"pass that model to load: load(path, {argument}=...).",
            kind,
            argument,
        )
    fingerprint = fingerprint_of(given)
    if fingerprint["kind"] != kind:
        message = f"The file was saved with {kind!r}, but {argument} is {fingerprint['kind']!r}."
        raise ForeignModelError(message, kind, argument)
    if reader.has("hash") and fingerprint["hash"] != reader.text("hash"):
        raise ForeignModelError(
            f"The {argument} passed is a {kind!r}, but not the one the file was saved with: its fingerprint differs. "
            "It may be another model, or have been refitted, or fitted by another version of its library.",
            kind,
            argument,
        )
    return given


@dataclass(frozen=True)
class InnerModels:
    """Writes and reads models inside a wrapper: those of this library in full, others by their fingerprint."""

    write: Callable[[Any, Writer], Node | None]
    read: Callable[[Reader], Any]
    estimator: Any = None
    transformer: Any = None

    def to_node(self, model: Any, writer: Writer) -> Node:
        """Write a model inside a wrapper."""
        node = self.write(model, writer.under("ours"))
        return {"ours": node} if node is not None else {"foreign": fingerprint_of(model)}

    def from_node(self, reader: Reader) -> Any:
        """Read the model, or take the one given to `load`."""
        if reader.has("ours"):
            return self.read(reader.part("ours"))
        return reattach(self.estimator, reader.part("foreign"), "estimator")
