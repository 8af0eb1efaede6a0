"""Numbers, dates and durations written as text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NAME = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?"
)
CLOCK = (
    r"(?:(?:T|,? )(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?"
    r" ?(?P<half>[ap]m)?(?P<zone> ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
)
DATES = tuple(
    re.compile(form + CLOCK, re.IGNORECASE)
    for form in (
        r"(?P<y>\d{4})(?P<sign>[-/.])(?P<m>\d{1,2})(?P=sign)(?P<d>\d{1,2})",
        r"(?P<a>\d{1,2})(?P<sign>[-/.])(?P<b>\d{1,2})(?P=sign)(?P<y>\d{4}|\d\d)",
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?P<sign>[- /.]|\. ?)(?P<name>{NAME})\.?,?[- /.](?P<y>\d{{4}}|\d\d)",
        rf"(?P<name>{NAME})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
    )
)
# Months without a day, which stand for their first day.
MONTHS_ALONE = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?P<y>(?:1[89]|20)\d\d)[-/](?P<m>\d\d)",
        r"(?P<m>\d{1,2})[-/](?P<y>(?:1[89]|20)\d\d)",
        rf"(?P<name>{NAME})\.?,?[- /](?P<y>(?:1[89]|20)\d\d)",
        rf"(?P<y>(?:1[89]|20)\d\d)[- /](?P<name>{NAME})\.?",
    )
)
# Two-digit years from here on are in the 1900s, as in Python's strptime.
LAST_CENTURY = 69

SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hour"),
    **dict.fromkeys(("d", "day", "days"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks"), "week"),
}
# Letters that may mean another unit if they stand alone, such as metres.
LETTERS = frozenset("smdw")
TERM = re.compile(rf"(\d+(?:[.,]\d+)?) ?({'|'.join(sorted(UNITS, key=len, reverse=True))})\b\.?", re.IGNORECASE)
HOURS = re.compile(r"(\d{1,4}):([0-5]\d):([0-5]\d(?:[.,]\d+)?)|(\d\d):([0-5]\d)")
BETWEEN = re.compile(r"(?:,? and |, ?| ?)?")


class Order:
    """What comes first in dates such as 03/04/2024; with `YEAR`, such dates cannot be read."""

    YEAR = "ymd"
    DAY = "dmy"
    MONTH = "mdy"


ORDERS = (Order.YEAR, Order.DAY, Order.MONTH)


def date_of(text: str, order: str) -> datetime | None:
    """The date that a text stands for, in UTC if it has a time zone; None if it is not a date.

    Examples
    --------
    >>> str(date_of("03/04/2024", Order.DAY)), str(date_of("3 Mar 2024", Order.YEAR)), date_of("30/04/24", Order.MONTH)
    ('2024-04-03 00:00:00', '2024-03-03 00:00:00', None)
    """
    found = next(filter(None, (form.fullmatch(text.strip()) for form in DATES)), None)
    if found is None:
        return _month_of(text.strip())
    given = found.groupdict()
    year = int(given["y"]) + (0 if len(given["y"]) == 4 else 1900 if int(given["y"]) >= LAST_CENTURY else 2000)
    if given.get("name"):
        month, day = _number_of(given["name"]), int(given["d"])
    elif given.get("m"):
        month, day = int(given["m"]), int(given["d"])
    elif given["sign"] == "." or order == Order.DAY:
        day, month = int(given["a"]), int(given["b"])
    elif order == Order.MONTH:
        month, day = int(given["a"]), int(given["b"])
    else:
        return None
    try:
        return datetime(year, month, day) + _time_of_day(given)
    except (ValueError, OverflowError):
        return None


def has_zone(text: str) -> bool:
    """Whether a text is a time with a time zone.

    Examples
    --------
    >>> has_zone("2024-03-04T10:00:00Z"), has_zone("4 Mar 2024 10:00 +0100"), has_zone("2024-03-04")
    (True, True, False)
    """
    found = next(filter(None, (form.fullmatch(text.strip()) for form in DATES)), None)
    return found is not None and bool(found["zone"])


def _month_of(text: str) -> datetime | None:
    """The first day of a month, if the text is a month and a year."""
    found = next(filter(None, (form.fullmatch(text) for form in MONTHS_ALONE)), None)
    if found is None:
        return None
    given = found.groupdict()
    month = _number_of(given["name"]) if given.get("name") else int(given["m"])
    return datetime(int(given["y"]), month, 1) if 1 <= month <= 12 else None


def _number_of(name: str) -> int:
    """The number of a month, given its name."""
    return MONTHS.index(name[:3].lower()) + 1


def _time_of_day(given: dict[str, str | None]) -> timedelta:
    """Time since midnight, minus the UTC offset."""
    if not given["hour"]:
        return timedelta(0)
    hour = int(given["hour"])
    if given["half"]:
        hour = hour % 12 + (12 if given["half"].lower() == "pm" else 0)
    micro = int((given["part"] or "").ljust(6, "0")[:6])
    clock = datetime(2000, 1, 1, hour, int(given["minute"] or 0), int(given["second"] or 0), micro)
    zone = (given["zone"] or "").strip().upper().replace(":", "")
    if zone and zone not in ("Z", "UTC"):
        away = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:]))
        clock = clock.replace(tzinfo=timezone(-away if zone[0] == "-" else away)).astimezone(UTC).replace(tzinfo=None)
    return clock - datetime(2000, 1, 1)


class DurationText(NamedTuple):
    """A duration in seconds, and the units it is written in; none for clock times such as "01:23:45"."""

    seconds: float
    units: tuple[str, ...]


def duration_of(text: str) -> DurationText | None:
    """The duration that a text stands for; None if it is not one.

    Examples
    --------
    >>> duration_of("2 days"), duration_of("1h 30m").seconds, duration_of("01:23:45").seconds, duration_of("5 m")
    (DurationText(seconds=172800.0, units=('day',)), 5400.0, 5025.0, None)
    """
    rest = text.strip()
    negative, rest = rest.startswith("-"), rest.removeprefix("-")
    total, units, letters = 0.0, [], []
    while found := TERM.match(rest):
        units.append(UNITS[found[2].lower()])
        letters.append(found[2].lower() in LETTERS)
        total += float(found[1].replace(",", ".")) * SECONDS[units[-1]]
        gap = BETWEEN.match(rest, found.end())
        rest = rest[gap.end() if gap else found.end() :]
    if rest:
        clock = HOURS.fullmatch(rest)
        if clock is None:
            return None
        hours, minutes = clock[1] or clock[4], clock[2] or clock[5]
        total += 3600.0 * int(hours) + 60.0 * int(minutes) + float((clock[3] or "0").replace(",", "."))
        units.append("")
    if not units or (len(units) == 1 and letters == [True]):
        return None
    return DurationText(-total if negative else total, tuple(filter(None, units)))


# Characters that people use interchangeably.
ALIKE = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'", "\u2212": "-"})

CURRENCIES = (
    *("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF"),
    *("TRY", "RUB", "UAH", "BRL", "MXN", "ZAR", "KRW", "SGD", "HKD", r"Fr\.?", r"kr\.?", r"Rs\.?"),
)
# What may precede a number: any other word makes it a code, as in "B 12".
BEFORE = rf"[A-Z]{{0,3}}\$|[€£¥₹₽₺₩₪₫₴฿]|(?:{'|'.join(CURRENCIES)})(?![A-Za-z])"
# What may follow it: a word or two, such as "kg", "%", "m2", "mg/dl" or "sq ft".
AFTER = r"[^\W\d_][^\s\d()]{0,11}[23]?(?: [^\W\d_]{1,9}\.?)?|[%‰°€£¥₹₽₺₩₪₫₴฿$/²³][^\s\d()]{0,9}[23]?"
# Accountants write negative amounts in brackets, with the currency on either side.
IN_BRACKETS = re.compile(rf"(?:(?P<outside>{BEFORE}) ?)?\((?P<inside>[^()+-]+)\)(?P<after> ?[%€£$A-Za-z]{{1,3}})?")
BRACKETS = "("
AMOUNT_UNIT = re.compile(rf"%?|{BEFORE}", re.IGNORECASE)
NUMBER = re.compile(
    rf"(?P<sign>[+-]?) ?(?P<before>{BEFORE})? ?(?P<inner>[+-]?)"
    r"(?P<digits>\d(?:[\d.,' ]*\d)?|[.,]\d+)(?P<exponent>[eE][+-]?\d{1,3})? ?"
    rf"(?P<after>{AFTER})?"
)


class NumberText(NamedTuple):
    """The parts of a number: sign, digits with separators, exponent, and the unit on either side."""

    sign: str
    digits: str
    exponent: str
    unit: str

    @property
    def n_digits(self) -> int:
        """How many digits it has."""
        return sum(sign.isdigit() for sign in self.digits)


def number_text(text: str) -> NumberText | None:
    """Split a text into the parts of a number; None if it is not one in any notation.

    Examples
    --------
    >>> number_text("€ 11,455.14")
    NumberText(sign='', digits='11,455.14', exponent='', unit='€')
    >>> number_text("72,3 kg").unit, number_text("2 rooms").unit, number_text("B 12")
    ('kg', 'room', None)
    >>> number_text("(1,234.50)").sign, number_text("$ (12)").unit, number_text("(a)")
    ('(', '$', None)
    """
    plain = text.translate(ALIKE).strip()
    brackets = IN_BRACKETS.fullmatch(plain) if BRACKETS in plain else None
    if brackets is not None:
        plain = f"{brackets['outside'] or ''} {brackets['inside'].strip()}{brackets['after'] or ''}".strip()
    found = NUMBER.fullmatch(plain)
    if found is None or (found["sign"] and found["inner"]):
        return None
    unit = " ".join(filter(None, (found["before"], unit_of(found["after"] or ""))))
    if brackets is not None and not AMOUNT_UNIT.fullmatch(unit):
        return None
    sign = BRACKETS if brackets else found["sign"] or found["inner"]
    return NumberText(sign, found["digits"], found["exponent"] or "", unit)


def unit_of(text: str) -> str:
    """Normalise a unit: case, plural and a trailing point do not matter."""
    unit = text.strip().rstrip(".").casefold()
    return unit[:-1] if len(unit) > 2 and unit.endswith("s") and not unit.endswith("ss") else unit


def value_of(number: NumberText, decimal: str, thousands: str) -> float | None:
    """The number, if written with these separators, else None; a leading zero, as in "007", makes it a code.

    Examples
    --------
    >>> value_of(number_text("1.234,5"), ",", "."), value_of(number_text("1.234,5"), ".", ",")
    (1234.5, None)
    """
    if not _pattern(decimal, thousands).fullmatch(number.digits):
        return None
    digits = number.digits.replace(thousands, "") if thousands else number.digits
    sign = "-" if number.sign == BRACKETS else number.sign
    value = float(f"{sign}{digits.replace(decimal, '.')}{number.exponent}")
    return value if math.isfinite(value) else None


def read_number(text: str, unit: str, decimal: str, thousands: str, *, needs_unit: bool) -> float | None:
    """The number that a text stands for, if it is written with these separators and in this unit."""
    usual = _usual(unit, decimal, thousands).fullmatch(text)
    if usual is not None and (len(usual[1]) < len(text) or not needs_unit):
        digits = usual[1].replace(thousands, "") if thousands else usual[1]
        return float(digits.replace(decimal, "."))
    number = number_text(text)
    if number is None or not (number.unit == unit or (not number.unit and not needs_unit)):
        return None
    return value_of(number, decimal, thousands)


def read_numbers(
    texts: Sequence[str], unit: str, decimal: str, thousands: str, *, needs_unit: bool
) -> list[float | None]:
    """`read_number` for many texts; those in the usual notation are read in one go, which is much faster."""
    lines = _usual_lines(unit, decimal, thousands, needs_unit).findall("\n".join(texts))
    if len(lines) != len(texts):
        # There are no texts, or some span several lines.
        return [read_number(text, unit, decimal, thousands, needs_unit=needs_unit) for text in texts]
    plain = "\n".join(lines)
    plain = plain.replace(thousands, "") if thousands else plain
    return [
        float(digits) if digits else read_number(text, unit, decimal, thousands, needs_unit=needs_unit)
        for digits, text in zip(plain.replace(decimal, ".").split("\n"), texts, strict=True)
    ]


@lru_cache
def _usual_lines(unit: str, decimal: str, thousands: str, needs_unit: bool) -> re.Pattern[str]:
    """A pattern for lines: the digits of a number in the usual notation, and nothing for any other line."""
    number = _usual(unit, decimal, thousands).pattern
    if needs_unit:
        number = rf"([+-]?(?:{_pattern(decimal, thousands).pattern})) ?{re.escape(unit)}"
    return re.compile(rf"^{number}$|^.*$", re.MULTILINE)


@lru_cache
def _usual(unit: str, decimal: str, thousands: str) -> re.Pattern[str]:
    """A pattern for the usual notation, which is matched faster than all notations."""
    escaped, digits = re.escape(unit), _pattern(decimal, thousands).pattern
    return re.compile(rf"(?:{escaped} ?)?([+-]?(?:{digits}))(?: ?{escaped})?" if unit else rf"([+-]?(?:{digits}))")


@lru_cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    grouped = rf"[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|" if thousands else ""
    point = re.escape(decimal)
    return re.compile(rf"(?:{grouped}0|[1-9]\d*)(?:{point}\d+)?|{point}\d+")
