"""Records: what is declared is written and read, and whatever breaks a declaration is refused, for every record."""

import copy
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from mixed_tables import patients
from sklearn.datasets import load_iris, make_moons

from sepc import Costs, Edit, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier, model_files
from sepc.errors import FormatError
from sepc.io import codec as records
from sepc.io.codec import Reader, Writer, record_from, record_to_node
from sepc.lifecycle import Monitor, ReviewQueue, repair
from sepc.records import (
    RECORDS,
    Array,
    Flag,
    Given,
    Labels,
    Lists,
    Number,
    Pairs,
    Part,
    Parts,
    PartsByKey,
    Simple,
    Text,
    Texts,
    Whole,
    declarations,
    size_in_bytes,
)

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning", "ignore::sepc.errors.FlatSetWarning")
SIGNED = {"author": "A. Wu", "reason": "a reason", "date": "2026-05-04"}
X, Y = make_moons(200, noise=0.3, random_state=0)
INLINE = {
    own.kind for kind in RECORDS for own in declarations(kind).values() if isinstance(own, Part) and own.is_inline
}
KINDS = [kind for kind in RECORDS if kind not in INLINE and kind.__module__.startswith("sepc.")]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def models():
    """Models that together hold every kind of record."""
    flowers, base, (table, status) = load_iris(return_X_y=True), SEPClassifier(trust="counts"), patients(200, key=False)
    edits = Edit.shift("x2", 1.0, by=0.5, label=2), Edit.drop_feature("x1")
    yield SEPClassifier().fit(*flowers).edited(*edits, **SIGNED)
    yield SEPClassifier(features_alone=[1]).fit(*flowers)
    yield SEPClassifier().fit(table.assign(price=[f"\u20ac {i % 37}.50" for i in range(200)]), status)
    yield SelectiveClassifier(base, 0.4, random_state=0).fit(X, Y, X_target=X)
    yield SelectiveClassifier(base, Costs([[0, 5], [3, 0]], review=1.0), random_state=0).fit(X, Y)
    side = np.where(np.arange(200) % 3, "left", "right")
    yield SelectiveClassifier(base, 0.3, by="side", random_state=0).fit(X, Y, groups=side)
    yield TrustedClassifier(base, cv=2).fit(X, Y)
    yield RoutedClassifier(base, by=[0], min_rows=20).fit(np.column_stack([Y > 0, X]), Y)
    yield repair(SEPClassifier().fit(X, Y), X + 0.001, 1 - Y, confidence=0.0)


def states():
    """A monitor with alarms that another was merged into, and a queue that waits for labels."""
    model = SEPClassifier().fit(X, Y)
    new = make_moons(1500, noise=0.2, random_state=1)
    monitor, other = Monitor(model, *new), Monitor(model, *new)
    for one in (monitor, other):
        one.update(new[0] * [1.0, 60.0], 1 - new[1])
    yield monitor.merge(other), Monitor, model
    queue = ReviewQueue(model, 10, coverage=0.8, rows=new[0], random_state=0)
    review = queue.choose(X)
    queue.learn(review, Y[review.positions])
    queue.choose(X)
    yield queue, ReviewQueue, model


