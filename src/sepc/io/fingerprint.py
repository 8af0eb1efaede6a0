"""Someone else's fitted model: not written to the file, but recognised when it is given again."""

from __future__ import annotations

import pickle
from typing import Any

import joblib
from sklearn.frozen import FrozenEstimator

from sepc.errors import ForeignModelError, FormatError
from sepc.io.reader import Reader
from sepc.io.writer import Node


def fingerprint_of(estimator: Any) -> Node:
    """What a fitted model is called, and a hash of all it holds; None where it cannot be hashed."""
    fitted = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    try:
        found = joblib.hash(fitted, hash_name="sha1")
    except (pickle.PicklingError, TypeError, AttributeError):
        found = None
    return {"kind": f"{type(fitted).__module__}.{type(fitted).__qualname__}", "hash": found}


def reattached(given: Any, reader: Reader, argument: str) -> Any:
    """The model given to `load`, if it is the one that the file was saved with."""
    kind = reader.text("kind")
    if given is None:
        raise ForeignModelError(
            f"This file was saved with a model that is not ours, {kind!r}, and does not hold it; "
            f"give it to load again: load(path, {argument}=...).",
            kind,
            argument,
        )
    found = fingerprint_of(given)
    if found["kind"] != kind:
        told = f"The file was saved with {kind!r}, but {argument} is {found['kind']!r}."
        raise ForeignModelError(told, kind, argument)
    if reader.has("hash") and found["hash"] != reader.text("hash"):
        raise ForeignModelError(
            f"The {argument} given is a {kind!r}, but not the one the file was saved with: its fingerprint differs. "
            "It was fitted anew, or by another version of its library.",
            kind,
            argument,
        )
    if "hash" not in reader.node:
        raise FormatError(f"{reader.path}hash is missing.")
    return given
