"""Additive terms: what each feature and each ellipsoid contributes to the log-odds of a label."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import SHARED, RowView, RowWise, frame_of
from sepc.model.completion import draw_completions
from sepc.model.membership import padded_tiles
from sepc.model.names import names_of
from sepc.model.sep_model import SEPModel
from sepc.model.weights import fading
from sepc.wording import cases_of, counted, percent, shown

if TYPE_CHECKING:
    import pandas as pd

# Number of terms that a card lists.
MOST_TERMS = 8
# Numbers in memory at a time: 32 MB.
BLOCK_ENTRIES = 2**22
# In place of a class: the one with the second largest score.
RUNNER_UP = -1


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Terms(ShownAsCard, RowWise["Term"]):
    """The terms of decisions in log-odds of the label against the runner-up, as arrays with one entry per row.

    A positive term favours the label, a negative one the runner-up. Every term is zero on average over the rows
    that the weights were fitted to. The terms of a row and its offset add up to `log_odds`. Far from the training rows,
    probabilities also fade towards equal ones: `fading` is the share that is left. The terms of a row with missing
    values are averages over its completions.

    Attributes
    ----------
    label, runner_up : array
        The two labels that are compared; equal if there is only one class.
    offset : (n,) array
        The log-odds of the average row.
    features : (n, d) array
    ellipsoids : (n, K) array
    isolated : (n,) array
        The sum over all isolated rows.
    log_odds : (n,) array
    fading : (n,) array
        From 1, near training rows, down to 0.
    probability : (n,) array
        The probability of the label by the sum alone, without fading; of mean scores if values are missing.
    """

    model: SEPModel = field(metadata=SHARED)
    label: NDArray[Any]
    runner_up: NDArray[Any]
    offset: FloatArray
    features: FloatArray
    ellipsoids: FloatArray
    isolated: FloatArray
    fading: FloatArray
    probability: FloatArray

    @cached_property
    def log_odds(self) -> FloatArray:
        """The sum of the terms and the offset."""
        sums = self.features.sum(axis=1) + self.ellipsoids.sum(axis=1)
        return np.asarray(self.offset + sums + self.isolated)

    def _single(self) -> Term:
        """The terms of the only row."""
        return Term(self)

    def to_frame(self) -> pd.DataFrame:
        """The terms as a pandas DataFrame: a column for each feature and each ellipsoid."""
        columns: dict[str, Any] = {"label": self.label, "runner_up": self.runner_up, "log_odds": self.log_odds}
        columns |= {"fading": self.fading, "offset": self.offset}
        columns |= dict(zip(self.model.feature_names, self.features.T, strict=True))
        columns |= {f"ellipsoid {k}": term for k, term in enumerate(self.ellipsoids.T)}
        return frame_of(columns | {"isolated rows": self.isolated})

    def _names(self) -> list[str]:
        """Names of all terms: features, then ellipsoids with their labels, then isolated rows."""
        pairs = zip(self.model.classes[self.model.owners], names_of(self.model).ellipsoids, strict=True)
        ellipsoids = [f"{cases_of(label)} with {name}" for label, name in pairs]
        return [*self.model.feature_names, *ellipsoids, *(["isolated rows"] if len(self.model.isolated) else [])]

    def _card(self) -> Card:
        title = f"Terms of {counted(len(self), 'decision')}, in log-odds of the label"
        if len(self) == 0:
            return Card(title)
        terms = np.column_stack([self.features, self.ellipsoids, self.isolated])[:, : len(self._names())]
        size = np.abs(terms).mean(axis=0)
        rows = [
            (self._names()[j], f"{size[j]:.2f}", f"{terms[:, j].min():+.2f}", f"{terms[:, j].max():+.2f}")
            for j in np.argsort(-size, kind="stable")[:MOST_TERMS].tolist()
        ]
        facts = (
            ("terms", f"{len(size):,}, the largest below"),
            ("log-odds", f"{self.log_odds.mean():+.2f} on average"),
        )
        return Card(title, facts, ("term", "mean size", "least", "most"), tuple(rows), "As a DataFrame: to_frame()")


@dataclass(frozen=True, eq=False, repr=False)
class Term(ShownAsCard, RowView):
    """The terms of one decision; its attributes are those of `Terms`, as single values."""

    _only: Terms

    def largest(self, n: int = 5) -> list[tuple[str, float]]:
        """The `n` largest terms, the sum of the others, and that of an average case: together they are `log_odds`."""
        *terms, average = self.named()
        terms.sort(key=lambda term: -abs(term[1]))
        if len(terms) > n + 1:
            terms[n:] = [(f"the other {len(terms) - n:,} together", sum(value for _, value in terms[n:]))]
        return [*terms, average]

    def named(self) -> list[tuple[str, float]]:
        """All terms with their names; they add up to `log_odds`.

        Features come first, then ellipsoids with their labels, isolated rows together, and an average case.
        """
        values = [*self.features.tolist(), *self.ellipsoids.tolist(), float(self.isolated)]
        return [*zip(self._only._names(), values, strict=False), ("an average case", float(self.offset))]

    def _card(self) -> Card:
        title = f"Terms of one decision: {shown(self.label)} against {shown(self.runner_up)}"
        facts = [("log-odds", f"{self.log_odds:+.2f}")]
        if self.fading < 1.0:
            left = percent(float(self.fading))
            facts.append(("fading", f"far from training rows, {left} of the probabilities is left"))
        rows = tuple((name, f"{value:+.2f}") for name, value in self.largest(MOST_TERMS))
        return Card(title, tuple(facts), ("term", "log-odds"), rows, "All of them: named()")


def terms_of(
    model: SEPModel, rows: FloatArray, label: IntArray, gauge: FloatArray, against: IntArray | None = None
) -> Terms:
    """The terms of decisions, given the positions of their labels among the classes and the gauges of the rows."""
    if model.weights is None:
        raise ValueError(f"With trust={model.trust!r} a decision has no terms; fit with trust='weights' to get them.")
    complete = np.flatnonzero(~np.isnan(rows[:, : len(model.shift)]).any(axis=1))
    others = np.full(len(label), RUNNER_UP) if against is None else against
    parts, places = [_compare(model, rows[complete][:, None], label[complete], others[complete])], [complete]
    for where, completions in draw_completions(model, rows):
        parts.append(_compare(model, completions, label[where], others[where]))
        places.append(where)
    order = np.argsort(np.concatenate(places), kind="stable")
    runner_up, probability, features, ellipsoids, isolated = (
        np.concatenate(part)[order] for part in zip(*parts, strict=True)
    )
    offsets = model.weights.offsets
    return Terms(
        model=model,
        label=model.classes[label],
        runner_up=model.classes[runner_up],
        offset=offsets[label] - offsets[runner_up],
        features=features,
        ellipsoids=ellipsoids,
        isolated=isolated,
        fading=fading(gauge),
        probability=probability,
    )


def _compare(
    model: SEPModel, completions: FloatArray, label: IntArray, against: IntArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Runner-up and probability of each row, and its terms: features, ellipsoids and isolated rows."""
    n, n_draws, width = completions.shape
    rows, weights = completions.reshape(-1, width), model.weights
    assert weights is not None
    standardized, placed, codes = model.standardize(rows), model.place(rows), rows[:, len(model.shift) :]
    placed_weights = model.placed_weights
    assert placed_weights is not None
    d, K, C = len(model.feature_names), model.n_ellipsoids, len(model.classes)
    scores, squares = np.empty((len(rows), C)), np.empty((K, len(rows)))
    for place, columns, tile in padded_tiles(placed, model.stack, C):
        n_rows = place.stop - place.start
        squares[:, place] = tile[:, :n_rows]
        scores[place] = placed_weights.scores(columns, tile, model.isolated)[:, :n_rows].T
        scores[place] += weights.category_terms(codes[place]).sum(axis=1)
        if model.alone is not None:
            scores[place] += model.alone_terms(rows[place])
    mean = scores.reshape(n, n_draws, C).mean(axis=1)
    runner_up = np.where(against == RUNNER_UP, _second(mean, label), against)
    probability = softmax(mean, axis=1)[np.arange(n), label]
    features, ellipsoids, isolated = np.empty((len(rows), d)), np.empty((len(rows), K)), np.empty(len(rows))
    labels, others = np.repeat(label, n_draws), np.repeat(runner_up, n_draws)
    step = max(1, BLOCK_ENTRIES // (max(d, K) * C))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        columns, pair = np.ascontiguousarray(standardized[block].T), (labels[block], others[block])
        by_feature = weights.feature_terms(columns)
        by_feature[:, weights.category_features] += weights.category_terms(codes[block])
        features[block] = _difference(by_feature, *pair)
        ellipsoids[block] = _difference(weights.ellipsoid_terms(squares[:, block]), *pair)
        around = columns if model.alone is None else np.ascontiguousarray(placed[block].T)
        isolated[block] = _difference(weights.isolated_terms(around, model.isolated), *pair)
    if n_draws > 1:
        features, ellipsoids = (part.reshape(n, n_draws, -1).mean(axis=1) for part in (features, ellipsoids))
        isolated = isolated.reshape(n, n_draws).mean(axis=1)
    return runner_up, probability, features, ellipsoids, isolated


def _second(scores: FloatArray, label: IntArray) -> IntArray:
    """The class with the second largest score; the label itself if there is only one class."""
    others = scores.copy()
    others[np.arange(len(label)), label] = -np.inf
    return np.asarray(others.argmax(axis=1))


def _difference(terms: FloatArray, label: IntArray, runner_up: IntArray) -> FloatArray:
    """Terms of the label minus those of the runner-up; the last axis of `terms` is the class."""
    each = np.arange(len(label))
    return np.asarray(terms[each, ..., label] - terms[each, ..., runner_up])
