"""The outermost layer of a model file: named arrays and one JSON document, with a digest over both."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as lay_out_tensors

from sepc.errors import FormatError
from sepc.wording import short, visible

# It is a safetensors file. Its metadata has a single entry, "sepc", because safetensors writes several entries in
# random order.


FORMAT = 2
ENTRY = "sepc"

# Limits against hostile files: a header this large would take thousands of strata or repaired regions.
MOST_HEADER_BYTES = 16 * 2**20
MOST_PARTS = 300_000
MOST_DEPTH = 64
MOST_FILE_BYTES = 4 * 2**30

# Messages of other libraries may quote the file, so they are shortened.
LONGEST_ERROR = 200

Arrays = dict[str, NDArray[Any]]


def encode(arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]) -> bytes:
    """The bytes of a file; equal arrays and content always give equal bytes."""
    laid = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    text = canonical({"content": content, "format": FORMAT, "sha256": digest(laid, content)})
    if len(text) <= MOST_HEADER_BYTES:
        data = bytes(lay_out_tensors(laid, {ENTRY: text}))
        length = struct.unpack("<Q", data[:8])[0]
        if length <= MOST_HEADER_BYTES and _n_parts(data[8 : 8 + length].decode("latin-1")) <= MOST_PARTS:
            return data
    raise ValueError("The model is too large to save: it has too many parts, such as strata; save them one by one.")


def decode(data: bytes) -> tuple[Arrays, dict[str, Any]]:
    """Decode the arrays and content of a file; makes all checks that do not depend on the kind of model."""
    text = _document_text(data)
    document = _parse(text)
    if not isinstance(document, dict) or set(document) != {"content", "format", "sha256"}:
        raise FormatError("The file's description does not have the entries of a sepc file.")
    number = document["format"]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**53:
        raise FormatError(f"The format number is {str(number)[:40]!r}; it must be an integer.")
    if number != FORMAT:
        remedy = "Upgrade sepc." if number > FORMAT else "Fit and save it again."
        raise FormatError(f"The file has format {number}; this version reads {FORMAT}. {remedy}")
    if canonical(document) != text or not isinstance(document["content"], dict):
        raise FormatError("The file's description is not in the form that sepc writes.")
    try:
        arrays = parse_tensors(data)
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise FormatError(f"The file's arrays cannot be read: {_short(error)}") from error
    if digest(arrays, document["content"]) != document["sha256"]:
        raise FormatError("The file is damaged: its SHA-256 does not match its contents.")
    return arrays, document["content"]


def read_bytes(path: str | bytes | os.PathLike[str]) -> bytes:
    """Read the whole file; raises a `FormatError` if its size or the length of its header is implausible."""
    kind = os.stat(path).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        # Reading from a pipe could block forever.
        raise FormatError("This is a device, a pipe or a socket, not a model file.")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(8)
        if len(head) < 8:
            raise FormatError("The file is too short to be a model.")
        _check_header_length(struct.unpack("<Q", head)[0], size)
        if size > MOST_FILE_BYTES:
            raise FormatError(f"The file has {size:,} bytes; no model file exceeds {MOST_FILE_BYTES:,}.")
        file.seek(0)
        return file.read(size)


def digest(arrays: Mapping[str, NDArray[Any]], content: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of the content, then of the name, type, shape and bytes of every array, by name."""
    hasher = hashlib.sha256(canonical(content).encode())
    for name, array in sorted(arrays.items()):
        hasher.update(canonical([name, array.dtype.str, list(array.shape)]).encode())
        hasher.update(np.ascontiguousarray(array))
    return hasher.hexdigest()


def canonical(value: Any) -> str:
    """JSON in ASCII with sorted keys, without spaces, NaN or infinity."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _document_text(data: bytes) -> str:
    """The text of sepc's JSON document in the metadata of the safetensors header."""
    if len(data) < 8:
        raise FormatError("The file is too short to be a model.")
    length = struct.unpack("<Q", data[:8])[0]
    _check_header_length(length, len(data))
    header = _parse(data[8 : 8 + length].decode("latin-1"))
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or set(metadata) != {ENTRY} or not isinstance(metadata[ENTRY], str):
        raise FormatError("This is not a sepc model: the file's metadata must have the single entry 'sepc'.")
    return str(metadata[ENTRY])


def _check_header_length(length: int, size: int) -> None:
    if length > min(size - 8, MOST_HEADER_BYTES):
        raise FormatError(f"This is not a sepc model: its header claims {length:,} bytes, of {size:,} in the file.")


def _parse(text: str) -> Any:
    """Parse JSON, refusing repeated keys, NaN, and more parts or levels than any model has."""
    if not text.isascii():
        raise FormatError("The file's description is not JSON as sepc writes it: it has non-ASCII characters.")
    if _n_parts(text) > MOST_PARTS:
        raise FormatError(f"The file's description has more than {MOST_PARTS:,} parts.")
    try:
        value = json.loads(
            text, object_pairs_hook=_refuse_repeats, parse_constant=_refuse_constant, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        raise FormatError(f"The file's description is not JSON as sepc writes it: {_short(error)}") from error
    _check_depth(value)
    return value


def _n_parts(text: str) -> int:
    """The number of commas and opening brackets, a bound on the number of values inside the JSON."""
    return sum(text.count(sign) for sign in ",[{")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a key is repeated")
    return mapping


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name[:40]} is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_constant(text)


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise FormatError(f"The file's description is nested deeper than {MOST_DEPTH} levels.")
        inner = [node for node in level if isinstance(node, dict | list)]
        level = [child for node in inner for child in (node.values() if isinstance(node, dict) else node)]


def _short(error: Exception) -> str:
    return short(visible(str(error)), LONGEST_ERROR)
