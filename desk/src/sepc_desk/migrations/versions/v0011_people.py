"""Whether a key belongs to a person; an index for what the log says about live versions.

Revision ID: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    # Nobody knows whose the keys are that there are, so all of them are taken for keys of programs.
    op.add_column("keys", sa.Column("is_person", sa.Boolean, nullable=False, server_default=sa.false()))
    is_change = sa.text("kind = 'change'")
    op.create_index(
        "ix_entries_changes", "entries", ["model", "place"], postgresql_where=is_change, sqlite_where=is_change
    )


def downgrade() -> None:
    op.drop_index("ix_entries_changes", "entries")
    op.drop_column("keys", "is_person")
