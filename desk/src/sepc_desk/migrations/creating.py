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


# All writers of the chain take the same lock; its number does not matter. The clock is that of the database: a process
# whose clock is wrong writes nothing, and time never goes back.
APPEND_MANY = f"""
CREATE FUNCTION append_entries(
    ids text[], kinds text[], ats bigint[], callers text[], models text[], contexts text[], labels text[],
    accepteds boolean[], causes text[], abouts text[], request_keys bytea[], request_rows integer[],
    privates text[], salts bytea[], private_digests bytea[], seals bytea[]
) RETURNS TABLE (new_place bigint, new_hash bytea, was_there boolean) {AS_OWNER} AS $$
DECLARE
    now bigint;
    newest bigint;
    before bigint;
    last_place bigint;
    last_hash bytea;
    places bigint[];
    hashes bytea[];
BEGIN
    IF (cardinality(ids) = ALL (ARRAY[cardinality(kinds), cardinality(ats), cardinality(callers), cardinality(models),
        cardinality(contexts), cardinality(labels), cardinality(accepteds), cardinality(causes), cardinality(abouts),
        cardinality(request_keys), cardinality(request_rows), cardinality(privates), cardinality(salts),
        cardinality(private_digests), cardinality(seals)])) IS NOT TRUE
    THEN
        RAISE EXCEPTION 'The arrays given to append_entries differ in length.';
    END IF;
    PERFORM pg_advisory_xact_lock(7365706364);
    now := extract(epoch FROM clock_timestamp()) * 1000000;
    SELECT e.place, e.hash, e.at INTO before, last_hash, newest FROM entries e ORDER BY e.place DESC LIMIT 1;
    IF NOT FOUND THEN
        before := 0;
        last_hash := decode(repeat('00', 32), 'hex');
    END IF;
    IF cardinality(array_remove(request_keys, NULL)) > 0 THEN
        SELECT array_agg(e.place ORDER BY t.i), array_agg(e.hash ORDER BY t.i) INTO places, hashes
            FROM unnest(request_keys, request_rows) WITH ORDINALITY AS t(key, row, i) LEFT JOIN LATERAL (
                SELECT * FROM entries e WHERE e.request_key = t.key AND e.request_row = t.row LIMIT 1) AS e ON true;
    END IF;
    last_place := before;
    FOR i IN 1..cardinality(ids) LOOP
        IF ats[i] NOT BETWEEN greatest(now, newest) - 60000000 AND now + 60000000 THEN
            RAISE EXCEPTION 'The clock of the service differs from that of the database.' USING ERRCODE = '22008';
        END IF;
        IF places[i] IS NULL THEN
            last_place := last_place + 1;
            last_hash := sha256(last_hash || int8send(last_place) || seals[i]);
            places[i] := last_place;
            hashes[i] := last_hash;
        END IF;
    END LOOP;
    INSERT INTO entries (place, id, kind, at, caller, model, context, label, accepted, cause, about,
        request_key, request_row, private, salt, private_digest, seal, hash)
    SELECT * FROM unnest(places, ids, kinds, ats, callers, models, contexts, labels, accepteds, causes, abouts,
        request_keys, request_rows, privates, salts, private_digests, seals, hashes) AS t(place)
    WHERE t.place > before;
    RETURN QUERY SELECT t.place, t.hash, t.place <= before FROM unnest(places, hashes) AS t(place, hash);
END $$
"""

# A single entry, in two thirds of the time, since it takes no arrays apart.
APPEND_ONE = f"""
CREATE FUNCTION append_entry(
    own_id text, own_kind text, own_at bigint, own_caller text, own_model text, own_context text, own_label text,
    own_accepted boolean, own_cause text, own_about text, own_key bytea, own_row integer,
    own_private text, own_salt bytea, own_private_digest bytea, own_seal bytea
) RETURNS TABLE (new_place bigint, new_hash bytea, was_there boolean) {AS_OWNER} AS $$
DECLARE
    now bigint;
    newest bigint;
    last_place bigint;
    last_hash bytea;
BEGIN
    PERFORM pg_advisory_xact_lock(7365706364);
    now := extract(epoch FROM clock_timestamp()) * 1000000;
    IF own_key IS NOT NULL THEN
        SELECT e.place, e.hash INTO new_place, new_hash FROM entries e
            WHERE e.request_key = own_key AND e.request_row = own_row;
        IF FOUND THEN
            was_there := true;
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    SELECT e.place, e.hash, e.at INTO last_place, last_hash, newest FROM entries e ORDER BY e.place DESC LIMIT 1;
    IF NOT FOUND THEN
        last_place := 0;
        last_hash := decode(repeat('00', 32), 'hex');
    END IF;
    IF own_at NOT BETWEEN greatest(now, newest) - 60000000 AND now + 60000000 THEN
        RAISE EXCEPTION 'The clock of the service differs from that of the database.' USING ERRCODE = '22008';
    END IF;
    new_place := last_place + 1;
    new_hash := sha256(last_hash || int8send(new_place) || own_seal);
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
