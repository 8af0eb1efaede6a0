"""Open a table for reading; a file of its own, since both formats build on `tables`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sepc.cli.source import Source
from sepc.cli.tables import Table


@contextmanager
def open_table(source: Source) -> Iterator[Table]:
    """Open a table and read its column names; an Excel sheet is read as CSV."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError('Reading tables needs pyarrow: pip install "sepc[table]"') from error
    from sepc.cli.csv_table import CsvTable
    from sepc.cli.parquet_table import ParquetTable

    kind = ParquetTable if source.format == "parquet" else CsvTable
    with source.opened() as stream:
        yield kind.of(source, stream)
