"""What every feature and every ellipsoid adds to the log-odds of a label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.frames import frame_of
from sepc.decisions.row_wise import SHARED, OneRow, RowWise
from sepc.model.membership import padded_tiles
from sepc.model.names import names_of
from sepc.model.sep_model import SEPModel
from sepc.model.weights import fading
from sepc.wording import cases_of, counted, percent, shown

if TYPE_CHECKING:
    import pandas as pd

# Terms that a card lists.
MOST_TERMS = 8


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Terms(ShownAsCard, RowWise["Term"]):
    """The terms of decisions in log-odds of the label against the runner-up, as arrays with one entry per row.

    A positive term speaks for the label, a negative one for the runner-up. Every term is zero on average over the rows
    that the weights were fitted to. The terms of a row and its offset add up to `log_odds`. Far from the training rows,
    probabilities also fade towards equal ones: `fading` is the part of them that is left.

    Attributes
    ----------
    label, runner_up : array
        The two labels that are compared; the same where there is only one.
    offset : (n,) array
        The log-odds of the average row.
    features : (n, d) array
    ellipsoids : (n, K) array
    isolated : (n,) array
        The sum over all isolated rows.
    log_odds : (n,) array
    fading : (n,) array
        From 1, near training rows, down to 0.
    """

    model: SEPModel = field(metadata=SHARED)
    label: NDArray[Any]
    runner_up: NDArray[Any]
    offset: FloatArray
    features: FloatArray
    ellipsoids: FloatArray
    isolated: FloatArray
    fading: FloatArray

    @property
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
        """Names of all terms: those of features, then those of ellipsoids with their labels."""
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
class Term(ShownAsCard, OneRow):
    """The terms of one decision; its attributes are those of `Terms`, as single values."""

    _only: Terms

    def largest(self, n: int = 5) -> list[tuple[str, float]]:
        """The `n` largest terms for or against the label, with their names."""
        return sorted(self.named(), key=lambda item: -abs(item[1]))[:n]

    def named(self) -> list[tuple[str, float]]:
        """All terms with their names: features, then ellipsoids with their labels, then isolated rows together."""
        values = [*self.features.tolist(), *self.ellipsoids.tolist(), float(self.isolated)]
        return list(zip(self._only._names(), values, strict=False))

    def _card(self) -> Card:
        title = f"Terms of one decision: {shown(self.label)} against {shown(self.runner_up)}"
        facts = [("log-odds", f"{self.log_odds:+.2f}"), ("of the average row", f"{self.offset:+.2f}")]
        if self.fading < 1.0:
            facts.append(("fading", f"far from training rows, {percent(float(self.fading))} of it is left"))
        rows = tuple((name, f"{value:+.2f}") for name, value in self.largest(MOST_TERMS))
        return Card(title, tuple(facts), ("term", "log-odds"), rows, "All of them: named()")


def terms_of(model: SEPModel, rows: FloatArray, label: IntArray, gauge: FloatArray) -> Terms:
    """The terms of decisions, given the positions of their labels among the classes and the gauges of the rows."""
    weights = model.weights
    if weights is None:
        raise ValueError(f"With trust={model.trust!r} a decision has no terms; fit with trust='weights' to get them.")
    n, d, K = len(rows), len(model.feature_names), model.n_ellipsoids
    runner_up = np.empty(n, dtype=np.int64)
    features, ellipsoids, isolated = np.empty((n, d)), np.empty((n, K)), np.empty(n)
    for place, columns, squares in padded_tiles(model.standardize(rows), model.stack, max(d, K) * len(model.classes)):
        n_rows = place.stop - place.start
        scores = weights.scores(columns, squares, model.isolated)[:, :n_rows].T
        added = weights.category_terms(rows[place, len(model.shift) :])
        scores = scores + added.sum(axis=1)
        runner_up[place] = _second(scores, label[place])
        own, other = label[place], runner_up[place]
        together = weights.isolated_terms(columns[:, :n_rows], model.isolated)
        by_feature = weights.feature_terms(columns[:, :n_rows])
        by_feature[:, weights.category_features] += added
        features[place] = _difference(by_feature, own, other)
        ellipsoids[place] = _difference(weights.ellipsoid_terms(squares[:, :n_rows]), own, other)
        isolated[place] = _difference(together, own, other)
    return Terms(
        model=model,
        label=model.classes[label],
        runner_up=model.classes[runner_up],
        offset=weights.offsets[label] - weights.offsets[runner_up],
        features=features,
        ellipsoids=ellipsoids,
        isolated=isolated,
        fading=fading(gauge),
    )


def _second(scores: FloatArray, label: IntArray) -> IntArray:
    """The class with the second largest score; the label itself if there is only one class."""
    others = scores.copy()
    others[np.arange(len(label)), label] = -np.inf
    return np.asarray(others.argmax(axis=1))


def _difference(terms: FloatArray, label: IntArray, runner_up: IntArray) -> FloatArray:
    """Terms of the label minus those of the runner-up; the last axis of `terms` is the class."""
    each = np.arange(len(label))
    return np.asarray(terms[each, ..., label] - terms[each, ..., runner_up])
