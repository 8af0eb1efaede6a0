"""Column types: numbers, categories, dates, or not usable as a feature; and how to report that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.columns.recognition import (
    MIXED_ZONES,
    NEEDED,
    ONE_WAY,
    READABLE,
    WHICH_DECIMAL,
    Doubt,
    What,
    Written,
    decimal_shown,
    is_gap_text,
    recognise,
    sole_notation,
)
from sepc.columns.table import (
    NUMBERS,
    cells_of,
    column_names,
    column_of,
    exact_column_of,
    has_large,
    is_categorical,
    refuse_repeated,
    zones_of,
)
from sepc.records import given, part, record, text
from sepc.wording import MOST_NAMES, counted, listed, percent, plain, shown

# With fewer rows, it is unclear whether a column is an id or an index.
FEWEST_ROWS = 20
# Whole numbers are an index if all are different and at most this share of their range is missing.
INDEX_SPARE = 0.05
# With at least this many rows, they are an id if they fill this share of their range, as after a random split.
# Measurements would repeat: 100 draws from 250 values are all different once in a billion tables.
FEWEST_ID_ROWS = 100
FILLED = 0.4
# Distinct whole numbers in these ranges are kept, since they may be years, or seconds since 1970 (from 2000 on).
TIMES = ((1800.0, 2100.0), (946_684_800.0, 2_208_988_800.0))
# Nanoseconds since 1970, from 2000 on.
NANOSECONDS = (946_684_800_000_000_000, 2_208_988_800_000_000_000)
CODES = "Name it in categorical_features (--categorical) if they are codes, or leave it out"
# A text column is free text if more than this share of its values are distinct, and they have several words.
DIFFERENT_SHARE = 0.5
SEVERAL_WORDS = 3.0
# With enough rows, text that hardly ever repeats is not a category: codes are ids, and the rest is free text.
NEAR_UNIQUE = 0.9
CODE_SHARE = 0.95
CODE = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{8,}|"
    r"[a-z]{1,10}[-_/.:# ]?\d{2,}(?:[-_/]\w+)?|\d+[-_/]?[a-z]{0,4}",
    re.IGNORECASE,
)


class NonFeature(NamedTuple):
    """What a column appears to be if not a feature, the evidence, and what to do if in doubt."""

    why: str = ""
    seen: str = ""
    doubt: str = ""


def guess_non_feature(values: NDArray[Any], share: float = 1.0) -> NonFeature:
    """Guess whether a column is an id, an index, a constant or free text; empty if it is a feature.

    Examples
    --------
    >>> guess_non_feature(np.random.default_rng(0).permutation(np.arange(1000.0, 2000.0))[:700]).seen
    '700 different whole numbers, which fill 70 % of 1,000 to 1,999'
    """
    known = values[_is_known(values)]
    if len(known) == 0:
        # Rows outside the sample may have other values.
        return NonFeature("empty", "no values") if share == 1.0 else NonFeature()
    if len(known) == len(values) and (known == known[0]).all():
        return NonFeature("a constant", f"{shown(plain(known[0]))} in all rows") if share == 1.0 else NonFeature()
    if len(known) < FEWEST_ROWS:
        return NonFeature()
    if values.dtype.kind == "O":
        return _guess_from_texts(known.tolist())
    return _guess_from_numbers(known, share) if values.dtype.kind == "f" and len(known) == len(values) else NonFeature()


def distinct_of(values: Sequence[Any]) -> list[Any]:
    """The distinct values, in order of appearance."""
    return list(dict.fromkeys(values))


def _guess_from_texts(texts: list[Any]) -> NonFeature:
    distinct = distinct_of(texts)
    n, n_all = len(distinct), len(texts)
    words = np.mean([len(str(text).split()) for text in distinct])
    seen = f"{n:,} different texts in {n_all:,} rows, such as {shown(distinct[0])}"
    if n > DIFFERENT_SHARE * n_all and words >= SEVERAL_WORDS:
        return NonFeature("free text", seen)
    if n == n_all:
        return NonFeature("an id", seen)
    if n_all < FEWEST_ID_ROWS or n < NEAR_UNIQUE * n_all:
        return NonFeature()
    n_codes = sum(CODE.fullmatch(str(text).strip()) is not None for text in distinct)
    return NonFeature("an id" if n_codes >= CODE_SHARE * n else "free text", seen)


def guess_from_large_numbers(cells: NDArray[Any]) -> NonFeature:
    """`guess_non_feature` for whole numbers too large for doubles to tell apart, such as 64-bit ids."""
    known = [cell for cell in cells.tolist() if cell is not None]
    if len(known) < FEWEST_ROWS or not all(isinstance(cell, int) for cell in known):
        return NonFeature()
    low, high, n = min(known), max(known), len(set(known))
    seen = f"{n:,} different whole numbers in {len(known):,} rows, such as {known[0]}"
    if NANOSECONDS[0] <= low and high <= NANOSECONDS[1]:
        return NonFeature("", f"{seen}: they may be ids, or nanoseconds since 1970", "Leave it out if it holds ids")
    if n >= NEAR_UNIQUE * len(known):
        return NonFeature("an id", seen)
    return NonFeature("", f"{seen}: they may be ids", CODES)


def _is_known(values: NDArray[Any]) -> BoolArray:
    if values.dtype.kind == "O":
        return np.array([value is not None for value in values], dtype=bool)
    return np.asarray(~(np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values)))


def may_be_counted(low: float, high: float, n_rows: int, share: float = 1.0) -> bool:
    """Whether `n_rows` distinct whole numbers from `low` to `high` would fill enough of it for an id or an index."""
    spare = 1.0 / FILLED if n_rows >= FEWEST_ID_ROWS else 1.0 + INDEX_SPARE
    return high - low + 1.0 <= spare * n_rows / share


def _guess_from_numbers(numbers: FloatArray, share: float) -> NonFeature:
    """Guess whether a column is an id or an index: distinct whole numbers that fill enough of their range."""
    low, high, n = float(numbers.min()), float(numbers.max()), len(numbers)
    if not may_be_counted(low, high, n, share) or not (numbers == np.round(numbers)).all():
        return NonFeature()
    steps = np.diff(np.sort(numbers))
    if (steps == 0.0).any():
        return NonFeature()
    filled = n / (high - low + 1.0)
    seen = f"{n:,} different whole numbers, which fill {percent(filled, 0)} of {low:,.0f} to {high:,.0f}"
    if filled * (1.0 + INDEX_SPARE) < 1.0 and np.gcd.reduce(steps.astype(np.int64)) > round(1.0 / share):
        # Multiples of a step are measurements, unless it is that of the sample.
        return NonFeature()
    if any(first <= low and high <= last for first, last in TIMES):
        return NonFeature("", f"{seen}: they may be times, or number the rows", "Leave it out if it numbers the rows")
    return NonFeature("an index" if filled * (1.0 + INDEX_SPARE) >= 1.0 else "an id", seen)


# A text column may be read as numbers or dates if other values are at most this share of its texts.
MOST_OTHERS = 0.05
# The most unreadable texts to name.
MOST_UNREAD = 2
# With so many different numbers, in most rows, other texts are worth a question.
FEWEST_NUMBERS = 20
OTHER_TEXTS = "Correct the other cells, or name it in categorical_features (--categorical) if it holds categories"
# Of at least so many fractions in a column, the share with three decimals from which their point may mark thousands.
FEWEST_FRACTIONS, THREE_DECIMALS = 3, 0.5
READ_AGAIN = "If so, read the table with decimal=',' and thousands='.' (pandas.read_csv), or the file with the command"


class Kind(StrEnum):
    """What a column is taken as."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    LEFT_OUT = "left out"


