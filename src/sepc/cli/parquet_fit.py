"""Fits of large Parquet files that are read block by block, where a table in memory would give the same model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.cli.column_reading import Reading
from sepc.cli.fitting import fitted
from sepc.cli.labelled_rows import LONGEST_LABEL, FoundFeatures
from sepc.cli.messages import complain
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.tables import Batch, Table

# Cells of a table that is read into memory all the same: a block of the fit from the file is as large.
SMALL_CELLS = 2**23


def is_fitted_from_file(table: Table, features: FoundFeatures, options: argparse.Namespace) -> bool:
    """Whether to fit from the file: a large Parquet file, all columns of which are complete numbers and features."""
    source, n_rows = table.source, table.n_rows or 0
    is_large = n_rows * len(features.used) > SMALL_CELLS
    if source.format != "parquet" or source.is_standard_input or not is_large:
        return False
    why_not = _why_not(table, features, options)
    if not options.quiet:
        complain(f"{source.name} is read into memory, since {why_not}" if why_not else _said(source.name, n_rows))
    return not why_not


def fitted_from_file(table: Table, estimator: Any, options: argparse.Namespace) -> Any:
    """Fit from the file, block by block."""
    return fitted(estimator, table.source.path, options.target, table.n_rows or 0, quiet=options.quiet)


def _said(name: str, n_rows: int) -> str:
    return f"{name} is fitted from the file, block by block: {n_rows:,} rows of complete numbers"


def _why_not(table: Table, features: FoundFeatures, options: argparse.Namespace) -> str:
    """What speaks against a fit from the file, or nothing."""
    given = {"--by": options.by, "--max-risk": options.max_risk, "--test-size": options.test_size}
    needs = next((name for name, value in given.items() if value), None)
    if needs is not None:
        return f"{needs} needs all rows at once"
    if len(features.used) + 1 < len(table.names):
        return "some of its columns are not used"
    odd = next((name for name, reading in features.readings.items() if reading is not Reading.NUMBER), None)
    if odd is not None:
        return f"column {odd!r} does not hold numbers"
    with ProgressBar(f"checking {table.source.name}", quiet=options.quiet) as bar:
        return _oddity(table, features, options, bar)


def _oddity(table: Table, features: FoundFeatures, options: argparse.Namespace, bar: ProgressBar) -> str:
    """What is odd about the cells, in one pass: gaps, labels that are none, and columns that are no features."""
    ranges = {name: _Range() for name in features.used if name not in options.keep}
    for batch in table.batches([*features.used, options.target], features.readings):
        arrays = features.arrays(table.source, batch)
        gap = next((name for name, values in arrays.items() if (values != values).any()), None)
        if gap is not None:
            return f"column {gap!r} has gaps"
        if _has_odd_labels(batch, options.target, table.source.na):
            return f"some cells of column {options.target!r} are empty or no labels"
        ranges = {name: own.extended(arrays[name]) for name, own in ranges.items()}
        bar.update_rows(batch.last_row, table.n_rows, batch.share)
    odd = next((name for name, own in ranges.items() if own.may_be_no_feature(table.n_rows or 0)), None)
    return "" if odd is None else f"column {odd!r} may be a constant or an index"


def _has_odd_labels(batch: Batch, target: str, na: Sequence[str]) -> bool:
    """Whether labels are empty, fractions or long texts, which are told from a table in memory."""
    import pyarrow.compute as pc

    labels = batch.columns[target]
    distinct = pc.unique(labels).to_pylist()
    odd = (
        label is None or label != label or str(label) in ("", *na) or len(str(label)) > LONGEST_LABEL
        for label in distinct
    )
    return any(odd) or any(isinstance(label, float) and not label.is_integer() for label in distinct)


@dataclass(frozen=True)
class _Range:
    """The least and the largest number of a column, and whether all are whole."""

    low: float = float("inf")
    high: float = float("-inf")
    whole: bool = True

    def extended(self, values: Any) -> _Range:
        whole = self.whole and bool((values == values.round()).all())
        return _Range(min(self.low, float(values.min())), max(self.high, float(values.max())), whole)

    def may_be_no_feature(self, n_rows: int) -> bool:
        """Whether it is a constant, or whole numbers of a range that an index would have."""
        from sepc.columns.kinds import INDEX_SPARE

        n_values = self.high - self.low + 1.0
        return self.low == self.high or (self.whole and n_rows <= n_values <= (1.0 + INDEX_SPARE) * n_rows)
