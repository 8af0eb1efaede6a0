"""Batches of the table that a command names, and their cells as a model reads them."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from sepc.cli._memory import MemoryLimit, ProgressBar
from sepc.cli._messages import InputError
from sepc.tables.files import Source, is_number
from sepc.tables.table_file import (
    Batch,
    TableFile,
    dates_of,
    objects,
    plain,
    read_table,
    refuse_infinite,
    without_numbers,
)
from sepc.wording import MOST_NAMES, listed, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

END = object()


def open_table(options: argparse.Namespace, path: str | None = None) -> TableFile:
    """The table that the options name, or one at another path that is written alike; raises if it cannot be read."""
    dates = dict(name.split("=", 1) if "=" in name else (name, "") for name in options.date)
    names: tuple[str, ...] = ("format", "separator", "decimal", "encoding", "sheet", "na")
    given: dict[str, Any] = {name: getattr(options, name) for name in names}
    return read_table(options.data if path is None else path, dates=dates, **given)


@contextmanager
def batches_of(
    table: TableFile,
    wanted: Sequence[str],
    n_features: int,
    options: argparse.Namespace,
    doing: str = "reading",
    *,
    in_memory: bool = False,
) -> Iterator[Iterator[Batch]]:
    """Context manager: the batches of all rows, with a progress bar; `in_memory`, as far as a fit on them may go."""
    name, limit = table.source.name, MemoryLimit.of(options.max_memory) if in_memory else MemoryLimit(None, "")
    limit.refuse(name, table.n_rows or 1, n_features)

    def read(bar: ProgressBar) -> Generator[Batch, None, None]:
        for batch in read_ahead(table.batches(list(dict.fromkeys(wanted)))):
            limit.refuse(name, batch.last_row, n_features, batch.share)
            yield batch
            bar.update_rows(batch.last_row, table.n_rows, batch.share)

    with ProgressBar(f"{doing} {name}", quiet=options.quiet) as bar, closing(read(bar)) as batches:
        yield batches


def read_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The same items; a thread fetches the next one in advance."""
    ready: Queue[Any] = Queue(1)
    is_over = Event()
    Thread(target=_fill, args=(items, ready, is_over), daemon=True).start()
    try:
        while (item := ready.get()) is not END:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_over.set()
        with suppress(Empty):
            ready.get_nowait()


def _fill(items: Iterator[Any], ready: Queue[Any], is_over: Event) -> None:
    try:
        for item in items:
            ready.put(item)
            if is_over.is_set():
                return
        ready.put(END)
    except BaseException as error:  # noqa: BLE001 - raised again by `read_ahead`
        ready.put(error)


class Reading(StrEnum):
    """What a model reads a column as."""

    NUMBER = "numbers"
    CATEGORY = "categories"
    DATE = "dates"
    WRITTEN = "text as the model reads it"
    GROUP = "as its type says"


def read_cells(
    table: TableFile, batch: Batch, name: str, reading: Reading, categories: Collection[Any] = ()
) -> NDArray[Any]:
    """A column as an array of floats, dates, text or categories, with NaN, NaT or None for missing values."""
    import numpy as np
    import pyarrow.types as types

    from sepc.columns.table import column_of

    source = table.source
    if reading is Reading.GROUP:
        column = table.typed({name: batch.columns[name]})[name]
        is_plain = types.is_string(column.type) or types.is_boolean(column.type) or types.is_integer(column.type)
        is_plain = is_plain or types.is_dictionary(column.type)
        return objects((column if is_plain else column.cast("string")).to_pylist())
    column = without_numbers(source, plain(source, batch.columns[name]))
    if reading is Reading.CATEGORY:
        return matched(objects(column.to_pylist()), categories)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string(column.type) and (name in source.dates or reading is Reading.DATE):
        return dates_of(source, name, column, batch.first_row)
    if types.is_string(column.type) and reading is Reading.NUMBER:
        return _numbers_of_texts(source, name, column, batch)
    values = column_of({name: column}, name)
    if values.dtype.kind == "M" and reading is Reading.NUMBER:
        raise InputError(f"{source.name}, column {name!r} holds dates, not numbers.")
    if values.dtype.kind == "f" and reading is Reading.DATE:
        if not np.isnan(values).all():
            raise InputError(f"{source.name}, column {name!r} holds numbers, not dates.")
        return np.full(len(values), np.datetime64("NaT", "us"))
    refuse_infinite(source, name, column, first_row=batch.first_row)
    return values


