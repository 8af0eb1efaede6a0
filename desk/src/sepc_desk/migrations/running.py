"""Bring a database to a version of the schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from sepc_desk.migrations.versioning import version_of

SCRIPTS = Path(__file__).parent


def migrate(engine: Engine, to: str = "head") -> None:
    """Bring the database to a version, up or down."""
    config = _config()
    before = version_of(engine)
    with engine.connect() as connection:
        config.attributes["connection"] = connection
        is_down = to == "base" or (to != "head" and before is not None and to < before)
        (command.downgrade if is_down else command.upgrade)(config, to)
        connection.commit()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config
