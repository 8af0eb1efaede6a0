"""Dates written as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sepc.cli.messages import InputError
from sepc.cli.source import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def dates_of(source: Source, name: str, texts: Any, given: str, first_row: int) -> NDArray[np.datetime64]:
    """Dates from texts, with NaT for those that mean a missing value; raises unless all can be read in one way.

    Parameters
    ----------
    source : Source
    name : str
        The column.
    texts : pyarrow array of strings
    given : str
        Their format; if empty, it is recognised.
    first_row : int
        Number of the first row, for messages.
    """
    import numpy as np

    from sepc.columns.recognition import Doubt, is_gap_text, sole_notation
    from sepc.columns.written import What

    cells = np.array([None if cell is None or is_gap_text(cell) else cell for cell in texts.to_pylist()], dtype=object)
    if given:
        parsed, what = _parsed(cells, given), f"not a date in the format {given}"
    else:
        found = sole_notation(list(dict.fromkeys(cell for cell in cells if cell is not None)), What.DATE)
        if isinstance(found, Doubt):
            raise InputError(
                f"{source.name}, column {name!r}: {found.seen}; say which, as in --date '{name}=%d/%m/%Y'."
            )
        parsed, what = (
            found.read(cells),
            f"not a date like the others; if all have one format, give --date '{name}=FORMAT'",
        )
    odd = np.flatnonzero(np.isnat(parsed) & np.array([cell is not None for cell in cells], dtype=bool))
    if len(odd):
        cell = cells[odd[0]][:80]
        raise InputError(f"{source.name}, row {first_row + int(odd[0]):,}, column {name!r}: {cell!r} is {what}.")
    return np.asarray(parsed, dtype="datetime64[us]")


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


def _parsed(cells: NDArray[Any], form: str) -> NDArray[np.datetime64]:
    """The dates, with NaT for texts in another format."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    parsed = pc.strptime(pa.array(cells.tolist(), pa.string()), form, "s", error_is_null=True)
    return np.asarray(parsed.to_numpy(zero_copy_only=False), dtype="datetime64[us]")
