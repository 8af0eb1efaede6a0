"""Recognise columns of text that hold numbers, dates or durations, by one notation for the whole column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.columns.notations import (
    BRACKETS,
    ORDERS,
    SECONDS,
    DurationText,
    NumberText,
    Order,
    date_of,
    duration_of,
    number_text,
    read_number,
    read_numbers,
    value_of,
)
from sepc.columns.table import NUMBERS, dates_of, numbers_of
from sepc.records import record, text
from sepc.wording import listed, shown

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


# The least share of distinct texts that must be readable.
READABLE = 0.95
# Of more distinct texts than this, only this many are examined: every second, third and so on, when sorted.
MOST_TEXTS = 5_000
# This many texts are tried first; if fewer than half can be read, the others are not tried.
N_TRIED = 200
# With fewer distinct texts, a unit or a date may be a coincidence, and whole numbers are most likely codes.
FEWEST_TEXTS = 3
FEWEST_BARE = 20
# Evidence for one notation outweighs that for another if it is this many times as frequent.
OUTWEIGHS = 20
# It takes this many numbers such as 1,234, and this many without a comma, to show whether the comma marks thousands.
FEWEST_GROUPS = 30
FEWEST_PLAIN = 5
# Differing units are reported if each has this share of the texts.
COMMON_UNIT = 0.05
MOST_UNITS = 3

ONE_WAY = "Write them in one way"
WHICH_DECIMAL = (
    "Convert the column to numbers, or say which sign marks decimals (decimal= in pandas.read_csv, --decimal)"
)
MIXED_ZONES = "Give all times a zone, or none"

# A year of four digits, which a version such as 1.10.11 does not have.
FULL_YEAR = re.compile(r"\d{4}")
# Two consecutive years such as 2011-12, which are not a month.
TWO_YEARS = re.compile(r"\d\d(\d\d)[-/](\d\d)")

# Texts that mean a missing value among numbers, dates and durations, in small letters: signs, words and
# abbreviations of several languages, and what spreadsheets, databases, R and pandas write.
GAPS = frozenset(
    ["", "-", "--", "---", "\u2013", "\u2014", "?", "??", ".", "..", "...", "n/a", "n.a.", "n. a.", "na", "n/d", "n.d."]
    + ["nan", "-nan", "<na>", "nat", "none", "null", "(null)", "nil", "\\n", "unknown", "unk", "unk.", "missing"]
    + ["not available", "not applicable", "not known", "no data", "(blank)", "k.a.", "k. a.", "k.a", "keine angabe"]
    + ["unbekannt", "nicht bekannt", "fehlt", "fehlend", "inconnu", "s/d", "s.d.", "desconocido", "sconosciuto"]
    + ["#n/a", "#n/a n/a", "#na", "#value!", "#div/0!", "#ref!", "#null!", "#num!", "#name?"]
    + ["1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"]
)
# A whole number that is no code: it has no zero in front.
WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*)")


class Doubt(NamedTuple):
    """Why texts that look like numbers or dates are not read as such, and what to do."""

    seen: str
    advice: str


def recognise(texts: Sequence[str], decimal: str = "") -> Written | Doubt | None:
    """The notation of a column of numbers, dates or durations, or a `Doubt` about it; None if it is just text.

    Examples
    --------
    >>> recognise([f"{10 * i},{i % 7} kg" for i in range(30)])
    Written(what=<What.NUMBER: 'number'>, unit='kg', decimal=',', thousands='.', order='ymd')
    >>> recognise(["03/04/2024", "05/06/2024", "07/08/2024"]).seen
    "dates such as '03/04/2024', of which no day above 12 tells whether day or month comes first"
    """
    if len(texts) > MOST_TEXTS:
        texts = sorted(texts)[:: -(-len(texts) // MOST_TEXTS)]
    known = [text for text in texts if not is_gap_text(text)]
    if 0 < len(known) < len(texts) and all(WHOLE.fullmatch(text.strip()) for text in known):
        return Written.number()
    if len(known) < FEWEST_TEXTS:
        return None
    tried = known[:: max(1, len(known) // N_TRIED)]
    ways: tuple[tuple[Callable[[str], Any], Callable[[Sequence[str]], Written | Doubt | None]], ...] = (
        (duration_of, _durations),
        (number_text, partial(_numbers, decimal=decimal)),
        (_may_be_date, _dates),
    )
    for parse, found_in in ways:
        if sum(parse(text) is not None for text in tried) >= 0.5 * len(tried):
            found = found_in(known)
            if found is not None:
                return found
    return None


def is_gap_text(text: str) -> bool:
    """Whether a text means a missing value, in a column that otherwise holds numbers or dates."""
    return text.strip().casefold() in GAPS


def decimal_shown(texts: Sequence[str], written: Written) -> str:
    """The decimal separator of these numbers if a text can be read with no other one; empty if any would do."""
    if written.what is not What.NUMBER or not written.thousands:
        return ""
    swapped = "." if written.decimal == "," else ","
    group = written.thousands if written.thousands in " '" else written.decimal
    other = Written.number(written.unit, swapped, group)
    return written.decimal if any(other.value(text) is None is not written.value(text) for text in texts) else ""


def sole_notation(texts: Sequence[str], what: What) -> Written | Doubt:
    """The notation in which all these texts are numbers or dates, if there is only one reading of them."""
    signs = ((".", ""), (",", "."), (".", ","))
    numbers = [Written.number("", decimal, thousands) for decimal, thousands in signs]
    ways = [Written.date(order) for order in ORDERS] if what is What.DATE else numbers
    n_read = [sum(way.value(text) is not None for text in texts) for way in ways]
    fit = [way for way, n in zip(ways, n_read, strict=True) if n == max(n_read)]
    odd = next((text for text in texts if len({way.value(text) for way in fit}) > 1), None)
    if odd is None or fit[0] is ways[0]:
        return fit[0]
    low, high = (str(way.value(odd)).removesuffix(".0").removesuffix(" 00:00:00") for way in fit[:2])
    return Doubt(f"{shown(odd)}, which may be {low} or {high}", WHICH_DECIMAL)


def _may_be_date(text: str) -> datetime | None:
    return date_of(text, Order.DAY) or date_of(text, Order.MONTH)


def _durations(texts: Sequence[str]) -> Written | None:
    found = [duration for duration in map(duration_of, texts) if duration is not None]
    if len(found) < READABLE * len(texts) or (
        len(texts) < FEWEST_BARE and not all(duration.units for duration in found)
    ):
        return None
    return Written.duration(_common_unit(found))


def _common_unit(durations: Sequence[DurationText]) -> str:
    """The unit common to all; seconds if there are several."""
    units = {duration.units for duration in durations}
    (first, *others) = units
    return first[0] if not others and len(first) == 1 else "second"


def _numbers(texts: Sequence[str], decimal: str) -> Written | Doubt | None:
    found = {text: number for text in texts if (number := number_text(text)) is not None}
    if len(found) < READABLE * len(texts):
        return None
    unit = _unit(found, len(texts))
    if not isinstance(unit, str):
        return unit
    alike = {text: number for text, number in found.items() if number.unit in (unit, "" if unit != NEEDED else unit)}
    if not unit and _are_codes(list(alike.values())):
        return None
    if len(alike) < READABLE * len(texts):
        return _without_unit(found, alike) if unit == NEEDED else None
    return _negative_in_two_ways(alike) or _with_signs(alike, unit, len(texts), decimal)


def _without_unit(found: dict[str, NumberText], alike: dict[str, NumberText]) -> Doubt:
    """The doubt about numbers of which only some have a unit, if all need one."""
    without = next(text for text, number in found.items() if not number.unit)
    seen = f"numbers with and without {NEEDED}, such as {shown(next(iter(alike)))} and {shown(without)}"
    return Doubt(seen, ONE_WAY)


def _negative_in_two_ways(found: dict[str, NumberText]) -> Doubt | None:
    """Doubt about numbers in brackets (negative), unless some have no brackets and none has a minus."""
    bracketed = next((text for text, number in found.items() if number.sign == BRACKETS), None)
    if bracketed is None:
        return None
    if all(number.sign == BRACKETS for number in found.values()):
        return Doubt(f"all numbers are in brackets, such as {shown(bracketed)}", "Write them with a minus, or without")
    minus = next((text for text, number in found.items() if number.sign == "-"), None)
    if minus is None:
        return None
    return Doubt(f"numbers with a minus such as {shown(minus)} and in brackets such as {shown(bracketed)}", ONE_WAY)


def _unit(found: dict[str, NumberText], n_texts: int) -> str | Doubt | None:
    """The unit of a column; if there are several, a `Doubt`, or None for letters as in "12A" and "12B"."""
    times = Counter(number.unit for number in found.values())
    units = [(unit, n) for unit, n in times.most_common() if unit]
    if not units or (units[0][1] + times[""]) >= READABLE * n_texts:
        return units[0][0] if units else ""
    common = [unit for unit, n in units if n >= COMMON_UNIT * n_texts]
    covered = times[""] + sum(times[unit] for unit in common)
    is_plain = not common or len(common) > MOST_UNITS or all(len(unit) == 1 for unit in common if unit.isalpha())
    if covered < READABLE * n_texts or is_plain:
        return None
    examples = [next(text for text, number in found.items() if number.unit == unit) for unit in common]
    return Doubt(f"numbers in different units, such as {listed(map(shown, examples))}", "Convert them to one unit")


def _are_codes(numbers: Sequence[NumberText]) -> bool:
    """Whether numbers without a unit are codes: whole, and few or all of the same length."""
    is_whole = all(number.digits.replace(" ", "").isdigit() for number in numbers)
    is_short = len(numbers) < FEWEST_BARE or len({number.n_digits for number in numbers}) == 1
    return is_whole and is_short and (len(numbers) < FEWEST_BARE or not any(number.exponent for number in numbers))


def _with_signs(found: dict[str, NumberText], unit: str, n_texts: int, decimal: str) -> Written | Doubt | None:
    """The notation with the separators that the whole column shows; a `Doubt` if it does not show them."""
    digits = [number.digits for number in found.values()]
    group = next((sign for sign in " '" if any(sign in text for text in digits)), "")
    ways = {".": group or ",", ",": group or "."}
    values = {
        decimal: [value_of(number, decimal, thousands) for number in found.values()]
        for decimal, thousands in ways.items()
    }
    each = list(zip(found, values["."], values[","], strict=True))
    only = {
        ".": sum(comma is None and point is not None for _, point, comma in each),
        ",": sum(point is None and comma is not None for _, point, comma in each),
    }
    differ = [text for text, point, comma in each if None not in (point, comma) and point != comma]
    n_read = {decimal: sum(value is not None for value in numbers) for decimal, numbers in values.items()}
    best, other = sorted(n_read, key=lambda decimal: only[decimal], reverse=True)
    enough = READABLE * n_texts
    if n_read[best] < enough:
        both = sum(point is not None or comma is not None for _, point, comma in each)
        return _two_ways(each) if both >= enough and n_read[best] + n_read[other] >= enough else None
    if differ and only[best] < max(1, OUTWEIGHS * only[other]):
        if only[best]:
            return _two_ways(each)
        inferred = _by_plain_numbers(digits, found[differ[0]].digits, len(differ)) or decimal
        if not inferred:
            return _either(differ[0], values, [text for text, _, _ in each])
        best = inferred
    has_signs = any(not text.isdigit() for text in digits)
    return Written.number(unit, best, ways[best] if has_signs else "")


def _by_plain_numbers(digits: Sequence[str], example: str, n_groups: int) -> str:
    """The decimal sign of numbers such as 1,234, inferred from those without a separator; empty if in doubt."""
    n_short = sum(text.isdigit() and len(text) <= 3 for text in digits)
    n_long = sum(text.isdigit() and len(text) > 3 for text in digits)
    sign = "," if "," in example else "."
    if n_groups < FEWEST_GROUPS or max(n_short, n_long) < FEWEST_PLAIN:
        return ""
    if n_long == 0:
        return "." if sign == "," else ","
    return sign if n_long >= FEWEST_PLAIN else ""


def _two_ways(each: Sequence[tuple[str, float | None, float | None]]) -> Doubt:
    with_point = next(text for text, point, comma in each if comma is None and point is not None)
    with_comma = next(text for text, point, comma in each if point is None and comma is not None)
    seen = f"decimals after a point in {shown(with_point)} and after a comma in {shown(with_comma)}"
    return Doubt(seen, ONE_WAY)


def _either(text: str, values: dict[str, list[float | None]], texts: list[str]) -> Doubt:
    low, high = (f"{numbers[texts.index(text)]:,}".removesuffix(".0") for numbers in values.values())
    return Doubt(f"{shown(text)}, which may be {low} or {high}, and no other text tells which", WHICH_DECIMAL)


def _dates(texts: Sequence[str]) -> Written | Doubt | None:
    days = {order: [date_of(text, order) for text in texts] for order in (Order.DAY, Order.MONTH)}
    each = list(zip(texts, days[Order.DAY], days[Order.MONTH], strict=True))
    if sum(day is not None or month is not None for _, day, month in each) < READABLE * len(texts):
        return None
    if len(texts) < FEWEST_BARE and not all(FULL_YEAR.search(text) for text in texts):
        return None
    if all(map(_are_two_years, texts)):
        return None
    only_day = [text for text, day, month in each if day is not None and month is None]
    only_month = [text for text, day, month in each if month is not None and day is None]
    if only_day and only_month:
        seen = f"dates with the day first in {shown(only_day[0])} and with the month first in {shown(only_month[0])}"
        return Doubt(seen, "Write them in one order")
    either = [text for text, day, month in each if day != month]
    if not either:
        return Written.date(Order.YEAR)
    if not only_day and not only_month:
        seen = f"dates such as {shown(either[0])}, of which no day above 12 tells whether day or month comes first"
        return Doubt(seen, "Convert the column to dates")
    return Written.date(Order.DAY if only_day else Order.MONTH)


def _are_two_years(text: str) -> bool:
    years = TWO_YEARS.fullmatch(text.strip())
    return years is not None and (int(years[1]) + 1) % 100 == int(years[2])
