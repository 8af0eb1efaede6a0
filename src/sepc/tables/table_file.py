"""`read_table`: a table in a file, in batches or as a whole, with the types that its cells show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from sepc.tables.files import Source
from sepc.wording import MOST_NAMES, did_you_mean, listed, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sepc.tables._batches import CsvReader, ParquetReader

# Common separators, and how --separator spells them.
OTHER_SEPARATORS = {";": ";", "\t": "tab", "|": "|", ",": ","}
# Longest label, in characters; an array of labels takes the memory of the longest for every row.
LONGEST_LABEL = 1_000
# A whole number with a leading zero is a code, not a number: a zip code, a telephone number.
CODE = "^[+-]?0[0-9xX]"


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table: columns as Arrow arrays, of CSV as text."""

    first_row: int
    columns: dict[str, Any]
    n_rows: int
    share: float | None = None
    decimal: str = ""

    @property
    def last_row(self) -> int:
        """Number of the last row."""
        return self.first_row + self.n_rows - 1

    def only(self, row: int) -> Batch:
        """A batch of this row alone."""
        columns = {name: column.slice(row - self.first_row, 1) for name, column in self.columns.items()}
        return Batch(row, columns, 1, decimal=self.decimal)


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table in a file, as `read_table` returns it.

    Attributes
    ----------
    names : tuple of str
        Its columns, in order; names may repeat.
    n_rows : int or None
        Its number of rows, if known in advance, as for Parquet.
    """

    source: Source
    reader: CsvReader | ParquetReader

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return self.reader.names

    @property
    def n_rows(self) -> int | None:
        """Its number of rows, if known in advance."""
        return self.reader.n_rows

    def __iter__(self) -> Iterator[Batch]:
        return self.batches(self.names)

    def batches(self, wanted: Sequence[str]) -> Iterator[Batch]:
        """The rows of some columns."""
        n_done, decimal = 0, self.source.decimal
        for part, share in self.reader.batches(wanted):
            columns = dict(zip(wanted, part.columns, strict=True))
            if decimal is None:
                decimal = "," if self.source.format == "csv" and any(map(_shows_comma, columns.values())) else ""
            yield Batch(n_done + 1, columns, part.num_rows, share, decimal)
            n_done += part.num_rows

    def check_names(self, wanted: Sequence[str]) -> None:
        """Raise unless every wanted column is there exactly once."""
        times = Counter(self.names)
        for name in wanted:
            if times[name] > 1:
                raise ValueError(
                    f"{self.source.name} has {times[name]} columns called {name!r}; give them different names."
                )
            if not times[name]:
                raise ValueError(self._missing(name))

    def _missing(self, name: str) -> str:
        (first, *others), source = self.names, self.source
        for sign, word in OTHER_SEPARATORS.items():
            if source.format == "csv" and not others and sign != source.separator and sign in first:
                hint = f"if {sign!r} separates its cells, give --separator '{word}'"
                return f"{source.name} has one column, {first[:80]!r}; {hint}."
        known = listed(map(shown, self.names), MOST_NAMES)
        return f"{source.name} has no column {name!r}; it has {known}.{did_you_mean([name], self.names)}"

    def read(self, target: str) -> tuple[Any, NDArray[Any], int]:
        """The features as an Arrow table with the types that the cells show, the labels, and the rows without one.

        Rows without a label are left out.
        """
        import numpy as np
        import pyarrow as pa

        self.check_names([target, *self.names])
        batches = list(self)
        columns = self.typed({name: pa.chunked_array([part.columns[name] for part in batches]) for name in self.names})
        labels = self.labels(target, columns.pop(target))
        known = np.array([label is not None for label in labels], dtype=bool)
        return pa.table(columns).filter(known), labels_array(labels[known]), int((~known).sum())

    def typed(self, columns: Mapping[str, Any], numbers: Any = None) -> dict[str, Any]:
        """Whole columns with the types that their cells show; `numbers` are those of the rows, for messages.

        Text of CSV becomes numbers or truth values if all cells are, besides those that mean a missing value. In a
        file with decimal commas fractions stay text, whose notation `sepc.columns` tells from all columns.
        """
        import pyarrow as pa

        source, found = self.source, {}
        texts = {name: plain(source, column) for name, column in columns.items()}
        for name, column in texts.items():
            if name in source.dates:
                found[name] = pa.array(dates_of(source, name, column, 1, numbers))
            else:
                found[name] = column if source.format == "parquet" else _typed_text(column)
        if source.format == "csv":
            found |= self._with_decimal(found, {name: texts[name] for name in found if name not in source.dates})
        for name, column in found.items():
            found[name] = column = without_numbers(source, column)
            refuse_infinite(source, name, column, numbers)
        return found

    def _with_decimal(self, found: dict[str, Any], texts: dict[str, Any]) -> dict[str, Any]:
        """Columns that are to be read otherwise because of the sign that marks decimals."""
        import numpy as np
        import pyarrow as pa

        from sepc.columns.recognition import Written, is_gap_text

        given, odd = self.source.decimal, {}
        if (given or ("," if any(map(_shows_comma, found.values())) else ".")) == ",":
            odd = {name: column for name, column in texts.items() if pa.types.is_floating(found[name].type)}
        if given is not None:
            notation = Written.number("", given, "," if given == "." else ".")
            for name, column in (texts | odd).items():
                if pa.types.is_string((found | odd)[name].type):
                    cells = objects([None if is_gap_text(cell or "") else cell for cell in column.to_pylist()])
                    read, known = notation.read(cells), np.array([cell is not None for cell in cells], dtype=bool)
                    if known.any() and not np.isnan(read[known]).any():
                        odd[name] = pa.array(read, from_pandas=True)
        return odd

    def labels(self, name: str, column: Any) -> NDArray[Any]:
        """Labels as objects, with None for empty cells and those of `na`; fractions and long texts are refused."""
        labels, source = column.to_pylist(), self.source
        for label in labels:
            if isinstance(label, str) and len(label) > LONGEST_LABEL:
                raise ValueError(
                    f"{source.name}, column {name!r} holds a text of {len(label):,} characters; is it the target?"
                )
            if isinstance(label, float) and label == label and not label.is_integer():
                raise ValueError(
                    f"{source.name}, column {name!r} holds {label!r}; labels are text or whole numbers, not "
                    "measurements."
                )
        return objects([None if label != label else label for label in labels])


def read_table(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    na: Sequence[str] = (),
    dates: Mapping[str, str] | None = None,
) -> TableFile:
    r"""Open a CSV, Parquet or Excel file as a table that estimators can be fitted to, read in batches.

    Parameters
    ----------
    path : str or path
        A file, which may be compressed (``.gz``, ``.zst``), or ``-`` for standard input.
    format : {"csv", "parquet", "excel"}, optional
        By default, from the end of the name.
    separator, decimal, encoding : str, optional
        How CSV is written; detected by default, but for encodings other than UTF-8 and UTF-16.
    sheet : str, optional
        A sheet of an Excel file; the first by default.
    na : sequence of str
        Cells that mean a missing value in any column, besides empty ones. Among numbers and dates, NA, ?, -, unknown
        and the like always do; among categories they are values.
    dates : mapping of columns to formats, optional
        Columns of text that hold dates, with a format such as ``%d/%m/%Y``, or an empty one to be detected.

    Returns
    -------
    TableFile

    Examples
    --------
    >>> import tempfile
    >>> from sepc import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/loans.csv", "w") as file:
    ...         _ = file.write("branch;income;default\n007;1.250,50;no\n012;980,00;yes\n")
    ...     X, y, _ = read_table(f"{folder}/loans.csv").read("default")
    >>> X["branch"].to_pylist(), y.tolist()
    (['007', '012'], ['no', 'yes'])
    """
    given = {"separator": separator, "encoding": encoding, "decimal": decimal, "sheet": sheet}
    return table_of(Source.at(fspath(path), format, na=tuple(na), dates=dates or {}, **given))


def table_of(source: Source) -> TableFile:
    """Open a table, and read its column names."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError('Reading tables needs pyarrow: pip install "sepc[table]"') from error
    from sepc.tables._batches import CsvReader, ParquetReader

    reader = (ParquetReader if source.format == "parquet" else CsvReader).of(source)
    return TableFile(reader.source, reader)


