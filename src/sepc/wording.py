"""Format names, numbers and lists consistently in messages, and convert values to plain Python."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from typing import Any


def plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays to plain Python; anything else is returned unchanged."""
    # NumPy is not imported here: the command starts without it.
    return value.tolist() if hasattr(value, "tolist") else value


def json_value(value: Any) -> Any:
    """Convert a value to dicts, lists, strings and numbers; NaN and infinity, which JSON lacks, become None."""
    value = plain(value)
    if hasattr(value, "to_dict"):
        return json_value(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return json_fields(value)
    if isinstance(value, Mapping):
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, ready for JSON; useful to implement `to_dict`."""
    return {field.name: json_value(getattr(record, field.name)) for field in fields(record)}


@cache
def version_of(package: str) -> str:
    """The version of an installed package; "0+unknown" for one that only lies on the path, as a source folder does."""
    # Imported here, since it takes as long as all else that the command starts with.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "0+unknown"


# Enough digits to show a percentage exactly as the user set it, such as a confidence of 99.999 %.
AS_SET = 10

# Ratios of volumes are formatted as percentages too, and may be as large as any float.
PRECISE = Context(prec=400)

# The most names that a message lists; the rest are counted.
MOST_NAMES = 12

# The most terminal columns for a list of labels with their counts, and for each label in it.
LONGEST_LIST = 46
LONGEST_LABEL = 28

# The most numbers that a card lists.
MOST_NUMBERS = 4

# Larger numbers are written with an exponent.
LARGEST_WRITTEN_OUT = 1e9

# Smaller p-values are shown as below this.
SMALL_P = 1e-4

# Longer names are shortened in the middle, since names often differ at the end.
LONGEST_NAME = 80

# Characters that end lines, move the cursor, change the direction of writing or are not characters at all; those that
# join emoji and letters (U+200C, U+200D) stay.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
NO_BREAK = "\u00a0"
SPACES = re.compile(r"[ \t\r\n\f\v\x85\u2028\u2029]+")


def percent(share: float, digits: int = 1) -> str:
    """Format a share as in "87.5 %"; only exactly 1 is "100 %", and only exactly 0 is "0 %".

    Examples
    --------
    >>> percent(0.875), percent(0.5), percent(1.0), percent(0.9996), percent(0.0004)
    ('87.5 %', '50 %', '100 %', 'over 99.9 %', 'under 0.1 %')
    >>> percent(0.875, 0), percent(0.998, 0), percent(0.99999, AS_SET)
    ('88 %', 'over 99 %', '99.999 %')
    """
    return _percent(share, digits, ROUND_HALF_EVEN)


def points(difference: float) -> str:
    """Format a difference of shares in percentage points, with its sign."""
    return f"{100.0 * difference:+.1f}"


def floored_percent(share: float, digits: int = 1) -> str:
    """Format a share as a percentage rounded down, for lower bounds and progress."""
    return _format_percentage(_hundredfold(share).quantize(_step(digits), ROUND_FLOOR, PRECISE))


def interval(low: float, high: float, digits: int = 1) -> str:
    """Format an interval of shares, rounded outwards so that it contains the exact one."""
    return f"{_percent(low, digits, ROUND_FLOOR)} to {_percent(high, digits, ROUND_CEILING)}"


def _percent(share: float, digits: int, rounding: str) -> str:
    if not math.isfinite(share):
        return f"{share} %"
    exact, step = _hundredfold(share), _step(digits)
    rounded = exact.quantize(step, rounding, PRECISE)
    if rounded == exact or rounded not in (0, 100):
        return _format_percentage(rounded)
    if rounded == 0:
        return f"under {_format_percentage(step if exact > 0 else rounded)}"
    return f"over {_format_percentage(rounded if exact > 100 else 100 - step)}"


def _hundredfold(share: float) -> Decimal:
    """A hundred times the decimal number that Python shows: 57 for 0.57, not 56.99999999999999."""
    return 100 * Decimal(repr(float(share) + 0.0))


def _step(digits: int) -> Decimal:
    return Decimal(1).scaleb(-digits)


def _format_percentage(value: Decimal) -> str:
    text = f"{value:f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun in the singular or plural."""
    return f"{n:,} {singular if n == 1 else plural or f'{singular}s'}"


def listed(parts: Iterable[str], most: int | None = None) -> str:
    """Join parts with commas and "and"; those beyond `most` are counted."""
    *first, last = list(parts) or [""]
    if most is not None and len(first) >= most:
        first, last = [*first, last][:most], f"{len(first) + 1 - most:,} more"
    return f"{', '.join(first)} and {last}" if first else last


def shown(label: Any) -> str:
    """A label as it is written in Python code."""
    return repr(plain(label))


def check_number(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
    whole: bool = False,
    instead: str = "",
) -> None:
    """Raise, in the same words everywhere, unless a parameter is a finite number within limits."""
    is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
    if not (is_number and least <= value <= most and above < value < below):
        words = {"of at least": least, "above": above, "at most": most, "below": below}
        limits = listed(f"{word} {limit:,}" for word, limit in words.items() if math.isfinite(limit))
        given = f"{'the text ' if isinstance(value, str) else ''}{short(visible(shown(value)))}"
        wanted = f"a {'whole ' if whole else ''}number {limits}{instead and f', {instead}'}"
        raise ValueError(f"{name} is {given}; it must be {wanted}.")


def did_you_mean(wrong: Sequence[str], names: Iterable[str]) -> str:
    """A question to append to an error: the most similar of `names` to each wrong one; empty if none is similar."""
    folded = {name.casefold(): name for name in names}
    matches = [match for name in wrong for match in get_close_matches(name.casefold(), list(folded), n=1)]
    return f" Did you mean {listed(shown(folded[match]) for match in dict.fromkeys(matches))}?" if matches else ""


def name_of(value: Any) -> str:
    """A label, a feature or an index as short text on one line."""
    return short(visible(str(plain(value))))


def visible(text: str) -> str:
    r"""The text on one line, with invisible and control characters replaced by codes such as ``\x1b``."""
    # Most texts have nothing to replace, and this is asked of every text of a page.
    if text.isprintable() and "  " not in text:
        return text
    return HIDDEN.sub(_code, SPACES.sub(" ", text))


def printable(text: str) -> str:
    r"""The text, with control and invisible characters replaced by codes such as ``\x1b``; line breaks stay."""
    return "\n".join(HIDDEN.sub(_code, line) for line in text.split("\n"))


def _code(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def short(text: str, longest: int = LONGEST_NAME) -> str:
    """The text, shortened in the middle if it is longer than `longest`."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"


def columns_of(text: str) -> int:
    """The width of a text in terminal columns."""
    return sum(
        0 if unicodedata.combining(sign) or sign in "\u200c\u200d\ufe0e\ufe0f" else _width(sign) for sign in text
    )


def _width(sign: str) -> int:
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def numbers(values: Any) -> str:
    """Numbers in brackets; only the first few of many."""
    kept = [plain(value) for value in values]
    more = [f"… {len(kept) - MOST_NUMBERS:,} more"] if len(kept) > MOST_NUMBERS else []
    return f"({', '.join([f'{value:.4g}' for value in kept[:MOST_NUMBERS]] + more)})"


def with_counts(labels: Iterable[Any], counts: Iterable[int]) -> str:
    """Labels with their row counts, as in "benign (357), malignant (212)"; the rest are counted."""
    pairs = [f"{short(name_of(label), LONGEST_LABEL)} ({n:,})" for label, n in zip(labels, counts, strict=True)]
    n_kept, width = 0, 0
    while n_kept < len(pairs) and (width := width + columns_of(pairs[n_kept]) + 2) <= LONGEST_LIST:
        n_kept += 1
    n_kept = max(1, n_kept)
    more = [f"… {len(pairs) - n_kept:,} more"] if len(pairs) > n_kept else []
    return ", ".join(pairs[:n_kept] + more)


def with_number(where: str, region: int) -> str:
    """A region's name, with its number in brackets."""
    number = f"region {region}"
    if where == number:
        return where
    return f"{where[:-1]}; {number})" if where.endswith(")") else f"{where} ({number})"


def p_in_short(p: float, equal: str = "") -> str:
    """A p-value with two digits, after `equal`; the smallest ones are only bounded."""
    return f"{equal}{p:.2g}" if p >= SMALL_P else f"< {SMALL_P:.4f}"


def decimal(value: float) -> str:
    """Format a probability as in "0.875"; only exactly 1 is "1.000", and only exactly 0 is "0.000"."""
    text = f"{value:.3f}"
    if value < 1.0 and text == "1.000":
        return "> 0.999"
    return "< 0.001" if value > 0.0 and text == "0.000" else text


def log_odds(value: float) -> str:
    """A term in log-odds, to one decimal, or to two where that would be zero."""
    text = f"{value:+.1f}" if abs(value) >= 0.05 else f"{value:+.2f}"
    return "0.0" if float(text) == 0.0 else text


def deviations(value: float) -> str:
    """A distance in standard deviations."""
    text = f"{value:.3g}"
    return f"{text} deviation" if text == "1" else f"{text} deviations"


def quantity(value: float) -> str:
    """A feature value: whole numbers in full, others to three significant digits or, from 1,000 up, as integers."""
    if not math.isfinite(value) or value != 0.0 and not 1e-4 <= abs(value) < LARGEST_WRITTEN_OUT:
        return f"{value:.3g}"
    if value == round(value) or abs(value) >= 1000.0:
        return f"{round(value):,}"
    return f"{float(f'{value:.3g}'):,}".removesuffix(".0")


def calendar_day(days: float) -> str:
    """A date, given in days since 1 January 1970."""
    try:
        return (date(1970, 1, 1) + timedelta(days=math.floor(days))).isoformat()
    except (OverflowError, ValueError):
        return f"{quantity(days)} days after 1970"


def cases_of(label: Any, more: str = "") -> str:
    """The phrase for cases of a label, followed by `more`."""
    return f"{name_of(label)} cases{more}" if isinstance(label, str) else f"cases of {name_of(label)}{more}"
