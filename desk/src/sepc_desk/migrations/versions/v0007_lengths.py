"""On PostgreSQL, `append_entries` refuses groups whose parts do not belong together.

Revision ID: 0007
"""

from alembic import op

from sepc_desk.migrations.versions.v0001_log import APPEND as WITHOUT_CHECK

revision = "0007"
down_revision = "0006"

LENGTHS = """BEGIN
    IF EXISTS (
        SELECT FROM unnest(ARRAY[cardinality(kinds), cardinality(ats), cardinality(callers), cardinality(models),
            cardinality(contexts), cardinality(labels), cardinality(accepteds), cardinality(causes),
            cardinality(abouts), cardinality(request_keys), cardinality(request_rows), cardinality(privates),
            cardinality(salts), cardinality(private_digests), cardinality(kept_digests)]) AS length
        WHERE length IS DISTINCT FROM n)
    THEN
        RAISE EXCEPTION 'The arrays given to append_entries differ in length.';
    END IF;
"""
APPEND = WITHOUT_CHECK.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
WITH_CHECK = APPEND.replace("BEGIN\n", LENGTHS, 1)


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(WITH_CHECK)


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(APPEND)
