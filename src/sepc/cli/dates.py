"""Dates written as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sepc.cli.messages import InputError
from sepc.cli.source import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Formats to try if none is given, after ISO dates.
FORMATS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S")


def dates_of(source: Source, name: str, texts: Any, given: str, first_row: int) -> NDArray[np.datetime64]:
    """Dates from texts, with NaT for null; raises unless all have the same format, and it is unambiguous.

    Parameters
    ----------
    source : Source
    name : str
        The column.
    texts : pyarrow array of strings
    given : str
        Their format; if empty, it is detected from the texts.
    first_row : int
        Number of the first row, for messages.
    """
    if given:
        parsed = _parsed(texts, given)
        if parsed is None:
            raise InputError(_odd(source, name, texts, first_row, given, f"not a date in the format {given}"))
        return parsed
    iso = _iso(texts)
    if iso is not None:
        return iso
    fits = {form: parsed for form in _all_formats() if (parsed := _parsed(texts, form)) is not None}
    if not fits:
        what = "not a date, or not in the format of the others"
        raise InputError(_odd(source, name, texts, first_row, _best(texts), what))
    different = {parsed.tobytes() for parsed in fits.values()}
    if len(different) > 1:
        first, second = list(fits)[:2]
        raise InputError(
            f"{source.name}, column {name!r}: {texts.drop_null()[0].as_py()!r} may be {first} or {second}; "
            f"say which, as in --date '{name}={first}'."
        )
    return next(iter(fits.values()))


def naive(column: Any) -> NDArray[np.datetime64]:
    """Dates and times as `datetime64`, converted to UTC if they have a time zone."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(pa.int64()).cast(pa.timestamp("us"))
    elif pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"), safe=False)
    else:
        return np.full(len(column), np.datetime64("NaT", "us"))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype="datetime64[us]")


def _all_formats() -> list[str]:
    return [form + end for form in FORMATS for end in TIMES]


def _parsed(texts: Any, form: str) -> NDArray[np.datetime64] | None:
    """The dates, or None if a text has a different format."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        parsed = pc.strptime(texts, form, "s", error_is_null=True)
    except pa.ArrowInvalid:
        return None
    if parsed.null_count > texts.null_count:
        return None
    return np.asarray(parsed.to_numpy(zero_copy_only=False), dtype="datetime64[us]")


def _iso(texts: Any) -> NDArray[np.datetime64] | None:
    import pyarrow as pa

    for kind in (pa.timestamp("us"), pa.timestamp("us", tz="UTC")):
        try:
            return naive(texts.cast(kind))
        except pa.ArrowInvalid:
            continue
    return None


def _best(texts: Any) -> str:
    """The format that fits the most texts."""
    import pyarrow.compute as pc

    return min(_all_formats(), key=lambda form: pc.strptime(texts, form, "s", error_is_null=True).null_count)


def _odd(source: Source, name: str, texts: Any, first_row: int, form: str, what: str) -> str:
    """An error message that names the first text not in this format."""
    import pyarrow.compute as pc

    parsed = pc.strptime(texts, form, "s", error_is_null=True).is_valid().to_pylist()
    i = next(i for i, text in enumerate(texts.to_pylist()) if text is not None and not parsed[i])
    return f"{source.name}, row {first_row + i:,}, column {name!r}: {texts[i].as_py()[:80]!r} is {what}."
