"""Bring a database to a version of the schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

from sepc_desk.migrations.versioning import version_in

SCRIPTS = Path(__file__).parent


def migrate(engine: Engine, to: str = "head") -> None:
    """Bring the database to a version, up or down."""
    config = _config()
    # Of several that begin at once, one goes on, and the others find its work done. All of it is one transaction.
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7365706370)"))
        before = version_in(connection)
        config.attributes["connection"] = connection
        is_down = to == "base" or (to != "head" and before is not None and to < before)
        (command.downgrade if is_down else command.upgrade)(config, to)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config
