"""Bring a database to a version of the schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Engine, text

from sepc_desk.errors import SettingError
from sepc_desk.migrations.creating import FUNCTIONS, create
from sepc_desk.migrations.versioning import version_in
from sepc_desk.schema import metadata

SCRIPTS = Path(__file__).parent
# Tables that the service reads; functions write the first one for it, and commands the second.
READ = frozenset({"entries", "keys", "contexts"})


def migrate(engine: Engine, to: str = "head") -> None:
    """Bring the database to a version, up or down; one without tables gets those of the newest version first."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    # Of several that begin at once, one goes on, and the others find its work done. All of it is one transaction.
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(7365706370)"))
        config.attributes["connection"] = connection
        if version_in(connection) is None:
            create(connection)
            command.stamp(config, "head")
        before = str(version_in(connection))
        is_down = to == "base" or (to != "head" and to < before)
        try:
            (command.downgrade if is_down else command.upgrade)(config, to)
        except CommandError as error:
            raise SettingError(
                f"The database cannot go from version {before} to {to}: {error}. Use a release that knows both."
            ) from error


def allow(engine: Engine, role: str) -> None:
    """Let a role of PostgreSQL do what the service does, and no more: it may only append to the log."""
    with engine.begin() as connection:
        own = engine.dialect.identifier_preparer.quote(role)
        if not connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role}).first():
            raise SettingError(f"There is no role {role} in PostgreSQL; create it with CREATE ROLE ... LOGIN.")
        written = ", ".join(name for name in metadata.tables if name not in READ)
        for grant in (
            f"REVOKE ALL ON ALL TABLES IN SCHEMA {{schema}} FROM {own}",
            f"GRANT USAGE ON SCHEMA {{schema}} TO {own}",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {{schema}} TO {own}",
            f"GRANT INSERT ON contexts TO {own}",
            f"GRANT INSERT, UPDATE, DELETE ON {written} TO {own}",
            f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {{schema}} TO {own}",
            f"GRANT EXECUTE ON FUNCTION {FUNCTIONS} TO {own}",
        ):
            schema = connection.execute(text("SELECT quote_ident(current_schema())")).scalar()
            connection.exec_driver_sql(grant.format(schema=schema))
