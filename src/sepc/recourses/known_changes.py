"""Changes that are known from other rows, before and after: how usual a change is beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.kernels.project_related import LinearRelations
from sepc.recourses.durations import Duration
from sepc.recourses.limits import Limits, RowRelations

# A change is as unusual as its distance to this nearest known change.
NEIGHBOUR = 5
# An answer counts as usual if at least this share of the known changes are at least as unusual.
USUAL = 0.1
# The most known changes that are compared, and that are tried on a row.
MOST_COMPARED, MOST_TRIED = 1_000, 200


@dataclass(frozen=True, eq=False)
class KnownChanges:
    """Changes of other rows, in the model's features.

    Attributes
    ----------
    before, after : (n, d + Q) arrays
        Rows that changed: features, followed by category codes.
    """

    before: FloatArray
    after: FloatArray

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray) -> KnownChanges:
        """The pairs of rows that are complete and differ; raises a ValueError if there are none."""
        complete = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1)
        used = np.flatnonzero(complete & (before != after).any(axis=1))
        if len(used) == 0:
            raise ValueError("changes has no pair of complete rows that differ.")
        if len(used) > MOST_COMPARED:
            used = np.sort(np.random.default_rng(0).choice(used, MOST_COMPARED, replace=False))
        return cls(before[used], after[used])

    def tried_on(self, limits: Limits) -> FloatArray:
        """The row with each of the known changes made, within the limits."""
        d, n = limits.n_features, min(len(self.before), MOST_TRIED)
        before, after = self.before[:n], self.after[:n]
        rows = np.tile(limits.row, (n, 1))
        values = rows[:, :d] + after[:, :d] - before[:, :d]
        # Numbers that did not change keep their exact values.
        rows[:, :d] = np.where(after[:, :d] == before[:, :d], rows[:, :d], np.clip(values, limits.low, limits.high))
        rows[:, d:] = np.where(after[:, d:] == before[:, d:], rows[:, d:], after[:, d:])
        return limits.complete(limits.round_whole_numbers(rows))

    def usual(self, limits: Limits, rows: FloatArray) -> FloatArray:
        """For the change to each row, the share of known changes that are at least as unusual."""
        scores = self._scores(limits, np.broadcast_to(limits.row, rows.shape), rows, self._neighbour)
        known = self._known_scores(limits)
        return np.asarray((1.0 + (known >= scores[:, np.newaxis]).sum(axis=1)) / (1.0 + len(known)))

    @property
    def _neighbour(self) -> int:
        return min(NEIGHBOUR, len(self.before)) - 1

    def _known_scores(self, limits: Limits) -> FloatArray:
        if "scores" not in self._cache:
            # Each known change is its own nearest one, which does not count.
            nearest = min(self._neighbour + 1, len(self.before) - 1)
            self._cache["scores"] = self._scores(limits, self.before, self.after, nearest)
        return self._cache["scores"]

    @cached_property
    def _cache(self) -> dict[str, FloatArray]:
        return {}

    def _scores(self, limits: Limits, before: FloatArray, after: FloatArray, nearest: int) -> FloatArray:
        """The distance of changes to the known change at a position among the nearest."""
        d, numbers = limits.n_features, limits.prices > 0.0
        scale = limits.model.scale[numbers]
        own = (after - before)[:, :d][:, numbers] / scale
        known = (self.after - self.before)[:, :d][:, numbers] / scale
        squared = (own**2).sum(axis=1)[:, np.newaxis] + (known**2).sum(axis=1) - 2.0 * own @ known.T
        for code in range(d, before.shape[1]):
            one = np.where(after[:, code] == before[:, code], -1.0, after[:, code])
            two = np.where(self.after[:, code] == self.before[:, code], -1.0, self.after[:, code])
            squared = squared + (one[:, np.newaxis] != two)
        return np.asarray(np.sqrt(np.maximum(np.partition(squared, nearest, axis=1)[:, nearest], 0.0)))


@dataclass(frozen=True, eq=False)
class UsualOnly:
    """Relations that hold only where the change is usual.

    Attributes
    ----------
    limits : Limits
        Without this requirement.
    known : KnownChanges
    """

    limits: Limits
    known: KnownChanges

    @property
    def _inner(self) -> RowRelations | None:
        return self.limits.relations

    @property
    def linear(self) -> LinearRelations | None:
        """The linear relations, in standardised features."""
        return None if self._inner is None else self._inner.linear

    @property
    def loose(self) -> tuple[str, ...]:
        """The relations that are not fully linear."""
        return () if self._inner is None else self._inner.loose

    def allow(self, rows: FloatArray) -> BoolArray:
        """Whether all relations hold in each row, and its change is usual."""
        holds = self.known.usual(self.limits, rows) >= USUAL
        return holds if self._inner is None else holds & self._inner.allow(rows)

    def repair(self, rows: FloatArray) -> FloatArray:
        """Change rows, in place, so that relations hold in more of them."""
        return rows if self._inner is None else self._inner.repair(rows)

    def duration(self, row: FloatArray) -> Duration | None:
        """How long it takes to get to a row."""
        return None if self._inner is None else self._inner.duration(row)

    @property
    def under(self) -> Callable[[Limits], Any]:
        """Gives the same under other limits."""
        return lambda limits: UsualOnly(self.limits, self.known)
