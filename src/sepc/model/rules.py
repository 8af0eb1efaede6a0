"""The rules of classification: from where a row lies to its label, trust and cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.kinds import Cause, Rule
from sepc.kernels.threads import single_threaded
from sepc.model.causes import causes
from sepc.model.locate import Located, as_values, locate, packed, unpacked
from sepc.model.nearest import FARTHEST, nearest_of
from sepc.model.sep_model import SEPModel
from sepc.model.trust import most_likely, published, smoothed
from sepc.model.weights import faded

# Rows decided on at once: so many that the few outside all ellipsoids still make a batch worth solving together.
BLOCK_ROWS = 2**17

# Fewer if there are many ellipsoids and isolated rows, since a number may be needed for each pair: 128 MB.
BLOCK_PAIRS = 2**24


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What the rules say about rows or about sets of ellipsoids: arrays with one entry for each."""

    label: IntArray
    trust: FloatArray
    probabilities: FloatArray
    counts: IntArray
    rule: IntArray
    region: IntArray

    @classmethod
    def blank(cls, n: int, n_classes: int) -> Verdicts:
        """Uninitialised arrays for `n` verdicts."""
        label, rule, region = np.empty((3, n), dtype=np.int64)
        trust = np.empty(n)
        counts = np.empty((n, n_classes), dtype=np.int64)
        return cls(label, trust, np.empty((n, n_classes)), counts, rule, region)

    def put(self, where: slice | IntArray, others: Verdicts, which: IntArray | None = None) -> None:
        """Copy `others`, or `others[which]`, to the positions `where`."""
        for name, own in vars(self).items():
            values = getattr(others, name)
            if which is None or not isinstance(where, slice):
                own[where] = values if which is None else values[which]
            else:
                np.take(values, which, axis=0, out=own[where], mode="wrap")


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """A model's decisions as plain arrays with one entry per row; `SEPDecisions` documents them."""

    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    rule: IntArray
    cause: IntArray
    region: IntArray
    gauge: FloatArray
    place: IntArray
    counts: IntArray
    counts_label: NDArray[Any]
    probabilities: FloatArray


@single_threaded
def judge(model: SEPModel, rows: FloatArray, min_trust: float) -> JudgedRows:
    """Decide on rows without gaps, given in the user's own features."""
    counted, weighed, gauge, place = _judge_blocks(model, rows)
    probabilities = counted.probabilities if weighed is None else weighed
    label = counted.label if weighed is None else most_likely(weighed, model.shares)
    trust = counted.trust if weighed is None else weighed_trust(weighed, label, gauge)
    accepted = trust >= min_trust
    return JudgedRows(
        label=model.classes[label],
        trust=trust,
        accepted=accepted,
        rule=counted.rule,
        cause=_causes(model, rows, counted.rule, accepted, min_trust),
        region=counted.region,
        gauge=gauge,
        place=place,
        counts=counted.counts,
        counts_label=model.classes[counted.label],
        probabilities=probabilities,
    )


