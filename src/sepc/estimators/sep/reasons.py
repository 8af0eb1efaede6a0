"""A decision in words that a domain expert understands: values beside what is usual, and what would settle the case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.columns.preparation import origin_of
from sepc.decisions.decisions import Decision
from sepc.decisions.kinds import Cause, Rule
from sepc.decisions.sentences import Sentence, Shorter
from sepc.estimators.sep.telling_features import Scored, TellingFeatures, gauges_of
from sepc.model.mixture import N_DRAWS
from sepc.model.names import feature_name, told_value
from sepc.model.sep_model import SEPModel
from sepc.model.usual import ANYWHERE, FeatureKind, UsualValues
from sepc.wording import cases_of, counted, decimal, listed, name_of, percent, short, shown

# Features that a sentence names, classes that it counts cases of, and missing values that it lists.
MOST_FEATURES, MOST_CLASSES, MOST_MISSING = 3, 3, 3

LONGEST_CATEGORY = 30
# Features that say at least this part of what the first one says are strong.
STRONG = 1.0 / 3.0
# A value shows what a feature says if it is this many times as frequent.
CLEARLY_MORE = 1.5
# Less frequent values are unusual.
RARE = 0.05


class Loss(IntEnum):
    """What is lost when a sentence is shortened, the least important first."""

    THIRD_FEATURE = 1
    DETAIL = 2
    SECOND_FEATURE = 3
    RUNNER_UP = 4
    MISSING_NAMES = 5
    OTHER_COUNTS = 6
    FIRST_FEATURE = 7
    NOTES = 8
    PLACE = 10


def sentences_about(decision: Decision) -> list[Sentence]:
    """Label and trust, the cases around the row, and the features that matter most."""
    label = f"{shown(decision.label)} with trust {decimal(decision.trust)}"
    return [
        placed(label, decision),
        *about_gaps(decision),
        *disagreement(decision),
        *about_features(decision),
    ]


def placed(head: str, decision: Decision, detail: str = "") -> Sentence:
    """A head, a detail about it, and the training cases that the row lies among or beside."""
    cases, group = _place(decision), _group_behind_a_single_case(decision)
    shorter = [Shorter(Loss.DETAIL, f"{head}{detail}: {cases}.")] if group else []
    if detail:
        shorter.append(Shorter(Loss.DETAIL, f"{head}: {cases}."))
    return Sentence(f"{head}{detail}: {cases}{group}.", (*shorter, Shorter(Loss.PLACE, f"{head}.")))


def _place(decision: Decision) -> str:
    """The training cases that the row lies among or beside, with their labels."""
    model: SEPModel = decision.model
    is_outside, is_far = decision.rule is Rule.NEAREST, decision.cause is Cause.UNSEEN
    is_thin = decision.cause is Cause.THIN
    if _is_beside_a_single_case(decision):
        single = _single(model.classes[model.isolated_owners[decision.place - model.n_ellipsoids]])
        if is_far:
            return f"far from all training cases, nearest to a {single}"
        return f"{'outside all groups, ' if is_thin else ''}beside a {single}"
    cases = counted_cases(model, decision.counts)
    if is_outside and is_far:
        return f"far from all training cases; the nearest are {cases}"
    if is_outside:
        return f"outside all groups; the nearest has {cases}" if is_thin else f"beside a group of {cases}"
    if decision.rule is Rule.UNION:
        return f"between groups of {cases}"
    return f"among {cases}" if decision.counts.sum() > 1 else f"with {cases}"


def _is_beside_a_single_case(decision: Decision) -> bool:
    return decision.rule is Rule.NEAREST and decision.place >= decision.model.n_ellipsoids


def _group_behind_a_single_case(decision: Decision) -> str:
    """The nearest group that mostly has the label, where a single case is nearer: one is little to trust a label for.

    Empty where the label is another one than that case has, since the next sentence then speaks of it alone.
    """
    model: SEPModel = decision.model
    is_told = decision.cause in (Cause.UNSEEN, Cause.THIN) or decision.counts_label != decision.label
    if is_told or not _is_beside_a_single_case(decision):
        return ""
    label, counts = decision.label, model.counts_at(np.arange(model.n_ellipsoids))
    of_label = np.flatnonzero(model.classes[counts.argmax(axis=1)] == label)
    if len(of_label) == 0:
        return ""
    nearest = of_label[gauges_of(model, decision.rows)[of_label].argmin()]
    group = f"{name_of(label)} group" if isinstance(label, str) else f"group of {shown(label)}"
    return f"; the nearest {group} has {counted_cases(model, counts[nearest])}"


def about_features(decision: Decision) -> list[Sentence]:
    """What is unusual about a row unlike all others; else what separates it from the runner-up, and what does not."""
    usual = decision.model.usual
    if usual is None:
        return []
    telling = TellingFeatures.of(decision, usual)
    told = _ToldFeatures(telling)
    if decision.cause is Cause.UNSEEN:
        return _unusual(telling, told)
    if telling.runner_up is None:
        return []
    both, rival = (telling.label, telling.runner_up), shown(decision.model.classes[telling.runner_up])
    scored = telling.for_label()
    features, lead = told.showing(scored, both), f"What separates it from {rival}: "
    if not features:
        features = told.usual_for_both(scored, both)
        lead = "What speaks most for it: " if decision.accepted else f"Little separates it from {rival}: "
    separating = _in_lengths(lead, features, lambda j, i: told.compared(j, both, is_first=i == 0))
    if decision.cause is not Cause.OVERLAP or not (against := told.showing(telling.for_runner_up(), both[::-1])):
        return separating
    speaks = f"What speaks for {rival}: {told.compared(against[0], both[::-1], is_first=not separating)}."
    return [*separating, Sentence(speaks, (Shorter(Loss.RUNNER_UP, ""),))]


def _unusual(telling: TellingFeatures, told: _ToldFeatures) -> list[Sentence]:
    nearest = telling.nearest_group()
    strange = [j for j in telling.unusual() if told.is_outside(j, nearest)]
    if not strange:
        return [Sentence("Its values were seen one by one, but not together.", (Shorter(Loss.FIRST_FEATURE, ""),))]
    return _in_lengths("Unusual: ", strange, lambda j, i: told.set_against_all(j, nearest, is_first=i == 0))


def _in_lengths(lead: str, features: Sequence[int], tell: Callable[[int, int], str]) -> list[Sentence]:
    """A sentence about the first three of some features, or fewer of them, or none; no sentence if there are none."""
    told = [tell(j, i) for i, j in enumerate(features[:MOST_FEATURES])]
    losses = (Loss.FIRST_FEATURE, Loss.SECOND_FEATURE, Loss.THIRD_FEATURE)
    shorter = [Shorter(losses[n], f"{lead}{listed(told[:n])}." if n else "") for n in range(len(told) - 1, -1, -1)]
    return [Sentence(f"{lead}{listed(told)}.", tuple(shorter))] if told else []


def about_gaps(decision: Decision) -> list[Sentence]:
    """What is missing, which of it to fetch first, and categories that training did not have."""
    sentences = [Sentence(decision.notes, (Shorter(Loss.NOTES, ""),))]
    names = missing_names(decision)
    if not names:
        return sentences
    verb = "is" if len(names) == 1 else "are"
    fewer = Shorter(Loss.MISSING_NAMES, f"{counted(len(names), 'value')} {verb} missing.")
    sentences.append(Sentence(f"{listed(names, MOST_MISSING)} {verb} missing.", (fewer,)))
    if decision.cause is Cause.MISSING:
        asked = decision.ask_for()
        first, share = asked[0]
        often = f": {round(share * N_DRAWS)} of {N_DRAWS} likely values would settle the case" if share else ""
        fetch = f"Fetch {name_of(first)}{' first' if len(asked) > 1 else ''}"
        sentences.append(Sentence(f"{fetch}{often}.", (Shorter(Loss.NOTES, f"{fetch}."),)))
    return sentences


def missing_names(decision: Decision) -> list[str]:
    """The columns that are missing; a gap in a category is told as what it was decided on."""
    features = zip(decision.model.feature_names, decision.missing, strict=True)
    return list(dict.fromkeys(name_of(origin_of(name)) for name, gone in features if gone))


def disagreement(decision: Decision) -> list[Sentence]:
    """The label that the cases around the row alone would give, if it is another one."""
    if decision.counts_label == decision.label or decision.model.weights is None:
        return []
    these = "that case" if _is_beside_a_single_case(decision) or decision.counts.sum() == 1 else "these"
    sentence = f"By {these} alone it would be {shown(decision.counts_label)}."
    return [Sentence(sentence, (Shorter(Loss.OTHER_COUNTS, ""),))]


def counted_cases(model: SEPModel, counts: IntArray) -> str:
    """How many training cases of each class, as in "78 malignant and 9 benign training cases"."""
    order = [int(c) for c in np.argsort(-counts, kind="stable") if counts[c] > 0]
    if not order:
        return "no training cases"
    if counts.sum() == 1:
        return f"a {_single(model.classes[order[0]])}"
    named, others = order[:MOST_CLASSES], counts[order[MOST_CLASSES:]]
    more = [f"{others.sum():,} other"] if len(others) else []
    if all(isinstance(model.classes[c], str) for c in named):
        return f"{listed([*(f'{counts[c]:,} {name_of(model.classes[c])}' for c in named), *more])} training cases"
    first, *rest = (f"{counts[c]:,} of {shown(model.classes[c])}" for c in named)
    n, of, label = first.partition(" of ")
    return listed([f"{n} training cases{of}{label}", *rest, *(f"{own} labels" for own in more)])


def _single(label: Any) -> str:
    """A single training case of a label."""
    return (
        f"single {name_of(label)} training case"
        if isinstance(label, str)
        else f"single training case of {shown(label)}"
    )


@dataclass(frozen=True, eq=False)
class _ToldFeatures:
    """Speaks of the features of one row."""

    telling: TellingFeatures

    @property
    def usual(self) -> UsualValues:
        """What is usual among training rows."""
        return self.telling.usual

    def name(self, j: int) -> str:
        """The name of a feature."""
        return feature_name(self.telling.model, j)

    def value(self, j: int) -> str:
        """A feature and its value; the name alone if the value is not known in the user's own units."""
        if self._is_category(j):
            return f"{self.name(j)} {self._category(j)}"
        return self.name(j) if self._own is None else f"{self.name(j)} {self._told(j, self._own[j])}"

    def compared(self, j: int, owners: Sequence[int], is_first: bool) -> str:
        """A feature, its value and what is usual for cases of some classes like it."""
        if self._own is None and self._share(j, 0) is None:
            return self.name(j)
        usual = [self._usual(j, owner, is_first and i == 0) for i, owner in enumerate(owners)]
        return f"{self.value(j)} ({', '.join(usual)})"

    def showing(self, features: Sequence[Scored], owners: Sequence[int]) -> list[int]:
        """The stronger features whose values show what they say, the strongest first.

        A value shows it if it is nearer to what is usual for the first class than for the second: what a feature says
        depends on all others too.
        """
        return [j for j, score in features if score >= STRONG * features[0][1] and self._shows(j, *owners) > 0]

    def usual_for_both(self, features: Sequence[Scored], owners: Sequence[int]) -> list[int]:
        """The strongest feature whose value is usual for both classes, if there is one."""
        return [j for j, _ in features if self._shows(j, *owners) == 0][:1]

    def is_outside(self, j: int, group: int) -> bool:
        """Whether the value is not usual in a group."""
        share = self._share(j, group)
        if share is not None:
            return share < RARE
        return self._distance(j, group) > 0.0

    def set_against_all(self, j: int, nearest: int, is_first: bool) -> str:
        """A feature, its value and the range of all training cases or, if it lies within, what is usual in a group."""
        share = self._share(j, nearest)
        if share is not None:
            return f"{self.value(j)} ({percent(share, 0)} of the nearest{' cases' if is_first else ''})"
        if self._own is None:
            return self.name(j)
        lowest, highest = self.usual.overall[j, 0], self.usual.overall[j, -1]
        if not lowest <= self._own[j] <= highest:
            everyone = "all training cases" if is_first else "all cases"
            return f"{self.value(j)} ({everyone} {self._range(j, lowest, highest)})"
        return f"{self.value(j)} ({'the nearest cases' if is_first else 'nearest'} {self._usual_range(j, nearest)})"

    def _shows(self, j: int, owner: int, other: int) -> int:
        """1 if the value is nearer to what is usual for the first class than for the second, 0 if in both, else -1."""
        like_it, unlike_it = self.telling.group_like_it(owner), self.telling.group_like_it(other)
        share, rival = self._share(j, like_it), self._share(j, unlike_it)
        if share is None or rival is None:
            own, apart = self._distance(j, like_it), self._distance(j, unlike_it)
            return int(own < apart) if own < apart or own == 0.0 else -1
        if share == 0.0 or rival >= CLEARLY_MORE * share:
            return -1
        return int(share >= CLEARLY_MORE * rival)

    def _distance(self, j: int, group: int) -> float:
        """How far the value lies outside what is usual in a group, infinity at the end of all numbers; 0 within."""
        low, high = map(float, self.usual.ranges[group, j])
        # Without a way back, both are in the model's features.
        value = float(self.telling.row[j] if self._own is None else self._own[j])
        return max(low - value, value - high, 0.0)

    def _usual(self, j: int, owner: int, is_first: bool) -> str:
        group = self.telling.group_like_it(owner)
        label, share = self.telling.model.classes[owner], self._share(j, group)
        like_it = " like it" if is_first and self.usual.ellipsoid[group] != ANYWHERE else ""
        if share is not None:
            return f"{percent(share, 0)} of {cases_of(label, like_it) if is_first else name_of(label)}"
        return f"{cases_of(label, like_it) if is_first else _those(label)} {self._usual_range(j, group)}"

    def _share(self, j: int, group: int) -> float | None:
        """How frequent the value is in a group; None if the feature has many values."""
        if self._is_category(j):
            return self.usual.category_share(group, j, self._code(j))
        return self.usual.level_share(group, j, float(self.telling.row[j]))

    def _usual_range(self, j: int, group: int) -> str:
        return self._range(j, *self.usual.ranges[group, j])

    def _range(self, j: int, low: float, high: float) -> str:
        first, last = self._told(j, low), self._told(j, high)
        return first if first == last else f"{first} to {last}"

    def _told(self, j: int, value: float) -> str:
        return told_value(self.usual, j, float(value))

    def _is_category(self, j: int) -> bool:
        return self.usual.spoken[j].kind is FeatureKind.CATEGORY

    def _code(self, j: int) -> int:
        return int(self.telling.row[len(self.usual.spoken) + self.usual.code_column(j)])

    def _category(self, j: int) -> str:
        names, code = self.usual.spoken[j].categories, self._code(j)
        return short(names[code], LONGEST_CATEGORY) if code < len(names) else "unknown"

    @cached_property
    def _own(self) -> FloatArray | None:
        """The row in the user's own features; None if there is no way back to these."""
        own = self.usual.in_own_units(self.telling.row[None, : len(self.usual.spoken)])
        return None if own is None else own[0]


def _those(label: Any) -> str:
    return name_of(label) if isinstance(label, str) else f"of {name_of(label)}:"
