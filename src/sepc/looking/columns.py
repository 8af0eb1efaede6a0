"""What stands out in columns: those left out, those read as another type, and those in doubt."""

from __future__ import annotations

import warnings
from collections.abc import Collection

from sepc.columns.kinds import OTHER_TEXTS, READ_AGAIN, Column, Kind
from sepc.columns.preparation import left_out_in_words
from sepc.columns.recognition import MIXED_ZONES
from sepc.columns.written import What
from sepc.errors import LeftOutWarning
from sepc.looking.findings import Finding, Severity
from sepc.looking.header_units import header_findings
from sepc.wording import MOST_NAMES, listed, shown

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
    """A finding for each column that is left out, read as another type, or in doubt.

    Columns without names, as in an array, are used whatever they seem to be.
    """
    found = [_finding(column, has_names) for column in columns]
    return [finding for finding in found if finding is not None]


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
    """Warn once of all columns that are left out, read as another type, or in doubt, if there are any.

    With a `stacklevel` of 1 the warning points at the caller.
    """
    words = _words(columns)
    if words:
        warnings.warn(" ".join(words), LeftOutWarning, stacklevel=stacklevel + 1)


def _words(columns: Collection[Column]) -> list[str]:
    words = []
    if any(column.kind is Kind.LEFT_OUT for column in columns):
        left_out = left_out_in_words(columns)
        words.append(
            f"Left out, because they are not usable as features: {left_out}. Name them in force_features to use them."
        )
    return [*words, *read_in_words(columns), *doubts_in_words(columns)]


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
    named = listed([f"{shown(name)} ({seen}: {_lower(advice)})" for name, seen, advice in doubts], MOST_NAMES)
    return [f"Doubtful: {named}."] if doubts else []


def _lower(advice: str) -> str:
    return advice[:1].lower() + advice[1:]
