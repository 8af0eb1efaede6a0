"""CSV tables, read as a stream: the header, the column types inferred from the first rows, then every row once."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from sepc.cli._messages import InputError
from sepc.cli.source import DAMAGED, Source
from sepc.cli.tables import Batch, ColumnType, batch_rows, check_width, reading_of
from sepc.columns.recognition import GAPS, Written, decimal_shown, recognise

# Column types are inferred from the first block of the head; the head itself may end inside a multi-line cell.
TYPES_BYTES = 2**20
HEAD_BYTES = 4 * TYPES_BYTES
# Bytes read at a time; larger blocks are no faster, and would hold millions of very short rows.
BLOCK_BYTES = 4 * 2**20

# In bytes: 20,000 columns with names of 200 letters.
LONGEST_HEADER = 4 * 2**20

# The first bytes of Parquet files, and of Excel files, which are zip archives.
PARQUET_MARK, ZIP_MARK = b"PAR1", b"PK\x03\x04"
# The number of first bytes in which a zero shows that the file is not CSV.
FORMAT_BYTES = 512

# Separators to try, the most common first.
SEPARATORS = (",", ";", "\t", "|")
# Rows from which the separator is detected.
SHOWN_ROWS = 20

# A whole number with a leading zero is a code, not a number: a zip code, a telephone number.
CODE = "^[+-]?0[0-9]"
TRUTH = "^(?i:true|false|0|1|)$"


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A CSV table."""

    source: Source
    names: tuple[str, ...]
    head: bytes
    rest: IO[bytes]
    types: dict[str, Any]
    n_rows: int | None = None

    @classmethod
    def of(cls, source: Source, stream: IO[bytes]) -> CsvTable:
        """Read the header and the first rows."""
        try:
            if source.separator is None:
                source = replace(source, separator=_separator(source, stream))
            names = _read_header(source, stream)
            head = stream.read(HEAD_BYTES)
            head += _rest_of_line(source, stream)
        except DAMAGED as error:
            raise InputError(f"{source.name} cannot be read: {error}.") from error
        except UnicodeDecodeError as error:
            raise InputError(_wrong_encoding(source, "a cell")) from error
        if not head.strip():
            raise InputError(f"{source.name} has a header but no rows.")
        try:
            source, types = _types(source, names, head)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise InputError(_unreadable(source, names, error)) from error
        return cls(source, names, head, stream, types)

    def kind_of(self, name: str) -> ColumnType:
        """What a column holds in the first rows; FOUND if nothing."""
        kind = self.types[name]
        return ColumnType.FOUND if pa.types.is_null(kind) else reading_of(kind)

    def batches(self, wanted: Sequence[str], readings: Mapping[str, ColumnType]) -> Iterator[Batch]:
        """The rows of some columns, which can be read only once; cells are text, but for those read as typed."""
        types = {name: self._type(name, readings.get(name, ColumnType.FOUND)) for name in wanted}
        size, n_done = self.source.n_bytes, 0
        stream: Any = _Joined(self.head, self.rest)
        try:
            for columns in _in_batches(_read(self.source, self.names, stream, types, wanted, BLOCK_BYTES), len(wanted)):
                first, n_done = n_done + 1, n_done + columns.num_rows
                share = min(1.0, self.rest.tell() / size) if size else None
                arrays = {name: columns.column(j) for j, name in enumerate(wanted)}
                yield Batch(first, arrays, columns.num_rows, share)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise InputError(_unreadable(self.source, self.names, error)) from error
        except DAMAGED as error:
            raise InputError(f"{self.source.name} cannot be read: {error}.") from error

    def _type(self, name: str, reading: ColumnType) -> Any:
        found = self.types[name]
        is_typed = reading is ColumnType.FOUND or (reading is ColumnType.NUMBER and pa.types.is_boolean(found))
        return found if is_typed and not pa.types.is_null(found) else pa.string()


def _separator(source: Source, stream: Any) -> str:
    if source.format == "excel":
        return ","
    likely = ";" if source.decimal == "," else "\t" if ".tsv" in source.path.lower() else ","
    return sniffed_separator(stream.peek(), likely)


def sniffed_separator(sample: bytes, first: str = ",") -> str:
    r"""The separator that splits the first rows into as many cells as the header; `first` if no other does better.

    Examples
    --------
    >>> sniffed_separator(b"name, first;age, years\nAda;36\nAlan;41\n"), sniffed_separator(b"x\n1\n")
    (';', ',')
    """
    lines = sample.decode("utf-8", errors="replace").removeprefix("\ufeff").splitlines(keepends=True)
    ordered = sorted(SEPARATORS, key=lambda sign: sign != first)
    return max(ordered, key=lambda sign: _agreement(lines, sign))


