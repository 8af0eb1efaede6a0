"""The judgement of a candidate by a plan, line by line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sepc.cards import Card, ShownAsCard
from sepc.decisions.frames import frame_of
from sepc.lifecycle.change_plans.plan_lines import Outcome, PlanLine
from sepc.lifecycle.results.charts import Chart, Pair, PairChart
from sepc.lifecycle.results.result import Result
from sepc.wording import counted, listed

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("criterion", "about", "outcome", "evidence", "n_rows", "estimate", "bound", "limit")
HEAD = ("criterion", "about", "outcome", "evidence")
SHOWN_LETTERS = 16


@dataclass(frozen=True, eq=False, repr=False)
class PlanCheck(Result, ShownAsCard):
    """Whether a candidate meets a change plan: `summary` in words, `to_frame` as a table, `to_html` as a page.

    Attributes
    ----------
    title : str
        That of the plan.
    lines : tuple of PlanLine
        Every criterion, part by part.
    look : int
        Which candidate this was, counted from 1 in the order of first looks.
    most_candidates : int
    is_repeated : bool
        Whether the candidate was judged before; this is then the answer of the first look.
    candidate : str
        The SHA-256 of the candidate, whichever version saved it.
    ledger_head : str
        The digest of the last line of the ledger. A copy kept elsewhere shows later whether the ledger was changed.
    """

    title: str
    lines: tuple[PlanLine, ...]
    look: int
    most_candidates: int
    is_repeated: bool
    candidate: str
    ledger_head: str

    @property
    def passed(self) -> bool:
        """Whether every criterion passed; what the rows cannot decide has not passed."""
        return all(line.passed for line in self.lines)

    def to_frame(self) -> pd.DataFrame:
        """The lines as a pandas DataFrame."""
        columns = {name: [getattr(line, name) for line in self.lines] for name in COLUMNS}
        return frame_of(columns | {"outcome": [line.outcome.value for line in self.lines]})

    def headline(self) -> str:
        """Whether the candidate passed, and how many lines did not."""
        if self.passed:
            return f"Passed: all {counted(len(self.lines), 'line')} of the plan."
        counts = Counter(line.outcome for line in self.lines)
        told = listed([f"{counts[kind]:,} {kind.value}" for kind in Outcome if counts[kind]])
        return f"Not passed: of {counted(len(self.lines), 'line')}, {told}."

    def summary(self) -> str:
        """The judgement in words, a line for each criterion or part of one."""
        again = ", as judged before" if self.is_repeated else ""
        place = f"Candidate {self.look:,} of at most {self.most_candidates:,}{again}"
        end = f"{place}: {self.candidate[:SHOWN_LETTERS]}. Ledger: {self.ledger_head[:SHOWN_LETTERS]}."
        return "\n".join([self.headline(), *(f"- {line}" for line in self.lines), end])

    def __str__(self) -> str:
        return self.summary()

    def _card(self) -> Card:
        again = ", judged before" if self.is_repeated else ""
        facts = (
            ("plan", self.title or "without a title"),
            ("candidate", f"{self.look:,} of at most {self.most_candidates:,}{again}"),
            ("digest", self.candidate[:SHOWN_LETTERS]),
        )
        rows = tuple((line.criterion, line.about, line.outcome.value, line.evidence) for line in self.lines)
        return Card(self.headline().removesuffix("."), facts, HEAD, rows, "In words: print(check)")

    def _page_title(self) -> str:
        return self.title or "Check of a change plan"

    def _chart(self) -> Chart:
        """The limit and the bound of every line that has them."""
        pairs = [
            Pair(
                f"{line.criterion} {line.about}".strip(), max(line.limit, 0.0), max(line.bound, 0.0), line.outcome.value
            )
            for line in self.lines
            if line.limit is not None and line.bound is not None
        ]
        return PairChart("Bounds and limits", "share of rows", ("allowed", "at most, by these rows"), pairs)
