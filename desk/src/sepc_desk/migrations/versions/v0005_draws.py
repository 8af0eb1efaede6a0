"""What it takes to compute a certificate again from exports: the order of draws, and when an answer was counted.

Revision ID: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

COLUMNS = ("draw_order", "counted_after")


def upgrade() -> None:
    for name in COLUMNS:
        op.add_column("cases", sa.Column(name, sa.Integer))


def downgrade() -> None:
    for name in COLUMNS:
        op.drop_column("cases", name)
