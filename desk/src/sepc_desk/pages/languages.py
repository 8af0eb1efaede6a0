"""Languages of the pages: catalogues of gettext, and numbers and times as each language writes them."""

from __future__ import annotations

import gettext
import io
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from babel import Locale
from babel.core import UnknownLocaleError, negotiate_locale
from babel.dates import format_date, format_timedelta
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent

from sepc_desk.settings import LANGUAGES

CATALOGUES = Path(__file__).parent / "locale"
# The language of the templates themselves.
SOURCE = "en"
# As many decimals as a number has; by default Babel writes no more than three.
DECIMAL = "#,##0." + 15 * "#"


@dataclass(frozen=True)
class Language:
    """A language, with what it calls things and how it writes numbers.

    Attributes
    ----------
    code : str
    locale : Locale
    texts : NullTranslations
    """

    code: str
    locale: Locale
    texts: gettext.NullTranslations

    def say(self, text: str) -> str:
        """A text in this language."""
        return self.texts.gettext(text)

    def number(self, value: float, digits: int = 4) -> str:
        """A number with at most this many significant digits, except that whole numbers keep all of theirs."""
        shown = float(f"{value:.{digits}g}") if abs(value) < 10**digits else round(value)
        return str(format_decimal(shown, format=DECIMAL, locale=self.locale))

    def percent(self, share: float, digits: int = 0) -> str:
        """A share as a percentage."""
        return str(format_percent(share, format=f"#,##0.{'0' * digits}%" if digits else None, locale=self.locale))

    def time(self, at: int) -> str:
        """Microseconds since 1970 as a date and time in UTC."""
        return f"{self.day(at)}, {datetime.fromtimestamp(at / 1e6, UTC):%H:%M} UTC"

    def clock(self, at: int) -> str:
        """Microseconds since 1970 as a time of the day in UTC."""
        return f"{datetime.fromtimestamp(at / 1e6, UTC):%H:%M:%S} UTC"

    def day(self, at: int) -> str:
        """Microseconds since 1970 as a date."""
        return str(format_date(datetime.fromtimestamp(at / 1e6, UTC), "medium", locale=self.locale))

    def age(self, microseconds: int) -> str:
        """How long something takes or waits, in words."""
        seconds = max(1, microseconds // 1_000_000)
        return str(format_timedelta(seconds, granularity="second", threshold=1.5, locale=self.locale))


@cache
def language(code: str) -> Language:
    """A language by its code."""
    if code == SOURCE:
        return Language(code, Locale(code), gettext.NullTranslations())
    with (CATALOGUES / code / "LC_MESSAGES" / "desk.po").open("rb") as file:
        catalogue = read_po(file, locale=code)
    compiled = io.BytesIO()
    write_mo(compiled, catalogue)
    compiled.seek(0)
    return Language(code, Locale(code), gettext.GNUTranslations(compiled))


def preferred(header: str, default: str) -> str:
    """The language that a browser asks for with Accept-Language, or else the default."""
    wanted = []
    for part in header.split(",")[:20]:
        code, _, weight = part.strip().partition(";q=")
        try:
            wanted.append((float(weight or 1), code.replace("-", "_")))
        except ValueError:
            continue
    ordered = [code for weight, code in sorted(wanted, key=lambda one: -one[0]) if code]
    try:
        return negotiate_locale(ordered, LANGUAGES) or default
    except (UnknownLocaleError, ValueError):
        return default
