"""What stands out in labels: spellings that look alike, labels with few rows, and numbers that are not classes."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepc.columns.recognition import is_gap_text
from sepc.columns.table import is_gap
from sepc.looking.columns import are_one_letter_apart, fold_spelling, sentinel_findings, without_a_letter
from sepc.looking.findings import Finding, Severity
from sepc.wording import MOST_NAMES, counted, listed, name_of, percent, shown

ABOUT = "labels"
# Texts that stand for a missing value in a column of numbers, but are classes as likely as not.
MAY_BE_CLASSES = frozenset({"none", "unknown", "missing"})
LEAVE_OUT = "leave such rows out before a fit: X[keep], y[keep] with keep = pandas.notna(y)"

# A label with at most this share of another's rows may be a misspelling of it.
RARE_SHARE = 0.1
# With more labels than this, spellings are not compared.
MOST_COMPARED = 2_000
# A test on 30 % of the rows has about two rows of a label with fewer than this, too few to judge the label by.
FEWEST_ROWS = 10
# This many different whole numbers are seldom classes.
MANY_NUMBERS = 30
# Numbers that fill more than this share of their range are amounts rather than codes.
FILLED_SHARE = 0.5
# Amounts have rare values: the rarest tenth have at most this share of the rows of the most frequent value.
TAIL_SHARE = 0.1
REMEDY = (
    "Bin them, as with pandas.cut(y, 3, labels=False), or use a regressor; if they are codes, give them as text or "
    "name the column with --categorical"
)


@dataclass(frozen=True)
class Misspelling:
    """A label that looks like another one, which is more frequent."""

    label: str
    meant: str
    n_label: int
    n_meant: int


def label_findings(y: ArrayLike, *, has_all: bool = True) -> list[Finding]:
    """What stands out in labels.

    Examples
    --------
    >>> for finding in label_findings(["sick"] * 40 + ["well"] * 60 + ["Sick"]):
    ...     print(finding.seen)
    'Sick' (1 row) beside 'sick' (40 rows)
    """
    labels, counts = counted_labels(y)
    found = [*_missing(np.size(y), np.size(y) - sum(counts)), *_gap_texts(labels, counts)]
    if len(labels) == 0:
        return found
    if finding := _not_classes(labels, counts):
        return [*found, finding]
    if _are_numbers(labels):
        found += sentinel_findings(ABOUT, np.repeat(np.array(labels, dtype=np.float64), counts))
    alike = misspellings(labels, counts)
    few = _few(labels, counts, {found.label for found in alike}) if has_all else []
    return [*found, *_alike_findings(alike), *_many(labels), *few]


def _missing(n_rows: int, n: int) -> list[Finding]:
    seen = f"{n:,} of {counted(n_rows, 'row')} {'has' if n == 1 else 'have'} no label"
    matters = "A fit needs a label in every row; if rows without one differ from the others, results are for the others"
    advice = f"In Python, {LEAVE_OUT}; the command leaves them out"
    return [Finding(ABOUT, Severity.DOUBTFUL, seen, matters, advice)] if n else []


def _gap_texts(labels: Sequence[Any], counts: Sequence[int]) -> list[Finding]:
    """A finding if labels look like missing ones; a minus beside a plus does not."""
    n_rows = {label: n for label, n in zip(labels, counts, strict=True) if isinstance(label, str)}
    but = MAY_BE_CLASSES | ({"-"} if "+" in n_rows else set())
    signs = [label for label in n_rows if is_gap_text(label) and label.strip().casefold() not in but]
    if not signs:
        return []
    signs.sort(key=lambda label: -n_rows[label])
    seen = f"{listed([_with_rows(label, n_rows[label]) for label in signs], MOST_NAMES)}, which may be a missing label"
    advice = f"If so, give None in Python (--na={','.join(signs)} in the command), and {LEAVE_OUT}"
    return [Finding(ABOUT, Severity.WRONG, seen, "A model would learn and predict it as a class", advice)]


def warn_of_labels(labels: Sequence[Any], counts: Sequence[int]) -> None:
    """Warn of labels, with their numbers of rows, that look like gaps or misspellings of others; called by `fit`."""
    for finding in _gap_texts(labels, counts):
        warnings.warn(f"Labels: {str(finding).removeprefix(f'{ABOUT}: ')}", UserWarning, stacklevel=6)
    pairs = [f"{shown(found.label)} (like {shown(found.meant)})" for found in misspellings(labels, counts)]
    if pairs:
        warnings.warn(
            f"Labels that look like others spelled differently: {listed(pairs, MOST_NAMES)}. Each is a separate "
            "class; if they mean the same, merge them with sepc.look(X, y).merged_labels(y) or --merge-labels.",
            UserWarning,
            stacklevel=6,
        )


def refuse_numbers(labels: Sequence[Any], counts: Sequence[int]) -> None:
    """Raise if labels are clearly numbers, such as measurements or ages, and not classes."""
    if seems := _amounts(labels, counts):
        raise ValueError(f"Unknown label type: y has {seems}, which are amounts, not classes. {REMEDY}.")


def misspellings(labels: Sequence[Any], counts: Sequence[int]) -> list[Misspelling]:
    """Labels that differ from a more frequent one only in case or blanks, or that are rare and differ in one letter."""
    n_rows = {label: n for label, n in zip(labels, counts, strict=True) if isinstance(label, str)}
    if not 2 <= len(n_rows) <= MOST_COMPARED:
        return []
    spellings = defaultdict(list)
    for label in sorted(n_rows, key=lambda label: -n_rows[label]):
        spellings[fold_spelling(label)].append(label)
    n_spelled = {spelling: sum(n_rows[label] for label in same) for spelling, same in spellings.items()}
    found = []
    for spelling, meant in _meant(n_spelled).items():
        usual, is_one_sign = spellings[meant][0], len(spelling) == 1
        found += [
            Misspelling(label, usual, n_rows[label], n_rows[usual])
            for label in spellings[spelling]
            if label != usual and not (is_one_sign and n_rows[label] > RARE_SHARE * n_rows[usual])
        ]
    return found


def _meant(n_rows: dict[str, int]) -> dict[str, str]:
    """For each spelling, the most frequent one that differs in a letter and is far more common; else itself."""
    near = defaultdict(set)
    for spelling in n_rows:
        for shorter in without_a_letter(spelling):
            near[shorter].add(spelling)
    meant = {}
    for spelling, n in n_rows.items():
        others = {other for shorter in without_a_letter(spelling) for other in near[shorter]}
        usual = [other for other in sorted(others) if n <= RARE_SHARE * n_rows[other]]
        alike = [other for other in usual if are_one_letter_apart(spelling, other)]
        meant[spelling] = max(alike, key=lambda other: n_rows[other], default=spelling)
    return meant


def counted_labels(y: ArrayLike) -> tuple[list[Any], list[int]]:
    """The different labels, without missing ones, and how many rows each has."""
    labels = np.asarray(y).ravel()
    if labels.dtype.kind == "O":
        counts: dict[Any, int] = defaultdict(int)
        for label in labels.tolist():
            if not is_gap(label):
                counts[label] += 1
        return list(counts), list(counts.values())
    distinct, n_rows = np.unique(labels[labels == labels], return_counts=True)
    return distinct.tolist(), n_rows.tolist()


def _not_classes(labels: list[Any], counts: list[int]) -> Finding | None:
    """A finding if the target does not hold classes."""
    if seems := _amounts(labels, counts):
        return Finding(ABOUT, Severity.WRONG, seems, "They are amounts, and every value would be a class", REMEDY)
    if len(labels) > max(MANY_NUMBERS, sum(counts) / 2):
        seen = f"{len(labels):,} different values in {counted(sum(counts), 'row')}, such as {shown(labels[0])}"
        return Finding(
            ABOUT, Severity.WRONG, seen, "A label that occurs once cannot be learned", "Check that these are the labels"
        )
    return None


def _amounts(labels: Sequence[Any], counts: Sequence[int]) -> str:
    """The numbers in words if they are clearly amounts, not classes; else empty."""
    if not _are_numbers(labels):
        return ""
    values, n_rows = np.array(labels, dtype=np.float64), np.array(counts)
    order = np.argsort(values)
    values, n_rows = values[order], n_rows[order]
    span = f"{len(values):,} different numbers in {counted(int(n_rows.sum()), 'row')}, "
    span += f"from {values[0]:.6g} to {values[-1]:.6g}"
    if not np.isfinite(values).all():
        return ""
    if (values != np.round(values)).any():
        return f"{span}, with fractions"
    if len(values) < MANY_NUMBERS:
        return ""
    if len(values) > n_rows.sum() / 2:
        return span
    fills = len(values) / (values[-1] - values[0] + 1.0)
    are_codes = fills == 1.0 and values[0] in (0.0, 1.0)
    tail = np.sort(n_rows)[: max(1, len(n_rows) // 10)].mean()
    return span if fills > FILLED_SHARE and not are_codes and tail <= TAIL_SHARE * n_rows.max() else ""


def _are_numbers(labels: Sequence[Any]) -> bool:
    return bool(labels) and all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)


def _alike_findings(found: list[Misspelling]) -> list[Finding]:
    """A finding for each label that has probable misspellings."""
    meant = defaultdict(list)
    for one in found:
        meant[one.meant].append(one)
    return [
        Finding(
            ABOUT,
            Severity.WRONG,
            f"{listed([_with_rows(one.label, one.n_label) for one in similar], MOST_NAMES)} beside "
            f"{_with_rows(label, similar[0].n_meant)}",
            "Each spelling is a separate class",
            "If they mean the same, merge them with merged_labels(y) or --merge-labels",
            tuple((one.label, label) for one in similar),
        )
        for label, similar in meant.items()
    ]


def _with_rows(label: str, n: int) -> str:
    return f"'{name_of(label)}' ({counted(n, 'row')})"


def _many(labels: list[Any]) -> list[Finding]:
    """A finding if there are many different numbers, which may be codes."""
    if len(labels) < MANY_NUMBERS or not _are_numbers(labels):
        return []
    seen = f"{len(labels):,} different numbers, from {min(labels):.6g} to {max(labels):.6g}"
    return [Finding(ABOUT, Severity.DOUBTFUL, seen, "Each is a separate class, and their order is ignored", REMEDY)]


def _few(labels: list[Any], counts: list[int], but: set[str]) -> list[Finding]:
    """A finding if labels have too few rows for a test; those in `but` have a finding already."""
    few = sorted((n, i) for i, n in enumerate(counts) if n < FEWEST_ROWS and labels[i] not in but)
    if not few:
        return []
    seen = listed([f"{name_of(labels[i])} ({n})" for n, i in few], MOST_NAMES)
    what = "a label" if len(few) == 1 else f"{len(few):,} labels"
    return [
        Finding(
            ABOUT,
            Severity.DOUBTFUL,
            f"{what} with fewer than {FEWEST_ROWS} rows: {seen}",
            f"A test on {percent(0.3)} of the rows has about two of them, too few to judge",
            "Collect more of their rows, leave them out, or merge them with other labels",
        )
    ]
