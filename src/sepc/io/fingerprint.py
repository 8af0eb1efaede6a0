"""Models of other libraries, which are not written to the file but recognised when passed to `load`."""

from __future__ import annotations

import pickle
import re
from typing import Any

import joblib
from sklearn.frozen import FrozenEstimator

from sepc.errors import ForeignModelError
from sepc.io.reader import Reader
from sepc.io.writer import Node

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
