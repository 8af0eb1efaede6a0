"""Decisions as columns, without a loop over rows, written as Parquet or CSV batch by batch."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.cli._messages import InputError
from sepc.decisions.decisions import KINDS, Decisions
from sepc.wording import visible

LABELS = ("label", "counts_label")
STANDARD_OUTPUT = "-"
SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}

# How a cell begins if a spreadsheet runs it as a formula, including full-width East Asian characters; and what a
# number looks like, which is safe.
FORMULA = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def output_format(path: str) -> str:
    """The format of an output file, from the end of its name."""
    form = "csv" if path == STANDARD_OUTPUT else SUFFIXES.get(Path(path).suffix.lower())
    if form is None:
        raise InputError(f"--output {path}: the name must end in .csv or .parquet, or be - for CSV to standard output.")
    return form


class DecisionWriter:
    """Writes batches of columns; the first batch fixes the schema."""

    def __init__(self, path: str, form: str, *, raw_cells: bool = False) -> None:
        self.path, self.form = path, form
        self._is_shown = path == STANDARD_OUTPUT and sys.stdout.isatty()
        self._is_guarded = form == "csv" and not raw_cells
        self._writer: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Write some rows, given as pyarrow arrays."""
        names, arrays = list(columns), list(columns.values())
        if self._is_shown:
            names, arrays = list(map(visible, names)), [_in_text(_visible, array) for array in arrays]
        if self._is_guarded:
            names, arrays = list(map(guarded, names)), [_in_text(_guarded, array) for array in arrays]
        batch = pa.RecordBatch.from_arrays(arrays, names=names)
        if self._writer is None:
            self._writer = self._opened(batch.schema)
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Finish the file, which is incomplete until then."""
        if self._writer is not None:
            self._writer.close()

    def _opened(self, schema: Any) -> Any:
        if self.form == "parquet":
            coded = [field.name for field in schema if pa.types.is_dictionary(field.type)]
            return pq.ParquetWriter(self.path, schema, use_dictionary=coded)
        sink = sys.stdout.buffer if self.path == STANDARD_OUTPUT else self.path
        return pa_csv.CSVWriter(sink, schema)


def guarded(text: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would run it as a formula.

    Examples
    --------
    >>> guarded("=1+1"), guarded("@SUM(A1)"), guarded("-12.5"), guarded("a=b")
    ("'=1+1", "'@SUM(A1)", '-12.5', 'a=b')
    """
    return f"'{text}" if re.match(FORMULA, text) and not re.fullmatch(NUMBER, text) else text


def _guarded(column: Any) -> Any:
    """`guarded` for every cell of a column of text."""
    is_formula = pc.and_not(
        pc.match_substring_regex(column, FORMULA), pc.match_substring_regex(column, f"^(?:{NUMBER})$")
    )
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", column, ""), column)


def _visible(column: Any) -> Any:
    return pa.array([None if cell is None else visible(cell) for cell in column.to_pylist()], column.type)


def _in_text(change: Callable[[Any], Any], column: Any) -> Any:
    """Change the cells of a column if they are text, or the texts that its codes stand for."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _in_text(change, column.dictionary))
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return change(column) if is_text else column


def arrow_columns(decisions: Decisions, decided: BoolArray | None = None) -> dict[str, Any]:
    """The columns of `to_frame` as pyarrow arrays, with text as codes.

    Rows that are not `decided` are not accepted, and their other cells are empty.
    """
    known = None if decided is None or decided.all() else _packed(decided)
    found = {}
    for name, values in decisions.columns().items():
        if name == "accepted":
            found[name] = _array(values if decided is None else values & decided, None)
        elif name in KINDS:
            found[name] = _coded(values - int(min(KINDS[name])), [kind.name for kind in KINDS[name]], known)
        elif name in LABELS and values.dtype.kind not in "biuf":
            found[name] = _coded(_positions(values, decisions.classes), list(map(str, decisions.classes)), known)
        else:
            found[name] = _array(values, known)
    return found


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """The position of each label among the classes, which cannot be sorted if their types are mixed."""
    if labels.dtype.kind == "U":
        return np.searchsorted(classes, labels)
    codes = np.zeros(len(labels), dtype=np.int32)
    for k, label in enumerate(classes):
        codes[labels == label] = k
    return codes


def _coded(codes: NDArray[Any], texts: Sequence[str], known: Any) -> Any:
    return pa.DictionaryArray.from_arrays(_array(codes.astype(np.int32), known), pa.array(texts))


def _array(column: NDArray[Any], known: Any) -> Any:
    """A pyarrow array that shares the memory of a NumPy array."""
    if column.dtype.kind in "OU":
        # Remarks, which most rows do not have.
        return pa.array([cell or None for cell in column.tolist()], pa.string())
    memory = _packed(column) if column.dtype == bool else pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [known, memory])


def _packed(truths: BoolArray) -> Any:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
