"""Bring a database to a version of the schema, and tell whether it is there."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from sepc_desk.errors import SettingError

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


def version_of(engine: Engine) -> str | None:
    """The version that the database has; None if it has no tables of the desk yet."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def check_version(engine: Engine) -> None:
    """Raise with the remedy if the database is not at the newest version."""
    newest, own = ScriptDirectory.from_config(_config()).get_current_head(), version_of(engine)
    if own != newest:
        has = "has no tables yet" if own is None else f"is at version {own}"
        raise SettingError(f"The database {has}, and this service needs version {newest}. Run `sepc-desk migrate`.")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    return config
