"""What stands out in the values of categories: spellings of one value, and text that may mean a missing value."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from numpy.typing import NDArray

from sepc.columns.kinds import Column, Kind
from sepc.columns.recognition import is_gap_text
from sepc.looking.findings import Finding, Severity
from sepc.looking.spelling import fold_spelling
from sepc.wording import MOST_NAMES, counted, listed, shown

# Of the texts that mean a missing value among numbers, those that pandas.read_csv makes missing in any column.
PANDAS_GAPS = frozenset(
    ["#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL"]
    + ["NaN", "None", "n/a", "nan", "null"]
)
# Columns with more values are not compared.
MOST_COMPARED = 2_000


def category_findings(columns: Collection[Column], values: Mapping[str, NDArray[Any]]) -> list[Finding]:
    """A finding for each categorical column with values that differ only in case and blanks, or may mean missing.

    Parameters
    ----------
    columns : columns
        What the columns are.
    values : mapping of name to (n,) array
        The columns that are used.
    """
    found = []
    for column in columns:
        if column.kind is Kind.CATEGORY and not column.doubt:
            counts = Counter(value for value in values[column.name].tolist() if isinstance(value, str))
            if len(counts) <= MOST_COMPARED:
                found += [*_alike_findings(column.name, counts), *_gap_findings(column.name, counts)]
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
