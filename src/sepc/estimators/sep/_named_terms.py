"""The terms that a reason names, and reasons worded for the person a decision is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.letter import Grounds, Words
from sepc.estimators.sep.row_phrases import RowPhrases, missing_columns, summed_by_column
from sepc.model.terms import Terms
from sepc.wording import name_of

# The named terms make up at least this share of the sum of all sizes, unless that takes more than this many.
COVERED, MOST_TERMS = 0.7, 8
# With more columns than this, fewer terms are named, to keep reasons readable.
MANY_COLUMNS, FEWER_TERMS = 20, 5
# A smaller term would be shown as zero.
LEAST_TERM = 0.005
# Up to this gauge a row is near an ellipsoid.
NEAR = 2.0


class NamedTerm(NamedTuple):
    """A term of one decision: a column, given as its first feature, or the place among groups and single cases."""

    feature: int | None
    value: float


class Group(NamedTuple):
    """An ellipsoid that counts for the place of a row, and the row's relation to it: in, near or outside."""

    ellipsoid: int
    relation: str


@dataclass(frozen=True, eq=False)
class NamedTerms:
    """The terms of decisions, summed by column, with one sum for all ellipsoids and isolated rows: the place."""

    terms: Terms
    phrases: RowPhrases

    @cached_property
    def columns(self) -> IntArray:
        """The first feature of each column."""
        return np.unique(self.terms.model.column_of)

    @cached_property
    def sizes(self) -> FloatArray:
        """The terms of all columns, and the place, of shape (n, columns + 1)."""
        known = np.ones(self.terms.features.shape, dtype=bool)
        by_column = summed_by_column(self.terms.features, known, self.terms.model.column_of)[:, self.columns]
        return np.column_stack([by_column, self.terms.ellipsoids.sum(axis=1) + self.terms.isolated])

    def named(self, i: int, is_refused: bool) -> list[NamedTerm]:
        """The terms to name for a row, the largest first."""
        sizes = self.sizes[i]
        order = np.argsort(-np.abs(sizes), kind="stable")
        so_far = np.cumsum(np.abs(sizes[order]))
        most = MOST_TERMS if len(self.columns) <= MANY_COLUMNS else FEWER_TERMS
        n_named = min(int((so_far < COVERED * so_far[-1]).sum()) + 1, most)
        best, worst = int(sizes.argmax()), int(sizes.argmin())
        chosen = set(order[:n_named].tolist()) | ({best} if sizes[best] > 0.0 else set())
        if is_refused and sizes[worst] < 0.0:
            chosen.add(worst)
        return [self._term(i, j) for j in order.tolist() if j in chosen and abs(sizes[j]) >= LEAST_TERM]

    def largest(self, i: int) -> list[NamedTerm]:
        """All terms of a row that are not too small to be shown, the largest first."""
        order = np.argsort(-np.abs(self.sizes[i]), kind="stable").tolist()
        return [self._term(i, j) for j in order if abs(self.sizes[i, j]) >= LEAST_TERM]

    def extremes(self, i: int) -> tuple[NamedTerm | None, NamedTerm | None]:
        """The largest term for the label of a row, and the largest against it, if any."""
        sizes = self.sizes[i]
        best, worst = int(sizes.argmax()), int(sizes.argmin())
        return (
            self._term(i, best) if sizes[best] >= LEAST_TERM else None,
            self._term(i, worst) if sizes[worst] <= -LEAST_TERM else None,
        )

    def _term(self, i: int, j: int) -> NamedTerm:
        feature = int(self.columns[j]) if j < len(self.columns) else None
        return NamedTerm(feature, float(self.sizes[i, j]))

    def rest(self, i: int, named: list[NamedTerm]) -> tuple[int, float]:
        """How many other columns there are, and what they and the place, if it is not named, add together."""
        n_features = sum(term.feature is not None for term in named)
        return len(self.columns) - n_features, float(self.sizes[i].sum() - sum(term.value for term in named))

    def group(self, i: int, label: int, runner_up: int) -> Group | None:
        """The ellipsoid that adds most to a row's place term, if its relation to the row explains the sign."""
        by_ellipsoid = self.terms.ellipsoids[i]
        place = float(self.sizes[i, -1])
        toward = by_ellipsoid * np.sign(place)
        if abs(float(self.terms.isolated[i])) > toward.max(initial=0.0):
            return None
        favoured, other = (label, runner_up) if place > 0.0 else (runner_up, label)
        gauges = self.phrases.gauges[i]
        inside, mostly = gauges <= 1.0 + self.phrases.model.slack, self.counts.argmax(axis=1)
        explains = np.where(inside, mostly == favoured, (mostly == other) | ((mostly == favoured) & (gauges <= NEAR)))
        if not (explains & (toward > 0.0)).any():
            return None
        k = int(np.where(explains, toward, -np.inf).argmax())
        relation = "in" if inside[k] else "near" if mostly[k] == favoured else "outside"
        return Group(k, relation)

    @cached_property
    def counts(self) -> IntArray:
        """Training rows of each class in each ellipsoid."""
        model = self.terms.model
        return model.counts_at(np.arange(model.n_ellipsoids))


