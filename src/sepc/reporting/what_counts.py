"""The most important features and ellipsoids of a model with weights, and rows on which its counts disagree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.columns.categories import Categories
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Term
from sepc.reporting.partitions import named_ellipsoid
from sepc.views.log_odds import (
    Contrast,
    Curve,
    EllipsoidWeight,
    contrast_of,
    curves_of,
    ellipsoid_weights,
    spreads_of,
)
from sepc.views.outcomes import is_right, most_common
from sepc.wording import name_of, percent

# Curves that are drawn; of a model with few features, all.
N_CURVES, FEW_FEATURES = 6, 9
N_ELLIPSOIDS = 12
# Terms shown for a row.
N_TERMS = 3
# Features named for each class, if there are more than two.
N_NAMED = 4


@dataclass(frozen=True)
class FeatureCurve:
    """What a feature adds to the log-odds; see `sepc.views.log_odds.Curve`."""

    name: str
    x: tuple[float, ...]
    term: tuple[float, ...]
    is_discrete: bool
    spread: float
    edges: tuple[float, ...]
    n_rows: tuple[int, ...]
    categories: tuple[str, ...] = ()
    proved: str = ""

    @classmethod
    def of(cls, curve: Curve) -> FeatureCurve:
        """A curve in plain numbers."""
        arrays = {name: tuple(getattr(curve, name).tolist()) for name in ("x", "term", "edges", "n_rows")}
        categories = tuple(map(name_of, curve.categories))
        return cls(
            name_of(curve.name),
            is_discrete=curve.is_discrete,
            spread=curve.spread,
            categories=categories,
            proved=curve.proved,
            **arrays,
        )

    def value(self, k: int, digits: int = 4) -> str:
        """The value at a vertex of the curve, or the category of a bar."""
        return self.categories[k] if self.categories else f"{self.x[k]:.{digits}g}"


@dataclass(frozen=True)
class Disagreement:
    """Rows on which weights and counts give different labels, compared with all others.

    Attributes
    ----------
    n_rows, n_accepted : int
        Rows on which they disagree, and those accepted among them.
    n_others : int
        Rows on which they agree.
    weights_right, counts_right, others_right : int or None
        Where they disagree, how often the weights are right, and how often the counts; where they agree, how often
        both are right. None without true labels.
    """

    n_rows: int
    n_accepted: int
    n_others: int
    weights_right: int | None = None
    counts_right: int | None = None
    others_right: int | None = None

    def summary(self) -> str:
        """The disagreement in one or two sentences."""
        n_all = self.n_rows + self.n_others
        if self.n_rows == 0:
            return f"On all {n_all:,} rows, the training rows in the same region give the same label as the weights."
        accepted = f"{self.n_accepted:,} of these are" if self.n_accepted else "none of these is"
        text = (
            f"On {self.n_rows:,} of {n_all:,} rows ({percent(self.n_rows / n_all)}), the training rows in the same "
            f"region give a different label from the weights; {accepted} accepted."
        )
        if self.weights_right is None or self.counts_right is None or self.others_right is None:
            return text
        text += f" There, the weights are right on {self.weights_right:,} and the counts on {self.counts_right:,}"
        neither = self.n_rows - self.weights_right - self.counts_right
        text += f", neither on {neither:,}" if neither else ""
        if self.n_others == 0:
            return f"{text}."
        return f"{text}; where both agree, {percent(self.others_right / self.n_others)} of the labels are right."


@dataclass(frozen=True)
class WhatCounts:
    """The most important features and ellipsoids.

    Attributes
    ----------
    label : str
        The class whose log-odds are shown: the second of two, or the one most often predicted for rows not accepted.
    against : str or None
        The other of two classes; None is the average of all others.
    positions : pair of int
        Positions of `label` and `against` among the classes; -1 for the average of all others.
    classes : tuple of str
    curves : tuple of FeatureCurve
        The features whose terms vary most over the held-out rows, and all others that are monotone; of a model with few
        features, all.
    n_features : int
    ellipsoids : tuple of EllipsoidWeight
        Those with the largest mean absolute terms.
    ellipsoid_names : tuple of str
    n_ellipsoids : int
    by_class : tuple of (class, (feature, spread), ...)
        If there are more than two classes, the most important features of each against the average of the others.
    disagreement : Disagreement or None
        None if labels do not come from the weights.
    """

    label: str
    against: str | None
    positions: tuple[int, int]
    classes: tuple[str, ...]
    curves: tuple[FeatureCurve, ...]
    n_features: int
    ellipsoids: tuple[EllipsoidWeight, ...]
    ellipsoid_names: tuple[str, ...]
    n_ellipsoids: int
    by_class: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    disagreement: Disagreement | None


def what_counts(
    decisions: SEPDecisions,
    accepted: BoolArray,
    y: NDArray[Any] | None,
    categories: Mapping[int, Categories],
    gives_labels: bool = True,
) -> WhatCounts | None:
    """The most important features and ellipsoids of the model behind decisions; None if it has no weights.

    `gives_labels` says whether the labels are those of this model.
    """
    model = decisions.model
    if model.weights is None or len(model.classes) < 2:
        return None
    contrast = contrast_of(model, _class_to_show(decisions, accepted))
    ellipsoids = ellipsoid_weights(model, contrast, decisions.rows, N_ELLIPSOIDS)
    other = contrast.against
    return WhatCounts(
        label=name_of(model.classes[contrast.label]),
        against=None if other is None else name_of(model.classes[other]),
        positions=(contrast.label, -1 if other is None else other),
        classes=tuple(map(name_of, model.classes)),
        curves=tuple(map(FeatureCurve.of, _curves(model, contrast, decisions.rows, categories))),
        n_features=len(model.feature_names),
        ellipsoids=ellipsoids,
        ellipsoid_names=tuple(named_ellipsoid(model, ellipsoid.number) for ellipsoid in ellipsoids),
        n_ellipsoids=model.n_ellipsoids,
        by_class=_by_class(model, decisions.rows),
        disagreement=_disagreement(decisions, accepted, y) if gives_labels else None,
    )


def _curves(
    model: SEPModel, contrast: Contrast, rows: FloatArray, categories: Mapping[int, Categories]
) -> tuple[Curve, ...]:
    """The curves that vary most, then those of other monotone features; of a model with few features, all."""
    n = len(model.feature_names)
    most = curves_of(model, contrast, rows, most=n if n <= FEW_FEATURES else N_CURVES, categories=categories)
    signed = [] if model.alone is None else model.alone.features[model.alone.directions != 0].tolist()
    others = [j for j in signed if j not in {curve.feature for curve in most}]
    return (*most, *curves_of(model, contrast, rows, others))


def largest_terms(terms: Term) -> tuple[tuple[str, float], ...]:
    """The largest terms of a decision."""
    return tuple((name_of(name), float(value)) for name, value in terms.largest(N_TERMS)[:N_TERMS])


def _class_to_show(decisions: SEPDecisions, accepted: BoolArray) -> Any:
    """The class whose log-odds are shown; None for the default of two classes."""
    if len(decisions.model.classes) == 2:
        return None
    waiting = decisions.label[~accepted]
    return most_common(waiting if len(waiting) else decisions.label)


def _by_class(model: SEPModel, rows: FloatArray) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    n_classes = len(model.classes)
    if n_classes == 2:
        return ()
    contrasts = np.column_stack([contrast_of(model, label).coefficients for label in model.classes.tolist()])
    spreads = spreads_of(model, contrasts, rows)
    features = []
    for k, label in enumerate(model.classes):
        most = np.argsort(-spreads[:, k], kind="stable")[:N_NAMED]
        features.append((name_of(label), tuple((name_of(model.feature_names[j]), float(spreads[j, k])) for j in most)))
    return tuple(features)


def _disagreement(decisions: SEPDecisions, accepted: BoolArray, y: NDArray[Any] | None) -> Disagreement:
    differ = np.asarray(decisions.label != decisions.counts_label)
    n, n_accepted = int(differ.sum()), int((differ & accepted).sum())
    if y is None:
        return Disagreement(n, n_accepted, len(differ) - n)
    by_weights, by_counts = is_right(decisions.label, y), is_right(decisions.counts_label, y)
    return Disagreement(
        n,
        n_accepted,
        len(differ) - n,
        weights_right=int((by_weights & differ).sum()),
        counts_right=int((by_counts & differ).sum()),
        others_right=int((by_weights & ~differ).sum()),
    )