@record
class Column:
    """A column of the table that was given.

    Attributes
    ----------
    name : str
        Its name in the table.
    kind : Kind
        What it is taken as.
    why : str
        For a column that is left out, what it appears to be; else empty.
    written : Written or None
        The notation of numbers or dates, if they come as text or durations.
    seen : str
        What its values look like, with an example, if worth reporting.
    doubt : str
        What to do about its type, if that is in doubt; otherwise empty.
    zone : str
        For dates, "UTC" if times had a time zone, from which they are converted; else empty.
    """

    name: str = text()
    kind: Kind = text(*Kind)
    why: str = text()
    written: Written | None = part(Written, default=None)
    seen: str = given(default="")
    doubt: str = given(default="")
    zone: str = text("", "UTC", default="")

    def flaw(self) -> str | None:
        """What is wrong with the notation, if anything."""
        if self.written is None:
            return None
        is_right = self.kind is (Kind.DATE if self.written.what is What.DATE else Kind.NUMBER)
        return None if is_right else "is written in a way that does not match its type"

    def read(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the column; numbers and dates written as text are converted."""
        if self.kind not in (Kind.NUMBER, Kind.DATE):
            return values
        what, kind = (What.DATE, "M") if self.kind is Kind.DATE else (What.NUMBER, "f")
        if values.dtype.kind == kind:
            return values
        if values.dtype.kind == "f" and np.isnan(values).all():
            # A column of missing values only has no type.
            return np.full(len(values), np.datetime64("NaT", "us"))
        found: Written | Doubt = self.written or sole_notation(_known_texts(values), what)
        if isinstance(found, Doubt):
            odd = [found.seen]
        else:
            read = found.read(values)
            known = read if read.dtype.kind != kind else _unread(values, read) if self.written is None else []
            odd = [shown(plain(value)) for value in known if not _is_gap_cell(value)]
        if odd:
            held = f"Column {shown(self.name)} held {what}s in training, but now holds {odd[0]}"
            raise ValueError(f"{held}. Correct it, or give None if the value is missing.")
        return read

    @property
    def is_plain(self) -> bool:
        """Whether it holds numbers that are used unchanged."""
        return self.kind is Kind.NUMBER and self.written is None


class ReadColumns(NamedTuple):
    """What columns are, and the values of those that are features, by name: numbers, dates or categories."""

    columns: tuple[Column, ...]
    values: dict[str, NDArray[Any]]


def kinds_of(X: Any, categorical: Collection[Any], force: Collection[Any]) -> tuple[Column, ...]:
    """What each column of a table is; takes the same arguments as `read_columns`."""
    return read_columns(X, categorical, force).columns


def read_columns(X: Any, categorical: Collection[Any], force: Collection[Any], share: float = 1.0) -> ReadColumns:
    """What each column of a table is, by its type and values, and these values."""
    names = column_names(X)
    refuse_repeated(names)
    unknown = [name for name in (*categorical, *force) if name not in names]
    if unknown:
        raise ValueError(f"There is no column {shown(unknown[0])}; there are {listed(map(shown, names), MOST_NAMES)}.")
    found = {name: _column(X, name, name in categorical, name in force, share) for name in names}

    def read_again(name: Any, decimal: str) -> tuple[Column, NDArray[Any]]:
        return column_from(str(name), column_of(X, name), name in force, share, decimal)

    return _features(list((found | _settled(found, lambda name: column_of(X, name), read_again)).values()))


def _may_be_thousands(numbers: FloatArray) -> bool:
    """Whether the point in numbers such as 42.328 may mark thousands: all are at least 1, with up to three decimals."""
    known = np.abs(numbers[np.isfinite(numbers)])
    fractions = known[known != np.round(known)]
    if len(fractions) < FEWEST_FRACTIONS or fractions.min() < 1.0 or known.max() >= 1000.0:
        return False
    is_whole = np.abs(fractions - np.round(fractions, 3)) < 1e-9
    has_three = np.abs(fractions - np.round(fractions, 2)) > 1e-6
    return bool(is_whole.all() and has_three.mean() >= THREE_DECIMALS)


def _settled(
    found: Mapping[Any, tuple[Column, NDArray[Any]]],
    cells: Callable[[Any], NDArray[Any]],
    read_again: Callable[[Any, str], tuple[Column, NDArray[Any]]],
) -> dict[Any, tuple[Column, NDArray[Any]]]:
    """Columns whose numbers can be read in two ways, read as the other columns are, if all of these are alike."""
    shown_by: dict[str, Any] = {}
    for name, (column, _) in found.items():
        if column.written is not None and column.written.thousands:
            texts = [text for text in distinct_of(cells(name).tolist()) if isinstance(text, str)]
            if decimal := decimal_shown(texts, column.written):
                shown_by.setdefault(decimal, name)
    if len(shown_by) != 1:
        return {}
    ((decimal, example),) = shown_by.items()
    settled = {name: read_again(name, decimal) for name, (column, _) in found.items() if column.doubt == WHICH_DECIMAL}
    for name, (column, values) in found.items() if decimal == "," else ():
        if column.is_plain and not column.doubt and _may_be_thousands(values):
            number = values[np.flatnonzero(np.isfinite(values) & (values != np.round(values)))[0]]
            seen = f"numbers such as {number:g}, but decimal commas in {shown(example)}: the point may mark thousands"
            settled[name] = replace(column, seen=seen, doubt=READ_AGAIN), values
    return settled


def read_arrays(arrays: Mapping[str, NDArray[Any]], share: float = 1.0) -> ReadColumns:
    """`read_columns` for columns without a type of their own, such as those of an array."""
    return _features([column_from(name, values, share=share) for name, values in arrays.items()])


def _features(found: Sequence[tuple[Column, NDArray[Any]]]) -> ReadColumns:
    used = {column.name: values for column, values in found if column.kind is not Kind.LEFT_OUT}
    return ReadColumns(tuple(column for column, _ in found), used)


def _column(X: Any, name: Any, is_category: bool, is_kept: bool, share: float) -> tuple[Column, NDArray[Any]]:
    if is_category or is_categorical(X, name):
        values = exact_column_of(X, name)
        seems = "" if is_kept else guess_non_feature(values, share).why
        if seems and not (is_category and seems != "a constant"):
            return Column(str(name), Kind.LEFT_OUT, seems), values
        return Column(str(name), Kind.CATEGORY, ""), values
    values = column_of(X, name)
    beyond = NonFeature() if is_kept or not has_large(values) else guess_from_large_numbers(exact_column_of(X, name))
    if beyond.seen:
        kind = Kind.LEFT_OUT if beyond.why else Kind.NUMBER
        return Column(str(name), kind, beyond.why, None, beyond.seen, beyond.doubt), values
    column, read = column_from(str(name), values, is_kept, share)
    return (_with_zone(column, X, name, read), read) if column.kind is Kind.DATE else (column, read)


def _with_zone(column: Column, X: Any, name: Any, read: NDArray[Any]) -> Column:
    """The column with the time zone of its times; in doubt if only some of them have one."""
    zoned, known = zones_of(X, name), ~np.isnat(read)
    if not zoned[known].any():
        return column
    column = replace(column, zone="UTC")
    if zoned[known].all() or column.doubt:
        return column
    own = cells_of(X.column(name) if hasattr(X, "column_names") else X[name])
    first, other = (shown(str(own[int(np.flatnonzero(known & which)[0])])) for which in (zoned, ~zoned))
    seen = f"times with a time zone such as {first} and without one such as {other}, which are taken as UTC"
    return replace(column, seen=seen, doubt=MIXED_ZONES)


def column_from(
    name: str, values: NDArray[Any], is_kept: bool = False, share: float = 1.0, decimal: str = ""
) -> tuple[Column, NDArray[Any]]:
    """What a column is, unless it is declared categorical, and its values as read."""
    found = _written(values, decimal)
    written = found if isinstance(found, Written) else None
    read = values if written is None else written.read(values)
    unread = [] if written is None else _unread(values, read)
    if written is not None and sum(not _is_gap_cell(value) for value in unread) > (1.0 - READABLE) * len(values):
        # A few distinct texts may fill many rows, so unreadable rows are limited too.
        found, written, read = Doubt(_reading(values, read, unread, written), ONE_WAY), None, values
    seems = NonFeature() if is_kept else guess_non_feature(read, share)
    seen, doubt = (found.seen, found.advice) if isinstance(found, Doubt) else (seems.seen, seems.doubt)
    if seems.why:
        return Column(name, Kind.LEFT_OUT, seems.why, None, seen, doubt), read
    kind = {"O": Kind.CATEGORY, "M": Kind.DATE}.get(read.dtype.kind, Kind.NUMBER)
    if written is not None and not seen:
        seen = _reading(values, read, unread, written)
    return Column(name, kind, "", written, seen, doubt), read


def _written(values: NDArray[Any], decimal: str) -> Written | Doubt | None:
    """The notation of a column of numbers or dates, a `Doubt` about it, or None."""
    if values.dtype.kind == "m":
        return Written.duration()
    if values.dtype.kind != "O":
        return None
    distinct = distinct_of(values.tolist())
    texts = [value for value in distinct if isinstance(value, str)]
    others = [value for value in distinct if value is not None and not isinstance(value, str)]
    if len(others) <= MOST_OTHERS * len(texts):
        return recognise(texts, decimal) or _mostly_numbers(values)
    if all(isinstance(value, NUMBERS) and not isinstance(value, bool) for value in others):
        # Numbers with some text cells, such as "-" for a missing value.
        return Written.number() if all(map(is_gap_text, texts)) else recognise([*texts, *map(str, others)], decimal)
    are_dates = all(isinstance(value, date) for value in others) and all(map(is_gap_text, texts))
    return Written.date() if are_dates else None


def _mostly_numbers(values: NDArray[Any]) -> Doubt | None:
    """A doubt about a column of text in which most cells are plain numbers."""
    times = Counter(value for value in values.tolist() if isinstance(value, str))
    numbers = [text for text in times if Written.number().value(text) is not None]
    others = [text for text in times.keys() - set(numbers) if not is_gap_text(text)]
    n_numbers, n_others = (sum(times[text] for text in some) for some in (numbers, others))
    if len(numbers) < FEWEST_NUMBERS or not 0 < n_others < n_numbers:
        return None
    example = shown(max(others, key=lambda text: (times[text], text)))
    return Doubt(f"{n_numbers:,} cells are numbers, and {n_others:,} others such as {example} are not", OTHER_TEXTS)


def _known_texts(values: NDArray[Any]) -> list[str]:
    """The distinct texts of a column, without those that mean a missing value."""
    texts = distinct_of(values.tolist()) if values.dtype.kind == "O" else []
    return [text for text in texts if isinstance(text, str) and not is_gap_text(text)]


def _is_gap_cell(value: Any) -> bool:
    return isinstance(value, str) and is_gap_text(value)


def _is_gap(read: NDArray[Any]) -> BoolArray:
    return np.asarray(np.isnat(read) if read.dtype.kind == "M" else np.isnan(read))


def _unread(values: NDArray[Any], read: NDArray[Any]) -> list[Any]:
    """The cells that have a value and could not be read."""
    if values.dtype.kind != "O":
        return []
    return [value for value in values[_is_gap(read)].tolist() if value is not None]


def _reading(values: NDArray[Any], read: NDArray[Any], unread: list[Any], written: Written) -> str:
    """What a text was read as, and what could not be read, in words."""
    is_gap = _is_gap(read)
    if values.dtype.kind == "m":
        first = int(np.argmin(is_gap))
        return f"{plain(values[first])} is {_in_words(read[first])}"
    first = next((i for i in np.flatnonzero(~is_gap).tolist() if isinstance(values[i], str)), -1)
    example = f"{shown(values[first])} is {_in_words(read[first])}" if first >= 0 else "most cells are not text"
    parts = [example]
    for said, is_gap_text_wanted in (("counts as missing", True), ("cannot be read, and counts as missing", False)):
        some = [value for value in unread if _is_gap_cell(value) is is_gap_text_wanted]
        if some:
            verb = said if len(set(map(str, some))) == 1 else said.replace("counts", "count")
            parts.append(f"{listed(map(shown, distinct_of(some)), MOST_UNREAD)} in {counted(len(some), 'row')} {verb}")
    if written.unit == NEEDED and (bare := [value for value in values.tolist() if isinstance(value, NUMBERS)]):
        parts.append(f"{plain(bare[0])} in {counted(len(bare), 'row')} is taken as {plain(bare[0])} {NEEDED}")
    return "; ".join(parts)


def _in_words(value: Any) -> str:
    return str(value).split("T00:00")[0] if isinstance(value, np.datetime64) else f"{value:,.10g}"