def _agreement(lines: Sequence[str], sign: str) -> tuple[float, int]:
    """The share of rows with as many cells as the header, if it has several, and the number of cells."""
    try:
        rows = [row for row, _ in zip(csv.reader(lines, delimiter=sign), range(SHOWN_ROWS + 2), strict=False) if row]
    except csv.Error:
        return 0.0, 0
    # The last row may have been cut off.
    header, *others = rows[:-1] if len(rows) > 2 else rows or [[]]
    if len(header) < 2:
        return 0.0, 0
    return sum(len(row) == len(header) for row in others) / max(1, len(others)), len(header)


def _read_header(source: Source, stream: IO[bytes]) -> tuple[str, ...]:
    """The column names, without a byte order mark; a column without a name is named by its position."""
    _refuse_other_formats(source, stream)
    lines = _header_lines(source, stream)
    try:
        names = next(csv.reader(lines, delimiter=source.separator or ",", strict=True, skipinitialspace=True), [])
    except UnicodeDecodeError as error:
        raise InputError(_wrong_encoding(source, "the header")) from error
    except csv.Error as error:
        raise InputError(f"{source.name}: the header cannot be read as CSV: {error}.") from error
    if not names:
        raise InputError(f"{source.name} is empty.")
    check_width(source, len(names))
    return tuple(name if name.strip() else f"column {j}" for j, name in enumerate(names, start=1))


def _wrong_encoding(source: Source, where: str) -> str:
    """An error message for bytes that are not text in the table's encoding."""
    encoding = source.encoding or "utf-8"
    return f"{source.name}: {where} is not {encoding} text; give its --encoding, such as latin-1 or cp1252."


def _header_lines(source: Source, stream: IO[bytes]) -> Iterator[str]:
    """The lines of the header; a quoted name may span several."""
    left = LONGEST_HEADER
    while line := stream.readline(left):
        left -= len(line)
        if left == 0:
            raise InputError(
                f"{source.name}: the header does not end within {LONGEST_HEADER // 2**20} MB. "
                "Check that it is CSV with a line of column names, and that every quote is closed."
            )
        yield line.decode("utf-8-sig")


def _refuse_other_formats(source: Source, stream: Any) -> None:
    first = stream.peek()[:FORMAT_BYTES]
    if first.startswith((PARQUET_MARK, ZIP_MARK)) or b"\0" in first:
        raise InputError(
            f"{source.name} is not CSV; if it is Parquet or Excel, give --format parquet or --format excel."
        )


def _types(source: Source, names: Sequence[str], head: bytes) -> tuple[Source, dict[str, Any]]:
    """The types of the columns: numbers, truth values or text; and the source with its decimal separator."""
    found = _inferred(source, names, head)
    if source.decimal is None and source.separator != ",":
        with_comma = _inferred(replace(source, decimal=","), names, head)
        source = replace(source, decimal=",") if _numbers(with_comma) > _numbers(found) else source
    texts = _texts(source, names, head)
    if source.decimal is None and any(map(_shows_decimal_comma, texts.values())):
        source = replace(source, decimal=",")
    for name, kind in found.items():
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        # In a file with decimal commas, the point may mark thousands; which it does is recognised from all columns.
        may_be_grouped = source.decimal == "," and source.format == "csv" and pa.types.is_floating(kind)
        is_odd = may_be_grouped or (name in texts and _has_odd(texts[name], kind))
        is_typed = (is_number or pa.types.is_boolean(kind)) and not is_odd
        found[name] = kind if is_typed or pa.types.is_null(kind) else pa.string()
    return source, found


def _inferred(source: Source, names: Sequence[str], head: bytes) -> dict[str, Any]:
    schema = _read(source, names, io.BytesIO(head), {}, names, TYPES_BYTES).schema
    return dict(zip(schema.names, schema.types, strict=True))


def _numbers(types: Mapping[str, Any]) -> set[str]:
    return {name for name, kind in types.items() if reading_of(kind) is ColumnType.NUMBER}


