"""Numbers written as text: split into digits and a unit, and parsed with the separators that a column uses."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

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
    """The parts of a number: sign, digits with separators, exponent, and the unit on either side.

    The sign of a number in brackets, which is negative, is "(".
    """

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