def _numbers_of_texts(source: Source, name: str, texts: Any, batch: Batch) -> NDArray[np.float64]:
    """Numbers from texts, with NaN for those that mean a missing value; raises if another is not a number."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from sepc.columns.recognition import GAPS, Written, is_gap_text

    with suppress(pa.ArrowInvalid):
        if batch.decimal != ",":
            numbers = without_numbers(source, texts.cast("double"))
            refuse_infinite(source, name, numbers, first_row=batch.first_row)
            return np.asarray(numbers.to_numpy(zero_copy_only=False))
    with suppress(pa.ArrowInvalid):
        is_gap = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(GAPS))
        truths = pc.if_else(is_gap, pa.scalar(None, pa.string()), texts).cast("bool")
        return np.asarray(truths.cast("int8").cast("double").to_numpy(zero_copy_only=False))
    cells = objects(texts.to_pylist())
    read = (Written.number("", ",", ".") if batch.decimal == "," else Written.number()).read(cells)
    odd = next((i for i in np.flatnonzero(np.isnan(read)) if cells[i] is not None and not is_gap_text(cells[i])), None)
    if odd is not None:
        cell = cells[odd][:80]
        missing = f"if it means a missing value, give --na {quoted(cell)}"
        advice = "give --decimal ," if re.fullmatch(r"\s*[+-]?[0-9]+,[0-9]+\s*", cell) else missing
        where = f"{source.name}, row {batch.first_row + int(odd):,}, column {name!r}"
        raise InputError(f"{where}: {cell!r} is not a number; {advice}.")
    return np.where(np.isin(read, source.gap_numbers), np.nan, read)


def quoted(text: str) -> str:
    """A text as the value of an option in a shell."""
    return shlex.quote(f'"{text}"' if "," in text else text)


def refuse_gaps(source: Source, numbers: Any, gaps: Mapping[str, NDArray[np.bool_]], advice: str) -> None:
    """Raise if a cell is missing, naming the first; `numbers` are those of the rows."""
    import numpy as np

    each = np.array(list(gaps.values()))
    if each.any():
        i = int(each.any(axis=0).argmax())
        name = list(gaps)[int(each[:, i].argmax())]
        raise InputError(f"{source.name}, row {numbers[i]:,}, column {name!r} is empty or not a number. {advice}")


def is_gap(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells of a column are missing."""
    import numpy as np

    if values.dtype.kind == "O":
        return np.array([value is None for value in values], dtype=bool)
    return np.asarray(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))


def read_labels(table: TableFile, batch: Batch, name: str, own: list[Any]) -> NDArray[Any]:
    """Labels as objects, with None for empty cells; the model's own where they mean the same, else unchanged."""
    cells = table.labels(name, table.typed({name: batch.columns[name]})[name])
    texts = {label for label in own if isinstance(label, str)}
    in_quotes = {f"'{text}": text for text in texts}
    labels = matched(objects([in_quotes.get(cell, cell) for cell in cells.tolist()]), own)
    for label in labels:
        if label is not None and isinstance(label, str) != bool(texts):
            known = listed(map(shown, own), MOST_NAMES)
            raise InputError(
                f"{table.source.name}, column {name!r} holds {label!r}; the labels of the model are {known}."
            )
    return labels


def matched(cells: NDArray[Any], known: Collection[Any]) -> NDArray[Any]:
    """The category of each cell: an identical one, or the only one that is the same number or truth value.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array(["171", "A", None], dtype=object), ["0171", "A"]).tolist()
    ['0171', 'A', None]
    """
    from sepc.columns.recognition import is_gap_text

    exact = {value for value in known if isinstance(value, str)}
    times = Counter(_meaning(value) for value in known)
    by_meaning = {_meaning(value): value for value in known if value is not None and times[_meaning(value)] == 1}
    found = {cell: cell if cell in exact else by_meaning.get(_meaning(cell), cell) for cell in set(cells.tolist())}
    if None in known:
        found |= {
            cell: None for cell in found if isinstance(cell, str) and found[cell] not in known and is_gap_text(cell)
        }
    return objects([found[cell] for cell in cells.tolist()])


def _meaning(value: Any) -> Any:
    """A value that is equal for categories with the same meaning, whether text, a number or a truth value."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    if not is_number(text):
        return text
    # Doubles cannot represent all 64-bit integers, which have at most 20 digits.
    digits = text.lstrip("+-")
    return int(text) if digits.isdecimal() and len(digits) <= 20 else float(text)


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A DataFrame, or an error that says how to install pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError('This command needs pandas: pip install "sepc[table]"') from error
    return pd.DataFrame(columns)
