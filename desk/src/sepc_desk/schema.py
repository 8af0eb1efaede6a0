"""The tables, as migrations create them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text

metadata = MetaData()

# SQLite numbers rows by a column of this very type.
Place = BigInteger().with_variant(Integer, "sqlite")

entries = Table(
    "entries",
    metadata,
    Column("place", Place, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
    Column("caller", Text, nullable=False),
    Column("model", Text),
    Column("context", Text),
    Column("label", Text),
    Column("accepted", Boolean),
    Column("cause", Text),
    Column("about", Text),
    Column("request_key", LargeBinary),
    Column("request_row", Integer),
    Column("private", Text),
    Column("salt", LargeBinary),
    Column("private_digest", LargeBinary),
    Column("hash", LargeBinary, nullable=False),
)
Index(
    "ix_entries_about",
    entries.c.about,
    postgresql_where=text("about IS NOT NULL"),
    sqlite_where=text("about IS NOT NULL"),
)
Index(
    "ix_entries_request",
    entries.c.request_key,
    entries.c.request_row,
    unique=True,
    postgresql_where=text("request_key IS NOT NULL"),
    sqlite_where=text("request_key IS NOT NULL"),
)

contexts = Table(
    "contexts",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("content", Text, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("models", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
)