@cache
def examples():
    """The first record of every kind that is read from these files: its node and arrays, and what it is read with."""
    found, read = {}, records._read

    def noting(kind, reader, sizes, given):
        own = [name for name in reader.arrays if name.startswith(reader.path)]
        arrays = {name.removeprefix(reader.path): reader.arrays[name] for name in own}
        around = {name: value for name, value in given.items() if name != "kind"}  # a field of an enclosing record
        found.setdefault(kind, (copy.deepcopy(reader.node), arrays, dict(sizes), around))
        return read(kind, reader, sizes, given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_read", noting)
        for model in models():
            model_files.from_bytes(model_files.to_bytes(model))
        for state, kind, model in states():
            kind.from_bytes(state.to_bytes(), model)
    return found


def read(kind, node, arrays):
    _, _, sizes, given = examples()[kind]
    return record_from(kind, Reader(node, arrays), sizes, **given)


def is_refused(kind, node, arrays):
    try:
        read(kind, node, arrays)
    except FormatError:
        return True
    return False


@each_kind
def test_what_is_written_is_read(kind):
    node, arrays, _, _ = examples()[kind]
    again, writer = read(kind, node, arrays), Writer()
    made = json.loads(json.dumps(record_to_node(again, writer)))
    assert node | made == node  # which may be the node of an estimator, with more in it
    assert {name for name, _ in named(kind)} & {*node, *arrays} <= {*made, *writer.arrays}
    for name, array in writer.arrays.items():
        np.testing.assert_array_equal(arrays[name], array, name)
        assert arrays[name].dtype == array.dtype
    assert size_in_bytes(again) == sum(array.nbytes for array in writer.arrays.values())


def named(kind):
    """The declarations of a record's own arrays and values, by their names in a file; other parts have examples too."""
    for own, declaration in zip(kind.__dataclass_fields__.values(), declarations(kind).values(), strict=True):
        if isinstance(declaration, Part) and declaration.is_inline:
            yield from named(declaration.kind)
        elif not isinstance(declaration, Part | Given):
            yield own.metadata["name"] or own.name, declaration


def worse_arrays(array, declaration):
    """The array, broken in every way that its declaration rules out."""
    if not declaration.may_lack:
        yield None
    yield array.astype(np.float32 if array.dtype == np.float64 else np.float64)
    yield array[np.newaxis]
    if array.size == 0:
        return
    if array.dtype == np.bool_:
        yield np.full(array.shape, 2, dtype=np.uint8).view(np.bool_)
    else:
        if array.dtype == np.float64 or declaration.high < 2**62:
            worst = array.copy()
            worst.flat[-1] = np.nan if array.dtype == np.float64 else 2**62
            yield worst
        for limit, step in ((declaration.low, -1), (declaration.high, 1)):
            beyond = limit + step if np.isfinite(limit) and abs(limit) < 2**62 else None
            if beyond is not None and beyond != limit:
                changed = array.copy()
                changed.flat[0] = beyond
                yield changed


def worse_values(declaration):
    match declaration:
        case Number(low, high, or_infinite):
            yield from ["1", True, [], 10**400]
            yield from [] if or_infinite else [None]
            yield from (limit + step for limit, step in ((low, -1.0), (high, 1.0)) if abs(limit) < 1e50)
        case Whole(low, below):
            yield from [low - 1, below, 0.5, True, "1", None]
        case Flag():
            yield from [0, None, "true"]
        case Text(among):
            yield from [0, None, []]
            yield from ["none of these"] if among else []
        case Texts():
            yield from ["text", [0], None]
        case Lists():
            yield from ["text", 0, None, [10**400], [{}], [[[0]]]]
        case Simple():
            yield from [[], {}, 10**400]
        case Pairs():
            yield from ["text", {}, None, [0], [[1, 2, 3]], [[{}, 1]], [[1, [1, 2, 3]]]]
        case Parts() | PartsByKey():
            yield from ["text", {}, None, [0], [{}]]
        case Labels():
            yield from [[], {}, {"type": "<i8", "values": [2, 1, 0]}]


def broken(kind, name, declaration):
    """Nodes and arrays in which one array or value breaks its declaration."""
    node, arrays, _, _ = examples()[kind]
    if isinstance(declaration, Array):
        others = {path: array for path, array in arrays.items() if path != name}
        for worse in worse_arrays(arrays[name], declaration):
            yield node, others if worse is None else {**others, name: worse}
        return
    others = {key: value for key, value in node.items() if key != name}
    has_default = isinstance(declaration, Text) and hasattr(kind, name)
    may_lack = has_default or (isinstance(declaration, Parts) and declaration.may_lack)
    if not (may_lack or (isinstance(declaration, Number) and declaration.or_infinite)):
        yield others, arrays
    for worse in (own for own in worse_values(declaration) if not (may_lack and own is None)):
        yield {**others, name: worse}, arrays


@each_kind
def test_what_breaks_a_declaration_is_refused(kind):
    for name, declaration in named(kind):
        tries = list(broken(kind, name, declaration))
        assert len(tries) >= 3
        for i, (node, arrays) in enumerate(tries):
            assert is_refused(kind, node, arrays), f"{name}, change {i}"


@each_kind
def test_sizes_are_the_same_in_all_arrays_of_a_record(kind):
    node, arrays, sizes, _ = examples()[kind]
    declared = {path: own for path, own in named(kind) if isinstance(own, Array)}
    letters = [axis for own in declared.values() for axis in own.shape]
    for path, declaration in declared.items():
        for axis, letter in enumerate(declaration.shape):
            known = letters.count(letter) > 1 or letter in sizes or letter.isdigit() or "+" in letter
            if known and arrays[path].shape[axis]:
                fewer = np.delete(arrays[path], 0, axis=axis)
                assert is_refused(kind, node, {**arrays, path: fewer}), path


def test_the_page_about_the_fields_describes_all_of_them(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "docs")
    import describe_records

    page = describe_records.page()
    assert page.count("\n## ") > 20
    assert {kind.__name__ for kind in KINDS} <= set(re.findall(r"^## (\w+)$", page, re.MULTILINE))
    assert not re.search(r"\| *\|$", page, re.MULTILINE), "a field has no description"