def _texts(source: Source, names: Sequence[str], head: bytes) -> dict[str, Any]:
    """The first rows as text, without blanks around the cells."""
    reader = _read(source, names, io.BytesIO(head), dict.fromkeys(names, pa.string()), names, TYPES_BYTES)
    first = next(iter(reader), None)
    columns = [] if first is None else map(pc.utf8_trim_whitespace, first.columns)
    return dict(zip(names, columns, strict=True)) if first is not None else {}


def _shows_decimal_comma(cells: Any) -> bool:
    """Whether a column holds numbers that must have a decimal comma."""
    if not pc.any(pc.match_substring_regex(cells, "[0-9],[0-9]")).as_py():
        return False
    texts = [text for text in pc.unique(cells).to_pylist() if text is not None]
    found = recognise(texts)
    return isinstance(found, Written) and decimal_shown(texts, found) == ","


def _has_odd(cells: Any, kind: Any) -> bool:
    """Whether whole numbers have zeros in front, as codes do, or truth values are beside other texts."""
    if pa.types.is_boolean(kind):
        return not pc.all(pc.match_substring_regex(cells, TRUTH), min_count=0).as_py()
    return pa.types.is_integer(kind) and bool(pc.any(pc.match_substring_regex(cells, CODE)).as_py())


class _Joined(io.RawIOBase):
    """A stream of bytes already read, followed by the rest of the stream they came from."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self.head, self.rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.head.read(size) or self.rest.read(size)


def _read(
    source: Source,
    names: Sequence[str],
    stream: Any,
    types: dict[str, Any],
    wanted: Sequence[str],
    block_bytes: int,
) -> _Named:
    """A reader of record batches."""
    # Arrow looks columns up by name, so they are named by position: names in the file may repeat.
    places = [f"{j}" for j in range(len(names))]
    place_of = dict(zip(names, places, strict=True))
    reader = pa_csv.open_csv(
        stream,
        pa_csv.ReadOptions(column_names=places, block_size=block_bytes),
        pa_csv.ParseOptions(delimiter=source.separator or ",", newlines_in_values=True),
        pa_csv.ConvertOptions(
            decimal_point=source.decimal or ".",
            null_values=[*GAPS, *map(str.upper, GAPS), *map(str.capitalize, GAPS), *source.na],
            column_types={place_of[name]: kind for name, kind in types.items()},
            include_columns=[place_of[name] for name in wanted],
        ),
    )
    return _Named(reader, tuple(wanted))


@dataclass(frozen=True, eq=False)
class _Named:
    """A reader that restores the names of the columns."""

    reader: Any
    names: tuple[str, ...]

    @property
    def schema(self) -> Any:
        return pa.schema(list(zip(self.names, self.reader.schema.types, strict=True)))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.reader)


def _rest_of_line(source: Source, stream: IO[bytes]) -> bytes:
    line = stream.readline(TYPES_BYTES)
    if len(line) == TYPES_BYTES:
        raise InputError(_endless_row(source))
    return line


def _in_batches(blocks: Iterable[Any], n_columns: int) -> Iterator[Any]:
    """The same rows in smaller batches; a block of very short rows holds too many for one."""
    most = batch_rows(n_columns)
    for block in blocks:
        for start in range(0, block.num_rows, most):
            yield block.slice(start, most)


def _endless_row(source: Source) -> str:
    megabytes = TYPES_BYTES // 2**20
    return f"{source.name}: a row does not end within {megabytes} MB. Check that it is CSV and every quote is closed."


def _unreadable(source: Source, names: Sequence[str], error: Exception) -> str:
    # Arrow names the column and the value only in the text of its error.
    cell = re.search(r"In CSV column #(\d+): .* (?:invalid value '(.*)'|invalid UTF8)", str(error), re.DOTALL)
    if cell is not None:
        name = names[int(cell[1])]
        if cell[2] is None:
            return _wrong_encoding(source, f"column {name!r}")
        return f"{source.name}, column {name!r}: {cell[2][:80]!r} differs in type from the cells before it."
    text = " ".join(str(error).split())
    uneven = re.search(r"Expected (\d+) columns, got (\d+): (.*)", text)
    if uneven:
        n, n_cells, row = uneven.groups()
        row = row if len(row) <= 60 else f"{row[:60]}..."
        return f"{source.name}: a row has {n_cells} cells where the header has {n}: {row!r}."
    if "straddl" in text:
        return _endless_row(source)
    if "UTF8" in text or isinstance(error, UnicodeDecodeError):
        return _wrong_encoding(source, "a cell")
    return f"{source.name} cannot be read as CSV: {text[:200]}."