def plain(source: Source, column: Any) -> Any:
    """A column whose texts have no surrounding whitespace, with null for empty cells and those of `na`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return column if not source.na else plain(source, column.cast(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_time(kind):
        column = column.cast(pa.string())
    if not pa.types.is_string(column.type):
        return column
    texts = pc.utf8_trim_whitespace(column)
    return pc.if_else(pc.is_in(texts, value_set=pa.array(["", *source.na])), pa.scalar(None, pa.string()), texts)


def without_numbers(source: Source, column: Any) -> Any:
    """A column of numbers with null in place of those of `na`; -999 includes -999.0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not source.gap_numbers or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return column
    is_gap = pc.is_in(column.cast(pa.float64(), safe=False), value_set=pa.array(source.gap_numbers, pa.float64()))
    return pc.if_else(is_gap, pa.scalar(None, column.type), column)


def refuse_infinite(source: Source, name: str, column: Any, numbers: Any = None, first_row: int = 1) -> None:
    """Raise if a number is infinite, naming its row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        i = pc.index(pc.is_inf(column), pa.scalar(True)).as_py()
        row = first_row + i if numbers is None else numbers[i]
        raise ValueError(f"{source.name}, row {row:,}, column {name!r} is infinite.")


def _typed_text(texts: Any) -> Any:
    """A column of text as numbers or truth values if all known cells are; else unchanged."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from sepc.columns.recognition import GAPS

    known = pc.if_else(pc.is_in(pc.utf8_lower(texts), value_set=pa.array(GAPS)), pa.scalar(None, pa.string()), texts)
    if known.null_count == len(known):
        return pa.nulls(len(known), pa.float64())
    # Text with letters is neither; this spares most columns of text the attempts.
    with suppress(pa.ArrowInvalid):
        numbers = known.cast(pa.int64())
        return texts if pc.any(pc.match_substring_regex(known, CODE)).as_py() else numbers
    if pc.all(pc.match_substring_regex(known, "^[+-]?[0-9]+$")).as_py():
        # Whole numbers of more than 64 bits, such as ids of 20 digits.
        is_code = pc.any(pc.match_substring_regex(known, CODE)).as_py()
        with suppress(pa.ArrowInvalid):
            return texts if is_code else known.cast(pa.decimal128(38, 0))
    for kind in (pa.float64(), pa.bool_()):
        with suppress(pa.ArrowInvalid):
            return known.cast(kind)
    return texts


