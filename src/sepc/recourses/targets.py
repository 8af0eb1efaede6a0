"""The target of a search: rows within the limits, in ellipsoids of a label, that the model accepts with this label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.recourses.limits import Limits


class Judgements(NamedTuple):
    """The output of a model for some rows.

    Attributes
    ----------
    log_odds : (n,) array
        Log-odds of the label.
    is_it : (n,) bool array
        Whether a row has the label and is accepted or has enough trust.
    inside : (n, K) bool array
        The ellipsoids that each row lies in.
    """

    log_odds: FloatArray
    is_it: BoolArray
    inside: BoolArray

    @classmethod
    def of(cls, chance: FloatArray, is_it: BoolArray, inside: BoolArray) -> Judgements:
        """Judgements from the probability of the label."""
        safe = np.clip(chance, 1e-12, 1.0 - 1e-12)
        return cls(np.log(safe) - np.log1p(-safe), is_it, inside)


class Candidates(NamedTuple):
    """Rows within the limits, in an ellipsoid of the label.

    Attributes
    ----------
    rows : (n, d + Q) array
    costs : (n,) array
    log_odds : (n,) array
        Log-odds of the label.
    is_it : (n,) bool array
        Whether a row meets the target.
    """

    rows: FloatArray
    costs: FloatArray
    log_odds: FloatArray
    is_it: BoolArray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def found(self) -> FloatArray:
        """The cheapest row that meets the target, of shape (1, d + Q); no rows if there is none."""
        rows, costs = self.rows[self.is_it], self.costs[self.is_it]
        return rows[[costs.argmin()]] if len(rows) else rows


@dataclass(frozen=True, eq=False)
class Target:
    """The target of a search, and how to recognise it.

    Attributes
    ----------
    limits : Limits
    owner : int
        The class of the label, as a position.
    ellipsoids : array of int
        The ellipsoids of that class.
    judge : callable
        Gives a `Judgements` for rows of the model.
    """

    limits: Limits
    owner: int
    ellipsoids: IntArray
    judge: Callable[[FloatArray], Judgements]

    def candidates(self, rows: FloatArray) -> Candidates:
        """The rows that are within the limits and in an ellipsoid of the label."""
        rows = rows[self.limits.allow(rows)]
        if len(rows) == 0:
            return Candidates(rows, np.empty(0), np.empty(0), np.empty(0, dtype=bool))
        judged = self.judge(rows)
        inside = judged.inside[:, self.ellipsoids].any(axis=1)
        costs = self.limits.costs(rows[inside])
        return Candidates(rows[inside], costs, judged.log_odds[inside], judged.is_it[inside])

    def cheapest(self, rows: FloatArray) -> FloatArray:
        """The cheapest of some rows, of shape (1, d + Q); no rows if there are none."""
        return rows[[self.limits.costs(rows).argmin()]] if len(rows) else rows
