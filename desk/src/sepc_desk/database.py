"""Connections to PostgreSQL and SQLite that lose nothing that was committed."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from sepc_desk.errors import SettingError
from sepc_desk.schema import tasks
from sepc_desk.settings import Settings

# Connections of a process: one writes to the log, one reads keys, and one tests the database.
POOL: dict[str, Any] = {"pool_size": 6, "max_overflow": 0, "hide_parameters": True}
CONNECT_SECONDS = 5
# A connection whose other end says nothing for 5 seconds is asked three times, every 2 seconds, and then given up.
KEEPALIVE = {"idle": 5, "interval": 2, "count": 3}


# The option by which the connections of an engine know the key of the log.
LOG_KEY = "log_key"


def engine_of(settings: Settings) -> Engine:
    """An engine for the database of the settings."""
    engine = _postgresql(settings) if settings.is_postgresql else _sqlite(settings)
    return engine.execution_options(**{LOG_KEY: settings.log_key.encode()}) if settings.log_key else engine


def _postgresql(settings: Settings) -> Engine:
    limit = int(settings.write_seconds * 1000)
    options = {"synchronous_commit": settings.synchronous_commit, "lock_timeout": limit, "timezone": "UTC"}
    # The server too lets go of connections whose other end is gone; they might hold the lock of the chain.
    options |= {f"tcp_keepalives_{name}": value for name, value in KEEPALIVE.items()}
    arguments = {
        "connect_timeout": CONNECT_SECONDS,
        **{f"keepalives_{name}": value for name, value in KEEPALIVE.items()},
        "tcp_user_timeout": limit,
        "application_name": "sepc-desk",
        # The function that appends is planned once for a connection.
        "prepare_threshold": 2,
        "options": " ".join(f"-c {name}={value}" for name, value in options.items()),
    }
    return create_engine(settings.url, connect_args=arguments, pool_pre_ping=True, **POOL)


def _sqlite(settings: Settings) -> Engine:
    # Nobody else may read it; SQLite gives the files beside it the same permissions.
    with suppress(OSError):
        Path(make_url(settings.url).database or "").touch(mode=0o600)
    arguments = {"timeout": settings.write_seconds, "check_same_thread": False}
    engine = create_engine(settings.url, connect_args=arguments, **POOL)

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _: Any) -> None:
        # The driver begins no transactions of its own; SQLAlchemy does, below.
        connection.isolation_level = None
        _write_ahead(connection, time.monotonic() + settings.write_seconds)
        for pragma in ("synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A writer takes its lock at once; two readers that both turn into writers would deadlock.
        is_writer = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")

    return engine


def _write_ahead(connection: Any, until: float) -> None:
    """Let readers go on while one writes; SQLite itself does not wait for others that change the mode of a file."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def check_durable(engine: Engine, settings: Settings) -> None:
    """Raise with the remedy if the database cannot be reached, or may lose what it has confirmed."""
    try:
        with engine.connect() as connection:
            if not settings.is_postgresql:
                return
            found = {
                name: connection.exec_driver_sql(f"SHOW {name}").scalar_one()
                for name in ("fsync", "full_page_writes", "server_version_num")
            }
    except OperationalError as error:
        raise SettingError(
            f"The database cannot be reached: {str(error.orig).strip().splitlines()[0]}. Check the address in "
            "`database`, and that the server runs."
        ) from error
    if int(found["server_version_num"]) < 150000:
        raise SettingError("The server is older than PostgreSQL 15; use 15 or newer.")
    for name in ("fsync", "full_page_writes"):
        if found[name] != "on":
            raise SettingError(
                f"PostgreSQL runs with {name}={found[name]}, so it may lose decisions that were answered. Set "
                f"{name}=on in postgresql.conf and restart it."
            )


def shut_down_socket(connection: Connection) -> None:
    """End a connection whose server does not answer, so that the thread that waits for it gets an error."""
    driver = connection.connection.dbapi_connection
    if driver is None or not hasattr(driver, "fileno"):
        return
    try:
        with socket.socket(fileno=os.dup(driver.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # It is closed already.


def keep_task(connection: Connection, name: str, at: int, error: str | None = None) -> None:
    """Note that a task has succeeded at this time, or why it has not."""
    values = {"error": error} if error else {"done_at": at, "error": None}
    if connection.execute(update(tasks).where(tasks.c.name == name).values(values)).rowcount == 0:
        connection.execute(insert(tasks).values({"name": name, "done_at": at} | values))
