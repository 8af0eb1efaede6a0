"""Which version of the schema a database has; without Alembic, which is slow to import."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, inspect, text

from sepc_desk.errors import SettingError

# The newest of `versions`; a test compares them.
NEWEST = "0001"


def version_of(engine: Engine) -> str | None:
    """The version that the database has; None if it has no tables of the desk yet."""
    with engine.connect() as connection:
        return version_in(connection)


def version_in(connection: Connection) -> str | None:
    """The same, of a connection."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return version


def check_version(engine: Engine) -> None:
    """Raise with the remedy if the database is not at the newest version."""
    own = version_of(engine)
    if own != NEWEST:
        has = "has no tables yet" if own is None else f"is at version {own}"
        raise SettingError(f"The database {has}, and this service needs version {NEWEST}. Run `sepc-desk migrate`.")
