"""The log, and on PostgreSQL the function that appends to it.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# The lock that all writers of the chain take; any number will do, as long as it is always the same.
APPEND = """
CREATE FUNCTION append_entries(
    ids text[], kinds text[], ats bigint[], callers text[], models text[], contexts text[], labels text[],
    accepteds boolean[], causes text[], abouts text[], request_keys bytea[], request_rows integer[],
    privates text[], salts bytea[], private_digests bytea[], kept_digests bytea[]
) RETURNS TABLE (new_place bigint, new_hash bytea, was_there boolean) LANGUAGE plpgsql AS $$
DECLARE
    last_place bigint;
    last_hash bytea;
    known_place bigint;
    known_hash bytea;
    n integer := cardinality(ids);
    places bigint[] := array_fill(NULL::bigint, ARRAY[n]);
    hashes bytea[] := array_fill(NULL::bytea, ARRAY[n]);
    there boolean[] := array_fill(false, ARRAY[n]);
BEGIN
    PERFORM pg_advisory_xact_lock(7365706364);
    SELECT e.place, e.hash INTO last_place, last_hash FROM entries e ORDER BY e.place DESC LIMIT 1;
    IF NOT FOUND THEN
        last_place := 0;
        last_hash := decode(repeat('00', 32), 'hex');
    END IF;
    FOR i IN 1..n LOOP
        IF request_keys[i] IS NOT NULL THEN
            SELECT e.place, e.hash INTO known_place, known_hash FROM entries e
                WHERE e.request_key = request_keys[i] AND e.request_row = request_rows[i];
            IF FOUND THEN
                places[i] := known_place;
                hashes[i] := known_hash;
                there[i] := true;
                CONTINUE;
            END IF;
        END IF;
        last_place := last_place + 1;
        last_hash := sha256(
            last_hash || int8send(last_place) || kept_digests[i] || coalesce(private_digests[i], ''::bytea));
        places[i] := last_place;
        hashes[i] := last_hash;
    END LOOP;
    INSERT INTO entries (place, id, kind, at, caller, model, context, label, accepted, cause, about,
        request_key, request_row, private, salt, private_digest, hash)
    SELECT t.place, t.id, t.kind, t.at, t.caller, t.model, t.context, t.label, t.accepted, t.cause, t.about,
        t.request_key, t.request_row, t.private, t.salt, t.private_digest, t.hash
    FROM unnest(places, ids, kinds, ats, callers, models, contexts, labels, accepteds, causes, abouts, request_keys,
        request_rows, privates, salts, private_digests, hashes, there)
        AS t(place, id, kind, at, caller, model, context, label, accepted, cause, about, request_key, request_row,
        private, salt, private_digest, hash, is_there)
    WHERE NOT t.is_there;
    RETURN QUERY SELECT unnest(places), unnest(hashes), unnest(there);
END $$
"""


def upgrade() -> None:
    op.create_table(
        "entries",
        sa.Column("place", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("caller", sa.Text, nullable=False),
        sa.Column("model", sa.Text),
        sa.Column("context", sa.Text),
        sa.Column("label", sa.Text),
        sa.Column("accepted", sa.Boolean),
        sa.Column("cause", sa.Text),
        sa.Column("about", sa.Text),
        sa.Column("request_key", sa.LargeBinary),
        sa.Column("request_row", sa.Integer),
        sa.Column("private", sa.Text),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("private_digest", sa.LargeBinary),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.create_index("ix_entries_at", "entries", ["at"])
    has_about, has_key = sa.text("about IS NOT NULL"), sa.text("request_key IS NOT NULL")
    op.create_index("ix_entries_about", "entries", ["about"], postgresql_where=has_about, sqlite_where=has_about)
    op.create_index(
        "ix_entries_request",
        "entries",
        ["request_key", "request_row"],
        unique=True,
        postgresql_where=has_key,
        sqlite_where=has_key,
    )
    op.create_table(
        "contexts",
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("content", sa.Text, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(APPEND)
        for column in ("private", "salt", "request_key"):
            # ANALYZE would copy frequent and extreme values to pg_statistic, where an erasure does not reach them.
            op.execute(f"ALTER TABLE entries ALTER COLUMN {column} SET STATISTICS 0")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION append_entries")
    op.drop_table("contexts")
    op.drop_table("entries")
