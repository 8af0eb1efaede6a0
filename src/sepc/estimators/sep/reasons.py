"""Reasons for decisions in words for a domain expert: the terms behind the label, and what would settle a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

from sepc._typing import BoolArray, IntArray
from sepc.columns.preparation import UNREAD
from sepc.decisions.kinds import Cause, Reason, Rule, Sentence, Shorter
from sepc.estimators.sep.row_phrases import (
    NamedTerm,
    NamedTerms,
    RowPhrases,
    gauges_of,
    known_columns,
    missing_columns,
    separating_features,
    unusual_features,
)
from sepc.model.edits import names_of_edits
from sepc.model.imputation import N_DRAWS
from sepc.model.names import names_of
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Terms
from sepc.wording import decimal, listed, log_odds, name_of, shown

# The most features that a sentence names without weights, classes whose cases it counts, and missing values it lists.
MOST_FEATURES, MOST_CLASSES, MOST_MISSING = 3, 3, 3
# If the named terms differ from the sum by more than this share of it, the rest is always stated.
NEEDED = 0.75
# A smaller loss of trust is not mentioned.
LEAST_LOSS = 0.005
# What is left of the log-odds after all columns is mentioned from here on.
LEAST_REST = 0.05


class Loss(IntEnum):
    """What is lost when a sentence is shortened, the least important first."""

    SECOND_DETAIL = 1
    THIRD_FEATURE = 2
    DETAIL = 3
    REST = 4
    SECOND_FEATURE = 5
    FIRST_DETAIL = 6
    MISSING_NAMES = 7
    SENTENCE = 8
    NOTES = 9
    PLACE = 10


@dataclass(frozen=True, eq=False)
class SEPReasons:
    """The reasons for `SEPDecisions`, the decisions of an `SEPClassifier`."""

    decisions: Any

    def all(self) -> list[Reason]:
        """The reasons for every row, without the verdicts."""
        return [self._reason(i) for i in range(len(self.decisions))]

    def _reason(self, i: int) -> Reason:
        decisions = self.decisions
        head = f"{shown(decisions.label[i])} with trust {decimal(decisions.trust[i])}{edited_mark(decisions.model)}"
        sentences = (
            self.place_sentence(i, head),
            *self.about_gaps(i),
            *self._disagreement(i),
            *self.about_features(i),
            *about_edits(decisions.model),
        )
        return Reason(sentences, f"{head}{self._line(i)}.")

    def place_sentence(self, i: int, head: str, detail: str = "") -> Sentence:
        """A heading, a detail, and the training cases that the row lies among or beside."""
        cases, group = self._place(i), self._group_behind_a_single_case(i)
        shorter = [Shorter(Loss.DETAIL, f"{head}{detail}: {cases}.")] if group else []
        if detail:
            shorter.append(Shorter(Loss.DETAIL, f"{head}: {cases}."))
        return Sentence(f"{head}{detail}: {cases}{group}.", (*shorter, Shorter(Loss.PLACE, f"{head}.")))

    def about_gaps(self, i: int) -> list[Sentence]:
        """What was assumed of cells, missing values and which to fetch first, and categories not seen in training."""
        notes = str(self.decisions.notes[i])
        sentences = (
            [Sentence(notes, (Shorter(Loss.NOTES, "The notes say what was assumed of its cells."),))] if notes else []
        )
        if not self.decisions.missing[i].any():
            return sentences
        names = missing_columns(self.decisions.model, self.decisions.missing[i])
        if len(names) != notes.count(UNREAD):  # else the notes say so of each
            fewer = (Shorter(Loss.MISSING_NAMES, f"{len(names):,} values are missing."),) if len(names) > 1 else ()
            missing = "are missing." if len(names) > 1 else "is missing."
            sentences.append(Sentence(f"{listed(names, MOST_MISSING)} {missing}", fewer))
        if self._causes[i] is Cause.MISSING:
            asked = self.decisions[i].ask_for()
            first, share = asked[0]
            often = f": {round(share * N_DRAWS)} of {N_DRAWS} likely values would settle the case" if share else ""
            fetch = f"Fetch {name_of(first)}{' first' if len(asked) > 1 else ''}"
            sentences.append(_optional(f"{fetch}{often}.", f"{fetch}."))
        return sentences

    def about_features(self, i: int, by: str = "") -> list[Sentence]:
        """What is unusual about a row unlike all others, and the terms behind the label."""
        phrases = self._phrases
        if phrases is None:
            return []
        strange = self._about_unusual(i, phrases) if self._causes[i] is Cause.UNSEEN else []
        if self._terms is not None:
            return [*strange, *self._about_terms(i, self._terms, by)]
        return strange or self._about_separating(i, phrases)

    def _about_terms(self, i: int, terms: NamedTerms, by: str) -> list[Sentence]:
        """The largest terms for the label and against it, the rest, and the trust lost to fading and missing values."""
        named = terms.named(i, is_refused=not self.decisions.accepted[i])
        sides = [term for term in named if term.value > 0.0], [term for term in named if term.value < 0.0]
        rival, total = shown(terms.terms.runner_up[i]), float(terms.terms.log_odds[i])
        subject, odds = shown(terms.terms.label[i]) if by else "it", f"og-odds against {rival} {total:+.1f}."
        sentences = [
            Sentence(f"{by} gives no reasons; by the nearest cases, {subject} has l{odds}" if by else f"L{odds}")
        ]
        for on_side, side in zip(sides, ("For", "Against"), strict=True):
            sentences += [self._side(i, f"{side} {subject}: ", on_side, terms)] if on_side else []
        n_others, rest = terms.rest(i, named)
        parts = [f"the other {n_others} {'together ' if n_others > 1 else ''}{log_odds(rest)}"] if n_others else []
        if not n_others and abs(rest) >= LEAST_REST:
            parts = [f"its neighbourhood {log_odds(rest)}"]
        others = ", ".join([*parts, f"an average case {log_odds(terms.terms.offset[i])}"])
        # If the named terms do not add up to the sum, the rest must be stated.
        is_needed = abs(sum(term.value for term in named) - total) > NEEDED * abs(total)
        sentences.append(Sentence(f"{others[0].upper()}{others[1:]}.", () if is_needed else (Shorter(Loss.REST, ""),)))
        return [*sentences, *self._losses(i, terms.terms)]

    def _side(self, i: int, side: str, named: Sequence[NamedTerm], terms: NamedTerms) -> Sentence:
        """A sentence that lists terms, the first two with a detail, which may be dropped."""
        texts = [(self._what(i, term), log_odds(term.value)) for term in named]
        plain = [f"{what} ({value})" for what, value in texts]
        shorter: list[Shorter] = []
        text = f"{side}{listed(plain)}."
        for n, loss in enumerate((Loss.FIRST_DETAIL, Loss.SECOND_DETAIL)[: len(named)]):
            if detail := self._detail(i, named[n], terms, is_first=n == 0):
                shorter.insert(0, Shorter(loss, text))
                plain[n] = f"{texts[n][0]} ({texts[n][1]}; {detail})"
                text = f"{side}{listed(plain)}."
        return Sentence(text, tuple(shorter))

    def _what(self, i: int, term: NamedTerm) -> str:
        """A feature with its value, or the place of the row."""
        phrases = self._phrases
        assert phrases is not None
        if term.feature is None:
            return "its neighbourhood"
        return (
            phrases.value(i, term.feature) if self._known[i, term.feature] else f"missing {phrases.names[term.feature]}"
        )

    def _detail(self, i: int, term: NamedTerm, terms: NamedTerms, is_first: bool) -> str:
        """What is usual for both labels, where that explains the term; or the group that counts most."""
        phrases = terms.phrases
        runner_up = int(np.searchsorted(phrases.model.classes, terms.terms.runner_up[i]))
        label = int(self._labels[i])
        owners = (label, runner_up) if term.value > 0.0 else (runner_up, label)
        if term.feature is None:
            group = terms.group(i, label, runner_up)
            if group is None:
                return ""
            cases = counted_cases(phrases.model, terms.counts[group.ellipsoid], "cases")
            return f"{group.relation} {cases} with {names_of(phrases.model).ellipsoids[group.ellipsoid]}"
        if not self._known[i, term.feature] or phrases.shows(i, term.feature, *owners) <= 0:
            return ""
        usual = [phrases.usual_for(i, term.feature, owner, is_first and n == 0) for n, owner in enumerate(owners)]
        return ", ".join(text for text in usual if text)

    def _losses(self, i: int, terms: Terms) -> list[Sentence]:
        """How much trust is lost, compared to the sum alone, by distance from training cases and by missing values."""
        left, probability = float(terms.fading[i]), float(terms.probability[i])
        faded = left * probability + (1.0 - left) / len(terms.model.classes)
        by_distance, by_gaps = probability - faded, faded - float(self.decisions.trust[i])
        sentences = []
        if by_distance >= LEAST_LOSS:
            sentences.append(f"Its distance from training cases takes {decimal(by_distance)} of trust.")
        if by_gaps >= LEAST_LOSS and self.decisions.missing[i].any():
            sentences.append(f"The missing values take {decimal(by_gaps)} of trust.")
        return [_optional(text) for text in sentences]

    def _line(self, i: int) -> str:
        """The largest term for the label and the largest against it, in a few words."""
        if self._terms is None:
            return ""
        sides = zip(self._terms.extremes(i), ("for", "against"), strict=True)
        texts = [f"{self._what(i, term)} {side} it" for term, side in sides if term is not None]
        return f": {listed(texts)}" if texts else ""

    def _about_unusual(self, i: int, phrases: RowPhrases) -> list[Sentence]:
        nearest = phrases.group_around(i, int(self._labels[i]))
        strange = [j for j in unusual_features(phrases, i, self._known[i]) if phrases.is_outside(i, j, nearest)]
        if not strange:
            return [_optional("Its values were seen one by one, but not together.")]
        return _features_in_lengths(
            "Unusual: ", strange, lambda j, n: phrases.set_against_all(i, j, nearest, is_first=n == 0)
        )

    def _about_separating(self, i: int, phrases: RowPhrases) -> list[Sentence]:
        """Without weights: the features that keep a row out of the nearest ellipsoid of the runner-up."""
        order = np.argsort(-self.decisions.probabilities[i], kind="stable").tolist()
        runner_up = next((c for c in order if c != self._labels[i]), None)
        if runner_up is None:
            return []
        both, rival = (int(self._labels[i]), runner_up), shown(phrases.model.classes[runner_up])
        strong = separating_features(phrases, i, self._known[i], runner_up)
        features, lead = [j for j in strong if phrases.shows(i, j, *both) > 0], f"What separates it from {rival}: "
        if not features:
            features = [j for j in strong if phrases.shows(i, j, *both) == 0][:1]
            is_accepted = bool(self.decisions.accepted[i])
            lead = "Strongest evidence for it: " if is_accepted else f"Little separates it from {rival}: "
        return _features_in_lengths(lead, features, lambda j, n: self._compare(i, j, both, is_first=n == 0))

    def _compare(self, i: int, j: int, owners: Sequence[int], is_first: bool) -> str:
        """A feature, its value and what is usual for similar cases of these classes."""
        phrases = self._phrases
        assert phrases is not None
        usual = [phrases.usual_for(i, j, owner, is_first and n == 0) for n, owner in enumerate(owners)]
        return f"{phrases.value(i, j)} ({', '.join(usual)})" if all(usual) else phrases.value(i, j)

    def _disagreement(self, i: int) -> list[Sentence]:
        """The label that the surrounding cases alone would give, if different."""
        decisions = self.decisions
        if decisions.counts_label[i] == decisions.label[i] or decisions.model.weights is None:
            return []
        is_one = self._is_beside_a_single_case(i) or decisions.counts[i].sum() == 1
        near = "that case" if is_one else "the cases around it"
        return [_optional(f"By {near} alone, it would be {shown(decisions.counts_label[i])}.")]

    def _place(self, i: int) -> str:
        """The training cases that the row lies among or beside, with their labels."""
        decisions, cause = self.decisions, self._causes[i]
        model, counts = decisions.model, decisions.counts[i]
        is_outside, is_far, is_thin = decisions.rule[i] == Rule.NEAREST, cause is Cause.UNSEEN, cause is Cause.THIN
        if self._is_beside_a_single_case(i):
            single = _single(model.classes[model.isolated_owners[decisions.place[i] - model.n_ellipsoids]])
            if is_far:
                return f"far from all training cases, nearest to a {single}"
            return f"{'outside all groups, ' if is_thin else ''}beside a {single}"
        cases = counted_cases(model, counts)
        if is_outside and is_far:
            return f"far from all training cases; the nearest are {cases}"
        if is_outside:
            return f"outside all groups; the nearest has {cases}" if is_thin else f"beside a group of {cases}"
        if decisions.rule[i] == Rule.UNION:
            return f"between groups of {cases}"
        return f"among {cases}" if counts.sum() > 1 else f"with {cases}"

    def _is_beside_a_single_case(self, i: int) -> bool:
        decisions = self.decisions
        return bool(decisions.rule[i] == Rule.NEAREST and decisions.place[i] >= decisions.model.n_ellipsoids)

    def _group_behind_a_single_case(self, i: int) -> str:
        """The nearest group whose majority has the label, where a single case, which is little evidence, is nearer."""
        decisions, model = self.decisions, self.decisions.model
        label = decisions.label[i]
        is_left_out = self._causes[i] in (Cause.UNSEEN, Cause.THIN) or decisions.counts_label[i] != label
        if is_left_out or not self._is_beside_a_single_case(i):
            return ""
        of_label = np.flatnonzero(model.classes[self._group_counts.argmax(axis=1)] == label)
        if len(of_label) == 0:
            return ""
        nearest = of_label[self._gauges[i, of_label].argmin()]
        group = f"{name_of(label)} group" if isinstance(label, str) else f"group of {shown(label)}"
        return f"; the nearest {group} has {counted_cases(model, self._group_counts[nearest])}"

    @cached_property
    def _labels(self) -> IntArray:
        """The position of each label among the classes."""
        return np.asarray(np.searchsorted(self.decisions.model.classes, self.decisions.label))

    @cached_property
    def _causes(self) -> list[Cause]:
        return [Cause(cause) for cause in self.decisions.cause]

    @cached_property
    def _phrases(self) -> RowPhrases | None:
        usual = self.decisions.model.usual
        return None if usual is None else RowPhrases(self.decisions.model, usual, self.decisions.rows)

    @cached_property
    def _terms(self) -> NamedTerms | None:
        """The terms of all rows; None for a model without weights, or with a single class."""
        model = self.decisions.model
        if self._phrases is None or model.weights is None or len(model.classes) == 1:
            return None
        return NamedTerms(self.decisions.terms(), self._phrases)

    @cached_property
    def _known(self) -> BoolArray:
        """Which columns are known, at their first features."""
        missing, phrases = self.decisions.missing, self._phrases
        assert phrases is not None
        known = known_columns(missing, phrases.model.column_of) if missing.any() else ~missing
        edits = self.decisions.model.edits
        if edits is not None:
            # The value that a row has in a dropped column is not its own.
            known[:, edits.fixed[edits.fixed < known.shape[1]]] = False
        return known

    @cached_property
    def _gauges(self) -> Any:
        phrases = self._phrases
        return gauges_of(self.decisions.model, self.decisions.rows) if phrases is None else phrases.gauges

    @cached_property
    def _group_counts(self) -> IntArray:
        model = self.decisions.model
        return np.asarray(model.counts_at(np.arange(model.n_ellipsoids)))


def edited_mark(model: SEPModel) -> str:
    """What the heading of a reason adds if the model was edited."""
    return "" if model.edits is None else " (edited model)"


def about_edits(model: SEPModel) -> list[Sentence]:
    """What experts edited in the model, in a sentence that is never dropped; empty if nothing."""
    return [] if model.edits is None else [Sentence(f"Experts edited {names_of_edits(model.edits.made)}.")]


def _optional(text: str, shorter: str = "") -> Sentence:
    """A sentence that may be shortened, or left out."""
    return Sentence(text, (Shorter(Loss.SENTENCE, shorter),))


def _features_in_lengths(lead: str, features: Sequence[int], describe: Callable[[int, int], str]) -> list[Sentence]:
    """A sentence about the first three features, which can be shortened to fewer or none; empty without features."""
    texts = [describe(j, n) for n, j in enumerate(features[:MOST_FEATURES])]
    losses = (Loss.SENTENCE, Loss.SECOND_FEATURE, Loss.THIRD_FEATURE)
    shorter = [Shorter(losses[n], f"{lead}{listed(texts[:n])}." if n else "") for n in range(len(texts) - 1, -1, -1)]
    return [Sentence(f"{lead}{listed(texts)}.", tuple(shorter))] if texts else []


def counted_cases(model: SEPModel, counts: IntArray, cases: str = "training cases") -> str:
    """How many training cases of each class, as in "78 malignant and 9 benign training cases"."""
    order = [int(c) for c in np.argsort(-counts, kind="stable") if counts[c] > 0]
    if not order:
        return f"no {cases}"
    if counts.sum() == 1:
        return f"a {_single(model.classes[order[0]])}"
    named, n_others = order[:MOST_CLASSES], int(counts[order[MOST_CLASSES:]].sum())
    if all(isinstance(model.classes[c], str) for c in named):
        others = [f"{n_others:,} other"] if n_others else []
        return f"{listed([*(f'{counts[c]:,} {name_of(model.classes[c])}' for c in named), *others])} {cases}"
    first, *rest = (f"{counts[c]:,} of {shown(model.classes[c])}" for c in named)
    n, of, label = first.partition(" of ")
    others = [f"{n_others:,} of {'another label' if n_others == 1 else 'other labels'}"] if n_others else []
    return listed([f"{n} {cases}{of}{label}", *rest, *others])


def _single(label: Any) -> str:
    """A single training case of a label."""
    is_text = isinstance(label, str)
    return f"single {name_of(label)} training case" if is_text else f"single training case of {shown(label)}"
