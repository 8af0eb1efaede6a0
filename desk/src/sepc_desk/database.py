"""Connections to PostgreSQL and SQLite that lose nothing that was committed."""

from __future__ import annotations

import os
import socket
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError

from sepc_desk.errors import SettingError
from sepc_desk.settings import Settings

# Connections for reading beside the one that writes; more only wait for each other.
READERS = 4
CONNECT_SECONDS = 5


def engine_of(settings: Settings) -> Engine:
    """An engine for the database of the settings."""
    return _postgresql(settings) if settings.is_postgresql else _sqlite(settings)


def _postgresql(settings: Settings) -> Engine:
    limit = int(settings.write_seconds * 1000)
    arguments = {
        "connect_timeout": CONNECT_SECONDS,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": limit,
        "application_name": "sepc-desk",
        # The function that appends is planned once for a connection.
        "prepare_threshold": 2,
        "options": f"-c synchronous_commit={settings.synchronous_commit} -c lock_timeout={limit} -c timezone=UTC",
    }
    return create_engine(
        settings.url,
        connect_args=arguments,
        pool_size=READERS,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
    )


def _sqlite(settings: Settings) -> Engine:
    engine = create_engine(
        settings.url,
        connect_args={"timeout": settings.write_seconds, "check_same_thread": False},
        pool_size=READERS,
        max_overflow=0,
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _: Any) -> None:
        # SQLAlchemy begins transactions here, not the driver.
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Whoever will write says so at once; two readers that both turn into writers would deadlock.
        is_writer = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer else "BEGIN")

    return engine


def check_durable(engine: Engine, settings: Settings) -> None:
    """Raise with the remedy if the database cannot be reached, or may forget what it has confirmed."""
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
                f"PostgreSQL runs with {name}={found[name]}, so it may forget decisions that were answered. Set "
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
