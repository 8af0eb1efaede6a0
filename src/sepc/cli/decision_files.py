"""Write decisions as Parquet or CSV, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sepc._typing import BoolArray
from sepc.cli.columns import Coded, Column
from sepc.cli.messages import InputError

STANDARD_OUTPUT = "-"
SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def output_format(path: str) -> str:
    """The format that the name of an output file asks for."""
    form = "csv" if path == STANDARD_OUTPUT else SUFFIXES.get(Path(path).suffix.lower())
    if form is None:
        raise InputError(f"--output {path}: the name must end in .csv or .parquet, or be - for CSV to standard output.")
    return form


class DecisionWriter:
    """Writes batches of columns; the first batch fixes the schema."""

    def __init__(self, path: str, form: str) -> None:
        self.path, self.form = path, form
        self._writer: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write some rows, given as pyarrow arrays."""
        batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        if self._writer is None:
            self._writer = self._opened(batch.schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Finish the file; without this it is incomplete."""
        if self._writer is not None:
            self._writer.close()

    def _opened(self, schema: Any) -> Any:
        if self.form == "parquet":
            coded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
            return pq.ParquetWriter(self.path, schema, use_dictionary=coded)
        sink = sys.stdout.buffer if self.path == STANDARD_OUTPUT else self.path
        return pa_csv.CSVWriter(sink, schema)


def arrow_columns(columns: Mapping[str, Column], decided: BoolArray | None) -> dict[str, Any]:
    """Columns as pyarrow arrays; cells of undecided rows are empty, except in `accepted`."""
    known = None if decided is None or decided.all() else _packed(decided)
    return {name: _array(column, None if name == "accepted" else known) for name, column in columns.items()}


def _array(column: Column, known: Any) -> Any:
    """A pyarrow array that shares the memory of a NumPy array."""
    if isinstance(column, Coded):
        return pa.DictionaryArray.from_arrays(_array(column.codes, known), pa.array(column.texts))
    memory = _packed(column) if column.dtype == bool else pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [known, memory])


def _packed(truths: BoolArray) -> Any:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
