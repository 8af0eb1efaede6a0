"""Make the tables of a new database at once, as `schema` has them; and on PostgreSQL the functions that alone write."""

from __future__ import annotations

from sqlalchemy import Connection, text

from sepc_desk.errors import SettingError
from sepc_desk.schema import metadata

# ANALYZE would copy frequent and extreme values to pg_statistic, where an erasure does not reach them.
WITHOUT_STATISTICS = (
    ("entries", "private"),
    ("entries", "salt"),
    ("entries", "request_key"),
    ("answers", "comment"),
    ("planted", "row"),
)
FUNCTIONS = "append_entries, append_entry, erase_entries"
# Not even a temporary table of the caller comes before those of the desk.
AS_OWNER = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp"


def _last_entry(ats: str) -> str:
    """Find the last entry, and compare times with it and with the clock of the database, which is the one that counts.

    A process whose clock is wrong writes nothing, and time never goes back.
    """
    return f"""
    SELECT e.place, e.hash, e.at INTO last_place, last_hash, last_at FROM entries e ORDER BY e.place DESC LIMIT 1;
    IF NOT FOUND THEN
        last_place := 0;
        last_hash := decode(repeat('00', 32), 'hex');
    END IF;
    IF EXISTS (SELECT FROM unnest({ats}) AS t(at)
        WHERE abs(t.at - extract(epoch FROM clock_timestamp()) * 1000000) > 60000000 OR t.at < last_at - 60000000)
    THEN
        RAISE EXCEPTION 'The clock of the service differs from that of the database.' USING ERRCODE = '22008';
    END IF;
"""


# All writers of the chain take the same lock; its number does not matter.
APPEND_MANY = f"""
CREATE FUNCTION append_entries(
    ids text[], kinds text[], ats bigint[], callers text[], models text[], contexts text[], labels text[],
    accepteds boolean[], causes text[], abouts text[], request_keys bytea[], request_rows integer[],
    privates text[], salts bytea[], private_digests bytea[], kept_digests bytea[], seals bytea[]
) RETURNS TABLE (new_place bigint, new_hash bytea, was_there boolean) {AS_OWNER} AS $$
DECLARE
    last_place bigint;
    last_at bigint;
    last_hash bytea;
    known_place bigint;
    known_hash bytea;
    n integer := cardinality(ids);
    places bigint[] := array_fill(NULL::bigint, ARRAY[n]);
    hashes bytea[] := array_fill(NULL::bytea, ARRAY[n]);
    there boolean[] := array_fill(false, ARRAY[n]);
BEGIN
    IF EXISTS (
        SELECT FROM unnest(ARRAY[cardinality(kinds), cardinality(ats), cardinality(callers), cardinality(models),
            cardinality(contexts), cardinality(labels), cardinality(accepteds), cardinality(causes),
            cardinality(abouts), cardinality(request_keys), cardinality(request_rows), cardinality(privates),
            cardinality(salts), cardinality(private_digests), cardinality(kept_digests), cardinality(seals)]) AS length
        WHERE length IS DISTINCT FROM n)
    THEN
        RAISE EXCEPTION 'The arrays given to append_entries differ in length.';
    END IF;
    PERFORM pg_advisory_xact_lock(7365706364);{_last_entry("ats")}\
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
            last_hash || int8send(last_place) || kept_digests[i] || coalesce(private_digests[i], ''::bytea)
            || seals[i]);
        places[i] := last_place;
        hashes[i] := last_hash;
    END LOOP;
    INSERT INTO entries (place, id, kind, at, caller, model, context, label, accepted, cause, about,
        request_key, request_row, private, salt, private_digest, seal, hash)
    SELECT t.place, t.id, t.kind, t.at, t.caller, t.model, t.context, t.label, t.accepted, t.cause, t.about,
        t.request_key, t.request_row, t.private, t.salt, t.private_digest, t.seal, t.hash
    FROM unnest(places, ids, kinds, ats, callers, models, contexts, labels, accepteds, causes, abouts, request_keys,
        request_rows, privates, salts, private_digests, seals, hashes, there)
        AS t(place, id, kind, at, caller, model, context, label, accepted, cause, about, request_key, request_row,
        private, salt, private_digest, seal, hash, is_there)
    WHERE NOT t.is_there;
    RETURN QUERY SELECT unnest(places), unnest(hashes), unnest(there);
END $$
"""

# A single entry, in two thirds of the time, since it takes no arrays apart.
APPEND_ONE = f"""
CREATE FUNCTION append_entry(
    own_id text, own_kind text, own_at bigint, own_caller text, own_model text, own_context text, own_label text,
    own_accepted boolean, own_cause text, own_about text, own_key bytea, own_row integer,
    own_private text, own_salt bytea, own_private_digest bytea, own_kept_digest bytea, own_seal bytea
) RETURNS TABLE (new_place bigint, new_hash bytea, was_there boolean) {AS_OWNER} AS $$
DECLARE
    last_place bigint;
    last_at bigint;
    last_hash bytea;
BEGIN
    PERFORM pg_advisory_xact_lock(7365706364);
    IF own_key IS NOT NULL THEN
        SELECT e.place, e.hash INTO new_place, new_hash FROM entries e
            WHERE e.request_key = own_key AND e.request_row = own_row;
        IF FOUND THEN
            was_there := true;
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;{_last_entry("ARRAY[own_at]")}\
    new_place := last_place + 1;
    new_hash := sha256(
        last_hash || int8send(new_place) || own_kept_digest || coalesce(own_private_digest, ''::bytea) || own_seal);
    was_there := false;
    INSERT INTO entries (place, id, kind, at, caller, model, context, label, accepted, cause, about,
        request_key, request_row, private, salt, private_digest, seal, hash)
    VALUES (new_place, own_id, own_kind, own_at, own_caller, own_model, own_context, own_label, own_accepted,
        own_cause, own_about, own_key, own_row, own_private, own_salt, own_private_digest, own_seal, new_hash);
    RETURN NEXT;
END $$
"""

# Two people must have asked for it: for one decision and what is about it, or for all that is older than some days.
ERASE = f"""
CREATE FUNCTION erase_entries(target text, own_model text, until bigint) RETURNS SETOF text {AS_OWNER} AS $$
DECLARE
    days bigint := substring(target FROM '^older:([0-9]{{1,5}})$')::bigint;
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


def create(connection: Connection) -> None:
    """Make all tables and functions; raises if one of them is there."""
    metadata.create_all(connection, checkfirst=False)
    if connection.dialect.name != "postgresql":
        return
    for table, column in WITHOUT_STATISTICS:
        connection.exec_driver_sql(f'ALTER TABLE {table} ALTER COLUMN "{column}" SET STATISTICS 0')
    schema = connection.execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    for function in (APPEND_MANY, APPEND_ONE, ERASE):
        connection.exec_driver_sql(function.replace("{schema}", schema))
    connection.exec_driver_sql("REVOKE UPDATE, DELETE, TRUNCATE ON entries FROM PUBLIC")
    connection.exec_driver_sql(f"REVOKE EXECUTE ON FUNCTION {FUNCTIONS} FROM PUBLIC")


def drop(connection: Connection) -> None:
    """Remove them; raises if the log has entries."""
    if connection.execute(text("SELECT count(*) FROM entries")).scalar_one():
        raise SettingError("The log has entries, which would be lost. Keep this database, and start a new one.")
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"DROP FUNCTION {FUNCTIONS}")
    metadata.drop_all(connection)
