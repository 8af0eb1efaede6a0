"""Monitors of the rows that come to a model: the first ones are the reference, and a change in later ones an alarm."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from sepc.lifecycle import Alarm, Monitor
from sqlalchemy import Connection, Engine, Row, and_, case, or_, select, update

from sepc_desk.entries import EntryKind
from sepc_desk.models import Model
from sepc_desk.reading import contexts_of
from sepc_desk.reviewing.transactions import alone, apart, now, seconds, writing
from sepc_desk.schema import entries, monitors
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

LOCK = 7365706368
# Rows that are counted together, first and once a monitor has counted many: each block costs time of its own. There are
# fewer only if they have waited this long, in seconds.
BLOCK, LARGE_BLOCK, MANY = 100, 1_000, 10_000
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


def watch(engine: Engine, settings: Settings, model_of: Callable[[str, str], Model], at: int | None = None) -> int:
    """Let monitors read on in the log where enough decisions wait; returns how many rows were counted."""
    if settings.monitor_rows == 0:
        return 0
    with engine.connect() as connection:
        moment = now(connection) if at is None else at
        if not _due(connection, settings, moment):
            return 0
    with alone(engine, LOCK) as connection:
        if connection is None:
            return 0
        read = []
        for own in _due(connection, settings, moment):
            with apart(connection, own.model):
                read.append(_read_on(connection, own, model_of(own.model, own.digest), settings, moment))
    for some in read:
        _keep(engine, some)
    return sum(some.n for some in read)


def _due(connection: Connection, settings: Settings, at: int) -> Sequence[Row[Any]]:
    """Monitors for which the whole reference waits, or a block, or a part of one that has waited long."""
    m = monitors.c
    is_late = and_(m.n_waiting > 0, m.waiting_since <= at - seconds(PATIENCE))
    begun = and_(m.state.is_not(None), or_(m.n_waiting >= BLOCK, is_late))
    ready = and_(m.state.is_(None), m.n_waiting >= settings.monitor_rows)
    return connection.execute(select(monitors).where(m.error.is_(None), or_(begun, ready))).all()


@dataclass(frozen=True)
class _Read:
    """How many rows a monitor has counted, how many no longer wait, and what to write unless it has moved on."""

    own: Row[Any]
    n: int = 0
    n_done: int = 0
    values: dict[str, Any] = field(default_factory=dict)


def _read_on(connection: Connection, own: Row[Any], model: Model, settings: Settings, at: int) -> _Read:
    """Count a block, if it is there or has waited long."""
    try:
        monitor = None if own.state is None else Monitor.from_bytes(bytes(own.state), model.estimator)
        is_late = own.waiting_since is not None and own.waiting_since <= at - seconds(PATIENCE)
        size = settings.monitor_rows if monitor is None else LARGE_BLOCK if monitor.n_rows >= MANY else BLOCK
        if own.n_waiting < size and (monitor is None or not is_late):
            return _Read(own)
        wanted = min(size, own.n_waiting)
        found = _waiting(connection, own, model, wanted)
        # Those whose values were erased before they were read no longer wait.
        n_done = wanted if len(found) == wanted else own.n_waiting
        since = found[-1].at if found else own.waiting_since
        m = monitors.c
        values: dict[str, Any] = {
            "n_waiting": m.n_waiting - n_done,
            "waiting_since": case((m.n_waiting > n_done, since), else_=None),
        }
        if found and (monitor is not None or len(found) == size):
            X = model.table([orjson.loads(one.private)["row"] for one in found])
            values |= {"after_place": found[-1].place} | _counted(monitor, model, X, settings)
    except (TypeError, ValueError) as error:
        return _Read(own, values={"error": str(error)})
    return _Read(own, len(found), n_done, values)


def _waiting(connection: Connection, own: Row[Any], model: Model, most: int) -> Sequence[Any]:
    e = entries.c
    theirs = contexts_of(connection, model.name, model.digest)
    decided = (e.kind == EntryKind.DECISION, e.model == model.name, e.context.in_(theirs), e.private.is_not(None))
    some = select(e.place, e.at, e.private).where(*decided, e.place > own.after_place).order_by(e.place)
    return connection.execute(some.limit(most)).all()


def _keep(engine: Engine, read: _Read) -> None:
    """Write what a monitor has read in a short transaction, unless another process has read the same meanwhile."""
    if read.values:
        m, own = monitors.c, read.own
        is_new = (m.after_place == own.after_place, m.n_waiting >= read.n_done)
        with writing(engine) as connection:
            done = update(monitors).where(m.model == own.model, m.digest == own.digest, *is_new)
            connection.execute(done.values(**read.values))


def _counted(monitor: Monitor | None, model: Model, X: Any, settings: Settings) -> dict[str, Any]:
    """The state of a monitor after it has counted rows; the first ones make it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if monitor is None:
            monitor = Monitor(model.estimator, X, confidence=settings.monitor_confidence)
            return {"state": monitor.to_bytes(), "n_reference": len(X)}
        for alarm in monitor.update(X):
            log.warning("alarm", extra={"models": [model.name], "alarm": alarm.rate_in_words()})
        return {"state": monitor.to_bytes()}


def watched(connection: Connection, model: Model) -> Watched:
    """What the monitor of a version has seen so far."""
    is_own = (monitors.c.model == model.name, monitors.c.digest == model.digest)
    own = connection.execute(select(monitors).where(*is_own)).first()
    if own is None or own.state is None:
        return Watched(0, 0, [], None if own is None else own.error, False)
    monitor = Monitor.from_bytes(bytes(own.state), model.estimator)
    alarms = sorted(monitor.alarms, key=lambda alarm: -alarm.log_evidence)
    return Watched(own.n_reference, monitor.n_rows, alarms, own.error, True)
