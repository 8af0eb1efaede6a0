"""Units in the names of columns, such as "weight (kg)", compared with those of their values."""

from __future__ import annotations

import re
from collections.abc import Collection

from sepc.columns.kinds import Column
from sepc.columns.number_texts import unit_of
from sepc.columns.time_texts import UNITS
from sepc.columns.written import What
from sepc.looking.findings import Finding, Severity
from sepc.wording import shown

IN_BRACKETS = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$")
# Spellings of units that people confuse; anything else in brackets, as in "price (net)", is ignored.
SPELLINGS = {
    **{"kg": ("kg", "kilo", "kilogram"), "g": ("g", "gr", "gram"), "mg": ("mg",), "µg": ("µg", "μg", "ug", "mcg")},
    **{"lb": ("lb", "pound"), "oz": ("oz", "ounce"), "t": ("t", "ton", "tonne")},
    **{"km": ("km", "kilometer", "kilometre"), "m": ("m", "meter", "metre"), "cm": ("cm",), "mm": ("mm",)},
    **{"mi": ("mi", "mile"), "ft": ("ft", "feet", "foot"), "in": ("in", "inch", "inche")},
    **{"l": ("l", "liter", "litre"), "ml": ("ml",), "gal": ("gal", "gallon")},
    **{"°c": ("°c", "celsius"), "°f": ("°f", "fahrenheit"), "%": ("%", "percent", "pct")},
    **{"eur": ("eur", "€", "euro"), "usd": ("usd", "$", "us$"), "gbp": ("gbp", "£"), "chf": ("chf", "fr")},
    **{"jpy": ("jpy", "¥"), "inr": ("inr", "₹", "rs"), "try": ("try", "₺"), "km/h": ("km/h", "kmh", "kph")},
    **{"mph": ("mph",), "m2": ("m2", "m²", "sqm"), "sq ft": ("sq ft", "sqft", "ft2", "ft²")},
}
USUAL = {
    **{spelling: usual for usual, spellings in SPELLINGS.items() for spelling in spellings},
    **{spelling: unit for spelling, unit in UNITS.items() if spelling not in ("m", "d", "w")},
}


def header_findings(columns: Collection[Column]) -> list[Finding]:
    """A finding for each column whose name has a different unit from its values."""
    found = [_finding(column) for column in columns]
    return [finding for finding in found if finding is not None]


def _finding(column: Column) -> Finding | None:
    if column.written is None or column.written.what is What.DATE:
        return None
    bracketed = IN_BRACKETS.search(column.name)
    named = "" if bracketed is None else bracketed[1].strip()
    unit = column.written.unit
    in_name, in_values = USUAL.get(unit_of(named)), USUAL.get(unit.casefold())
    if column.written.what is What.DURATION and named.casefold() in UNITS:
        in_name = UNITS[named.casefold()]
    if in_name is None or in_values is None or in_name == in_values:
        return None
    return Finding(
        column.name,
        Severity.DOUBTFUL,
        f"its name says {shown(named)}, but its values are in {shown(unit)}",
        "Anyone who goes by the name misreads the numbers",
        f"Read as {column.written.named()}; correct the name or the values",
    )
