"""Recourse (counterfactual explanations): what would have to change for a row to be accepted with a label."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import Decision, Decisions
from sepc.decisions.frames import frame_of
from sepc.decisions.sentences import Sentence, Shorter, join_sentences
from sepc.estimators.base import decide_rows
from sepc.estimators.checks import check_probability
from sepc.estimators.partition_behind import partition_behind
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import classifier_name, preparation_of, unwrap
from sepc.kernels.threads import single_threaded
from sepc.model.edits import DROP_FEATURE
from sepc.plain_values import plain
from sepc.recourses.answers import Answer, changes_of
from sepc.recourses.finding import find
from sepc.recourses.given_limits import GivenLimit, GivenLimits, Row, given_limits
from sepc.recourses.judging import Deciding
from sepc.recourses.limits import Limits
from sepc.recourses.reaching import Leaf, Reach, bound_cost
from sepc.recourses.tables import Tables, one_row
from sepc.recourses.targets import Target
from sepc.wording import MOST_NAMES, cases_of, counted, decimal, deviations, listed, name_of, shown

if TYPE_CHECKING:
    import pandas as pd


# Searches per requested answer, since some find nothing, or the same again.
TRIES = 3
# Features that the card of a result names for each answer.
MOST_FEATURES = 3

# Changes that a sentence lists before it counts the rest.
MOST_CHANGES = (6, 4, 3, 2)


@dataclass(frozen=True, eq=False, repr=False)
class Recourse(ShownAsCard):
    """What would have to change for a row to be accepted with a label: counterfactuals and a lower bound on their cost.

    Attributes
    ----------
    to : object
        The target label.
    decision : Decision
        The model's decision on the row as given.
    answers : tuple of Answer
        Counterfactual rows that the model accepts with the label, within all limits and in an ellipsoid of the label;
        each changes different features, and the cheapest comes first. Empty if none was found.
    bound : float
        A lower bound on the cost of all rows in an ellipsoid of the label within the limits; infinite if there are
        none. Rows outside these ellipsoids may still be accepted: the bound does not cover them.
    proof : sequence of Leaf
        The branches of the search for the bound, each with a half-space that contains the ellipsoid.
    blocking : tuple of str
        If there are no such rows: limits that together rule them out, all of which are needed to do so. Empty if there
        would be no such rows even without these limits.
    """

    to: Any
    decision: Decision
    answers: tuple[Answer, ...]
    bound: float
    proof: Sequence[Leaf]
    blocking: tuple[str, ...]

    @property
    def is_reachable(self) -> bool:
        """Whether an ellipsoid of the label may be reached within the limits."""
        return bool(np.isfinite(self.bound))

    def why(self) -> str:
        """The first answer, or why there is none, in a few sentences."""
        return _sentences_about(self)

    def to_frame(self) -> pd.DataFrame:
        """The answers as a pandas DataFrame with one row for each feature that changes."""
        each = [(i, change) for i, answer in enumerate(self.answers, start=1) for change in answer.changes]
        columns = {
            "answer": np.array([i for i, _ in each], dtype=np.int64),
            "feature": _objects([change.feature for _, change in each]),
            "before": _objects([change.before for _, change in each]),
            "after": _objects([change.after for _, change in each]),
            "cost": np.array([change.cost for _, change in each], dtype=np.float64),
        }
        return frame_of(columns, None)

    def _card(self) -> Card:
        now = f"{name_of(self.decision.label)} with trust {decimal(self.decision.trust)}"
        facts = [
            ("now", now),
            ("cost at least", deviations(self.bound) if self.is_reachable else "unreachable"),
        ]
        rows = tuple(
            (str(i), f"{answer.cost:.3g}", decimal(answer.decision.trust), _features(answer))
            for i, answer in enumerate(self.answers, start=1)
        )
        head = ("answer", "cost", "trust", "changes") if rows else ()
        title = f"Recourse to {shown(self.to)}: {counted(len(self.answers), 'answer')}"
        return Card(title, tuple(facts), head, rows, note="why() says it in words, and to_frame() has all changes.")


def _features(answer: Answer) -> str:
    return listed([change.feature for change in answer.changes], MOST_FEATURES) if answer.changes else "nothing"


@single_threaded
def recourse(
    model: Any,
    row: Any,
    *,
    to: Any,
    cost: Mapping[Any, float] | None = None,
    fixed: Collection[Any] = (),
    bounds: Mapping[Any, Any] | None = None,
    direction: Mapping[Any, str] | None = None,
    min_trust: float | None = None,
    n_answers: int = 1,
) -> Recourse:
    """Find counterfactuals: what would have to change for a row to be accepted with a label, and at what least cost.

    This is about the model, not about causes: it says which row the model would accept, not what happens if someone
    intervenes.

    Parameters
    ----------
    model : fitted classifier
        An `SEPClassifier`, or another estimator of this library with one partition of the features themselves.
    row : DataFrame of one row, Series, dict or array of shape (d,)
        Without missing values. Columns of text that were read as numbers or durations in training count as numbers:
        costs, bounds and answers are in the unit of the column (349.19 for "€ 349.19", minutes if all cells are
        minutes), and in seconds for ``timedelta``; the rows of answers hold ``timedelta`` again.
    to : object
        The label to get.
    cost : mapping of column to float, optional
        Relative cost of a change: 2.0 costs twice as much as 1.0, the default. A number costs that much per standard
        deviation, a category for any change; the cost of a row is the root of the sum of the squares.
    fixed : collection of columns
        Columns that must not change; dates never do.
    bounds : mapping of column to (low, high) or to a list of categories, optional
        What a column may become, with None for an open end. By default, what was seen in training.
    direction : mapping of column to "up" or "down", optional
        The only direction in which a number may change.
    min_trust : float, optional
        Require at least this trust in the label instead of acceptance by the model; 0 for the label alone.
    n_answers : int, default=1
        How many answers to look for; they differ in which features change.

    Returns
    -------
    Recourse

    Raises
    ------
    TypeError
        If the model has no partition of the columns themselves.
    ValueError
        If the row is not a single complete row, or the label, a column or a limit is invalid.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import sepc
    >>> cancer = load_breast_cancer(as_frame=True)
    >>> X, y = cancer.data.iloc[:, :4], cancer.target_names[cancer.target]
    >>> clf = sepc.SEPClassifier().fit(X, y)
    >>> found = sepc.recourse(clf, X.iloc[[0]], to="benign", fixed=["mean texture"])
    >>> found.answers[0].decision.accepted
    True
    >>> print(found.why())
    To be accepted as 'benign' ...
    """
    if min_trust is not None:
        check_probability("min_trust", min_trust)
    X = one_row(row)
    decisions = decide_rows(model, X)
    partition = _partition(model, decisions)
    _check_label(decisions, to)
    decision = decisions[0]
    asked = Row(partition.model, partition.rows[0], preparation_of(model))
    given = given_limits(asked, cost, (*fixed, *_dropped(partition)), bounds, direction)
    search = _AnswerSearch(model, X, given, to, min_trust)
    is_trusted = decision.accepted if min_trust is None else decision.trust >= min_trust
    if decision.label == to and is_trusted and search.limits.allow(partition.rows)[0]:
        as_it_is = Answer(search.tables, partition.rows, decision, (), 0.0, 0.0)
        return Recourse(plain(to), decision, (as_it_is,), 0.0, (), ())
    reached = search.reached
    bound = float(np.sqrt(reached.bound))
    answers = tuple(search.answers(n_answers)) if np.isfinite(bound) else ()
    blocking = () if np.isfinite(bound) else tuple(limit.words for limit in search.blocking())
    return Recourse(plain(to), decision, answers, bound, reached.leaves, blocking)


@dataclass(frozen=True, eq=False)
class _AnswerSearch:
    """The search for answers."""

    model: Any
    given_row: Any
    given: GivenLimits
    to: Any
    min_trust: float | None

    @cached_property
    def limits(self) -> Limits:
        return self.given.limits()

    @cached_property
    def owner(self) -> int:
        known = np.flatnonzero(self.given.row.model.classes == self.to)
        return int(known[0]) if len(known) else -1

    @cached_property
    def ellipsoids(self) -> Any:
        return np.flatnonzero(self.given.row.model.owners == self.owner)

    @cached_property
    def reached(self) -> Reach:
        return bound_cost(self.limits, self.ellipsoids)

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.given_row, self.limits, self.given.row.preparation)

    @cached_property
    def deciding(self) -> Deciding:
        return Deciding(self.model, self.to, self.min_trust, self.tables)

    def answers(self, n: int) -> list[Answer]:
        """The best answer, then others, each leaving alone a feature that earlier answers change."""
        answers: list[Answer] = []
        open_limits, seen = [self.limits], set()
        for _ in range(TRIES * n):
            if not open_limits or len(answers) == n:
                break
            limits = open_limits.pop(0)
            found = self._answer(limits)
            if found is None:
                continue
            answer, moved = found
            if moved not in seen:
                seen.add(moved)
                answers.append(answer)
            dearest = sorted(moved, key=lambda j: -limits.price_paid(answer.rows[0], j))
            open_limits += [limits.with_fixed([j]) for j in dearest] if n > 1 else []
        return sorted(answers, key=lambda answer: answer.cost)

    def _answer(self, limits: Limits) -> tuple[Answer, tuple[int, ...]] | None:
        reached = self.reached if limits is self.limits else bound_cost(limits, self.ellipsoids)
        if not np.isfinite(reached.bound):
            return None
        found = find(Target(limits, self.owner, self.ellipsoids, self.deciding.judge), reached)
        if len(found) == 0:
            return None
        cost, changed = float(self.limits.costs(found)[0]), limits.changed(found[0])
        added = max(cost - float(np.sqrt(self.reached.bound)), 0.0)
        changes = changes_of(self.limits, self.owner, self.tables, found[0])
        return Answer(self.tables, found, self.deciding.decide(found)[0], changes, cost, added), changed

    def blocking(self) -> list[GivenLimit]:
        """Limits that together put all ellipsoids out of reach; empty if they are out of reach anyway."""
        if not self._is_blocked_by([]):
            needed = list(self.given.given)
            for limit in self.given.given:
                rest = [other for other in needed if other is not limit]
                if self._is_blocked_by(rest):
                    needed = rest
            return needed
        return []

    def _is_blocked_by(self, some: Collection[GivenLimit]) -> bool:
        without = [limit for limit in self.given.given if limit not in some]
        return not np.isfinite(bound_cost(self.given.limits(without), self.ellipsoids).bound)


def _partition(model: Any, decisions: Decisions) -> SEPDecisions:
    """Where the row lies in the partition behind a model; raises if there is none, or it is not accessible."""
    inside = unwrap(model)
    if inside.before:
        raise TypeError(
            f"Recourse cannot go back through the steps before {classifier_name(model)}: give it a classifier that was "
            "fitted to the table itself; an SEPClassifier standardises, and takes categories and missing values."
        )
    partition = partition_behind(decisions)
    if partition is None or getattr(inside.classifier, "transformer", None) is not None:
        raise TypeError(f"{classifier_name(model)} has no partition of the columns themselves, which recourse needs.")
    if partition.missing.any():
        names = [partition.model.feature_names[j] for j in np.flatnonzero(partition.missing[0])]
        raise ValueError(f"Missing values: {listed(map(shown, names), MOST_NAMES)}. Recourse needs a complete row.")
    return partition


def _dropped(partition: SEPDecisions) -> list[str]:
    """Columns that an edit of the model dropped: to change them would change nothing."""
    edits = () if partition.model.edits is None else partition.model.edits.made
    return [str(edit.feature) for edit in edits if edit.kind == DROP_FEATURE]


def _check_label(decisions: Decisions, to: Any) -> None:
    if to not in decisions.classes.tolist():
        known = listed(map(shown, decisions.classes), MOST_NAMES)
        raise ValueError(f"There is no label {shown(to)}; the labels are {known}.")


def _objects(values: Sequence[Any]) -> Any:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _sentences_about(recourse: Recourse) -> str:
    """The first answer, or why there is none, in at most 60 words."""
    if recourse.answers:
        return join_sentences(_answer(recourse))
    if not recourse.is_reachable:
        return join_sentences(_unreachable(recourse))
    if recourse.bound == 0.0:
        like = f"It is like {cases_of(recourse.to)} already"
        return join_sentences([Sentence(f"{like}, but no change within the limits was found that the model accepts.")])
    least = f"To be like {cases_of(recourse.to)} takes at least {deviations(recourse.bound)}"
    return join_sentences([Sentence(f"{least}, and nothing was found there that the model accepts.")])


def _answer(recourse: Recourse) -> list[Sentence]:
    answer = recourse.answers[0]
    if not answer.changes:
        return [Sentence(f"It is accepted as {shown(recourse.to)} already.")]
    start = f"To be accepted as {shown(recourse.to)} with trust {decimal(answer.decision.trust)}"
    words = [change.words for change in answer.changes]
    first, *shorter = [f"{start}, change {listed(words, most)}." for most in MOST_CHANGES]
    return [Sentence(first, tuple(Shorter(2 + i, text) for i, text in enumerate(shorter))), _cost(recourse)]


def _cost(recourse: Recourse) -> Sentence:
    """The cost of the first answer, and the proven lower bound."""
    cost, bound, cases = recourse.answers[0].cost, recourse.bound, cases_of(recourse.to)
    if f"{cost:.3g}" == f"{bound:.3g}":
        return Sentence(f"This costs {deviations(cost)}, and nothing like {cases} costs less.")
    whole = f"This costs {deviations(cost)}; to be like {cases} takes at least {bound:.3g}, and acceptance the rest."
    return Sentence(whole, (Shorter(1, f"This costs {deviations(cost)}, at least {bound:.3g}."),))


def _unreachable(recourse: Recourse) -> list[Sentence]:
    cases = cases_of(recourse.to)
    if not recourse.proof:
        return [Sentence(f"Training had too few {cases} to form an ellipsoid.")]
    why = f"since {listed(recourse.blocking, 4)}" if recourse.blocking else "even without limits"
    return [
        Sentence(f"Nothing like {cases} can be reached, {why}."),
        Sentence("This is proved for cases like those of training, not for others that the model may accept."),
    ]
