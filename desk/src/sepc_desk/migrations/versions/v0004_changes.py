"""Changes of models: proposals, monitors and challengers.

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

TABLES = ("shadow_decisions", "challengers", "monitors", "changes")


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("old_digest", sa.Text, nullable=False),
        sa.Column("new_digest", sa.Text),
        sa.Column("made_by", sa.Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("audit", sa.Text),
        sa.Column("comparison", sa.Text),
        sa.Column("judgement", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("proposed_by", sa.Text),
        sa.Column("proposed_at", sa.BigInteger),
        sa.Column("decided_by", sa.Text),
        sa.Column("decided_at", sa.BigInteger),
    )
    op.create_index("ix_changes_model", "changes", ["model", "made_at"])
    op.create_table(
        "monitors",
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("state", sa.LargeBinary),
        sa.Column("n_reference", sa.Integer, nullable=False),
        sa.Column("after_place", sa.BigInteger, nullable=False),
        sa.Column("n_waiting", sa.Integer, nullable=False),
        sa.Column("waiting_since", sa.BigInteger),
        sa.Column("error", sa.Text),
    )
    op.create_table(
        "challengers",
        sa.Column("model", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("chosen_by", sa.Text, nullable=False),
        sa.Column("chosen_at", sa.BigInteger, nullable=False),
        sa.Column("after_place", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "shadow_decisions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("accepted", sa.Boolean, nullable=False),
    )
    op.create_index("ix_shadow_decisions_model", "shadow_decisions", ["model"])


def downgrade() -> None:
    for name in TABLES:
        op.drop_table(name)
