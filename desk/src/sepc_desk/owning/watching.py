"""Monitors of the rows that come to a model: the first ones are the reference, and a change in later ones an alarm."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sepc.lifecycle import Alarm, Monitor
from sqlalchemy import Connection, Engine, Row, and_, or_, select, update

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


def watch(engine: Engine, settings: Settings, model_of: Callable[[str, str], Model], at: int | None = None) -> int:
    """Let monitors read on in the log where enough decisions wait; returns how many rows were counted."""
    if settings.monitor_rows == 0:
        return 0
    with engine.connect() as connection:
        moment = now(connection) if at is None else at
        if not _due(connection, settings, moment):
            return 0
    n = 0
    with writing(engine) as connection:
        if only_one(connection, LOCK):
            for own in _due(connection, settings, moment):
                n += _read_on(connection, own, model_of(own.model, own.digest), settings)
    return n


def _due(connection: Connection, settings: Settings, at: int) -> Sequence[Row[Any]]:
    """Monitors for which the whole reference waits, or a block, or a part of one that has waited long."""
    m = monitors.c
    is_late = and_(m.n_waiting > 0, m.waiting_since <= at - seconds(PATIENCE))
    begun = and_(m.state.is_not(None), or_(m.n_waiting >= BLOCK, is_late))
    ready = and_(m.state.is_(None), m.n_waiting >= settings.monitor_rows)
    return connection.execute(select(monitors).where(m.error.is_(None), or_(begun, ready))).all()


def _read_on(connection: Connection, own: Row[Any], model: Model, settings: Settings) -> int:
    size = settings.monitor_rows if own.state is None else BLOCK
    e = entries.c
    theirs = contexts_of(connection, model.name, model.digest)
    decided = (e.kind == EntryKind.DECISION, e.model == model.name, e.context.in_(theirs), e.private.is_not(None))
    some = select(e.place, e.at, e.private).where(*decided, e.place > own.after_place).order_by(e.place)
    found = connection.execute(some.limit(min(size, own.n_waiting))).all()
    # Those whose values were erased before they were read no longer wait.
    left = own.n_waiting - len(found) if len(found) == min(size, own.n_waiting) else 0
    values: dict[str, Any] = {"n_waiting": left, "waiting_since": found[-1].at if left else None}
    if found and (own.state is not None or len(found) == size):
        X = table_of(model, [orjson.loads(one.private)["row"] for one in found])
        values |= {"after_place": found[-1].place} | _counted(own, model, X, settings)
    is_own = (monitors.c.model == model.name, monitors.c.digest == model.digest)
    connection.execute(update(monitors).where(*is_own).values(**values))
    return len(found)


def _counted(own: Row[Any], model: Model, X: Any, settings: Settings) -> dict[str, Any]:
    """The state of a monitor after it has counted rows, or why the model cannot have one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if own.state is None:
                monitor = Monitor(model.estimator, X, confidence=settings.monitor_confidence)
                return {"state": monitor.to_bytes(), "n_reference": len(X)}
            monitor = Monitor.from_bytes(bytes(own.state), model.estimator)
            for alarm in monitor.update(X):
                log.warning("alarm", extra={"models": [model.name], "alarm": alarm.rate_in_words()})
            return {"state": monitor.to_bytes()}
    except (TypeError, ValueError) as error:
        return {"error": str(error)}


def watched(connection: Connection, model: Model) -> Watched:
    """What the monitor of a version has seen so far."""
    is_own = (monitors.c.model == model.name, monitors.c.digest == model.digest)
    own = connection.execute(select(monitors).where(*is_own)).first()
    if own is None or own.state is None:
        return Watched(0, 0, [], None if own is None else own.error, False)
    monitor = Monitor.from_bytes(bytes(own.state), model.estimator)
    alarms = sorted(monitor.alarms, key=lambda alarm: -alarm.log_evidence)
    return Watched(own.n_reference, monitor.n_rows, alarms, own.error, True)
