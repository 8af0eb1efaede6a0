"""Transactions of reviews, and the clock that all processes share."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

log = logging.getLogger("sepc_desk")

MICROSECONDS = 1_000_000


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


def now(connection: Connection) -> int:
    """Microseconds since 1970 by the clock of the database, so that the clocks of processes need not agree."""
    if connection.dialect.name == "postgresql":
        moment = text("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)")
        return int(connection.execute(moment).scalar_one())
    return time.time_ns() // 1000


def seconds(n: float) -> int:
    """Seconds as microseconds."""
    return int(n * MICROSECONDS)


def only_one(connection: Connection, lock: int) -> bool:
    """Whether no other process does this work now; holds until the transaction ends. SQLite has one writer anyway."""
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": lock}).scalar_one())


def wait_for_others(connection: Connection, what: str) -> None:
    """Let only one transaction do this at a time, among all processes. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:what, 0))"), {"what": what})


@contextmanager
def alone(engine: Engine, lock: int) -> Iterator[Connection | None]:
    """A transaction that reads, for one process at a time; None if another has it.

    SQLite gives it to all, so that the log can be written meanwhile: what is done in it must be written in another
    transaction, and only if it is still new.
    """
    with engine.connect() as connection, connection.begin():
        yield connection if only_one(connection, lock) else None


@contextmanager
def apart(connection: Connection, model: str) -> Iterator[None]:
    """Do something for one model. If it fails, it is undone and logged, and the other models go on."""
    try:
        with connection.begin_nested():
            yield
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one model concerns no other
        log.exception("failed for a model", extra={"models": [model], "error": type(error).__name__})