def known_columns(missing: BoolArray, column_of: IntArray) -> BoolArray:
    """Which columns are known, at their first features, given which features are missing, of shape (n, d)."""
    gone = np.zeros_like(missing)
    np.logical_or.at(gone.T, column_of, missing.T)
    return ~gone


# The most values to name for the label, and against it.
MOST_FOR, MOST_AGAINST = 5, 3
# Terms below this share of the largest are not worth naming.
LEAST_SHARE = 0.1


def grounds_of(decisions: Any, words: Words) -> Grounds:
    """The reasons for a single decision, in these words; `decisions` are `SEPDecisions` on one row."""
    model = decisions.model
    missing = missing_columns(model, decisions.missing[0])
    if decisions.preparation is not None:
        categories = zip(decisions.preparation.categories, decisions.empty[0], strict=True)
        missing += [name_of(column) for column, is_empty in categories if is_empty]
    if model.usual is None or model.weights is None or len(model.classes) == 1:
        return Grounds(missing=tuple(missing))
    phrases = RowPhrases(model, model.usual, decisions.rows)
    terms = NamedTerms(decisions.terms(), phrases)
    known = known_columns(decisions.missing, model.column_of)[0]
    all_known = [term for term in terms.largest(0) if term.feature is None or known[term.feature]]
    owners = [int(np.searchsorted(model.classes, label)) for label in (decisions.label[0], terms.terms.runner_up[0])]
    sides = []
    for sign, most in ((1.0, MOST_FOR), (-1.0, MOST_AGAINST)):
        least = LEAST_SHARE * max((abs(term.value) for term in all_known), default=0.0)
        chosen = [term.feature for term in all_known if sign * term.value >= least][:most]
        sides.append(tuple(_point(phrases, j, owners if sign > 0.0 else owners[::-1], words) for j in chosen))
    in_favour, against = sides
    return Grounds(in_favour, against, tuple(missing))


def _point(phrases: RowPhrases, j: int | None, owners: list[int], words: Words) -> str:
    """A value next to what is usual for the label it favours and for the other one, where that explains it."""
    favoured, other = (words.label(phrases.model.classes[owner]) for owner in owners)
    if j is None:
        return f"overall, your values resemble earlier cases with {favoured} more than cases with {other}"
    value = words.about(phrases.value(0, j), phrases.names[j])
    if phrases.shows(0, j, *owners) <= 0:
        return value
    (usual, is_share), (rival, _) = (phrases.usual_among(0, j, owner) for owner in owners)
    if not usual or not rival or usual == rival:
        return value
    if is_share:
        return f"{value} ({usual} of similar earlier cases with {favoured} had this, and {rival} of those with {other})"
    return f"{value} (usually {usual} in similar earlier cases with {favoured}, and {rival} in those with {other})"
