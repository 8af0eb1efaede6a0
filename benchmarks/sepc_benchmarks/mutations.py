"""Ways to spoil a file: bytes changed anyhow, or values and arrays changed with care and signed anew."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sepc.io.container import encode

Arrays = dict[str, np.ndarray]
Content = dict[str, Any]

ODD_TEXTS = ("", "x" * 100_000, "\x1b[2J\x00\ud800\u202e")
ODD_VALUES: tuple[Any, ...] = (None, True, False, *ODD_TEXTS, [], {}, [[]], [0] * 10_000, [{}], {"a": []})
EXTREMES: tuple[float, ...] = (-1, 0, 1, 2, 2**31, 2**53, 2**63, 2**64, -(2**63), 10**18, 10**400, -(10**400))
EXTREMES += (0.5, -0.5, -0.0, 1.0, 5e-324, 1e-160, 1e160, 1e308, -1e308)
KINDS: tuple[str, ...] = ("SEPClassifier", "TrustedClassifier", "SelectiveClassifier", "RoutedClassifier")
KINDS += ("risk", "cost", "weights", "counts", "published", "text", "object")
KINDS += ("<i8", "<f8", "|b1", "share", "feature")


def flip_bits(data: bytearray, rng: np.random.Generator) -> bytes:
    for at in rng.integers(len(data), size=rng.integers(1, 9)):
        data[at] ^= 1 << int(rng.integers(8))
    return bytes(data)


def cut_short(data: bytearray, rng: np.random.Generator) -> bytes:
    return bytes(data[: rng.integers(len(data))])


def add_bytes(data: bytearray, rng: np.random.Generator) -> bytes:
    return bytes(data) + rng.bytes(int(rng.integers(1, 100)))


def move_bytes(data: bytearray, rng: np.random.Generator) -> bytes:
    one, two, n = rng.integers(len(data), size=2).tolist() + [int(rng.integers(1, 64))]
    data[one : one + n] = data[two : two + n]
    return bytes(data)


def forge_length(data: bytearray, rng: np.random.Generator) -> bytes:
    data[:8] = struct.pack("<Q", int(rng.choice([0, 1, 7, len(data), 2**31, 2**62, int(rng.integers(len(data)))])))
    return bytes(data)


def forge_header(data: bytearray, rng: np.random.Generator) -> bytes:
    """Other offsets, shapes and types, as if the arrays overlapped or were huge; ours alone stays as it is."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    names = [name for name in header if name != "__metadata__"]
    one, two = (header[names[i]] for i in rng.integers(len(names), size=2))
    kind = rng.integers(5)
    if kind == 0:
        one["data_offsets"] = two["data_offsets"]
    elif kind == 1:
        one["shape"] = [int(n) for n in rng.choice([0, 1, 2**31, 2**62], size=rng.integers(0, 4))]
    elif kind == 2:
        one["dtype"] = str(rng.choice(["F32", "F16", "I8", "U64", "BF16", "F8_E4M3", "C64", "nothing"]))
    elif kind == 3:
        one["data_offsets"] = [int(rng.integers(-5, 50)), int(rng.integers(2**40))]
    else:
        header[names[0]], header[names[-1]] = header[names[-1]], header[names[0]]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data[8 + length :])


DAMAGES = (flip_bits, cut_short, add_bytes, move_bytes, forge_length, forge_header)


def swap_arrays(arrays: Arrays, rng: np.random.Generator) -> None:
    one, two = _some(list(arrays), rng), _some(list(arrays), rng)
    arrays[one], arrays[two] = arrays[two], arrays[one]


def drop_array(arrays: Arrays, rng: np.random.Generator) -> None:
    del arrays[_some(list(arrays), rng)]


def rename_array(arrays: Arrays, rng: np.random.Generator) -> None:
    name = _some(list(arrays), rng)
    arrays[_some([name + "more", name.upper(), name[:-1], "model/" + name, ""], rng)] = arrays.pop(name)


def retype_array(arrays: Arrays, rng: np.random.Generator) -> None:
    name = _some(list(arrays), rng)
    arrays[name] = arrays[name].astype(_some([np.float32, np.int8, np.uint64, np.bool_, np.float64, np.int64], rng))


def reshape_array(arrays: Arrays, rng: np.random.Generator) -> None:
    name = _some(list(arrays), rng)
    array = arrays[name]
    shapes = [(-1,), (1, *array.shape), (*array.shape, 1), array.shape[::-1]]
    arrays[name] = array.reshape(_some(shapes, rng))


