"""Forge model files of chosen sizes: small files whose sizes, multiplied, would stand for gigabytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sepc.io.container import encode
from sepc.model.training_summary import N_QUANTILES

Parts = tuple[dict[str, Any], dict[str, Any]]


def numbers(n: int) -> dict[str, Any]:
    """The node of this many labels."""
    return {"type": "<i8", "values": list(range(n))}


def texts(n: int, longest: int) -> dict[str, Any]:
    """The node of labels of text, one of them long."""
    return {"type": "text", "values": [*(f"{i:06d}" for i in range(n - 1)), "z" * longest]}


def memberships(n_signatures: int, n_ellipsoids: int, *, dense: bool = False) -> np.ndarray:
    """Distinct sets of ellipsoids in order: numbers in binary; dense ones hold all other ellipsoids too."""
    n_bits = max(1, int(np.ceil(np.log2(n_signatures)))) if n_signatures > 1 else 0
    sets = np.full((n_signatures, n_ellipsoids), dense or n_signatures == 1)
    for bit in range(n_bits):
        sets[:, n_ellipsoids - 1 - bit] = np.arange(n_signatures) >> bit & 1
    return sets


def partition(
    classes: dict[str, Any] | None = None, d: int = 2, K: int = 1, J: int = 0, T: int = 1, *, dense: bool = False
) -> Parts:
    """Node and arrays of an `SEPClassifier` with d features, K ellipsoids, J isolated rows and T signatures."""
    classes = numbers(2) if classes is None else classes
    counts = np.zeros((T, len(classes["values"])), dtype=np.int64)
    counts[0], counts[:, 0] = 1, 1
    C = counts.shape[1]
    usual = {
        "model/usual/ellipsoid": np.full(C, -1),
        "model/usual/owner": np.arange(C),
        "model/usual/n_rows": np.ones(C, dtype=np.int64),
        "model/usual/ranges": np.zeros((C, d, 2)),
        "model/usual/overall": np.zeros((d, N_QUANTILES)),
        "model/usual/category_counts": np.empty((C, 0), dtype=np.int64),
        "model/usual/n_levels": np.zeros(d, dtype=np.int64),
        "model/usual/levels": np.empty(0),
        "model/usual/level_counts": np.empty((C, 0), dtype=np.int64),
    }
    arrays = usual | {
        "model/class_counts": counts.sum(axis=0),
        "model/shift": np.zeros(d),
        "model/scale": np.ones(d),
        "model/centers": np.zeros((K, d)) + 1e-3 * np.arange(K)[:, np.newaxis],
        "model/roots": np.broadcast_to(np.eye(d), (K, d, d)) if K else np.empty((0, d, d)),
        "model/owners": np.zeros(K, dtype=np.int64),
        "model/is_terminal": np.zeros(K, dtype=bool),
        "model/isolated": np.random.default_rng(0).random((J, d)),
        "model/isolated_owners": np.zeros(J, dtype=np.int64),
        "model/memberships": memberships(T, K, dense=dense),
        "model/counts": counts,
        "model/seen_rows": np.zeros(1, dtype=np.int64),
        "n_cuts": np.zeros(K, dtype=np.int64),
        "n_round": np.ones(K, dtype=np.int64),
        "cut_normals": np.empty((0, d)),
        "cut_offsets": np.empty(0),
        "through_means": np.empty(0, dtype=bool),
    }
    facts = {"classes": classes, "feature_names": [f"{j:x}" for j in range(d)], "slack": 1e-9, "trust": "counts"}
    node = {
        "parameters": {"kept": {"trust": "counts"}, "lost": {}},
        "n_features_in": d,
        "feature_names_in": None,
        "model": facts | {"weights": None, "usual": {}},
        "history": [],
        "rows_used": {"n_rows": 2, "n_partitioned": 2, "n_weighed": 0},
    }
    return node, arrays


def weighed(parts: Parts) -> Parts:
    """The same with weights, all zero and without knots."""
    node, arrays = parts
    C, d = len(node["model"]["classes"]["values"]), node["n_features_in"]
    K, J = len(arrays["model/centers"]), len(arrays["model/isolated"])
    shapes = {"offsets": (C,), "lines": (d, C), "knots": (0,), "levels": (d, C), "near": (K, C), "deep": (K, C)}
    shapes |= {"ellipsoid_means": (K, C), "isolated": (J, C), "isolated_mean": (C,)}
    weights = {f"model/weights/{name}": np.zeros(shape) for name, shape in shapes.items()}
    weights["model/weights/n_knots"] = np.zeros(d, dtype=np.int64)
    model = node["model"] | {"trust": "weights", "weights": {"width": 1.0}}
    return node | {"parameters": {"kept": {}, "lost": {}}, "model": model}, arrays | weights


def with_cuts(n: int) -> Parts:
    """One ellipsoid, carved out by very many cuts."""
    node, arrays = partition(d=1)
    cuts = {"cut_normals": np.ones((n, 1)), "cut_offsets": np.zeros(n), "through_means": np.zeros(n, dtype=bool)}
    return node, arrays | cuts | {"n_cuts": np.array([n])}


def with_history(history: list[Any]) -> Parts:
    """A small model with a long history."""
    node, arrays = partition()
    return node | {"history": history}, arrays


def file_of(parts: Parts, kind: str = "SEPClassifier") -> bytes:
    """The file of a model, with a digest that fits."""
    node, arrays = parts
    content = {"library": "sepc 1", "model": {"kind": kind, "frozen": False, **node}}
    return encode({f"model/{name}": array for name, array in arrays.items()}, content)


def strata(n: int, n_columns: int) -> bytes:
    """Strata whose categories are missing: no combination of as many columns is in the file."""
    one, own = partition(numbers(1))
    arrays = {f"default/ours/{name}": array for name, array in own.items()}
    arrays |= {"by": np.zeros(n_columns, dtype=np.int64), "counts": np.ones((n, 1), dtype=np.int64)}
    none = np.empty(0, dtype=np.int64)
    arrays |= {"fitted": np.zeros(n, dtype=bool), "routes": none, "asked": none}
    node = _stratified(one, n_columns, []) | {"values": []}
    return file_of((node, arrays), "RoutedClassifier")


def many_models(n: int, classes: dict[str, Any] | None = None) -> bytes:
    """As many strata, each with a small model of its own."""
    one, own = partition(classes)
    n_classes = len(one["model"]["classes"]["values"])
    arrays = {f"models/{s}/{name}": array for s in range(n) for name, array in own.items()}
    arrays |= {f"default/ours/{name}": array for name, array in own.items()}
    arrays |= {"by": np.array([0]), "counts": np.ones((n, n_classes), dtype=np.int64), "fitted": np.ones(n, dtype=bool)}
    arrays |= {"routes": np.arange(n), "asked": np.arange(n)}
    models = [{"kind": "SEPClassifier", "frozen": False, **one} for _ in range(n)]
    node = _stratified(one, 1, models) | {"values": [[str(s)] for s in range(n)]}
    return file_of((node, arrays), "RoutedClassifier")


def _stratified(one: dict[str, Any], n_columns: int, models: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "parameters": {"kept": {}, "lost": {}},
        "n_features_in": one["n_features_in"] + n_columns,
        "feature_names_in": None,
        "classes": one["model"]["classes"],
        "by_names": ["b"] * n_columns,
        "sees_all": False,
        "default": {"ours": {"kind": "SEPClassifier", "frozen": False, **one}},
        "models": models,
    }


# Each would take far more memory than it may, if something were built before its size is compared with the file's.
BOMBS: dict[str, Callable[[], bytes]] = {
    "100,000 classes": lambda: file_of(partition(numbers(100_000), J=10)),
    "20,000 classes, 40,000 isolated rows": lambda: file_of(partition(numbers(20_000), d=1, J=40_000)),
    "50,000 classes, 50,000 ellipsoids": lambda: file_of(partition(numbers(50_000), d=1, K=50_000)),
    "100,000 ellipsoids": lambda: file_of(partition(d=1, K=100_000)),
    "100,000 signatures": lambda: file_of(partition(d=1, K=17, T=100_000)),
    "4,000 signatures of 3,000 ellipsoids": lambda: file_of(partition(d=1, K=3_000, T=4_000, dense=True)),
    "90,000 features, no ellipsoid": lambda: file_of(partition(d=90_000, K=0, J=1)),
    "1,800 features, one ellipsoid": lambda: file_of(partition(d=1_800)),
    "1,000,000 isolated rows": lambda: file_of(partition(J=1_000_000)),
    "300,000 isolated rows with weights": lambda: file_of(weighed(partition(d=1, J=300_000))),
    "50,000 classes with weights": lambda: file_of(weighed(partition(numbers(50_000), d=1, K=0, J=1))),
    "1,000,000 cuts": lambda: file_of(with_cuts(1_000_000)),
    "50,000 labels, one of 100,000 characters": lambda: file_of(partition(texts(50_000, 100_000))),
    "20,000 labels, one of 1,000 characters": lambda: file_of(partition(texts(20_000, 1_000))),
    "60 strata of 900 labels, one of 900 characters": lambda: many_models(60, texts(900, 900)),
    "900 strata": lambda: many_models(900),
    "100,000 strata of 90,000 columns": lambda: strata(100_000, 90_000),
    "a history of 99,000 rounds": lambda: file_of(
        with_history([{"rows_left": [[1, 1]] * 99_000, "stopped_because": ""}])
    ),
    "140,000 parts": lambda: file_of(with_history([{"a": 1}] * 140_000)),
    "290,000 strings": lambda: file_of(with_history([f"{i:040d}" for i in range(290_000)])),
    "a string of 15,000,000 wide characters": lambda: file_of(with_history(["\U0001f600" + "a" * 15_000_000])),
}
