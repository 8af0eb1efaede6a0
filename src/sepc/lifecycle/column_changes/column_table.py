"""The columns that moved, as a table of a page."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.lifecycle.column_changes.column_change import ColumnChange
from sepc.lifecycle.results.result import table_of
from sepc.reporting.result_page import PageTable
from sepc.wording import name_of

HEAD = ("column", "moved", "probably", "evidence")


def column_tables(changes: Sequence[ColumnChange]) -> list[PageTable]:
    """A table of the columns that moved; none if there are none."""
    rows = [(name_of(one.name), one.moved, one.guess or "unknown", one.evidence or "none") for one in changes]
    return [table_of(HEAD, rows, "Columns that moved")] if rows else []
