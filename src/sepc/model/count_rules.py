"""The paper's rules: label and trust from the training rows in the same ellipsoids, or in the nearest one."""

from __future__ import annotations

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.kinds import Rule
from sepc.model._nearest import FARTHEST, nearest_of
from sepc.model.counts import Verdicts
from sepc.model.membership import pack_sets
from sepc.model.sep_model import SEPModel
from sepc.statistics.rates import beta_interval

# The weight, in rows, of the wider neighbourhood against the rows exactly where the query lies: on 27 data sets a
# larger one gained little, and it would blur small regions.
PRIOR_ROWS = 30.0
# Probabilities that differ by less than this share of the largest differ by rounding only.
TIE = 1e-12


def smooth(exact: FloatArray, wider: FloatArray, shares: FloatArray) -> FloatArray:
    """Class probabilities from the rows exactly where a query lies, smoothed by a wider set where these are few."""
    around = (wider + shares) / (wider.sum(axis=1, keepdims=True) + 1.0)
    return np.asarray((exact + PRIOR_ROWS * around) / (exact.sum(axis=1, keepdims=True) + PRIOR_ROWS))


def published_probabilities(counts: FloatArray, label: IntArray, class_counts: IntArray) -> FloatArray:
    """Class probabilities of the paper, Eqs. 7 to 9, as its worked example computes them.

    Examples
    --------
    >>> published_probabilities(np.array([[1.0, 5.0]]), np.array([1]), np.array([547, 256])).round(3)
    array([[0.263, 0.737]])
    """
    here = counts + (np.arange(len(class_counts)) == label[:, None])
    everywhere = class_counts + (np.arange(len(class_counts)) == np.argmax(class_counts))
    weights = here * everywhere
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def credible_interval(probability: FloatArray, n_rows: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Credible interval for the probability that a label is right, given evidence from `n_rows` rows."""
    weight = n_rows + PRIOR_ROWS
    return beta_interval(probability * weight, (1.0 - probability) * weight, confidence)


def most_likely(probabilities: FloatArray, shares: FloatArray) -> IntArray:
    """The class with the largest probability; ties go to the larger class, then to the first."""
    tied = probabilities >= probabilities.max(axis=1, keepdims=True) * (1.0 - TIE)
    return np.asarray(np.argmax(np.where(tied, shares, -1.0), axis=1))


def judge_sets(model: SEPModel, sets: BoolArray) -> Verdicts:
    """Apply rules R1, R2a and R2b to sets of ellipsoids; the verdict on the empty set has no meaning."""
    region = model.table.find(pack_sets(sets))
    exact = np.where(region[:, None] >= 0, model.table.counts[region], 0)
    wider = model.table.inside_all(sets)
    nobody = wider.sum(axis=1) == 0
    wider[nobody] = model.table.inside_any(sets[nobody])
    size = sets.sum(axis=1)
    rule = np.where(size == 1, Rule.SINGLE, np.where(nobody, Rule.UNION, Rule.SHARED))
    owner = np.full(len(sets), -1)
    owner[size == 1] = model.owners[sets[size == 1].argmax(axis=1)] if model.n_ellipsoids else -1
    return _judge(model, exact, wider, np.ones(len(sets)), model.shares, owner, rule, region)


def judge_seen(model: SEPModel, known: IntArray) -> Verdicts:
    """Verdicts on the sets of the model's table, of which at least those at `known` are filled in; -1 is no set."""
    kept = model.kept_verdicts
    new = np.unique(known[~kept.is_known[known]])
    if len(new):
        kept.verdicts.put(new, judge_sets(model, (new >= 0)[:, None] & model.table.memberships[new]))
        kept.is_known[new] = True
    return kept.verdicts


def judge_outside(model: SEPModel, rows: FloatArray, squared: FloatArray) -> tuple[Verdicts, IntArray, FloatArray]:
    """Case 3: decide as in the nearest ellipsoid, or as at the nearest isolated row, with counts that fade."""
    if model.weights is None:
        nearest = nearest_of(model.places, rows, squared)
        gauge = 1.0 + nearest.distance
        at_ellipsoid = np.flatnonzero(nearest.place < model.n_ellipsoids)
        gauge[at_ellipsoid] = np.sqrt(squared[at_ellipsoid, nearest.place[at_ellipsoid]])
        place, tied_rows, tied_places = nearest.place, nearest.tied_rows, nearest.tied_places
    else:
        place, gauge = smallest_gauge(model, rows, squared)
        tied_rows = tied_places = np.empty(0, dtype=np.int64)
    counts, exact = model.counts_and_exact_at(place)
    owner = model.place_owners[place]
    if len(tied_rows):
        tied, first = np.unique(tied_rows, return_index=True)
        for row, places in zip(tied.tolist(), np.split(tied_places, first[1:]), strict=True):
            exact[row] = counts[row] = _count_tied(model, places)
            owner[row] = -1
    region = len(model.table.counts) + place
    rule = np.full(len(rows), Rule.NEAREST)
    fading = 1.0 / np.maximum(gauge, 1.0) ** 2
    equal = np.full(len(model.classes), 1.0 / len(model.classes))
    return _judge(model, exact, counts, fading, equal, owner, rule, region), place, gauge


def smallest_gauge(model: SEPModel, rows: FloatArray, squared: FloatArray) -> tuple[IntArray, FloatArray]:
    """For rows outside all ellipsoids: the place with the smallest gauge, and that gauge."""
    n, d = rows.shape
    place, gauge = np.zeros(n, dtype=np.int64), np.full(n, np.inf)
    if model.n_ellipsoids:
        place = squared.argmin(axis=1)
        gauge = np.sqrt(squared[np.arange(n), place])
    if len(model.isolated):
        end = min(FARTHEST, model.stack.farthest)
        distance, nearest = map(np.asarray, model.places.isolated.query(np.clip(rows, -end, end)))
        at_isolated = 1.0 + distance / np.sqrt(d)
        is_nearer = at_isolated < gauge
        place[is_nearer] = model.n_ellipsoids + nearest[is_nearer]
        gauge[is_nearer] = at_isolated[is_nearer]
    return place, gauge


def _count_tied(model: SEPModel, places: IntArray) -> IntArray:
    """Counts at equally near places: of the rows in all of them or, if there are none, in any (as in case 2)."""
    ellipsoids = places[places < model.n_ellipsoids]
    together = np.zeros((1, model.n_ellipsoids), dtype=bool)
    together[0, ellipsoids] = True
    shared = model.table.inside_all(together)[0]
    if len(ellipsoids) == len(places) and shared.sum() > 0:
        return np.asarray(shared)
    isolated = model.counts_at(places[places >= model.n_ellipsoids]).sum(axis=0)
    return np.asarray(model.table.inside_any(together)[0] + isolated)


def _judge(
    model: SEPModel,
    exact: IntArray,
    wider: IntArray,
    fading: FloatArray,
    shares: FloatArray,
    owner: IntArray,
    rule: IntArray,
    region: IntArray,
) -> Verdicts:
    """Label and probabilities from counts. `owner` is the class of the ellipsoid if there is only one, else -1."""
    counts = wider.astype(np.float64)
    if model.trust == "published":
        label = np.where(owner >= 0, owner, most_likely(counts, model.shares))
        probabilities = published_probabilities(counts, label, model.class_counts)
    else:
        probabilities = smooth(exact * fading[:, None], counts * fading[:, None], shares)
        label = most_likely(probabilities, model.shares)
    return Verdicts(label, probabilities[np.arange(len(label)), label], probabilities, wider, rule, region)
