"""Search for several different answers, and for the limits that rule all answers out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.base import decide_rows
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import is_partition, makes_promise, unwrap
from sepc.model.count_rules import most_likely
from sepc.model.membership import squared_radii
from sepc.model.rules import weigh_and_locate
from sepc.model.sep_model import SEPModel
from sepc.recourses._limits import Limits
from sepc.recourses._relations import GivenRelation
from sepc.recourses.accepting import bound_acceptance
from sepc.recourses.bounds import Reach, bound_cost
from sepc.recourses.finding import Judgements, Target, find
from sepc.recourses.given_limits import GivenLimit, GivenLimits
from sepc.recourses.recourse import Answer, Tables, changes_of


@dataclass(frozen=True, eq=False)
class Deciding:
    """Queries a model about rows in the model's features."""

    model: Any
    label: Any
    min_trust: float | None
    tables: Tables

    def judge(self, rows: FloatArray) -> Judgements:
        """How likely the label is for each row, whether the row passes, and which ellipsoids it lies in."""
        if self.least_probability is not None:
            return self._judge_by_weights(unwrap(self.model).classifier.model_, self.least_probability, rows)
        decisions = self.decide(rows)
        chance = decisions.probabilities[:, _position(decisions.classes, self.label)]
        is_trusted = decisions.accepted if self.min_trust is None else decisions.trust >= self.min_trust
        model = self.tables.limits.model
        inside = squared_radii(model.place(rows), model.centers, model.roots) <= 1.0 + model.slack
        return Judgements.of(chance, np.asarray(decisions.label == self.label) & is_trusted, inside)

    @property
    def least_probability(self) -> float | None:
        """The probability that the label needs; None if something else than the weights of a partition decides."""
        partition = unwrap(self.model).classifier
        if not is_partition(partition) or partition.model_.weights is None:
            return None
        return float(partition.min_trust if self.min_trust is None else self.min_trust)

    def decide(self, rows: FloatArray) -> Decisions:
        """Decisions on rows: directly from the partition if it decides alone, otherwise on rows of the table."""
        classifier = unwrap(self.model).classifier
        is_promised = makes_promise(classifier)
        inner = unwrap(classifier.inner).classifier if is_promised else classifier
        if not is_partition(inner) or (is_promised and classifier.promise_.groups is not None):
            return decide_rows(self.model, self.tables.of(rows))
        decided = SEPDecisions.of(inner.model_, rows, inner.min_trust)
        return cast(Decisions, classifier.covered(decided)) if is_promised else decided

    def _judge_by_weights(self, model: SEPModel, least: float, rows: FloatArray) -> Judgements:
        """The same result as through `decide`, without computing what is not needed here."""
        probabilities, inside = weigh_and_locate(model, rows)
        owner = _position(model.classes, self.label)
        is_label = most_likely(probabilities, model.shares) == owner
        return Judgements.of(probabilities[:, owner], is_label & (probabilities[:, owner] >= least), inside)


def _position(classes: NDArray[Any], label: Any) -> int:
    return int(np.flatnonzero(classes == label)[0])


# Searches per requested answer, since some find nothing, or the same again.
TRIES = 3
# Answers that have less than this share of their squared costs in common are different.
ALIKE = 0.5