def resize_array(arrays: Arrays, rng: np.random.Generator) -> None:
    """Twice as long, much longer, shorter, or empty."""
    name = _some(list(arrays), rng)
    array = arrays[name]
    arrays[name] = _some([np.concatenate([array] * 2), np.concatenate([array] * 300), array[:-1], array[:0]], rng)


def extreme_array(arrays: Arrays, rng: np.random.Generator) -> None:
    """One number, or all of them, replaced by the least or the largest there are."""
    name = _some(list(arrays), rng)
    array = arrays[name].copy()
    worst = {"f": [np.nan, np.inf, -1e300, 1e160, 1e99, 1e-160, 5e-324, 0.0], "b": [True, False]}
    value = _some(worst.get(array.dtype.kind, [-1, 0, 2**53 - 1, 2**52, 2**62, 10**6]), rng)
    if array.size:
        array.reshape(-1)[slice(None) if rng.random() < 0.3 else rng.integers(array.size)] = value
    arrays[name] = array


def shuffle_array(arrays: Arrays, rng: np.random.Generator) -> None:
    name = _some(list(arrays), rng)
    arrays[name] = rng.permutation(arrays[name]) if arrays[name].ndim else arrays[name]


def scale_array(arrays: Arrays, rng: np.random.Generator) -> None:
    name = _some([name for name, array in arrays.items() if array.dtype.kind == "f"], rng)
    arrays[name] = arrays[name] * _some([-1.0, 0.0, 1e-150, 1e-12, 2.0, 1e12, 1e90], rng)


ON_ARRAYS: tuple[Callable[[Arrays, np.random.Generator], None], ...] = (
    *(swap_arrays, drop_array, rename_array, retype_array, reshape_array, resize_array, extreme_array, extreme_array),
    *(shuffle_array, scale_array),
)


def replace_value(content: Content, rng: np.random.Generator) -> None:
    """Put a value of another type, an extreme number, or a word that has a meaning elsewhere."""
    node, key = _some(list(_places(content)), rng)
    choices = {int: EXTREMES, float: EXTREMES, str: KINDS}.get(type(node[key]), ODD_VALUES)
    node[key] = copy.deepcopy(_some(choices if rng.random() < 0.7 else ODD_VALUES, rng))


def drop_value(content: Content, rng: np.random.Generator) -> None:
    node, key = _some(list(_places(content)), rng)
    del node[key]


def rename_value(content: Content, rng: np.random.Generator) -> None:
    node, key = _some([(node, key) for node, key in _places(content) if isinstance(node, dict)], rng)
    node[_some([f"{key}s", "kind", "ours", "foreign", "model", "", "__class__"], rng)] = node.pop(key)


def swap_values(content: Content, rng: np.random.Generator) -> None:
    """Two values in each other's place, whole parts too; one in the other would be a circle, so both are copied."""
    (one, first), (two, second) = (_some(list(_places(content)), rng) for _ in range(2))
    values = copy.deepcopy((one[first], two[second]))
    one[first], two[second] = values[1], values[0]


def resize_list(content: Content, rng: np.random.Generator) -> None:
    node, key = _some([(node, key) for node, key in _places(content) if isinstance(node[key], list)], rng)
    items = node[key]
    node[key] = _some([items * 2, items * 1_000, items[:-1], items[::-1], [], [*items, None]], rng)[:50_000]


def nest_deeply(content: Content, rng: np.random.Generator) -> None:
    node, key = _some(list(_places(content)), rng)
    deep: Any = node[key]
    for _ in range(int(rng.choice([10, 60, 100, 900]))):
        deep = [deep] if rng.random() < 0.5 else {"ours": deep}
    node[key] = deep


ON_VALUES: tuple[Callable[[Content, np.random.Generator], None], ...] = (
    *(replace_value, replace_value, replace_value, drop_value, rename_value, swap_values, resize_list, nest_deeply),
)


def forged(arrays: Arrays, content: Content, rng: np.random.Generator, n_changes: int) -> bytes | None:
    """Arrays and values changed in some ways and signed anew; None if that cannot be written at all."""
    arrays, content = dict(arrays), copy.deepcopy(content)
    try:
        for _ in range(n_changes):
            if rng.random() < 0.5:
                _some(ON_ARRAYS, rng)(arrays, rng)
            else:
                _some(ON_VALUES, rng)(content, rng)
        return encode(arrays, content)
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside, as the list or mapping that holds it, and where."""
    keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _places(node[key])


def _some(choices: Any, rng: np.random.Generator) -> Any:
    return choices[int(rng.integers(len(choices)))]
