"""Rows of Parquet files, read block by block in every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.points.blocks import Block, BlockFacts, BlockLabels, LabelledBlocks, Result
from sepc.points.inputs import TableEncoder, missing_labels, n_columns
from sepc.points.reductions import combine_in_order
from sepc.points.row_digest import draw_rows
from sepc.wording import MOST_NAMES, listed, shown

# Cells per block, 64 MB of doubles: row groups are joined up to this size. Two blocks are in memory at a time, or two
# row groups if these are larger.
BLOCK_CELLS = 2**23


@dataclass(frozen=True, eq=False)
class ParquetSource:
    """The columns of a Parquet file or folder, and where its row groups are."""

    names: tuple[str, ...]
    target: str
    groups: tuple[tuple[Any, ...], ...]
    n_rows: tuple[int, ...]
    encoder: TableEncoder | None = None

    @classmethod
    def at(cls, path: str | PathLike[str], target: Any, encoder: TableEncoder | None = None) -> ParquetSource:
        """Open a file or a folder of files without reading any rows."""
        source = _open(path, target)
        features = tuple(name for name in source.schema.names if name != target)
        groups = [group for fragment in source.get_fragments() for group in fragment.split_by_row_group()]
        sizes = [group.row_groups[0].num_rows for group in groups]
        runs = _runs(sizes, max(1, BLOCK_CELLS // max(1, len(features))))
        return cls(
            features,
            target,
            tuple(tuple(groups[i] for i in run) for run in runs),
            tuple(sum(sizes[i] for i in run) for run in runs),
            encoder,
        )

    @property
    def n_columns(self) -> int:
        """Columns of the rows."""
        return len(self.names) if self.encoder is None else n_columns(self.encoder)

    def labels(self, i: int) -> BlockLabels:
        """Labels of the rows of a block."""
        column = self._read(i, [self.target]).column(0).combine_chunks()
        missing = np.flatnonzero(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
        if len(missing):
            raise ValueError(missing_labels(f"Column {self.target!r}", len(missing), self._place(i, int(missing[0]))))
        coded = column.dictionary_encode()
        return BlockLabels.from_codes(coded.dictionary.to_numpy(zero_copy_only=False), coded.indices.to_numpy())

    def rows(self, i: int) -> FloatArray:
        """Rows of a block."""
        encoder = self.encoder
        if self.n_rows[i] == 0:
            return np.empty((0, self.n_columns))
        rows = self._numbers(i) if encoder is None else encoder.rows_of(self._read(i, list(encoder.used_columns)))
        # A quick test first: the sum is not finite if any cell is not. The second test rules out a mere overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = np.isfinite(rows.sum()) or np.isfinite(rows).all()
        if not is_finite:
            row, j = np.argwhere(~np.isfinite(rows))[0]
            names = self.names if encoder is None else encoder.feature_names
            raise ValueError(
                f"Feature {names[j]!r} is empty, NaN or infinite in {self._place(i, row)}. "
                "Fill these cells or leave the rows out."
            )
        return rows

    def frame(self, i: int) -> Any:
        """Rows of a block as a pandas DataFrame."""
        return self._read(i, list(self.names)).to_pandas()

    def draw(self, n_rows: int, seed: int) -> tuple[Any, NDArray[Any]]:
        """Draw up to `n_rows` rows with their labels: equally many from each block, as far as it has them."""
        import pyarrow as pa

        n_each, tables, labels = max(1, n_rows // len(self.n_rows)), [], []
        for i, n in enumerate(self.n_rows):
            where, block = draw_rows(n, n_each, i, seed), self.labels(i)
            tables.append(self._read(i, list(self.names)).unify_dictionaries().take(where))
            labels.append(block.values[block.codes[where]])
        return pa.concat_tables(tables), np.concatenate(labels)

    def _numbers(self, i: int) -> FloatArray:
        table = self._read(i, list(self.names))
        rows = np.empty((table.num_rows, len(self.names)))
        for j, name in enumerate(self.names):
            rows[:, j] = table.column(name).cast("double", safe=False).to_numpy()
        return rows

    def _read(self, i: int, columns: list[str]) -> Any:
        import pyarrow as pa

        tables = []
        for group in self.groups[i]:
            try:
                tables.append(group.to_table(columns=columns))
            except (OSError, pa.ArrowException) as error:
                raise ValueError(f"{_name_of(group)} cannot be read: {' '.join(str(error).split())}") from None
        return pa.concat_tables(tables)

    def _place(self, i: int, row: int) -> str:
        """Where a row of a block is in its file, for error messages."""
        sizes = [group.row_groups[0].num_rows for group in self.groups[i]]
        k = int(np.searchsorted(np.cumsum(sizes), row, side="right"))
        return f"row {row - sum(sizes[:k])} of {_name_of(self.groups[i][k])}"


@dataclass(frozen=True, eq=False)
class ParquetBlocks:
    """The blocks of a table, read in every pass; the next block is read ahead."""

    table: ParquetSource
    labels: list[BlockLabels]

    def map_blocks(self, function: Callable[[Block], Result], combine: Callable[[Result, Result], Result], /) -> Result:
        """Apply `function` to each block, and combine the results in order."""
        return combine_in_order(combine, map(function, self._read()))

    def _read(self) -> Iterator[Block]:
        with ThreadPoolExecutor(1, thread_name_prefix="sepc-parquet") as reader:
            ahead = reader.submit(self.table.rows, 0)
            for i, labels in enumerate(self.labels):
                rows = ahead.result()
                if i + 1 < len(self.labels):
                    ahead = reader.submit(self.table.rows, i + 1)
                yield Block(rows, labels)


def labelled_blocks(
    path: str | PathLike[str], y: Any, encoder: TableEncoder | None = None
) -> tuple[LabelledBlocks, tuple[str, ...]]:
    """The rows of Parquet files, and the names of their columns."""
    table = ParquetSource.at(path, y, encoder)
    labels = [table.labels(i) for i in range(len(table.n_rows))]
    _refuse_no_rows(table, path)
    facts = [BlockFacts.of(table.n_columns, each) for each in labels]
    return LabelledBlocks.of(ParquetBlocks(table, labels), facts), table.names


def draw_table(path: str | PathLike[str], y: Any, n_rows: int, seed: int) -> tuple[Any, NDArray[Any]]:
    """Draw a sample of the rows as an Arrow table, and their labels; takes one full read."""
    table = ParquetSource.at(path, y)
    _refuse_no_rows(table, path)
    return table.draw(n_rows, seed)


def labelled_tables(path: str | PathLike[str], y: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """The rows of each block as a pandas DataFrame, and their labels."""
    source = ParquetSource.at(path, y)
    for i in range(len(source.n_rows)):
        labels = source.labels(i)
        yield source.frame(i), labels.values[labels.codes]


def write_some(path: str | PathLike[str], y: Any, positions: IntArray, to: str | PathLike[str]) -> None:
    """Write the rows at these positions, with all their columns, to one Parquet file with the same row groups."""
    source, n_done = _open(path, y), 0
    import pyarrow.parquet as pq

    with pq.ParquetWriter(to, source.schema) as writer:
        for fragment in source.get_fragments():
            for group in fragment.split_by_row_group():
                table = group.to_table()
                inside = positions[(positions >= n_done) & (positions < n_done + table.num_rows)] - n_done
                n_done += table.num_rows
                if len(inside):
                    writer.write_table(table.take(inside))


def has_other_columns(path: str | PathLike[str], y: Any) -> bool:
    """Whether Parquet files have non-numeric columns besides the labels; no rows are read."""
    types = [field.type for field in _open(path, y).schema if field.name != y]
    from pyarrow.types import is_boolean, is_floating, is_integer

    return not all(is_boolean(kind) or is_integer(kind) or is_floating(kind) for kind in types)


def _refuse_no_rows(table: ParquetSource, path: str | PathLike[str]) -> None:
    if sum(table.n_rows) == 0:
        raise ValueError(f"{path} has no rows.")


def _name_of(group: Any) -> str:
    return f"row group {group.row_groups[0].id} of {group.path}"


def _open(path: str | PathLike[str], target: Any) -> Any:
    """Open the data set at this path, and check that it has the label column."""
    if not isinstance(target, str):
        raise ValueError("If X is a path to Parquet files, y must be the name of the label column.")
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install sepc[table]") from error
    try:
        source = ds.dataset(path, format="parquet")
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())}") from None
    if target not in source.schema.names:
        known = listed(map(shown, source.schema.names), MOST_NAMES)
        raise ValueError(f"{path} has no column {target!r}; its columns are {known}.")
    return source


def _runs(sizes: Sequence[int], n_most: int) -> list[list[int]]:
    """Join neighbouring row groups into runs of at most this many rows."""
    runs: list[list[int]] = []
    n = n_most
    for i, size in enumerate(sizes):
        if not runs or n + size > n_most:
            runs.append([])
            n = 0
        runs[-1].append(i)
        n += size
    return runs