@dataclass(frozen=True, eq=False)
class AnswerSearch:
    """The search for answers."""

    model: Any
    given_row: Any
    given: GivenLimits
    to: Any
    min_trust: float | None

    @cached_property
    def limits(self) -> Limits:
        """What may change."""
        return self.given.limits()

    @cached_property
    def owner(self) -> int:
        """The class of the target label, as a position; -1 if the partition does not know it."""
        known = np.flatnonzero(self.given.row.model.classes == self.to)
        return int(known[0]) if len(known) else -1

    @cached_property
    def ellipsoids(self) -> Any:
        """The ellipsoids of the target label."""
        return np.flatnonzero(self.given.row.model.owners == self.owner)

    @cached_property
    def reached(self) -> Reach:
        """The bound on the cost of reaching them."""
        return bound_cost(self.limits, self.ellipsoids)

    @cached_property
    def accepting(self) -> float:
        """If the model has standalone features: a lower bound on the cost of acceptance, from all curves; else 0."""
        least = self.deciding.least_probability
        if least is None or self.limits.model.alone is None:
            return 0.0
        return bound_acceptance(self.limits, self.owner, self.ellipsoids, least)

    @property
    def bound(self) -> float:
        """A lower bound on the cost of answers."""
        return max(float(np.sqrt(self.reached.bound)), self.accepting)

    @cached_property
    def tables(self) -> Tables:
        """Converts rows of the model to rows of the user's table."""
        return Tables(self.given_row, self.limits, self.given.row.preparation)

    @cached_property
    def deciding(self) -> Deciding:
        """Queries the model."""
        return Deciding(self.model, self.to, self.min_trust, self.tables)

    def answers(self, n: int) -> list[Answer]:
        """At most `n` different answers, the cheapest first; each leaves alone what an earlier one changes."""
        found: list[Answer] = []
        open_limits = [self.limits]
        for _ in range(TRIES * n):
            if not open_limits or len(self._different(found)) >= n:
                break
            limits = open_limits.pop(0)
            answer = self._answer(limits)
            if answer is None:
                continue
            found.append(answer)
            if n > 1:
                main = self._main_changes(limits, answer)
                open_limits += [limits.with_fixed(main)] if main else []
                open_limits += [limits.with_fixed([j]) for j in main] if len(main) > 1 else []
        return self._different(found)[:n]

    def _main_changes(self, limits: Limits, answer: Answer) -> list[int]:
        """The dearest changes that together make up more than half of the squared cost, without those that must be."""
        row = answer.rows[0]
        squares = {j: limits.price_paid(row, j) ** 2 for j in limits.changed(row)}
        dearest = sorted(squares, key=lambda j: -squares[j])
        sums = np.cumsum([squares[j] for j in dearest])
        main = dearest[: int(np.searchsorted(sums, ALIKE * sums.max(initial=0.0), side="right")) + 1]
        return [j for j in main if limits.may_stay(j)]

    def _different(self, answers: list[Answer]) -> list[Answer]:
        """The answers in order, without those that are variations of one before."""
        kept: list[Answer] = []
        for answer in sorted(answers, key=lambda own: own.cost):
            if all(answer.overlap(other) < ALIKE for other in kept):
                kept.append(answer)
        return kept

    def _answer(self, limits: Limits) -> Answer | None:
        reached = self.reached if limits is self.limits else bound_cost(limits, self.ellipsoids)
        if not np.isfinite(reached.bound):
            return None
        found = find(Target(limits, self.owner, self.ellipsoids, self.deciding.judge), reached)
        if len(found) == 0:
            return None
        cost = float(self.limits.costs(found)[0])
        return Answer(
            self.tables,
            found,
            self.deciding.decide(found)[0],
            changes_of(self.limits, self.owner, self.tables, found[0]),
            cost,
            max(cost - self.bound, 0.0),
        )

    def blocking(self) -> list[GivenLimit | GivenRelation]:
        """Limits that together put all ellipsoids out of reach; empty if they are out of reach anyway."""
        every = self._every_limit
        if not self._is_blocked_by([]):
            needed = list(every)
            for limit in every:
                rest = [other for other in needed if other is not limit]
                if self._is_blocked_by(rest):
                    needed = rest
            return needed
        return []

    @property
    def _every_limit(self) -> list[GivenLimit | GivenRelation]:
        every: list[GivenLimit | GivenRelation] = [*self.given.given]
        return every + [*self.given.relations]

    def _is_blocked_by(self, some: Collection[GivenLimit | GivenRelation]) -> bool:
        without = [limit for limit in self._every_limit if limit not in some]
        return not np.isfinite(bound_cost(self.given.limits(without), self.ellipsoids).bound)
