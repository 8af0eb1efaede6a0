"""Signed files whose values contradict one another, overflow, or cannot be compared: each gives a `FormatError`."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmark_runs import smallest_tables
from sklearn.datasets import make_moons
from zoo import fitted_once

import sepc
from sepc import Costs, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import FormatError
from sepc.io.codec import labels_to_node
from sepc.io.container import decode, encode
from sepc.model_files import from_bytes, to_bytes

HUGE = 10**400
X, Y = make_moons(150, noise=0.3, random_state=0)
ACCEPTING = [
    ("model/promise/controls/0/threshold", 0.1),
    ("model/promise/controls/0/n_accepted", 9),
    ("model/promise/controls/0/loss", 0),
]
SIDE = np.where(np.arange(150) % 3, "left", "right")


def fitted(kind):
    strata = np.column_stack([np.arange(len(X)) % 2, X])
    base = SEPClassifier(trust="counts")
    return {
        "sep": lambda: base.fit(X, Y),
        "text": lambda: base.fit(X, np.where(Y, "one", "other")),
        "costs": lambda: SelectiveClassifier(base, Costs([[0, 5], [3, 0]], review=1.0), random_state=0).fit(X, Y),
        "risks": lambda: SelectiveClassifier(base, {0: 0.3, 1: 0.4}, random_state=0).fit(X, Y),
        "groups": lambda: SelectiveClassifier(base, 0.3, by="side", random_state=0).fit(X, Y, groups=SIDE),
        "shift": lambda: SelectiveClassifier(base, 0.4, random_state=0).fit(X, Y, X_target=X),
        "trusted": lambda: TrustedClassifier(base, cv=2).fit(X, Y),
        "strata": lambda: RoutedClassifier(base, by=[0], min_rows=20).fit(strata, Y),
        "repaired": lambda: RoutedClassifier.of(SEPClassifier().fit(X, Y), {0: SEPClassifier().fit(X, Y)}, ()),
    }[kind]()


@fitted_once
def saved(kind):
    return to_bytes(fitted(kind))


def forged(kind, *changes):
    """A file of this kind in which values or arrays were replaced, by their path, with a digest that fits."""
    arrays, content = decode(saved(kind))
    for path, value in changes:
        if path in arrays:
            arrays[path] = value(arrays[path])
            continue
        node = content
        *inner, last = path.split("/")
        for name in inner:
            node = node[int(name) if isinstance(node, list) else name]
        node[int(last) if isinstance(node, list) else last] = value
    return encode(arrays, content)


TEXT = {"type": "text", "values": ["a", "b"]}
MANY = {"type": "<i8", "values": [0, 1, 2]}


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("sep", [("model/parameters/kept/n_impure", HUGE)], "parameters"),
        ("sep", [("model/parameters/kept/max_rounds", HUGE)], "parameters"),
        ("sep", [("model/parameters/kept/trust", "x" * 2000)], "parameters"),
        ("sep", [("model/model/classes", {"type": "object", "values": [0, HUGE]})], "too long or too large"),
        ("sep", [("model/model/classes", {"type": "<f8", "values": [0.5, HUGE]})], "too long or too large"),
        ("text", [("model/model/classes/values", ["one", "y" * 1001])], "too long or too large"),
        ("sep", [("model/history/0/rows_left", [[HUGE, 1]])], "neither a label nor a category; these are numbers"),
        ("sep", [("model/history/0/rows_left", [[-1, 1]])], "pairs of integers"),
        ("sep", [("model/history", [{}] * 3)], "more partitions than classes"),
        ("sep", [("model/rows_used/n_rows", 3)], "impossible numbers of rows"),
        ("sep", [("model/rows_used/n_weighed", "all")], "n_weighed"),
        ("sep", [("model/n_cuts", lambda a: a * 0 + 2**52)], "counts more rows|out of range"),
        ("sep", [("model/model/roots", lambda a: a * 1e150)], "out of range"),
        ("sep", [("model/model/roots", lambda a: a * 1e-150)], "invalid ellipsoid"),
        ("sep", [("model/model/shift", lambda a: a + 1e308), ("model/model/scale", lambda a: a + 1e308)], "invalid"),
        ("costs", [("model/promise/costs/matrix", lambda a: a + np.inf)], "NaN or infinity"),
        ("costs", [("model/promise/costs/matrix", lambda a: a[:, :1].copy())], "shape"),
        ("costs", [("model/promise/costs/matrix", lambda a: -a)], "out of range"),
        ("costs", [("model/promise/costs/matrix", lambda a: 0.1 * a)], "invalid costs"),
        ("risks", [("model/promise/risks", [[0, 0.3], [7, 0.4]])], "do not match its max_risk"),
        ("risks", [("model/promise/risks", [[0, 0.3], [1, 4e9]])], "not shares"),
        ("risks", [("model/promise/risks", [[0, 0.3], [HUGE, 0.4]])], "neither a label nor a category"),
        ("risks", [("model/promise/controls/0/n_rows", 0)], "more accepted rows than rows"),
        ("risks", [("model/promise/controls/0/n_accepted", 10**6)], "more accepted rows than rows"),
        ("risks", [("model/promise/controls/0/n_tried", 10**6)], "more accepted rows than rows"),
        ("groups", [("model/promise/groups/by", [])], "names no column"),
        ("groups", [("model/promise/groups/by", [["side"]])], "neither a label nor a category"),
        ("groups", [("model/promise/groups/by", [0.5])], "names no column"),
        ("groups", [("model/promise/groups/small", [["left", 3]])], "promised and too small"),
        ("groups", [("model/promise/groups/small", [["up", -3]])], "invalid number of rows"),
        ("groups", [("model/promise/groups/small", ["up"])], "that is not a pair"),
        ("groups", [("model/promise/groups/parents", [[["a", "b", "c"], "d"]])], "wrong number of columns"),
        ("groups", [("model/promise/groups/no_harm", [])], "do not match its groups"),
        ("groups", [("model/promise/groups/no_harm/0/n_errors", 10**6)], "more errors than rows"),
        ("groups", [("model/promise/groups", None)], "invalid parameter|do not match"),
        ("groups", [("model/promise/controls/0/about", None)], "do not match its groups"),
        (
            "groups",
            [("model/promise/controls/0/about", "right"), ("model/promise/controls/1/about", "right")],
            "two controls|match",
        ),
        ("groups", [("model/promise/risks", [[0, 0.3]])], "do not match its groups"),
        ("groups", [("model/parameters/kept/one_threshold", True), *ACCEPTING], "match its groups"),
        ("shift", [("model/promise/shift/regions", lambda a: a[::-1].copy())], "not in order"),
        ("shift", [("model/promise/shift/regions", lambda a: a - 10)], "out of range"),
        ("shift", [("model/promise/shift/n_target", 0)], "more target rows than there are"),
        ("shift", [("model/promise/shift/n_target_accepted", 10**6)], "more target rows than there are"),
        ("shift", [("model/promise/controls/0/about", 1)], "do not match its max_risk"),
        ("risks", [("model/classes", MANY)], None),
        ("risks", [("model/classes", {"type": "<i8", "values": [0]})], "has different labels from"),
        ("risks", [("model/n_features_in", 3)], "has a different number of features from"),
        ("trusted", [("model/classes", MANY)], "has different labels from"),
        ("trusted", [("model/n_features_in", 3)], "has a different number of features from"),
        ("trusted", [("model/partition/model/classes", {"type": "object", "values": ["a", "b"]})], "another type"),
        (
            "trusted",
            [
                ("model/classes", TEXT),
                ("model/estimator/ours/model/classes", TEXT),
                ("model/partition/model/classes", {"type": "object", "values": [0, 1]}),
            ],
            "labels of another type",
        ),
        ("trusted", [("model/trust/coefficients", lambda a: a + 1e200)], "out of range"),
        ("trusted", [("model/partition/feature_names_in", ["a", "b"])], "other features"),
        ("strata", [("model/classes", MANY), ("model/counts", lambda a: np.pad(a, ((0, 0), (0, 1))))], None),
        ("strata", [("model/models/0/model/classes/values", [0, 2])], "has different labels from"),
        ("strata", [("model/n_features_in", 4)], "has a different number of features from"),
        ("strata", [("model/values/0/0", HUGE)], "neither a label nor a category"),
        ("sep", [("model/history/0/rows_left", [[1, 1, 1]])], "a list of length 3 instead of 2 in rows_left"),
        ("sep", [("model/history/0/rows_left", [1])], "a value that is not a list in rows_left"),
        ("strata", [("model/values", [])], "array model/counts has an unexpected .* shape"),
        ("strata", [("model/values/0", [1, 2])], "a list of length 2 instead of 1 in values"),
        ("repaired", [("model/models/0/model/classes/values", [0, 2])], "differs in features or labels"),
    ],
)
def test_values_that_contradict_one_another(kind, changes, message):
    data = forged(kind, *changes)
    if message is None:
        assert from_bytes(data)
        return
    with pytest.raises(FormatError, match=message):
        from_bytes(data)


def test_counts_that_overflow_when_they_are_added():
    """Counts of 2^52 in 4,096 regions add up to 2^64, which an integer of 64 bits takes for 0."""
    forging = pytest.importorskip("sepc_benchmarks.forging")
    node, arrays = forging.partition(d=1, K=12, T=4096)
    counts = np.full((4096, 2), 2**52)
    counts[0] += 1
    assert counts.sum(axis=0).tolist() == [1, 1]
    with pytest.raises(FormatError, match="more rows"):
        from_bytes(forging.file_of((node, arrays | {"model/counts": counts, "model/class_counts": np.array([1, 1])})))


@pytest.mark.parametrize("kind", ["", "os.system; rm", "two\nlines", "\x1b[31mred", "x" * 1000, None])
def test_the_name_of_a_foreign_model_is_a_name(kind):
    foreign = {"kind": "a.B"} if kind is None else {"kind": kind, "hash": None}
    with pytest.raises(FormatError, match="class"):
        from_bytes(forged("risks", ("model/estimator", {"foreign": foreign})))


@pytest.mark.parametrize(
    "header",
    [
        b'{"__metadata__":{"sepc":"\\ud800"}}',
        b'{"__metadata__":{"sepc":"\\u00e9"}}',
        b'{"__metadata__":{"sepc":"\xc3\xa9"}}',
        b'{"__metadata__":{"sepc":"\xff"}}',
    ],
)
def test_descriptions_with_odd_characters(header):
    with pytest.raises(FormatError, match="non-ASCII"):
        from_bytes(len(header).to_bytes(8, "little") + header)


@pytest.mark.skipif(os.name == "nt", reason="no such pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for read in (sepc.load, sepc.inspect):
        with pytest.raises(FormatError, match="pipe"):
            read(tmp_path / "pipe")


def test_long_labels_are_refused_when_they_are_saved():
    for labels in (np.array(["one", "x" * 1001]), np.array([1, 10**30], dtype=object)):
        with pytest.raises(TypeError, match="1,000 characters"):
            labels_to_node(labels)
    longest = SEPClassifier().fit(X, np.where(Y, "one", "x" * 1000))
    assert from_bytes(to_bytes(longest)).classes_.tolist() == ["one", "x" * 1000]


@pytest.mark.slow
def test_what_no_file_can_hold_is_refused_when_it_is_saved():
    for content in ({"model": [[]] * 200_000}, {"model": "x" * 2**24}, {"model": "x" * 2**27}):
        with pytest.raises(ValueError, match="too large"):
            encode({}, content)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured by Linux")
def test_small_files_take_little_memory_whatever_they_stand_for(tmp_path):
    """Some of `sepc_benchmarks.forged_sizes`."""
    records = smallest_tables("forged_sizes", tmp_path)["sizes"]
    assert {record["outcome"] for record in records} == {"read", "FormatError"}
    for record in records:
        taken = max(record[name] for name in ("load, MB", "inspect, MB", "first decision, MB"))
        assert taken <= record["may take, MB"], record
