"""Entries are sealed; on PostgreSQL, functions check their times and alone append and erase.

Revision ID: 0010
"""

import sqlalchemy as sa
from alembic import op

from sepc_desk.errors import SettingError
from sepc_desk.migrations.versions.v0006_single import APPEND as ONE
from sepc_desk.migrations.versions.v0007_lengths import APPEND as MANY_WITHOUT_CHECK
from sepc_desk.migrations.versions.v0007_lengths import WITH_CHECK as MANY

revision = "0010"
down_revision = "0008"

# The clock is that of the database. A process whose clock is wrong writes nothing, and time never goes back.
CLOCK = """
    IF EXISTS (SELECT FROM unnest({ats}) AS t(at)
        WHERE abs(t.at - extract(epoch FROM clock_timestamp()) * 1000000) > 60000000 OR t.at < last_at - 60000000)
    THEN
        RAISE EXCEPTION 'The clock of the service differs from that of the database.' USING ERRCODE = '22008';
    END IF;
"""
# Not even a temporary table of the caller comes before those of the desk.
AS_OWNER = "SECURITY DEFINER SET search_path = {schema}, pg_temp"
COMMON = (
    ("LANGUAGE plpgsql", "LANGUAGE plpgsql " + AS_OWNER),
    ("last_place bigint;", "last_place bigint;\n    last_at bigint;"),
    ("e.hash INTO last_place, last_hash", "e.hash, e.at INTO last_place, last_hash, last_at"),
    ("CREATE OR REPLACE", "CREATE"),
)
OF_MANY = (
    ("kept_digests bytea[]\n", "kept_digests bytea[], seals bytea[]\n"),
    ("cardinality(kept_digests)]", "cardinality(kept_digests), cardinality(seals)]"),
    ("''::bytea));", "''::bytea) || seals[i]);"),
    ("private_digest, hash)\n    SELECT", "private_digest, seal, hash)\n    SELECT"),
    ("t.private_digest, t.hash\n", "t.private_digest, t.seal, t.hash\n"),
    ("private_digests, hashes, there)", "private_digests, seals, hashes, there)"),
    ("private, salt, private_digest, hash, is_there)", "private, salt, private_digest, seal, hash, is_there)"),
    ("    FOR i IN 1..n LOOP", CLOCK.format(ats="ats") + "    FOR i IN 1..n LOOP"),
)
OF_ONE = (
    ("own_kept_digest bytea\n", "own_kept_digest bytea, own_seal bytea\n"),
    ("''::bytea));", "''::bytea) || own_seal);"),
    ("private, salt, private_digest, hash)", "private, salt, private_digest, seal, hash)"),
    ("own_private_digest, new_hash)", "own_private_digest, own_seal, new_hash)"),
    ("    new_place := last_place", CLOCK.format(ats="ARRAY[own_at]") + "    new_place := last_place"),
)
# Two people must have asked for it: for one decision and what is about it, or for all that is older than some days.
ERASE = (
    """
CREATE FUNCTION erase_entries(target text, own_model text, until bigint) RETURNS SETOF text
LANGUAGE plpgsql """
    + AS_OWNER
    + """ AS $$
DECLARE
    days bigint := substring(target FROM '^older:([0-9]{1,5})$')::bigint;
BEGIN
    IF (SELECT count(DISTINCT e.caller) FROM entries e
        WHERE e.kind = 'consent' AND e.about = target AND e.model IS NOT DISTINCT FROM own_model) < 2
    THEN
        RAISE EXCEPTION 'Two people must ask for an erasure.';
    END IF;
    IF days IS NULL THEN
        RETURN QUERY UPDATE entries e SET private = NULL, salt = NULL
            WHERE (e.id = target OR e.about = target) AND e.private IS NOT NULL RETURNING e.id;
        RETURN;
    END IF;
    IF until > extract(epoch FROM clock_timestamp()) * 1000000 - days * 86400000000 THEN
        RAISE EXCEPTION 'The entries are younger than that.';
    END IF;
    RETURN QUERY UPDATE entries e SET private = NULL, salt = NULL
        WHERE e.at < until AND (own_model IS NULL OR e.model = own_model) AND e.private IS NOT NULL RETURNING e.id;
END $$
"""
)


def _with(function: str, changes: tuple[tuple[str, str], ...]) -> str:
    for before, after in changes:
        assert before in function or before.startswith(("CREATE OR", "cardinality")), before
        function = function.replace(before, after, 1)
    return function


def _refuse_entries() -> None:
    """Seals are part of the chain: they can neither be added to entries nor taken away."""
    if op.get_bind().execute(sa.text("SELECT count(*) FROM entries")).scalar():
        raise SettingError(
            "The log has entries, and those with and without seals cannot be turned into each other. Keep this "
            "database as it is, with the version that wrote it, and start a new one."
        )


def upgrade() -> None:
    _refuse_entries()
    connection = op.get_bind()
    op.add_column("keys", sa.Column("expires_at", sa.BigInteger))
    op.add_column("entries", sa.Column("seal", sa.LargeBinary, nullable=False, server_default=""))
    if connection.dialect.name == "postgresql":
        op.alter_column("entries", "seal", server_default=None)
        op.execute("DROP FUNCTION append_entries")
        op.execute("DROP FUNCTION append_entry")
        schema = connection.execute(sa.text("SELECT quote_ident(current_schema())")).scalar()
        for function in (_with(MANY, COMMON + OF_MANY), _with(ONE, COMMON[:3] + OF_ONE), ERASE):
            connection.exec_driver_sql(function.replace("{schema}", str(schema)))
        op.execute("REVOKE UPDATE, DELETE, TRUNCATE ON entries FROM PUBLIC")
        op.execute("REVOKE EXECUTE ON FUNCTION append_entries, append_entry, erase_entries FROM PUBLIC")


def downgrade() -> None:
    _refuse_entries()
    if op.get_bind().dialect.name == "postgresql":
        for name in ("append_entries", "append_entry", "erase_entries"):
            op.execute(f"DROP FUNCTION {name}")
    op.drop_column("entries", "seal")
    op.drop_column("keys", "expires_at")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(MANY_WITHOUT_CHECK.replace("CREATE OR REPLACE", "CREATE"))
        op.execute(MANY)
        op.execute(ONE)
