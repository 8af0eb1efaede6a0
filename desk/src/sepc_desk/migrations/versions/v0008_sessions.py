"""Sessions in the database, and how background tasks are.

Revision ID: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("done_at", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("claims", sa.Text, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
    )
    op.create_index("ix_sessions_person", "sessions", ["person"])


def downgrade() -> None:
    op.drop_table("sessions")
    op.drop_table("tasks")
