"""What stands out in columns: left out, in doubt, totals, codes for missing values, units, spellings of one value."""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import FloatArray, IntArray
from sepc.columns.kinds import CODE, CODE_SHARE, OTHER_TEXTS, READ_AGAIN, Column, Kind, distinct_of
from sepc.columns.notations import UNITS, unit_of
from sepc.columns.preparation import left_out_in_words
from sepc.columns.recognition import MIXED_ZONES, What, is_gap_text
from sepc.errors import LeftOutWarning
from sepc.looking.findings import Finding, Severity
from sepc.wording import MOST_NAMES, counted, listed, percent, shown

# Names of a row of totals, in several languages.
TOTAL = re.compile(
    r"(?:grand |sub)?[- ]?totals?|sum|sums|total g[eé]n[eé]ral|summe|gesamt(?:summe)?|insgesamt|totaal|totale|"
    r"suma|soma|toplam|итого|всего|合计|总计|合計|計",
    re.IGNORECASE,
)
# Fewer nonzero cells than this may add up to the last one by chance.
FEWEST_ADDED = 3
# A sum may be off by this share of the absolute values added up, because of rounding.
TOLERANCE = 1e-6


def total_findings(last: Mapping[str, NDArray[Any]], values: Mapping[str, NDArray[Any]]) -> list[Finding]:
    """A finding if the last row is called a total and holds a sum, or if all of its numbers, at least two, are sums.

    Examples
    --------
    >>> sold = np.array([12.0, 7.0, 9.5, 28.5])
    >>> shop = np.array(["north", "south", "west", "Total"], dtype=object)
    >>> total_findings({"shop": shop[-1:]}, {"shop": shop, "sold": sold})[0].seen
    "the last of 4 rows holds the sum of column 'sold' ('Total' in column 'shop')"
    """
    numbers = {name: column for name, column in values.items() if column.dtype.kind == "f"}
    known = [name for name, column in numbers.items() if len(column) and not np.isnan(column[-1])]
    sums = [name for name in known if _ends_with_sum(numbers[name])]
    ends = {name: column[-1] for name, column in last.items() if len(column) and isinstance(column[-1], str)}
    called = next((name for name, cell in ends.items() if TOTAL.fullmatch(cell.strip().rstrip(":").strip())), None)
    if not sums or (called is None and (len(sums) < 2 or len(sums) < len(known))):
        return []
    n_rows = len(next(iter(numbers.values())))
    named = listed(map(shown, sums), MOST_NAMES)
    columns = "the sum of column" if len(sums) == 1 else f"the sums of {len(sums):,} columns:"
    word = "" if called is None else f" ({shown(last[called][-1])} in column {shown(called)})"
    return [
        Finding(
            "rows",
            Severity.WRONG,
            f"the last of {n_rows:,} rows holds {columns} {named}{word}",
            "A total is not a case like the others, and its numbers are far from theirs",
            "Used anyway; remove the row",
        )
    ]


def _ends_with_sum(numbers: FloatArray) -> bool:
    """Whether the last number is the sum of the others, of which some are not zero."""
    others = numbers[:-1][~np.isnan(numbers[:-1])]
    if np.count_nonzero(others) < FEWEST_ADDED:
        return False
    with np.errstate(over="ignore"):
        total, size = others.sum(), np.abs(others).sum()
    return bool(np.isfinite(size) and abs(total - numbers[-1]) <= TOLERANCE * size)


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
    return [found for column in columns if (found := _unit_finding(column)) is not None]


def _unit_finding(column: Column) -> Finding | None:
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


# Why columns that are not usable as features matter, by what they seem to be.
MATTERS = {
    "an id": "An id says nothing about new rows",
    "an index": "The position of a row says nothing about new rows",
    "a constant": "A constant separates no classes",
    "free text": "Text that hardly ever repeats is not a category",
    "empty": "There is nothing to learn from it",
}
# Why a doubt matters, by the advice that it comes with.
DOUBTS = {
    MIXED_ZONES: "Times without a zone may be hours off",
    READ_AGAIN: "With thousands read as decimals, 1.234 comes before 950",
    OTHER_TEXTS: "As text, each number would be a category that new rows do not have",
}
NUMBERED = "Ids, and the positions of rows, say nothing about new rows"
AS_TEXT = "As text, each value would be a category that new rows do not have"
LEFT_OUT = "Left out; to use it, name it in force_features (--use)"
OR_CATEGORIES = "to take it as categories, name it in categorical_features (--categorical)"
USED = "Used anyway, because columns of an array have no names; remove it"
REMEDY = "Name them in categorical_features to take them as categories."


