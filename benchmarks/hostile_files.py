"""Load thousands of damaged and forged model files: each must give a `FormatError` or a model that works.

Half of the files are damaged anyhow: bits flipped, cut short, bytes moved, the header forged. The other half are forged
with care and signed anew, so that the checks of meaning are what is tested: arrays swapped, dropped, reshaped, of
another type, with NaN; singular matrices; values of the description replaced, by huge and deep ones too.
"""

from __future__ import annotations

import json
import resource
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import arguments, save, show
from sklearn.datasets import load_iris, make_moons

from sepc import FormatError, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.io.container import decode, encode
from sepc.model_files import from_bytes, to_bytes

ODD_VALUES = (None, True, -1, 0, 1, 2**63, 10**400, -0.5, 1e308, "", "x" * 100_000, [], {}, [[]], [0] * 10_000)
N_ROWS = 20


def originals() -> dict[str, Any]:
    """Fitted estimators of every kind that stands on its own."""
    X, y = make_moons(150, noise=0.3, random_state=0)
    return {
        "SEPClassifier": SEPClassifier().fit(X, np.where(y, "one", "other")),
        "SEPClassifier, three classes": SEPClassifier().fit(*load_iris(return_X_y=True)),
        "SEPClassifier, counts": SEPClassifier(trust="counts").fit(X, y),
        "SelectiveClassifier": SelectiveClassifier(SEPClassifier(), {0: 0.3, 1: 0.4}, random_state=0).fit(X, y),
        "TrustedClassifier": TrustedClassifier(SEPClassifier(), cv=2).fit(X, y),
    }


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
    data[:8] = struct.pack("<Q", int(rng.choice([0, 1, 7, len(data), 2**31, 2**62, rng.integers(len(data))])))
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


def forge_arrays(data: bytes, rng: np.random.Generator) -> bytes:
    """Arrays that do not belong there, signed anew."""
    arrays, content = decode(data)
    one, two = (list(arrays)[i] for i in rng.integers(len(arrays), size=2))
    array = arrays[one].copy()
    kind = rng.integers(8)
    if kind == 0:
        arrays[one], arrays[two] = arrays[two], arrays[one]
    elif kind == 1:
        del arrays[one]
    elif kind == 2:
        arrays[f"{one}more"] = array
    elif kind == 3:
        arrays[one] = array.astype(rng.choice([np.float32, np.int8, np.uint64, np.bool_]))
    elif kind == 4:
        arrays[one] = array.reshape(-1) if array.ndim > 1 else array[None]
    elif kind == 5:
        arrays[one] = np.concatenate([array, array])
    elif kind == 6 and array.size:
        worst = [np.nan, np.inf, -1e300, 0.0] if array.dtype.kind == "f" else [-1, 2**62, 10**6, 0]
        array.reshape(-1)[rng.integers(array.size)] = worst[rng.integers(4)]
        arrays[one] = array
    else:
        arrays[one] = np.zeros_like(array)
    return encode(arrays, content)


def forge_values(data: bytes, rng: np.random.Generator) -> bytes:
    """Values of the description that do not belong there, signed anew."""
    arrays, content = decode(data)
    node: Any = content
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = keys[rng.integers(len(keys))]
        if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.1:
            break
        node = node[key]
    if rng.random() < 0.1:
        deep: Any = 0
        for _ in range(int(rng.choice([10, 100, 900]))):
            deep = [deep]
        node[key] = deep
    elif isinstance(node, dict) and rng.random() < 0.2:
        del node[key]
    else:
        node[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    return encode(arrays, content)


FORGERIES = (forge_arrays, forge_values)


def outcome(data: bytes, rows: np.ndarray, expected: Any) -> str:
    """What came of loading a file: refused, equal to the original, or another model that decides without complaint."""
    try:
        model = from_bytes(data)
    except FormatError:
        return "refused"
    decided = model.decide(rows)
    equal = np.array_equal(decided.label, expected.label) and np.array_equal(decided.trust, expected.trust)
    return "equal" if equal and np.array_equal(decided.accepted, expected.accepted) else "another model"


def attack(name: str, model: Any, n_files: int, seed: int) -> list[dict[str, Any]]:
    """Outcomes for one model, half of the files damaged and half forged and signed anew."""
    rng, data = np.random.default_rng(seed), to_bytes(model)
    rows = 2.0 * rng.standard_normal((N_ROWS, model.n_features_in_))
    expected = model.decide(rows)
    records = []
    for how, changes in (("damaged", DAMAGES), ("forged and signed", FORGERIES)):
        found: Counter[str] = Counter()
        slowest = 0.0
        for i in range(n_files // 2):
            change: Callable[..., bytes] = changes[i % len(changes)]
            bad = change(bytearray(data) if changes is DAMAGES else data, rng)
            started = time.perf_counter()
            found[outcome(bad, rows, expected)] += 1
            slowest = max(slowest, time.perf_counter() - started)
        records.append(
            {"model": name, "files": how, "n": n_files // 2}
            | {one: found[one] for one in ("refused", "equal", "another model")}
            | {"slowest, s": round(slowest, 3)}
        )
    return records


def main() -> None:
    options = arguments(__doc__)
    models = originals()
    n_files = 40 if options.smallest else 20_000 // len(models)
    np.seterr(all="ignore")
    records = [one for i, (name, model) in enumerate(models.items()) for one in attack(name, model, n_files, i)]
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    results = {"outcomes": records, "memory": [{"files": n_files * len(models), "peak MB": megabytes}]}
    for title, rows in results.items():
        show(title, rows)
    save(options.output, results)


if __name__ == "__main__":
    sys.exit(main())
