"""Monitor files: the state of a monitor as counts, sums and alarms, in the safe format of model files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np

from sepc.errors import FormatError
from sepc.io.container import Arrays, decode, digest, encode
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.writer import Node, Writer
from sepc.lifecycle.monitoring.alarms import Alarm, describe_region
from sepc.lifecycle.monitoring.feature_shift import FeatureShift
from sepc.lifecycle.monitoring.monitor_state import MonitorState
from sepc.lifecycle.monitoring.monitored_rates import ALL_ROWS, FEATURE, KINDS, OUTSIDE, MonitoredRates
from sepc.lifecycle.monitoring.streams import Segment, Stream, Streams
from sepc.lifecycle.monitoring.tally import Tally
from sepc.lifecycle.monitoring.windows import Window, Windows
from sepc.model.sep_model import SEPModel
from sepc.records import MOST

COUNTS = ("rows", "labelled", "errors")


def state_to_bytes(state: MonitorState, fingerprint: str) -> bytes:
    """The state of a monitor as bytes, with the fingerprint of its model; deterministic."""
    writer = Writer()
    own = writer.under("monitor")
    own.put(shift=state.shift, scale=state.scale)
    record_to_node(state.reference, own.under("reference"))
    node: Node = {
        "confidence": state.confidence,
        "model": fingerprint,
        "features": list(state.features),
        "own": _stream_to_node(state.seen.own, own.under("own")),
        "others": [_stream_to_node(stream, own.under(f"others/{i}")) for i, stream in enumerate(state.seen.others)],
        "alarms": [_alarm_to_node(alarm) for alarm in state.alarms],
    }
    return encode(writer.arrays, {"library": f"sepc {version('sepc')}", "monitor": node})


def state_from_bytes(data: bytes, watched: MonitoredRates, fingerprint: str) -> MonitorState:
    """Read the state of a monitor, and check that it belongs to the model with this fingerprint."""
    arrays, content = decode(data)
    if "monitor" not in content:
        raise FormatError("The file holds no monitor; read models with sepc.load.")
    front = Reader(content, arrays)
    reader = front.part("monitor")
    if reader.text("model") != fingerprint:
        raise FormatError("The file belongs to a monitor of another model; give the model it was saved with.")
    d, features = len(watched.model.feature_names), reader.texts("features")
    if len(features) != d:
        raise reader.wrong("names more or fewer features than the model has")
    watched = watched.named(features)
    scale = reader.floats("scale", d)
    confidence = reader.number("confidence", 0.0, 1.0)
    if (scale <= 0.0).any() or not 0.0 < confidence < 1.0:
        raise reader.wrong("has a scale or a confidence that no monitor has")
    sizes = {"R": watched.n_regions, "d": d}
    reference = record_from(Tally, reader.under("reference", {}), sizes)
    own = _stream_from(reader.part("own"), sizes)
    others = tuple(_stream_from(part, sizes) for part in reader.parts("others"))
    names = [stream.name for stream in others if stream.segments]
    own_name = {own.name} if own.segments else set()
    if len(names) < len(others) or sorted(set(names) - own_name) != names:
        raise reader.wrong("has streams without a name, twice or not in order")
    if sum(stream.windows.total.n_seen for stream in (own, *others)) >= MOST:
        raise reader.wrong("has seen more rows than can be counted")
    state = MonitorState(
        confidence=confidence,
        shift=reader.floats("shift", d),
        scale=scale,
        features=features,
        reference=reference,
        seen=Streams(own, others),
        alarms=tuple(_alarm_from(part, watched) for part in reader.parts("alarms")),
    )
    if set(arrays) - front.used:
        raise FormatError(f"The file holds an array that no monitor has: {sorted(set(arrays) - front.used)[0][:80]!r}.")
    return state


def _stream_to_node(stream: Stream, writer: Writer) -> Node:
    record_to_node(stream.windows.total, writer.under("total"))
    for i, window in enumerate(stream.windows.latest):
        record_to_node(window.tally, writer.under(f"latest/{i}"))
    return {
        "n_updates": stream.n_updates,
        "segments": [{"token": segment.token, "start": segment.start} for segment in stream.segments],
        "latest": [{"number": window.number} for window in stream.windows.latest],
    }


def _stream_from(reader: Reader, sizes: Mapping[str, int]) -> Stream:
    total = record_from(Tally, reader.under("total", {}), sizes)
    latest = [Window(record_from(Tally, part, sizes), part.integer("number", 1)) for part in reader.parts("latest")]
    names = (*COUNTS, "above", "beyond")
    if any((getattr(total, name) < getattr(window.tally, name)).any() for window in latest for name in names):
        raise reader.wrong("has a window with more rows than there were in all")
    windows = Windows(total, tuple(latest))
    if len(windows.renewed().latest) != len(latest):
        raise reader.wrong("has seen more rows than its windows tell")
    segments = tuple(Segment(part.text("token"), part.integer("start")) for part in reader.parts("segments"))
    n_updates, starts = reader.integer("n_updates"), [segment.start for segment in segments]
    # Every segment has an update, so each starts after the one before, and the last before the end.
    if (
        starts[:1] != [0][: len(starts)]
        or not all(np.diff([*starts, n_updates]) > 0)
        or (n_updates > 0) != bool(starts)
    ):
        raise reader.wrong("has updates of nobody")
    return Stream(windows, n_updates, segments)


def fingerprint_of(models: Sequence[SEPModel]) -> str:
    """A hash of the regions of some models and their counts."""
    arrays: Arrays = {}
    for i, model in enumerate(models):
        table = {"memberships": model.table.memberships, "counts": model.table.counts}
        shapes = {"centers": model.centers, "roots": model.roots, "isolated": model.isolated}
        arrays |= {f"{i}/{name}": array for name, array in (table | shapes).items()}
    return digest(arrays, {})


def _alarm_to_node(alarm: Alarm) -> Node:
    node = {name: getattr(alarm, name) for name in ("kind", "region", "before", "now", "n_rows", "n_since")}
    moved = [{"name": shift.name, "shift": shift.shift} for shift in alarm.moved]
    return node | {"log_evidence": alarm.log_evidence, "moved": moved}


def _alarm_from(reader: Reader, watched: MonitoredRates) -> Alarm:
    kind, region = reader.text("kind"), reader.integer("region", ALL_ROWS)
    near = range(watched.n_sets, watched.n_sets + watched.model.n_ellipsoids)
    known = region in near if kind == OUTSIDE else region < watched.n_regions - 1
    if kind not in KINDS or not known or (region == ALL_ROWS and kind != FEATURE):
        raise reader.wrong("is an alarm about something that is not watched")
    moved = tuple(FeatureShift(shift.text("name"), shift.number("shift")) for shift in reader.parts("moved"))
    if not {shift.name for shift in moved} <= set(watched.model.feature_names) or (kind == FEATURE and not moved):
        raise reader.wrong("names a feature that the model does not have, or none where one moved")
    return Alarm(
        kind=kind,
        region=region,
        where=describe_region(watched.model, region),
        before=reader.number("before", 0.0, 1.0),
        now=reader.number("now", 0.0, 1.0),
        n_rows=reader.integer("n_rows"),
        n_since=reader.integer("n_since"),
        log_evidence=reader.number("log_evidence"),
        moved=moved,
    )