def column_findings(columns: Collection[Column], *, has_names: bool = True) -> list[Finding]:
    """A finding for each column that is left out, read as another type, or in doubt."""
    return [found for column in columns if (found := _finding(column, has_names)) is not None]


def _finding(column: Column, has_names: bool) -> Finding | None:
    name, seen = column.name, column.seen
    if column.doubt:
        left_out = f"; left out as {column.why}" if column.kind is Kind.LEFT_OUT else ""
        matters = DOUBTS.get(column.doubt, NUMBERED if column.kind is Kind.NUMBER else AS_TEXT)
        return Finding(name, Severity.DOUBTFUL, f"{seen}{left_out}", matters, column.doubt)
    if column.kind is Kind.LEFT_OUT:
        severity, advice = (Severity.HANDLED, LEFT_OUT) if has_names else (Severity.DOUBTFUL, USED)
        return Finding(name, severity, f"{column.why}: {seen}", MATTERS[column.why], advice)
    if column.written is not None:
        return Finding(name, Severity.HANDLED, seen, AS_TEXT, f"Read as {column.written.named()}; {OR_CATEGORIES}")
    return None


def warn_of_columns(columns: Collection[Column], stacklevel: int) -> None:
    """Warn once of all columns that are left out, read as another type, or in doubt, if there are any."""
    words = [*read_in_words(columns), *doubts_in_words(columns)]
    if left_out := left_out_in_words(columns):
        said = f"Left out, because they are not usable as features: {left_out}."
        words.insert(0, f"{said} Name them in force_features to use them.")
    if words:
        warnings.warn(" ".join(words), LeftOutWarning, stacklevel=stacklevel + 1)


def read_in_words(columns: Collection[Column], remedy: str = REMEDY) -> list[str]:
    """Sentences on text columns that are read as numbers, dates or durations, and on what to do if that is wrong."""
    words = []
    for what in What:
        read_so = [column for column in columns if column.written is not None and column.written.what is what]
        if read_so:
            named = listed([f"{shown(column.name)} ({column.seen})" for column in read_so], MOST_NAMES)
            words.append(f"Read as {what}s: {named}.")
    return [*words, remedy] if words else []


def doubts_in_words(columns: Collection[Column]) -> list[str]:
    """One sentence on columns in doubt, or with a different unit in their name than in their values."""
    doubts = [(column.name, column.seen, column.doubt) for column in columns if column.doubt]
    doubts += [(finding.about, finding.seen, finding.advice) for finding in header_findings(columns)]
    named = [f"{shown(name)} ({seen}: {advice[:1].lower()}{advice[1:]})" for name, seen, advice in doubts]
    return [f"Doubtful: {listed(named, MOST_NAMES)}."] if doubts else []


# In shorter words, one different letter makes a different word; longer text is hardly a label.
SHORTEST_WORD, LONGEST_TEXT = 4, 80


def fold_spelling(text: str) -> str:
    """The text in lower case with single spaces, the same for spellings that differ only in case and spaces.

    Examples
    --------
    >>> fold_spelling(" Very  High") == fold_spelling("very high")
    True
    """
    return " ".join(text.casefold().split())


def without_a_letter(text: str) -> set[str]:
    """The text, and the text without each of its letters; two texts one letter apart have one of these in common."""
    if len(text) > LONGEST_TEXT:
        return {text}
    return {text, *(text[:i] + text[i + 1 :] for i in range(len(text)))}


def are_one_letter_apart(first: str, second: str) -> bool:
    """Whether texts differ by a letter added, dropped, replaced or swapped with the next, in a word of four or more.

    Examples
    --------
    >>> are_one_letter_apart("sick", "sikc"), are_one_letter_apart("type a", "type b")
    (True, False)
    """
    words, others = first.split(), second.split()
    if len(words) != len(others):
        return False
    different = [(word, other) for word, other in zip(words, others, strict=True) if word != other]
    return len(different) == 1 and _is_typo(*different[0])


def _is_typo(word: str, other: str) -> bool:
    if max(len(word), len(other)) < SHORTEST_WORD or word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    longer, shorter = sorted((word[start:], other[start:]), key=len, reverse=True)
    if len(longer) > len(shorter):
        return longer[1:] == shorter and longer[0].isalpha()
    if longer[1:] == shorter[1:]:
        return longer[0].isalpha() and shorter[0].isalpha()
    return longer[:2] == shorter[1::-1] and longer[2:] == shorter[2:] and longer[:2].isalpha()


# Of the texts that mean a missing value among numbers, those that pandas.read_csv makes missing in any column.
PANDAS_GAPS = frozenset(
    ["#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL"]
    + ["NaN", "None", "n/a", "nan", "null"]
)
# Columns with more values are not compared.
MOST_COMPARED = 2_000


