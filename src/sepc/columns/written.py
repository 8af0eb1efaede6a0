"""The notation of a text column of numbers, dates or durations, so that new cells are read as in training."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.columns.number_texts import read_number, read_numbers
from sepc.columns.table import NUMBERS, dates_of, numbers_of
from sepc.columns.time_texts import ORDERS, SECONDS, Order, date_of, duration_of
from sepc.records import record, text

# A unit that changes what a number means: 0.5 is not 0.5 %.
NEEDED = "%"
# If more of the cells are distinct, finding the distinct ones takes longer than reading all.
MOSTLY_DIFFERENT = 0.5


class What(StrEnum):
    """What a text stands for."""

    NUMBER = "number"
    DATE = "date"
    DURATION = "duration"


@record
class Written:
    """The notation of a column of text.

    Attributes
    ----------
    what : What
        What its texts stand for.
    unit : str
        The unit before or after a number, if any; for durations, the unit they are counted in.
    decimal : str
        The decimal separator.
    thousands : str
        The thousands separator; empty if there is none.
    order : str
        What comes first in dates such as 03/04/2024: day ("dmy") or month ("mdy"); "ymd" if there are no such dates.
    """

    what: What = text(*What)
    unit: str = text()
    decimal: str = text(".", ",")
    thousands: str = text("", ".", ",", " ", "'")
    order: str = text(*ORDERS)

    @classmethod
    def number(cls, unit: str = "", decimal: str = ".", thousands: str = "") -> Written:
        """Numbers."""
        return cls(What.NUMBER, unit, decimal, thousands, Order.YEAR)

    @classmethod
    def date(cls, order: str = Order.YEAR) -> Written:
        """Dates."""
        return cls(What.DATE, "", ".", "", order)

    @classmethod
    def duration(cls, unit: str = "second") -> Written:
        """Durations."""
        return cls(What.DURATION, unit, ".", "", Order.YEAR)

    def flaw(self) -> str | None:
        """What is inconsistent, if anything."""
        if self.decimal == self.thousands:
            return "has the same separator for decimals and thousands"
        if self.what is What.DURATION and self.unit not in SECONDS:
            return "has durations in a unit that is not one of time"
        return None

    def value(self, given: str) -> float | datetime | None:
        """What a text stands for; None if it cannot be read."""
        if self.what is What.DATE:
            return date_of(given, self.order)
        if self.what is What.DURATION:
            duration = duration_of(given)
            return None if duration is None else duration.seconds / SECONDS[self.unit]
        return read_number(given, self.unit, self.decimal, self.thousands, needs_unit=self.unit == NEEDED)

    def read(self, values: NDArray[Any]) -> NDArray[Any]:
        """Convert a column to numbers or dates; cells that cannot be read become missing values.

        Examples
        --------
        >>> Written.number("kg", ",").read(np.array(["72,3 kg", None, "heavy"], dtype=object))
        array([72.3,  nan,  nan])
        """
        if values.dtype.kind == "m" and self.what is What.DURATION:
            return np.asarray(np.where(np.isnat(values), np.nan, values / np.timedelta64(int(SECONDS[self.unit]), "s")))
        if values.dtype.kind != "O":
            return values
        cells = values.tolist()
        distinct = list(dict.fromkeys(cells))
        if self.what is What.NUMBER and len(distinct) > MOSTLY_DIFFERENT * len(cells):
            return numbers_of(self._all_of(cells))
        found = self._all_of(distinct)
        positions = dict(zip(distinct, range(len(distinct)), strict=True))
        which = np.fromiter(map(positions.__getitem__, cells), dtype=np.int64, count=len(cells))
        return np.asarray((dates_of(found) if self.what is What.DATE else numbers_of(found))[which])

    def _all_of(self, cells: list[Any]) -> list[Any]:
        """What each cell stands for; numbers in the usual notation are read in one go."""
        if self.what is not What.NUMBER:
            return [self.value(cell) if isinstance(cell, str) else self._of(cell) for cell in cells]
        texts = [cell for cell in cells if isinstance(cell, str)]
        found = read_numbers(texts, self.unit, self.decimal, self.thousands, needs_unit=self.unit == NEEDED)
        if len(texts) == len(cells):
            return found
        rest = iter(found)
        return [next(rest) if isinstance(cell, str) else self._of(cell) for cell in cells]

    def _of(self, value: Any) -> Any:
        """What a cell that is not text stands for."""
        if self.what is What.DATE:
            return value if isinstance(value, date) else None
        if isinstance(value, timedelta):
            return value.total_seconds() / SECONDS[self.unit] if self.what is What.DURATION else None
        return float(value) if isinstance(value, NUMBERS) else None

    def named(self) -> str:
        """What the column is read as, in words.

        Examples
        --------
        >>> Written.number("kg").named(), Written.duration("day").named(), Written.date("dmy").named()
        ('numbers (kg)', 'durations in days', 'dates, day first')
        """
        if self.what is What.DATE:
            return "dates" + {Order.DAY: ", day first", Order.MONTH: ", month first"}.get(self.order, "")
        if self.what is What.DURATION:
            return f"durations in {self.unit}s"
        return f"numbers ({self.unit})" if self.unit else "numbers"
