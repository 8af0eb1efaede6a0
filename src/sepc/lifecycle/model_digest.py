"""Digests that tell models apart, whichever version of the library saved them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from numpy.typing import NDArray

from sepc.io.container import decode
from sepc.model_files import to_bytes


def model_digest(model: Any) -> str:
    """The SHA-256 of what a model file stores of a model, without the version that wrote it."""
    arrays, content = decode(to_bytes(model))
    return content_digest(content["model"], arrays)


def content_digest(node: Any, arrays: Mapping[str, NDArray[Any]]) -> str:
    """The SHA-256 of a node of a model file and of its arrays."""
    digest = sha256(json.dumps(node, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.shape} {array.dtype}".encode() + array.tobytes())
    return digest.hexdigest()
