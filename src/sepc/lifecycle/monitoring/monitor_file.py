"""Monitor files: the state of a monitor as counts, sums and alarms, in the safe format of model files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sepc.errors import FormatError
from sepc.io.container import Arrays, decode, digest, encode
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.writer import Writer
from sepc.lifecycle.monitoring.alarms import Alarm, describe_region
from sepc.lifecycle.monitoring.monitor_state import MonitorState
from sepc.lifecycle.monitoring.monitored_rates import ALL_ROWS, OUTSIDE, MonitoredRates
from sepc.model.sep_model import SEPModel
from sepc.plain_values import version_of


def state_to_bytes(state: MonitorState, fingerprint: str) -> bytes:
    """The state of a monitor as bytes, with the fingerprint of its model; deterministic."""
    writer = Writer()
    alarms = [record_to_node(alarm, writer) for alarm in state.alarms]
    node = record_to_node(state, writer.under("monitor")) | {"model": fingerprint, "alarms": alarms}
    return encode(writer.arrays, {"library": f"sepc {version_of('sepc')}", "monitor": node})


def state_from_bytes(data: bytes, watched: MonitoredRates, fingerprint: str) -> MonitorState:
    """Read the state of a monitor, and check that it belongs to the model with this fingerprint."""
    arrays, content = decode(data)
    if "monitor" not in content:
        raise FormatError("The file is not a monitor; read models with sepc.load.")
    front = Reader(content, arrays)
    reader = front.part("monitor")
    if reader.text("model") != fingerprint:
        raise FormatError("The file belongs to a monitor of another model; give the model it was saved with.")
    state = record_from(MonitorState, reader, {"R": watched.n_regions, "d": watched.n_features})
    named = watched.rename(state.features)
    state = replace(state, alarms=tuple(_alarm_from(part, named) for part in reader.parts("alarms")))
    if set(arrays) - front.used:
        raise FormatError(f"The file holds an array that no monitor has: {sorted(set(arrays) - front.used)[0][:80]!r}.")
    return state


# What edits change in weights.
EDITED = ("lines", "n_knots", "knots", "levels", "near", "deep", "category_levels")


def fingerprint_of(models: Sequence[SEPModel]) -> str:
    """A hash of the regions of some models, of their counts and, for an edited model, of its weights."""
    arrays: Arrays = {}
    for i, model in enumerate(models):
        table = {"memberships": model.table.memberships, "counts": model.table.counts}
        shapes = {"centers": model.centers, "roots": model.roots, "isolated": model.isolated}
        if model.edits is not None:
            shapes |= {f"weights/{name}": array for name, array in vars(model.weights).items() if name in EDITED}
            table |= {"fixed": model.edits.fixed}
            shapes |= {"typical": model.edits.typical}
        arrays |= {f"{i}/{name}": array for name, array in (table | shapes).items()}
    return digest(arrays, {})


def _alarm_from(reader: Reader, watched: MonitoredRates) -> Alarm:
    kind, region = reader.text("kind"), reader.integer("region", ALL_ROWS)
    near = range(watched.n_sets, watched.n_sets + watched.model.n_ellipsoids)
    if not (region in near if kind == OUTSIDE else region < watched.n_regions - 1):
        raise reader.wrong("is an alarm about something that is not watched")
    alarm = record_from(Alarm, reader, where=describe_region(watched.model, region))
    named = {shift.name for shift in alarm.moved} | {column.name for column in alarm.columns}
    if not named <= set(watched.model.feature_names):
        raise reader.wrong("names a feature that the model does not have")
    return alarm
