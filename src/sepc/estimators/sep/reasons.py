"""A decision in words that a domain expert understands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.columns.preparation import origin_of
from sepc.decisions.kinds import Rule
from sepc.model.membership import FARTHEST, squared_radii
from sepc.model.mixture import N_DRAWS
from sepc.model.sep_model import SEPModel
from sepc.wording import decimal, listed, percent, shown

if TYPE_CHECKING:
    from sepc.estimators.sep.decisions import SEPDecision

# Features to name: the one with the largest share of the squared radius, others with at least this share, at most
# three.
NAMED_SHARE = 0.1
NAMED_MOST = 3


def sentences_about(decision: SEPDecision) -> list[str]:
    """Where the row lies, how many training rows of each class lie there, and what keeps it from the runner-up."""
    return [
        f"{shown(decision.label)} with trust {decimal(decision.trust)}: {where(decision)}.",
        about_gaps(decision),
        decision.notes,
        _disagreement(decision),
        other_side(decision),
    ]


def about_gaps(decision: SEPDecision) -> str:
    """What is missing, and how the row was decided without it."""
    features = zip(decision.model.feature_names, decision.missing, strict=True)
    names = list(dict.fromkeys(origin_of(name) for name, gone in features if gone))
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return f"{listed(names)} {verb} missing; this is the average of {N_DRAWS} ways to fill that in like training rows."


def where(decision: SEPDecision) -> str:
    """Where the row lies, and how many training rows of each class lie there."""
    model: SEPModel = decision.model
    counts = counted(model, decision.counts)
    if decision.rule is Rule.NEAREST:
        if decision.place >= model.n_ellipsoids:
            owner = model.classes[model.isolated_owners[decision.place - model.n_ellipsoids]]
            return f"outside every ellipsoid; nearest is an isolated training row of {shown(owner)}"
        return (
            f"outside every ellipsoid; nearest is {named_ellipsoids(model, [decision.place])}, "
            f"at {decision.gauge:.2f} times its size, which holds {counts}"
        )
    inside = np.flatnonzero(_gauges(decision) <= 1.0 + model.slack)
    if decision.rule is Rule.SINGLE:
        return f"in {named_ellipsoids(model, inside)}, which holds {counts}"
    if decision.rule is Rule.SHARED:
        return f"where {named_ellipsoids(model, inside)} overlap, with {counts}"
    return f"where {named_ellipsoids(model, inside)} overlap and no training row lies; together they hold {counts}"


def other_side(decision: SEPDecision) -> str:
    """The features that keep the row out of the nearest ellipsoid of the runner-up label, if it is out of it."""
    model: SEPModel = decision.model
    order = np.argsort(-decision.probabilities, kind="stable")
    runner_up = next((int(k) for k in order if model.classes[k] != decision.label), None)
    if runner_up is None or not (model.owners == runner_up).any() or decision.missing.any():
        return ""
    gauges = np.where(model.owners == runner_up, _gauges(decision), np.inf)
    nearest = int(gauges.argmin())
    if gauges[nearest] <= 1.0 + model.slack:
        return ""
    shares = feature_shares(model, decision.rows, nearest)
    first, *others = np.argsort(-shares)[:NAMED_MOST]
    named = [first, *(j for j in others if shares[j] >= NAMED_SHARE)]
    features = [f"{model.feature_names[j]} ({percent(shares[j], 0)})" for j in named]
    return f"Out of {named_ellipsoids(model, [nearest])} it is kept by {listed(features)}."


def _disagreement(decision: SEPDecision) -> str:
    """What outweighs the training rows where the row lies, if these alone would give another label."""
    if decision.counts_label == decision.label or decision.model.weights is None:
        return ""
    terms = decision.terms()
    named = [*terms.named(), ("what is usual", float(terms.offset))]
    speak = sorted([item for item in named if item[1] > 0.0], key=lambda item: -item[1])
    reasons = [f"{name} ({value:+.1f})" for name, value in speak[:NAMED_MOST]]
    if not reasons:
        return ""
    return (
        f"These rows alone would say {shown(decision.counts_label)}; "
        f"{listed(reasons)}, in log-odds, {'speak' if len(reasons) > 1 else 'speaks'} for {shown(decision.label)}."
    )


def feature_shares(model: SEPModel, row: FloatArray, k: int) -> FloatArray:
    """The share of each feature in the squared radius of `row` in ellipsoid `k`.

    With correlated features, some may reduce the squared radius; their share is zero.
    """
    offset = np.clip(model.standardize(row[None, :])[0] - model.centers[k], -FARTHEST, FARTHEST)
    offset /= np.abs(offset).max() or 1.0
    terms = np.maximum(offset * (model.roots[k].T @ (model.roots[k] @ offset)), 0.0)
    return np.asarray(terms / terms.sum())


def _gauges(decision: SEPDecision) -> FloatArray:
    model: SEPModel = decision.model
    return np.asarray(np.sqrt(squared_radii(model.standardize(decision.rows[None, :]), model.centers, model.roots)[0]))


def named_ellipsoids(model: SEPModel, which: Sequence[int] | IntArray) -> str:
    """Ellipsoids by number and class, as in "ellipsoids 0 of 'a' and 4 of 'b'"."""
    named = [f"{k} of {shown(model.classes[model.owners[k]])}" for k in which]
    return ("ellipsoid " if len(named) == 1 else "ellipsoids ") + listed(named)


def counted(model: SEPModel, counts: IntArray) -> str:
    """How many training rows of each class, as in "311 benign and 2 malignant" or "5 of 0 and 1 of 1"."""
    return listed(
        [
            f"{n:,} {label}" if isinstance(label, str) else f"{n:,} of {shown(label)}"
            for n, label in zip(counts, model.classes, strict=True)
        ]
    )
