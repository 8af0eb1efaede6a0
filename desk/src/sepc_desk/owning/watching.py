"""Monitors of the rows that come to a model: the first ones are the reference, and a change in later ones an alarm."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sepc.lifecycle import Alarm, Monitor
from sqlalchemy import Connection, Engine, Row, insert, select, update

from sepc_desk.entries import EntryKind
from sepc_desk.models import Model
from sepc_desk.reading import contexts_of
from sepc_desk.reviewing.transactions import now, only_one, seconds, writing
from sepc_desk.rows import Row as CaseRow
from sepc_desk.rows import frame_of
from sepc_desk.schema import entries, monitors
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

LOCK = 7365706368
# Rows that are counted together; fewer only if they have waited this long, in seconds.
BLOCK = 100
PATIENCE = 3_600.0


@dataclass(frozen=True)
class Watched:
    """What the monitor of a version of a model has seen.

    Attributes
    ----------
    n_reference : int
        Rows that later ones are compared with.
    n_rows : int
        Rows that came after them.
    alarms : list of Alarm
        The clearest first.
    error : str or None
        Why the model has no monitor.
    is_begun : bool
        Whether the reference is complete.
    """

    n_reference: int
    n_rows: int
    alarms: list[Alarm]
    error: str | None
    is_begun: bool


def table_of(model: Model, rows: Sequence[CaseRow]) -> Any:
    """Rows of the log as the model takes them."""
    frame = frame_of(model.columns, rows)
    return frame if hasattr(model.estimator, "feature_names_in_") else frame.to_numpy()


def watch(engine: Engine, settings: Settings, models: Callable[[], Iterable[Model]], at: int | None = None) -> int:
    """Let the monitors of the live models read on in the log; returns how many rows were counted."""
    if settings.monitor_rows == 0:
        return 0
    n = 0
    for model in models():
        with engine.connect() as connection:
            moment = now(connection) if at is None else at
            own = _row_of(connection, model)
            if own is not None and own.error is not None:
                continue
            if not _due(connection, model, own, settings, moment):
                continue
        with writing(engine) as connection:
            if only_one(connection, LOCK):
                n += _read_on(connection, model, settings, moment)
    return n


def _row_of(connection: Connection, model: Model) -> Row[Any] | None:
    is_own = (monitors.c.model == model.name, monitors.c.digest == model.digest)
    return connection.execute(select(monitors).where(*is_own)).first()


def _due(connection: Connection, model: Model, own: Row[Any] | None, settings: Settings, at: int) -> list[Row[Any]]:
    """The next rows to count: the whole reference or a block, or nothing yet."""
    is_begun = own is not None and own.state is not None
    size = BLOCK if is_begun else settings.monitor_rows
    after = 0 if own is None else own.after_place
    e = entries.c
    theirs = contexts_of(connection, model.name, model.digest)
    decided = (e.kind == EntryKind.DECISION, e.model == model.name, e.context.in_(theirs), e.private.is_not(None))
    some = select(e.place, e.at, e.private).where(*decided, e.place > after).order_by(e.place).limit(size)
    found = list(connection.execute(some))
    is_late = is_begun and bool(found) and found[0].at <= at - seconds(PATIENCE)
    return found if len(found) == size or is_late else []


def _read_on(connection: Connection, model: Model, settings: Settings, at: int) -> int:
    own = _row_of(connection, model)
    found = _due(connection, model, own, settings, at)
    if not found:
        return 0
    X = table_of(model, [orjson.loads(one.private)["row"] for one in found])
    values: dict[str, Any] = {"after_place": found[-1].place}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if own is None or own.state is None:
                monitor = Monitor(model.estimator, X, confidence=settings.monitor_confidence)
                values["n_reference"] = len(found)
            else:
                monitor = Monitor.from_bytes(bytes(own.state), model.estimator)
                for alarm in monitor.update(X):
                    log.warning("alarm", extra={"models": [model.name], "alarm": alarm.rate_in_words()})
        values["state"] = monitor.to_bytes()
    except (TypeError, ValueError) as error:
        values["error"] = str(error)
    is_own = (monitors.c.model == model.name, monitors.c.digest == model.digest)
    if connection.execute(update(monitors).where(*is_own).values(**values)).rowcount == 0:
        new = {"model": model.name, "digest": model.digest, "n_reference": 0, "state": None, "error": None}
        connection.execute(insert(monitors).values(**(new | values)))
    return len(found)


def watched(connection: Connection, model: Model) -> Watched:
    """What the monitor of a version has seen so far."""
    own = _row_of(connection, model)
    if own is None or own.state is None:
        return Watched(0, 0, [], None if own is None else own.error, False)
    monitor = Monitor.from_bytes(bytes(own.state), model.estimator)
    alarms = sorted(monitor.alarms, key=lambda alarm: -alarm.log_evidence)
    return Watched(own.n_reference, monitor.n_rows, alarms, own.error, True)
