"""Cases that people review: readings, leases, answers, planted cases, and what certificates count.

Revision ID: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

TABLES = ("reviewers", "review_queues", "review_progress", "planted", "answers", "leases", "readings", "cases")


def upgrade() -> None:
    place = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "cases",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("model_label", sa.Text, nullable=False),
        sa.Column("decided_at", sa.BigInteger, nullable=False),
        sa.Column("entered_at", sa.BigInteger, nullable=False),
        sa.Column("is_blind", sa.Boolean, nullable=False),
        sa.Column("n_readers", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("planted", sa.Text),
        sa.Column("review", sa.Integer),
        sa.Column("position", sa.Integer),
        sa.Column("evidence", sa.Text),
        sa.Column("evidence_label", sa.Text),
        sa.Column("is_counted", sa.Boolean, nullable=False),
    )
    op.create_table(
        "readings",
        sa.Column("id", place, primary_key=True, autoincrement=True),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("is_blind", sa.Boolean, nullable=False),
        sa.Column("entered_at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reader", sa.Text),
        sa.Column("lease", sa.Text),
        sa.Column("taken_at", sa.BigInteger),
        sa.Column("until", sa.BigInteger),
    )
    op.create_table(
        "leases",
        sa.Column("token", sa.Text, primary_key=True),
        sa.Column("reading", sa.BigInteger, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("reader", sa.Text, nullable=False),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("ending", sa.Text),
    )
    op.create_table(
        "answers",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("reading", sa.BigInteger, nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("reader", sa.Text, nullable=False),
        sa.Column("taken_at", sa.BigInteger, nullable=False),
        sa.Column("given_at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("comment", sa.Text),
        sa.Column("was_blind", sa.Boolean, nullable=False),
        sa.Column("undone_at", sa.BigInteger),
        sa.Column("final_at", sa.BigInteger),
    )
    op.create_table(
        "planted",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("row", sa.Text, nullable=False),
        sa.Column("truth", sa.Text, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.Column("added_by", sa.Text, nullable=False),
        sa.Column("removed_at", sa.BigInteger),
    )
    op.create_table(
        "review_progress",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("place", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "review_queues",
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("state", sa.LargeBinary),
        sa.Column("n_waiting", sa.Integer, nullable=False),
        sa.Column("after_place", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "reviewers",
        sa.Column("caller", sa.Text, primary_key=True),
        sa.Column("language", sa.Text),
        sa.Column("has_shortcuts", sa.Boolean, nullable=False),
    )
    _index("ix_cases_model", "cases", ["model", "state"])
    _index("ix_cases_uncounted", "cases", ["model"], where="evidence IS NOT NULL AND NOT is_counted")
    _index("ix_readings_case", "readings", ["case_id", "turn"], unique=True)
    _index("ix_readings_reader", "readings", ["case_id", "reader"], unique=True, where="reader IS NOT NULL")
    _index("ix_readings_open", "readings", ["model", "entered_at", "id"], where="state = 'open'")
    _index("ix_readings_taken", "readings", ["until"], where="state = 'taken'")
    _index("ix_leases_reading", "leases", ["reading"])
    _index("ix_leases_case_id", "leases", ["case_id"])
    _index("ix_answers_case_id", "answers", ["case_id"])
    _index("ix_answers_reading", "answers", ["reading"], unique=True, where="undone_at IS NULL")
    _index("ix_answers_open", "answers", ["given_at"], where="undone_at IS NULL AND final_at IS NULL")
    _index("ix_answers_reader", "answers", ["reader", "given_at"])
    _index("ix_planted_model", "planted", ["model"])
    if op.get_bind().dialect.name == "postgresql":
        for table, column in (("answers", "comment"), ("planted", "row")):
            # As in the log: no copies of values in the planner's statistics.
            op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")


def _index(name: str, table: str, columns: list[str], *, unique: bool = False, where: str | None = None) -> None:
    only = None if where is None else sa.text(where)
    op.create_index(name, table, columns, unique=unique, postgresql_where=only, sqlite_where=only)


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