def _shows_comma(column: Any) -> bool:
    """Whether a column is text that holds numbers which must have a decimal comma."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from sepc.columns.recognition import Written, decimal_shown, recognise

    if not pa.types.is_string(column.type) or not pc.any(pc.match_substring_regex(column, "[0-9],[0-9]")).as_py():
        return False
    texts = [text for text in pc.unique(pc.utf8_trim_whitespace(column)).to_pylist() if text]
    found = recognise(texts)
    return isinstance(found, Written) and decimal_shown(texts, found) == ","


def dates_of(source: Source, name: str, column: Any, first_row: int, numbers: Any = None) -> NDArray[np.datetime64]:
    """The dates of a column that `dates` names, with NaT if missing; raises unless all can be read in one way."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from sepc.columns.recognition import Doubt, What, is_gap_text, sole_notation
    from sepc.columns.table import column_of

    if not pa.types.is_string(column.type):
        values = column_of({name: column}, name)
        if values.dtype.kind != "M" and column.null_count < len(column):
            raise ValueError(f"{source.name}, column {name!r} holds numbers, not dates.")
        return values.astype("datetime64[us]")
    given = source.dates.get(name, "")
    cells = objects([None if is_gap_text(cell or "") else cell for cell in column.to_pylist()])
    if given:
        found = pc.strptime(pa.array(cells.tolist(), pa.string()), given, "s", error_is_null=True)
        parsed, what = found.to_numpy(zero_copy_only=False), f"not a date in the format {given}"
    else:
        notation = sole_notation(list(dict.fromkeys(cell for cell in cells if cell is not None)), What.DATE)
        if isinstance(notation, Doubt):
            raise ValueError(
                f"{source.name}, column {name!r}: {notation.seen}; say which, as in --date '{name}=%d/%m/%Y'."
            )
        parsed = notation.read(cells)
        what = f"not a date like the others; if all have one format, give --date '{name}=FORMAT'"
    odd = np.flatnonzero(np.isnat(parsed) & np.array([cell is not None for cell in cells], dtype=bool))
    if len(odd):
        row = first_row + int(odd[0]) if numbers is None else numbers[odd[0]]
        raise ValueError(f"{source.name}, row {row:,}, column {name!r}: {cells[odd[0]][:80]!r} is {what}.")
    return np.asarray(parsed, dtype="datetime64[us]")


def labels_array(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as an array of their own type if all are plain numbers or truth values, else as texts."""
    import numpy as np

    is_plain = {type(label) for label in labels} <= {bool, int, float}
    return np.array(labels.tolist()) if is_plain else np.array([str(label) for label in labels])


def objects(cells: list[Any]) -> NDArray[Any]:
    """Cells as an array of objects, whatever their types."""
    import numpy as np

    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