def _judge_blocks(model: SEPModel, rows: FloatArray) -> tuple[Verdicts, FloatArray | None, FloatArray, IntArray]:
    """Verdicts by counts, probabilities by weights (None without weights), gauges and nearest places, in blocks."""
    n, C = len(rows), len(model.classes)
    counted, gauge, place = Verdicts.blank(n, C), np.empty(n), np.full(n, -1)
    weighed = None if model.weights is None else np.empty((n, C))
    n_block = max(1, min(BLOCK_ROWS, BLOCK_PAIRS // model.n_places))
    for start in range(0, n, n_block):
        block = slice(start, min(start + n_block, n))
        standardized = model.standardize(rows[block])
        located = _located(model, standardized)
        gauge[block] = np.sqrt(located.squared)
        known = model.table.find(located.keys)
        _put_seen(model, counted, known, block)
        _put_unseen(model, counted, located, known, start)
        if len(located.outside):
            outside = start + located.outside
            far, place[outside], gauge[outside] = _judge_outside(model, standardized, located)
            counted.put(outside, far)
        if weighed is not None:
            scores = located.extra
            if model.weights is not None and model.n_codes:
                scores = scores + model.weights.category_terms(rows[block, len(model.shift) :]).sum(axis=1)
            weighed[block] = faded(softmax(scores, axis=1), gauge[block])
    return counted, weighed, gauge, place


def _located(model: SEPModel, standardized: FloatArray) -> Located:
    """Where rows lie and, if the model has weights, their scores."""
    weights = model.weights
    if weights is None:
        return locate(standardized, model.stack, model.slack)
    return locate(
        standardized,
        model.stack,
        model.slack,
        extra=lambda columns, squares: weights.scores(columns, squares, model.isolated),
        n_extra=len(model.classes),
    )


def _put_seen(model: SEPModel, verdicts: Verdicts, known: IntArray, block: slice) -> None:
    """Decide on rows whose set of ellipsoids some training row has, given its table row; each set is judged once."""
    occurs = np.bincount(known + 1, minlength=len(model.table.counts) + 1)[1:] > 0
    if occurs.any():
        place = np.cumsum(occurs) - 1
        verdicts.put(block, judge_sets(model, model.table.memberships[occurs]), place[known])


def _put_unseen(model: SEPModel, verdicts: Verdicts, located: Located, known: IntArray, start: int) -> None:
    """Decide on rows whose set of ellipsoids no training row has; each set is judged once."""
    unseen = np.flatnonzero(known < 0)
    if len(unseen) == 0:
        return
    keys = located.keys[unseen]
    _, first, which = np.unique(as_values(keys), return_index=True, return_inverse=True)
    verdicts.put(start + unseen, judge_sets(model, unpacked(keys[first], model.n_ellipsoids)), which)


def judge_sets(model: SEPModel, sets: BoolArray) -> Verdicts:
    """Apply rules R1, R2a and R2b to sets of ellipsoids; the verdict on the empty set is overwritten later."""
    region = model.table.find(packed(sets))
    exact = np.where(region[:, None] >= 0, model.table.counts[region], 0)
    wider = model.table.inside_all(sets)
    nobody = wider.sum(axis=1) == 0
    wider[nobody] = model.table.inside_any(sets[nobody])
    size = sets.sum(axis=1)
    rule = np.where(size == 1, Rule.SINGLE, np.where(nobody, Rule.UNION, Rule.SHARED))
    owner = np.full(len(sets), -1)
    owner[size == 1] = model.owners[sets[size == 1].argmax(axis=1)] if model.n_ellipsoids else -1
    return _judge(model, exact, wider, np.ones(len(sets)), model.shares, owner, rule, region)


def _judge_outside(
    model: SEPModel, standardized: FloatArray, located: Located
) -> tuple[Verdicts, IntArray, FloatArray]:
    """Case 3: decide as in the nearest ellipsoid, or as at the nearest isolated row, with counts that fade.

    Far away the label is still that of the nearest place, but probabilities become equal and no trust is left (row 15
    of docs/explanation/differences.md).
    """
    rows, squared = standardized[located.outside], located.outside_squared
    if model.weights is None:
        nearest = nearest_of(model.places, rows, squared)
        gauge = 1.0 + nearest.distance
        at_ellipsoid = np.flatnonzero(nearest.place < model.n_ellipsoids)
        gauge[at_ellipsoid] = np.sqrt(squared[at_ellipsoid, nearest.place[at_ellipsoid]])
        place, tied_rows, tied_places = nearest.place, nearest.tied_rows, nearest.tied_places
    else:
        place, gauge = smallest_gauge(model, rows, squared)
        tied_rows = tied_places = np.empty(0, dtype=np.int64)
    counts, exact = model.counts_at(place), model.exact_at(place)
    owner = model.place_owners[place]
    tied, first = np.unique(tied_rows, return_index=True)
    for row, places in zip(tied.tolist(), np.split(tied_places, first[1:]), strict=False):
        exact[row] = counts[row] = _count_tied(model, places)
        owner[row] = -1
    region = len(model.table.counts) + place
    rule = np.full(len(rows), Rule.NEAREST)
    fading = 1.0 / np.maximum(gauge, 1.0) ** 2
    equal = np.full(len(model.classes), 1.0 / len(model.classes))
    return _judge(model, exact, counts, fading, equal, owner, rule, region), place, gauge


def weighed_trust(probabilities: FloatArray, label: IntArray, gauge: FloatArray) -> FloatArray:
    """The probability of each label; a single class fades as if there were a second one that was never seen."""
    if probabilities.shape[1] == 1:
        return faded(np.repeat([[1.0, 0.0]], len(label), axis=0), gauge)[:, 0]
    return np.asarray(probabilities[np.arange(len(label)), label])


def smallest_gauge(model: SEPModel, rows: FloatArray, squared: FloatArray) -> tuple[IntArray, FloatArray]:
    """For rows outside all ellipsoids: the place with the smallest gauge, and that gauge.

    `squared` are their squared radii, of shape (m, K). The gauge of an isolated row is one plus the distance to it,
    measured in root mean square deviations of a feature.
    """
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
    """Counts for equally near places: of the rows they share or, if there are none, of all rows (as in case 2)."""
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
    if model.published:
        label = np.where(owner >= 0, owner, most_likely(counts, model.shares))
        probabilities = published(counts, label, model.class_counts)
    else:
        probabilities = smoothed(exact * fading[:, None], counts * fading[:, None], shares)
        label = most_likely(probabilities, model.shares)
    each = np.arange(len(label))
    believed = published(counts, label, model.class_counts) if model.trust == "published" else probabilities
    return Verdicts(label, believed[each, label], probabilities, wider, rule, region)


def _causes(model: SEPModel, rows: FloatArray, rule: IntArray, accepted: BoolArray, min_trust: float) -> IntArray:
    cause = np.full(len(rows), int(Cause.ACCEPTED))
    refused = np.flatnonzero(~accepted)
    cause[refused] = causes(model, model.standardize(rows[refused]), rule[refused] != Rule.NEAREST, min_trust)
    return cause
