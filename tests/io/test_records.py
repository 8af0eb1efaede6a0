"""Records: what is declared is written and read, and whatever breaks a declaration is refused, for every record."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from zoo import fitted_once

from sepc import Costs, FormatError, RepairedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.columns.categories import Categories
from sepc.columns.kinds import Column, Kind
from sepc.columns.preparation import Preparation
from sepc.columns.written import Written
from sepc.estimators.repaired.changes import Change
from sepc.estimators.selective.cost_control import CostControl
from sepc.estimators.selective.group_control import NoHarm
from sepc.estimators.selective.promise import ErrorsByLabel, LabelErrors
from sepc.estimators.selective.risk_control import Control
from sepc.estimators.selective.shift_control import Shift
from sepc.estimators.sep.fitted import FittedEllipsoids, History, RowsUsed
from sepc.estimators.stratified.strata import Strata
from sepc.estimators.trusted.calibration import Calibration
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.writer import Writer
from sepc.lifecycle import Monitor
from sepc.lifecycle.column_changes.column_change import ColumnChange
from sepc.lifecycle.monitoring.alarms import Alarm
from sepc.lifecycle.monitoring.feature_shift import FeatureShift
from sepc.lifecycle.monitoring.monitor_state import MonitorState
from sepc.lifecycle.monitoring.streams import Segment, Stream, Streams
from sepc.lifecycle.monitoring.tally import Tally
from sepc.lifecycle.monitoring.windows import Window, Windows
from sepc.lifecycle.reviewing.pending_review import PendingReview
from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.lifecycle.reviewing.trust_bands import Bands
from sepc.model.edits import Edit, Edits
from sepc.model.imputation_mixture import ImputationMixture
from sepc.model.provenance import Provenance
from sepc.model.sep_model import SEPModel
from sepc.model.standalone import Standalone
from sepc.model.training_summary import TrainingSummary
from sepc.model.weights import Weights
from sepc.records import (
    Array,
    Flag,
    Given,
    Labels,
    Lists,
    Number,
    Part,
    Parts,
    Simple,
    Text,
    Texts,
    Whole,
    declarations,
    size_in_bytes,
)

MOONS = make_moons(200, noise=0.3, random_state=0)
SIDE = np.where(np.arange(200) % 3, "left", "right")


@fitted_once
def classifier():
    return SEPClassifier().fit(*load_iris(return_X_y=True))


@fitted_once
def selective(how):
    base = SEPClassifier(trust="counts")
    if how == "shift":
        return SelectiveClassifier(base, 0.4, random_state=0).fit(*MOONS, X_target=MOONS[0])
    if how == "costs":
        return SelectiveClassifier(base, Costs([[0, 5], [3, 0]], review=1.0), random_state=0).fit(*MOONS)
    return SelectiveClassifier(base, 0.3, by="side", random_state=0).fit(*MOONS, groups=SIDE)


def preparation():
    """Of a table with columns of all kinds."""
    columns = zip(["town", "since", "age", "id"], ["category", "date", "number", "left out"], strict=True)
    towns = Categories("town", ("north", "south", None), np.array([[0.5, 0.0], [-0.5, 0.1], [0.0, 0.2]]))
    price = Column("price", Kind.NUMBER, "", Written.number("€", ",", "."))
    return Preparation((*(Column(name, Kind(kind), "") for name, kind in columns), price), (towns,), ("since",))


def merged_state():
    """The state of a monitor that another was merged into, both with a window."""
    flowers = load_iris().data
    first = Monitor(classifier(), flowers)
    second = first.fresh()
    for monitor in (first, second):
        monitor.update(np.tile(flowers, (8, 1)))
    return first.merge(second)._state


@cache
def examples():
    """A record of every kind that files hold, with what it is read with: sizes, and fields that files do not hold."""
    iris = classifier()
    model = iris.model_
    sizes = {"C": 3, "d": 4, "g": 4, "K": model.n_ellipsoids, "J": len(model.isolated)}
    groups = selective("groups")
    repaired = RepairedClassifier.of(iris, {0: iris}, (Change(0, "here", 5, 4, 3, 1, 0.02, 2, True),), False)
    trusted = TrustedClassifier(SEPClassifier(trust="counts"), cv=2).fit(*MOONS)
    table, state, shares = preparation(), merged_state(), {"max_risk": 0.1, "confidence": 0.9}
    seen, of_regions = state.seen, {"R": len(state.reference.rows), "d": 4}
    shifted = FeatureShift("petal", -0.5)
    bands = Bands(np.array([0.9, 0.0]), np.array([0.7, 1.0]), np.array([0.01, 0.2]), 0)
    two = np.array([2.0, 3.0])
    shift = Edit.shift("petal", 1.0, by=0.5, label=2).signed("A. Wu", "a reason", "2026-05-04")
    shapes = {"shift": model.shift, "scale": model.scale}
    return {
        SEPModel: (model, {}, {"displays": model.usual.displays}),
        Weights: (model.weights, sizes, {}),
        Standalone: (Standalone(np.array([1, 3]), np.array([-1, 0]), 2), sizes, {}),
        Edit: (shift, {}, {}),
        Edits: (Edits((shift,), model.weights, np.array([1]), np.array([0.5])), sizes, {}),
        TrainingSummary: (model.usual, sizes, {"displays": model.usual.displays}),
        ImputationMixture: (model.row_kinds, sizes, shapes),
        FittedEllipsoids: (iris.ellipsoids_, sizes, {"model": model}),
        RowsUsed: (iris.rows_used_, {}, {}),
        Provenance: (Provenance.now("0" * 32, 75, "f" * 64), {}, {}),
        Control: (next(iter(groups.controls_.values())), {}, {}),
        CostControl: (selective("costs").controls_[None], {}, {}),
        ErrorsByLabel: (groups.errors_by_label_, {}, {}),
        LabelErrors: (groups.errors_by_label_.labels[0], {}, {}),
        NoHarm: (next(iter(groups.groups_.no_harm.values())), {}, {}),
        Shift: (selective("shift").shift_, {}, {}),
        Change: (repaired.changes_[0], {}, {}),
        Calibration: (trusted.model_.calibration, {"s": 2}, {}),
        Preparation: (table, {}, {}),
        Column: (table.columns[0], {}, {}),
        Written: (table.columns[-1].written, {}, {}),
        Categories: (table.all_categories[0], {}, {}),
        History: (iris.history_[0], {}, {"label": 0}),
        Strata: (Strata(("a", "b"), ((1, "x"), (2, None)), np.array([0, 1]), np.eye(2, dtype=int), two > 2), {}, {}),
        Tally: (state.reference, of_regions, {}),
        Window: (seen.own.windows.latest[0], of_regions, {}),
        Windows: (seen.own.windows, of_regions, {}),
        Segment: (seen.own.segments[0], {}, {}),
        Stream: (seen.own, of_regions, {}),
        Streams: (seen, of_regions, {}),
        MonitorState: (state, of_regions, {}),
        FeatureShift: (shifted, {}, {}),
        ColumnChange: (ColumnChange("x0", "factor", 60.0, "", 0.6, 0.1, 0.5, False, 1.0, 60.0, 9.0, 50), {}, {}),
        Alarm: (Alarm("feature", 3, "here", 0.1, 0.4, 50, 90, 12.5, (shifted,)), {}, {"where": "here"}),
        Bands: (bands, {}, {}),
        Evidence: (Evidence(bands, 0.1, 0.9, two, two - 1, two, two), {}, shares),
        PendingReview: (PendingReview(1, np.array([0, 1]), two / 6, np.array([0, -1, 1]), 1), {"H": 2}, {}),
    }


KINDS = [
    SEPModel,
    Weights,
    Standalone,
    Edit,
    Edits,
    TrainingSummary,
    ImputationMixture,
    FittedEllipsoids,
    RowsUsed,
    Provenance,
    Control,
    CostControl,
    ErrorsByLabel,
    LabelErrors,
    NoHarm,
    Shift,
]
KINDS += [
    Change,
    Calibration,
    Preparation,
    Column,
    Written,
    Categories,
    History,
    Strata,
    Tally,
    Window,
    Windows,
    Segment,
    Stream,
]
KINDS += [Streams, MonitorState, FeatureShift, ColumnChange, Alarm, Bands, Evidence, PendingReview]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def written(kind):
    """The node and the arrays of the example of this kind."""
    writer = Writer()
    node = record_to_node(examples()[kind][0], writer)
    return json.loads(json.dumps(node)), dict(writer.arrays)


def read(kind, node, arrays):
    _, sizes, given = examples()[kind]
    return record_from(kind, Reader(node, arrays), sizes, **given)


def is_refused(kind, node, arrays):
    try:
        read(kind, node, arrays)
    except FormatError:
        return True
    return False


@each_kind
def test_what_is_written_is_read(kind):
    again = read(kind, *written(kind))
    writer = Writer()
    assert json.loads(json.dumps(record_to_node(again, writer))) == written(kind)[0]
    for name, array in written(kind)[1].items():
        np.testing.assert_array_equal(writer.arrays[name], array, name)
        assert writer.arrays[name].dtype == array.dtype
    assert size_in_bytes(again) == sum(array.nbytes for array in written(kind)[1].values())


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
        case Parts():
            yield from ["text", {}, None, [0], [{}]]
        case Labels():
            yield from [[], {}, {"type": "<i8", "values": [2, 1, 0]}]


def broken(kind, name, declaration):
    """Nodes and arrays in which one array or value breaks its declaration."""
    node, arrays = written(kind)
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
    node, arrays = written(kind)
    declared = {path: own for path, own in named(kind) if isinstance(own, Array)}
    letters = [axis for own in declared.values() for axis in own.shape]
    for path, declaration in declared.items():
        for axis, letter in enumerate(declaration.shape):
            known = letters.count(letter) > 1 or letter in examples()[kind][1] or letter.isdigit() or "+" in letter
            if known and arrays[path].shape[axis]:
                fewer = np.delete(arrays[path], 0, axis=axis)
                assert is_refused(kind, node, {**arrays, path: fewer}), path


def test_every_record_is_among_the_examples():
    """A new record comes with an example here, so that it is attacked like the others."""
    import sepc.model_files  # noqa: F401  # loads every estimator
    from sepc.records import RECORDS

    inline = {own.kind for kind in RECORDS for own in declarations(kind).values() if isinstance(own, Part)}
    assert {kind.__name__ for kind in RECORDS} == {kind.__name__ for kind in {*KINDS, *inline}}


def test_the_page_about_the_format_tells_the_declarations(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    import write_format

    page = write_format.PAGE.read_text(encoding="utf-8")
    assert write_format.rewritten(page) == page, "run tools/write_format.py"
    assert page.count("<!-- record:") > 10
    assert not re.search(r"\| *\|$", page, re.MULTILINE), "a field has no description"