def category_findings(columns: Collection[Column], values: Mapping[str, NDArray[Any]]) -> list[Finding]:
    """A finding for each categorical column with values that differ only in case and blanks, or may mean missing."""
    found = []
    for column in columns:
        if column.kind is Kind.CATEGORY and not column.doubt:
            counts = Counter(value for value in values[column.name].tolist() if isinstance(value, str))
            if len(counts) <= MOST_COMPARED:
                found += [*_alike_findings(column.name, counts), *_gap_findings(column.name, counts)]
                found += _zero_findings(column.name, counts)
    return found


def _alike_findings(name: str, counts: Counter[str]) -> list[Finding]:
    spellings = defaultdict(list)
    for value, _ in counts.most_common():
        spellings[fold_spelling(value)].append(value)
    # Single letters, such as a and A, may be different codes.
    pairs = [
        f"{_with_rows(other, counts)} beside {_with_rows(usual, counts)}"
        for spelling, (usual, *others) in spellings.items()
        for other in others
        if len(spelling) > 1 or usual.strip() == other.strip()
    ]
    if not pairs:
        return []
    seen, matters = listed(pairs, MOST_NAMES), "Each spelling is a separate category"
    return [Finding(name, Severity.DOUBTFUL, seen, matters, "If they mean the same, spell them alike")]


def _zero_findings(name: str, counts: Counter[str]) -> list[Finding]:
    """A finding if all values are whole numbers, and some have zeros in front, which many readers of files drop."""
    coded = next((value for value in counts if value[:1] == "0" and len(value) > 1), None)
    if coded is None or not all(map(str.isdecimal, counts)):
        return []
    seen, matters = f"codes with zeros in front, such as {shown(coded)}", "Numbers have no zeros in front"
    advice = "Taken as categories; give new rows as text, too, as with dtype=str in pandas.read_csv"
    return [Finding(name, Severity.HANDLED, seen, matters, advice)]


def _gap_findings(name: str, counts: Counter[str]) -> list[Finding]:
    signs = [value for value in counts if is_gap_text(value)]
    if not signs or len(signs) == len(counts):
        return []
    seen = f"{listed([_with_rows(value, counts) for value in signs], MOST_NAMES)}, which may mean a missing value"
    changed = [value for value in signs if value in PANDAS_GAPS]
    matters = "As text it is a category of its own, such as NA for a country, and not a missing value"
    advice = "If it means one, mark it as missing (None; --na in the command)"
    if changed:
        advice += f"; pandas.read_csv does so with {listed(map(shown, changed))}, unless keep_default_na=False"
    return [Finding(name, Severity.DOUBTFUL, seen, matters, advice)]


def _with_rows(value: str, counts: Counter[str]) -> str:
    return f"{shown(value)} ({counted(counts[value], 'row')})"


# Numbers that people and programs write for a missing value: nines, and the ends of the ranges of whole numbers. They
# stand for one if they repeat, and are as far from the others as these are from each other.
NINES = re.compile(r"-?(?:99+(?:\.9+)?|9\.9+)")
ENDS = frozenset({-32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, 4294967295.0})
# Fewer values than this are hardly ids, nor are values of which each has fewer rows than this on average.
FEWEST_IDS, FEWEST_ROWS_EACH = 30, 1.5
# Names of columns of ids.
NAMED_ID = re.compile(
    r"(?:.*[\W_])?(?:id|ID|Id|uuid|UUID|guid|GUID)|.*[a-z](?:Id|ID)|"
    r"(?i:patient|subject|person|customer|client|user|member|account|household|kunden?)"
    r"(?i:[\W_]*(?:nr|no|num|number|nummer|key|code))?"
)
# How much more often two rows of one id have the same label than two rows of any, as a share of what is possible: at
# least this for numbers, and this for text. Numbers that follow each other have at most a share of it in common.
FEWEST_ALIKE, FEWEST_ALIKE_TEXTS, NEXT_ALIKE = 0.1, 0.5, 0.25
# Chance explains smaller differences than this many standard errors.
STANDARD_ERRORS = 4.0
# Ids have similar numbers of rows; the most frequent value of an amount often has many more than the average.
MOST_ROWS_EACH = 8.0


def code_findings(values: Mapping[str, NDArray[Any]], y: ArrayLike | None = None) -> list[Finding]:
    """A finding for each column with numbers that may stand for a missing value, and for each that may hold ids.

    Examples
    --------
    >>> dose = np.append(np.arange(100.0) % 10, [999.0] * 5)
    >>> code_findings({"dose": dose})[0].seen
    '999 (5 rows), far from all other values (0 to 9)'
    """
    labels = None if y is None else np.unique(np.asarray(y).astype(str), return_inverse=True)[1]
    found = []
    for name, column in values.items():
        if column.dtype.kind == "f":
            found += sentinel_findings(name, column[~np.isnan(column)])
        if column.dtype.kind in "fO":
            found += _id_findings(name, column, labels)
    return found


