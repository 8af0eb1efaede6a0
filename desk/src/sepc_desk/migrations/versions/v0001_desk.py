"""The first version. A new database is made at the newest one, by `create`, so nothing comes before this.

Revision ID: 0001
"""

from alembic import op

from sepc_desk.migrations.creating import drop

revision = "0001"
down_revision = None


def downgrade() -> None:
    drop(op.get_bind())
