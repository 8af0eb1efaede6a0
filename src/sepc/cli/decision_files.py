"""Decisions as columns, without a loop over rows, written as Parquet or CSV batch by batch."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
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
from sepc.decisions.kinds import Cause, Rule
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
            names, arrays = list(map(visible, names)), list(map(_visible, arrays))
        if self._is_guarded:
            names, arrays = list(map(guarded, names)), list(map(_guarded, arrays))
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
    """`guarded` for every cell of a column of text; other columns stay as they are."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _guarded(column.dictionary))
    if not _is_text(column.type):
        return column
    is_formula = pc.and_not(
        pc.match_substring_regex(column, FORMULA), pc.match_substring_regex(column, f"^(?:{NUMBER})$")
    )
    if not pc.any(is_formula).as_py():
        return column
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", column, ""), column)


def _visible(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _visible(column.dictionary))
    if not _is_text(column.type):
        return column
    return pa.array([None if cell is None else visible(cell) for cell in column.to_pylist()], column.type)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@dataclass(frozen=True, eq=False)
class Coded:
    """A column with few distinct texts; `codes` are the positions of the cells in `texts`."""

    codes: NDArray[np.int32]
    texts: tuple[str, ...]


Column = NDArray[Any] | Coded


def columns_of(decisions: Decisions) -> dict[str, Column]:
    """The columns of `to_frame`, with text as codes."""
    return {name: _column(name, values, decisions.classes) for name, values in decisions.columns().items()}


def _column(name: str, values: NDArray[Any], classes: NDArray[Any]) -> Column:
    if name in KINDS:
        return _coded(values, KINDS[name])
    return _labels(values, classes) if name in LABELS else values


def _labels(labels: NDArray[Any], classes: NDArray[Any]) -> Column:
    """Numbers as they are, text as positions among the classes."""
    if labels.dtype.kind in "biuf":
        return labels
    codes = np.searchsorted(classes, labels) if labels.dtype.kind == "U" else _positions(labels, classes)
    return Coded(codes.astype(np.int32), tuple(map(str, classes)))


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """The position of each label among the classes, for labels of mixed types that cannot be sorted."""
    codes = np.zeros(len(labels), dtype=np.int32)
    for k, label in enumerate(classes):
        codes[labels == label] = k
    return codes


def _coded(values: NDArray[Any], kinds: type[Rule] | type[Cause]) -> Coded:
    first = min(kinds)
    return Coded((values - int(first)).astype(np.int32), tuple(kind.name for kind in kinds))


def arrow_columns(columns: Mapping[str, Column], decided: BoolArray | None) -> dict[str, Any]:
    """Columns as pyarrow arrays; cells of undecided rows are empty, except in `accepted`."""
    known = None if decided is None or decided.all() else _packed(decided)
    return {name: _array(column, None if name == "accepted" else known) for name, column in columns.items()}


def _array(column: Column, known: Any) -> Any:
    """A pyarrow array that shares the memory of a NumPy array."""
    if isinstance(column, Coded):
        return pa.DictionaryArray.from_arrays(_array(column.codes, known), pa.array(column.texts))
    if column.dtype == object:
        # Remarks, which most rows do not have.
        return pa.array([cell or None for cell in column.tolist()], pa.string())
    memory = _packed(column) if column.dtype == bool else pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [known, memory])


def _packed(truths: BoolArray) -> Any:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
