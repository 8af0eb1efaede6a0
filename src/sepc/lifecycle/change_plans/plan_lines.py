"""The lines of a judgement: a criterion, its evidence, and whether it passed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sepc.wording import AS_SET, percent


class Outcome(StrEnum):
    """What the rows say about a criterion; all but the first count as not passed."""

    PASSED = "passed"
    UNDECIDED = "undecided"
    FAILED = "failed"


@dataclass(frozen=True)
class PlanLine:
    """A criterion as judged, or one of its parts.

    Attributes
    ----------
    criterion : str
        The criterion in words.
    about : str
        The group, the region or the promise; empty if it is about all rows.
    outcome : Outcome
    evidence : str
        What was counted, in words.
    n_rows : int
        Rows, or calls, that it rests on.
    estimate, bound, limit : float or None
        The rate seen, the bound on the true rate at the level of one candidate, and the limit of the bound.
    """

    criterion: str
    about: str
    outcome: Outcome
    evidence: str
    n_rows: int = 0
    estimate: float | None = None
    bound: float | None = None
    limit: float | None = None

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.outcome is Outcome.PASSED

    def __str__(self) -> str:
        about = f" ({self.about})" if self.about else ""
        return f"{self.outcome.value}: {self.criterion}{about}; {self.evidence}"

    def to_dict(self) -> dict[str, Any]:
        """As a dict that JSON can hold."""
        return dict(vars(self)) | {"outcome": self.outcome.value}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> PlanLine:
        """The line that `to_dict` made a dict of."""
        return cls(**content | {"outcome": Outcome(content["outcome"])})


def bounded_line(
    criterion: str, about: str, seen: str, n_rows: int, estimate: float, bound: float, limit: float, more: str = ""
) -> PlanLine:
    """A line that passes if the bound is within the limit, and fails if even the estimate is not.

    `seen` says what was counted; `more` is the word after a bound on a difference, such as " more".
    """
    outcome = Outcome.PASSED if bound <= limit else Outcome.UNDECIDED if estimate <= limit else Outcome.FAILED
    # A bound is rounded up.
    share = math.ceil(round(bound * 1e4, 9)) / 1e4
    said = f"at most {percent(share, 2)}{more}" if share >= 0.0 else f"at least {percent(-share, 2)} fewer"
    evidence = f"{seen}: {said}, allowed {percent(limit, AS_SET)}{more}"
    return PlanLine(criterion, about, outcome, evidence, n_rows, estimate, bound, limit)
