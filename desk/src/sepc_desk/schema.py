"""The tables, as migrations create them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text

metadata = MetaData()

# SQLite numbers rows by a column of this very type.
Place = BigInteger().with_variant(Integer, "sqlite")


def _where(condition: str) -> dict[str, Any]:
    """What makes an index hold only some rows."""
    return {"postgresql_where": text(condition), "sqlite_where": text(condition)}


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
    Column("seal", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)
Index("ix_entries_about", entries.c.about, **_where("about IS NOT NULL"))
Index(
    "ix_entries_request", entries.c.request_key, entries.c.request_row, unique=True, **_where("request_key IS NOT NULL")
)
Index("ix_entries_changes", entries.c.model, entries.c.place, **_where("kind = 'change'"))

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
    Column("expires_at", BigInteger),
    # Whether it belongs to a person of this name, and not to a program.
    Column("is_person", Boolean, nullable=False),
)

# When background tasks last succeeded, and why they did not; and a row that health checks write.
tasks = Table(
    "tasks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("done_at", BigInteger, nullable=False),
    Column("error", Text),
)

# Sessions of people who have signed in: what their provider said of them, until they sign out.
sessions = Table(
    "sessions",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("person", Text, nullable=False, index=True),
    Column("claims", Text, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
)

# A decision that people look at, or a planted case. It holds no value of the row, so an erasure need not change it.
cases = Table(
    "cases",
    metadata,
    Column("id", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("model_label", Text, nullable=False),
    Column("decided_at", BigInteger, nullable=False),
    Column("entered_at", BigInteger, nullable=False),
    Column("is_blind", Boolean, nullable=False),
    Column("n_readers", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("label", Text),
    Column("planted", Text),
    # The row of a `Review` that it is, and what the certificate counts for it.
    Column("review", Integer),
    Column("position", Integer),
    Column("evidence", Text),
    Column("evidence_label", Text),
    Column("is_counted", Boolean, nullable=False),
    # Its place in the order of the `Review`, and the number of the newest `Review` when it was counted: with them,
    # anyone can compute the certificate again from the exports.
    Column("draw_order", Integer),
    Column("counted_after", Integer),
)
Index("ix_cases_model", cases.c.model, cases.c.state)
Index("ix_cases_uncounted", cases.c.model, **_where("evidence IS NOT NULL AND NOT is_counted"))

# One look at a case by one reader; a case with a second reader has two, and three if they disagree.
readings = Table(
    "readings",
    metadata,
    Column("id", Place, primary_key=True, autoincrement=True),
    Column("case_id", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("is_blind", Boolean, nullable=False),
    Column("entered_at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("reader", Text),
    Column("lease", Text),
    Column("taken_at", BigInteger),
    Column("until", BigInteger),
)
Index("ix_readings_case", readings.c.case_id, readings.c.turn, unique=True)
Index("ix_readings_reader", readings.c.case_id, readings.c.reader, unique=True, **_where("reader IS NOT NULL"))
Index("ix_readings_open", readings.c.model, readings.c.entered_at, readings.c.id, **_where("state = 'open'"))
Index("ix_readings_taken", readings.c.until, **_where("state = 'taken'"))

leases = Table(
    "leases",
    metadata,
    Column("token", Text, primary_key=True),
    Column("reading", BigInteger, nullable=False, index=True),
    Column("case_id", Text, nullable=False, index=True),
    Column("reader", Text, nullable=False),
    Column("taken_at", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("ending", Text),
)

answers = Table(
    "answers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("reading", BigInteger, nullable=False),
    Column("case_id", Text, nullable=False, index=True),
    Column("reader", Text, nullable=False),
    Column("taken_at", BigInteger, nullable=False),
    Column("given_at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("label", Text),
    Column("comment", Text),
    Column("was_blind", Boolean, nullable=False),
    Column("undone_at", BigInteger),
    Column("final_at", BigInteger),
)
Index("ix_answers_reading", answers.c.reading, unique=True, **_where("undone_at IS NULL"))
Index("ix_answers_open", answers.c.given_at, **_where("undone_at IS NULL AND final_at IS NULL"))
Index("ix_answers_reader", answers.c.reader, answers.c.given_at)

planted = Table(
    "planted",
    metadata,
    Column("id", Text, primary_key=True),
    Column("model", Text, nullable=False, index=True),
    Column("row", Text, nullable=False),
    Column("truth", Text, nullable=False),
    Column("added_at", BigInteger, nullable=False),
    Column("added_by", Text, nullable=False),
    Column("removed_at", BigInteger),
)

# How far the log has been read for cases to review; one row.
review_progress = Table(
    "review_progress",
    metadata,
    Column("name", Text, primary_key=True),
    Column("place", BigInteger, nullable=False),
)

# The `ReviewQueue` of each version of a model, and the accepted decisions that wait to be drawn from.
review_queues = Table(
    "review_queues",
    metadata,
    Column("model", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("state", LargeBinary),
    Column("n_waiting", Integer, nullable=False),
    Column("after_place", BigInteger, nullable=False),
)

reviewers = Table(
    "reviewers",
    metadata,
    Column("caller", Text, primary_key=True),
    Column("language", Text),
    Column("has_shortcuts", Boolean, nullable=False),
)

# A change of a model: who made it, what it would change, how the plan judged it, and who agreed.
changes = Table(
    "changes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("old_digest", Text, nullable=False),
    Column("new_digest", Text),
    Column("made_by", Text, nullable=False),
    Column("made_at", BigInteger, nullable=False),
    # Texts of JSON: what an audit found, what would change, and how the plan judged it.
    Column("audit", Text),
    Column("comparison", Text),
    Column("judgement", Text),
    Column("error", Text),
    Column("proposed_by", Text),
    Column("proposed_at", BigInteger),
    Column("decided_by", Text),
    Column("decided_at", BigInteger),
)
Index("ix_changes_model", changes.c.model, changes.c.made_at)

# The `Monitor` of each version of a model, how far it has read the log, and the decisions that it has not read yet.
monitors = Table(
    "monitors",
    metadata,
    Column("model", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("state", LargeBinary),
    Column("n_reference", Integer, nullable=False),
    Column("after_place", BigInteger, nullable=False),
    Column("n_waiting", Integer, nullable=False),
    Column("waiting_since", BigInteger),
    Column("error", Text),
)

# The version of a model that decides in the shadow, and its decisions; without values, as `cases`.
challengers = Table(
    "challengers",
    metadata,
    Column("model", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("chosen_by", Text, nullable=False),
    Column("chosen_at", BigInteger, nullable=False),
    Column("after_place", BigInteger, nullable=False),
)

shadow_decisions = Table(
    "shadow_decisions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("model", Text, nullable=False, index=True),
    Column("label", Text, nullable=False),
    Column("accepted", Boolean, nullable=False),
)