def sentinel_findings(about: str, numbers: FloatArray) -> list[Finding]:
    """A finding if numbers such as -999 or 9999 are far from all others."""
    distinct, times = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    are_odd = np.zeros(len(distinct), dtype=bool)
    if len(distinct) and any(map(_is_sentinel, distinct[[0, -1]].tolist())):
        are_odd[:] = [_is_sentinel(number) for number in distinct.tolist()]
    if not are_odd.any() or (~are_odd).sum() < 2:
        return []
    low, high = distinct[~are_odd][[0, -1]]
    with np.errstate(over="ignore"):
        are_far = are_odd & (np.maximum(distinct - high, low - distinct) >= high - low) & (times > 1)
    if not are_far.any():
        return []
    each = {f"{number:.10g}": n for number, n in zip(distinct[are_far].tolist(), times[are_far].tolist(), strict=True)}
    with_rows = listed([f"{number} ({counted(n, 'row')})" for number, n in each.items()], MOST_NAMES)
    seen = f"{with_rows}, far from all other values ({low:.10g} to {high:.10g})"
    matters = "Such a number is often a code for a missing value, and would be taken as it is"
    advice = f"If so, replace it by numpy.nan, or read the file with --na={','.join(each)}"
    return [Finding(about, Severity.DOUBTFUL, seen, matters, advice)]


def _is_sentinel(number: float) -> bool:
    return number in ENDS or NINES.fullmatch(f"{number:.10g}") is not None


def _id_findings(name: str, column: NDArray[Any], labels: IntArray | None) -> list[Finding]:
    """A finding if the values of a column seem to be ids, each of several rows."""
    is_text, is_named = column.dtype.kind == "O", NAMED_ID.fullmatch(name) is not None
    known = np.array([value is not None for value in column], dtype=bool) if is_text else ~np.isnan(column)
    given = column[known]
    if is_text:
        at = {value: i for i, value in enumerate(distinct_of(given.tolist()))}
        distinct, which = list(at), np.array([at[value] for value in given.tolist()], dtype=np.int64)
        if not is_named and sum(CODE.fullmatch(str(text).strip()) is not None for text in at) < CODE_SHARE * len(at):
            return []
    elif (given != np.round(given)).any():
        return []
    else:
        numbers, which = np.unique(given, return_inverse=True)
        distinct = numbers.tolist()
    n, n_distinct = len(which), len(distinct)
    if n_distinct < FEWEST_IDS or n < FEWEST_ROWS_EACH * n_distinct:
        return []
    alike = 0.0 if labels is None else _alike(which, labels[known], is_text)
    if not (is_named or alike):
        return []
    example = shown(distinct[0]) if is_text else f"{distinct[0]:.0f}"
    seen = f"{n_distinct:,} different values such as {example}, each in {n / n_distinct:.0f} rows on average"
    seen += f", and {percent(alike, 0)} of two rows with the same one have the same label" if alike else ""
    matters = "An id, as of a patient, says nothing about new patients, and makes results look better than they are"
    advice = f"If it is an id, leave it out (--drop {name}) and test on rows of other ids; if new rows have the same "
    advice += "values, name it in categorical_features (--categorical)"
    return [Finding(name, Severity.DOUBTFUL, seen, matters, advice)]


def _alike(which: IntArray, labels: IntArray, is_text: bool) -> float:
    """How often two rows of one value have the same label, if far more often than others; otherwise 0."""
    n_labels, rows, of_label = int(labels.max()) + 1, np.bincount(which), np.bincount(labels)
    cells, times = np.unique(which * n_labels + labels, return_counts=True)
    n_pairs = max(1, int((rows * (rows - 1)).sum()))
    same = float((times * (times - 1)).sum() / n_pairs)
    by_chance = float((of_label * (of_label - 1)).sum() / max(1, len(which) * (len(which) - 1)))
    by_luck = STANDARD_ERRORS * float(np.sqrt(2.0 * by_chance * (1.0 - by_chance) / n_pairs))
    least = (FEWEST_ALIKE_TEXTS if is_text else FEWEST_ALIKE) * (1.0 - by_chance)
    if by_chance >= 1.0 or same - by_chance < max(by_luck, least) or rows.max() > MOST_ROWS_EACH * rows.mean():
        return 0.0
    _, at, after = np.intersect1d(cells, cells - n_labels, return_indices=True)
    following = float((times[at] * times[after]).sum() / (rows[1:] * rows[:-1]).sum())
    return same if is_text or following - by_chance <= NEXT_ALIKE * (same - by_chance) else 0.0
