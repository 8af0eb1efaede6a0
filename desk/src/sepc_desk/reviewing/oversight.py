"""Oversight, measured: whether reviewers look at a case, or follow the label that they are shown.

Whether a label is hidden is drawn at random, so a reviewer who looks agrees with the model as often either way, and one
who follows agrees more often where the label is shown. Cases drawn for a certificate are left out: they are always
blind, and easier than others. So are answers that settle a disagreement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import binomtest, fisher_exact
from sqlalchemy import Connection, Row, select

from sepc_desk.reviewing.states import REFEREE, AnswerKind, Purpose
from sepc_desk.reviewing.transactions import MICROSECONDS
from sepc_desk.schema import answers, cases, planted, readings

# A reviewer who looks is marked as following with at most this probability, at one look at the figures.
LEVEL = 0.01
CONFIDENCE = 0.95
# With fewer cases of either kind, hardly anyone would be found.
FEWEST = 10
WEEK = 7 * 24 * 3600 * MICROSECONDS
# 1970 began on a Thursday; this is the Monday before.
FIRST_MONDAY = -3 * 24 * 3600 * MICROSECONDS


@dataclass(frozen=True)
class Share:
    """How many of some cases, with an interval.

    Attributes
    ----------
    k, n : int
    """

    k: int = 0
    n: int = 0

    @property
    def share(self) -> float | None:
        """The share; None if there are no cases."""
        return self.k / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of Clopper and Pearson, with 95 % confidence."""
        if not self.n:
            return 0.0, 1.0
        found = binomtest(self.k, self.n).proportion_ci(CONFIDENCE)
        return float(found.low), float(found.high)


@dataclass(frozen=True)
class Figures:
    """What is known of some answers.

    Attributes
    ----------
    n : int
        Final answers, of any kind.
    n_cannot_say : int
    seconds : float or None
        The median time from taking a case to its answer.
    shown, hidden : Share
        Answers with the model's label, among cases where it was shown and where it was hidden.
    errors_shown, errors_hidden : Share
        Planted cases in which the model is wrong and the answer is right.
    right : Share
        Planted cases with the right answer, of all planted cases.
    """

    n: int = 0
    n_cannot_say: int = 0
    seconds: float | None = None
    shown: Share = field(default_factory=Share)
    hidden: Share = field(default_factory=Share)
    errors_shown: Share = field(default_factory=Share)
    errors_hidden: Share = field(default_factory=Share)
    right: Share = field(default_factory=Share)

    @property
    def p_value(self) -> float:
        """How likely so much more agreement with shown labels is for someone who looks (Fisher's exact test)."""
        if not (self.shown.n and self.hidden.n):
            return 1.0
        table = [[own.k, own.n - own.k] for own in (self.shown, self.hidden)]
        return float(fisher_exact(np.array(table), alternative="greater").pvalue)

    @property
    def is_enough(self) -> bool:
        """Whether there are enough answers of both kinds for an assessment to mean something."""
        return min(self.shown.n, self.hidden.n) >= FEWEST

    @property
    def follows(self) -> bool:
        """Whether the label that is shown changes the answers, at the level of 1 %."""
        return self.p_value <= LEVEL


@dataclass(frozen=True)
class Reviewed:
    """The figures of a model: of all its reviewers, of each, and over time."""

    all: Figures
    readers: dict[str, Figures]
    weeks: dict[int, Figures]


def oversight(connection: Connection, model: str, reader: str | None = None) -> Reviewed:
    """What is known of the reviewers of a model, or of one of them; readers in the order of their first answers."""
    given = (answers.c.final_at.is_not(None), answers.c.undone_at.is_(None), cases.c.model == model)
    found = (
        select(
            answers.c.reader,
            answers.c.taken_at,
            answers.c.given_at,
            answers.c.kind,
            answers.c.label,
            answers.c.was_blind,
            readings.c.turn,
            cases.c.purpose,
            cases.c.model_label,
            planted.c.truth,
        )
        .join(cases, cases.c.id == answers.c.case_id)
        .join(readings, readings.c.id == answers.c.reading)
        .join(planted, planted.c.id == cases.c.planted, isouter=True)
        .where(*given)
        .order_by(answers.c.given_at)
    )
    if reader is not None:
        found = found.where(answers.c.reader == reader)
    rows = connection.execute(found).all()
    by_reader = _grouped(rows, lambda one: one.reader)
    # By the Monday that a week began with.
    by_week = _grouped(rows, lambda one: (one.given_at - FIRST_MONDAY) // WEEK * WEEK + FIRST_MONDAY)
    return Reviewed(
        figures_of(rows),
        {name: figures_of(some) for name, some in by_reader.items()},
        {week: figures_of(some) for week, some in by_week.items()},
    )


def _grouped(rows: Sequence[Any], key: Any) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for one in rows:
        found.setdefault(key(one), []).append(one)
    return found


def figures_of(rows: Sequence[Row[Any]] | Sequence[Any]) -> Figures:
    """The figures of some final answers."""
    drawn = [one for one in rows if one.purpose != Purpose.DRAWN and one.turn != REFEREE]
    planted_ones = [one for one in rows if one.truth is not None]
    wrong = [one for one in planted_ones if one.truth != one.model_label]
    return Figures(
        n=len(rows),
        n_cannot_say=sum(one.kind == AnswerKind.CANNOT_SAY for one in rows),
        seconds=median((one.given_at - one.taken_at) / MICROSECONDS for one in rows) if rows else None,
        shown=_share(one.label == one.model_label for one in drawn if not one.was_blind),
        hidden=_share(one.label == one.model_label for one in drawn if one.was_blind),
        errors_shown=_share(one.label == one.truth for one in wrong if not one.was_blind),
        errors_hidden=_share(one.label == one.truth for one in wrong if one.was_blind),
        right=_share(one.label == one.truth for one in planted_ones),
    )


def _share(outcomes: Iterable[bool]) -> Share:
    found = list(outcomes)
    return Share(sum(found), len(found))
