"""Findings: what stands out in a table and its labels, why it matters, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import frame_of
from sepc.wording import counted

if TYPE_CHECKING:
    import pandas as pd

HEAD = ("about", "seen", "what to do")
TEXTS = ("about", "seen", "matters", "advice")


class Severity(IntEnum):
    """How much a finding matters; the worst have the lowest numbers."""

    WRONG = 1  # results would be wrong, or look better than they are
    DOUBTFUL = 2  # results may be wrong, or look better than they are
    HANDLED = 3  # a fit takes care of it


@dataclass(frozen=True)
class Finding:
    """Something that stands out in a table or its labels.

    Attributes
    ----------
    about : str
        The column, or "labels" or "rows".
    severity : Severity
    seen : str
        What was seen, with an example.
    matters : str
        Why it matters.
    advice : str
        What was done about it, or what to do.
    merges : tuple of (label, label)
        Pairs of a probable misspelling and the label that is meant; see `Findings.merged_labels`.
    """

    about: str
    severity: Severity
    seen: str
    matters: str
    advice: str
    merges: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.about}: {self.seen}. {self.matters}. {self.advice}."

    def to_dict(self) -> dict[str, Any]:
        """The finding as text, ready for JSON."""
        texts = {name: getattr(self, name) for name in TEXTS}
        return {**texts, "severity": self.severity.name, "merges": [list(pair) for pair in self.merges]}


@dataclass(frozen=True, eq=False, repr=False)
class Findings(ShownAsCard, Sequence[Finding]):
    """What stands out in a table, the worst first; `str` gives a line for each finding.

    Attributes
    ----------
    all : tuple of Finding
    n_rows : int
        How many rows the table has.
    n_looked_at : int
        How many of them were examined.
    """

    all: tuple[Finding, ...]
    n_rows: int
    n_looked_at: int

    @classmethod
    def of(cls, found: Sequence[Finding], n_rows: int, n_looked_at: int) -> Findings:
        """Findings, sorted by severity with the worst first."""
        return cls(tuple(sorted(found, key=lambda finding: finding.severity)), n_rows, n_looked_at)

    def __len__(self) -> int:
        return len(self.all)

    @overload
    def __getitem__(self, i: int) -> Finding: ...

    @overload
    def __getitem__(self, i: slice) -> tuple[Finding, ...]: ...

    def __getitem__(self, i: int | slice) -> Finding | tuple[Finding, ...]:
        return self.all[i]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.all)

    def __str__(self) -> str:
        return "\n".join(map(str, self.all)) if self.all else "Nothing stands out."

    def to_frame(self) -> pd.DataFrame:
        """The findings as a pandas DataFrame, a row for each."""
        columns: dict[str, list[str]] = {name: [getattr(finding, name) for finding in self.all] for name in TEXTS}
        return frame_of({"severity": [finding.severity.name for finding in self.all], **columns})

    def merged_labels(self, y: ArrayLike) -> NDArray[Any]:
        """A copy of the labels in which probable misspellings are replaced by the label that is meant.

        Parameters
        ----------
        y : array of shape (n,)
            The labels that were examined, or others with the same spellings.
        """
        meant = dict(pair for finding in self.all for pair in finding.merges)
        labels = np.asarray(y)
        return np.array([meant.get(label, label) for label in labels.tolist()], dtype=labels.dtype)

    @property
    def title(self) -> str:
        """How many findings there are, in how many rows."""
        is_sample = self.n_looked_at < self.n_rows
        looked = f"a sample of {self.n_looked_at:,} of {self.n_rows:,}" if is_sample else f"{self.n_rows:,}"
        return f"{counted(len(self), 'finding')} in {looked} rows"

    def _card(self) -> Card:
        rows = tuple((finding.about, finding.seen, finding.advice) for finding in self.all)
        return Card(self.title, (), HEAD if rows else (), rows, "As a DataFrame: to_frame()" if rows else "")
