"""Whether a Parquet file can be fitted block by block, instead of being read into memory."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sepc.cli.rows import LONGEST_LABEL, RowReader
from sepc.cli.tables import Batch, ColumnType

# Tables with at most this many cells are read into memory anyway; a block of a fit from a file is as large.
SMALL_CELLS = 2**23
# With more distinct labels than this, the table is read into memory, where they are checked.
MOST_LABELS = 1_000


@dataclass(frozen=True)
class Plan:
    """How a table is read for a fit; `words` say so if the table is large enough for it to matter."""

    in_blocks: bool
    words: str = ""


def plan_of(rows: RowReader, options: argparse.Namespace) -> Plan:
    """Read a large Parquet file in blocks if all its features are numbers without missing values, else into memory."""
    source, n_cells = rows.source, (rows.table.n_rows or 0) * len(rows.features.readings)
    is_small = n_cells <= SMALL_CELLS
    if source.format != "parquet" or source.is_standard_input or is_small:
        return Plan(in_blocks=False)
    why_not = _why_not(rows, options)
    return Plan(not why_not, f"Read into memory, because {why_not}." if why_not else "Read block by block.")


def _why_not(rows: RowReader, options: argparse.Namespace) -> str:
    """Why the table cannot be fitted from the file; empty if it can."""
    given = {
        "--by": options.by,
        "--max-risk": options.max_risk,
        "--merge-labels": options.merge_labels,
        "--test-last": options.test_last,
        "--test-size": options.test_size,
    }
    needs = next((name for name, value in given.items() if value), None)
    if needs is not None:
        return f"{needs} needs all rows at once"
    if len(rows.features.readings) + 1 < len(rows.table.names):
        return "some of its columns are not used"
    odd = next((name for name, reading in rows.features.readings.items() if reading is not ColumnType.NUMBER), None)
    if odd is not None:
        return f"column {odd!r} does not hold numbers"
    with rows.batches(options, "checking") as batches:
        return _oddity(rows, batches, options)


def _oddity(rows: RowReader, batches: Iterator[Batch], options: argparse.Namespace) -> str:
    """Why the cells rule out a fit in blocks: missing values, unusable labels, or columns that are not features."""
    ranges, labels = {name: _Range() for name in rows.features.readings if name not in options.use}, set[Any]()
    for batch in batches:
        arrays = rows.arrays(batch)
        gap = next((name for name, values in arrays.items() if (values != values).any()), None)
        if gap is not None:
            return f"column {gap!r} has missing values"
        labels |= _distinct(batch.columns[options.target])
        if len(labels) > MOST_LABELS or any(_is_odd(label, rows.source.na) for label in labels):
            return f"some cells of column {options.target!r} are empty or not labels"
        ranges = {name: own.extended(arrays[name]) for name, own in ranges.items()}
    if len(labels) < 2:
        return "it has a single label"
    odd = next((name for name, own in ranges.items() if own.may_be_no_feature(rows.table.n_rows or 0)), None)
    return "" if odd is None else f"column {odd!r} may be a constant, an id or an index"


def _distinct(labels: Any) -> set[Any]:
    return set(labels.unique().to_pylist())


def _is_odd(label: Any, na: Sequence[str]) -> bool:
    """Whether a label is empty, a fraction or a long text; a fit in memory leaves it out or refuses it."""
    if label is None or label != label or str(label) in ("", *na):
        return True
    return len(str(label)) > LONGEST_LABEL or (isinstance(label, float) and not label.is_integer())


@dataclass(frozen=True)
class _Range:
    """The smallest and the largest number of a column, and whether all are whole."""

    low: float = float("inf")
    high: float = float("-inf")
    whole: bool = True

    def extended(self, values: Any) -> _Range:
        whole = self.whole and bool((values == values.round()).all())
        return _Range(min(self.low, float(values.min())), max(self.high, float(values.max())), whole)

    def may_be_no_feature(self, n_rows: int) -> bool:
        """Whether it is a constant, or whole numbers in the range of an id or an index."""
        from sepc.columns.non_features import may_be_counted

        n_values = self.high - self.low + 1.0
        is_counted = self.whole and n_rows <= n_values and may_be_counted(self.low, self.high, n_rows)
        return self.low == self.high or is_counted
