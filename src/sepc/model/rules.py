"""From rows to decisions: locate the rows, decide by counts and by weights, and name the cause of an abstention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.kinds import Cause, Rule
from sepc.kernels.numeric import single_threaded
from sepc.model.completion import draw_completions
from sepc.model.count_rules import judge_outside, judge_seen, judge_sets, most_likely, smallest_gauge
from sepc.model.counts import BESIDE_WEIGHTS, FIELDS, Verdicts
from sepc.model.membership import Located, as_values, locate, pack_sets, tiles_of_squared_radii, unpack_sets
from sepc.model.sep_model import SEPModel
from sepc.model.weights import FADING_BEGINS, fade

# Numbers in memory at a time: 32 MB.
BLOCK_ENTRIES = 2**22

# Placeholder for the cause of a rejected row until it is looked up.
NOT_YET = -1


@single_threaded
def look_up_causes(model: SEPModel, min_trust: float, rows: FloatArray, rule: IntArray, known: IntArray) -> IntArray:
    """Fill in the causes of rows, given in the user's own features; causes already known stay as they are."""
    cause, open_rows = known.copy(), np.flatnonzero(known == NOT_YET)
    if len(open_rows) == 0:
        return cause
    cause[open_rows] = causes(model, rows[open_rows], rule[open_rows] != Rule.NEAREST, min_trust)
    return cause


def causes(model: SEPModel, rows: FloatArray, inside: BoolArray, min_trust: float) -> IntArray:
    """Why rows, in the user's own features, are not accepted: by the training rows within the model's reach."""
    cause, standardized, guard = np.empty(len(rows), dtype=np.int64), model.place(rows), model.guard(rows)
    n_block = max(1, BLOCK_ENTRIES // max(1, model.n_places))
    for start in range(0, len(cause), n_block):
        block = slice(start, start + n_block)
        near = _rows_within_reach(model, standardized[block])
        n_near = near.sum(axis=1)
        is_outside = (n_near == 0) & ~inside[block] | (guard[block] > FADING_BEGINS)
        is_thin = near.max(axis=1) >= min_trust * n_near
        cause[block] = np.where(is_outside, Cause.UNSEEN, np.where(is_thin, Cause.THIN, Cause.OVERLAP))
    return cause


def _rows_within_reach(model: SEPModel, standardized: FloatArray) -> FloatArray:
    """Count the training rows of each class within reach, of shape (n, C)."""
    keys = np.concatenate(
        [
            pack_sets(_within_reach(model, standardized[place], squared))
            for place, squared in tiles_of_squared_radii(standardized, model.stack)
        ]
    )
    # Many rows have the same ellipsoids within reach, so each combination is looked up once.
    _, first, which = np.unique(as_values(keys), return_index=True, return_inverse=True)
    near = model.table.inside_only(unpack_sets(keys[first], model.n_ellipsoids)).astype(np.float64)[which]
    if len(model.isolated):
        order, owners, start = model.isolated_by_owner
        beside = _isolated_within_reach(model, standardized)[:, order]
        near[:, owners] += np.add.reduceat(beside, start, axis=1, dtype=np.float64)
    return near


def _within_reach(model: SEPModel, standardized: FloatArray, squared: FloatArray) -> BoolArray:
    """Whether each ellipsoid is within reach along the line to its center, an upper bound on the distance to it."""
    outer_part = np.maximum(squared.T, 1.0)
    np.sqrt(outer_part, out=outer_part)
    np.divide(1.0, outer_part, out=outer_part)
    np.subtract(1.0, outer_part, out=outer_part)
    outer_part *= cdist(model.centers, standardized)
    return np.asarray(outer_part <= model.reach).T


def _isolated_within_reach(model: SEPModel, standardized: FloatArray) -> BoolArray:
    return np.asarray(cdist(standardized, model.isolated) <= model.reach)


# Rows decided on at once: so many that those outside all ellipsoids, which are few, still make a large batch.
BLOCK_ROWS = 2**17

# Fewer if there are many ellipsoids and isolated rows, since each pair may need a number: 128 MB.
BLOCK_PAIRS = 2**24


# A model's decisions as arrays with one entry per row, by the names that `SEPDecisions` documents.
Judged: TypeAlias = dict[str, NDArray[Any]]


@single_threaded
def judge(model: SEPModel, rows: FloatArray, min_trust: float) -> Judged:
    """Decide on rows without missing values, given in the user's own features."""
    counted, weighed, gauge, place = _judge_blocks(model, rows)
    probabilities = counted.probabilities if weighed is None else weighed
    label = counted.label if weighed is None else most_likely(weighed, model.shares)
    trust = counted.trust if weighed is None else trust_by_weights(weighed, label, gauge)
    accepted = trust >= min_trust
    return {
        "label": model.classes[label],
        "trust": trust,
        "accepted": accepted,
        "rule": counted.rule,
        "cause": np.where(accepted, int(Cause.ACCEPTED), NOT_YET),
        "region": counted.region,
        "gauge": gauge,
        "place": place,
        "counts": counted.counts,
        "counts_label": model.classes[counted.label],
        "probabilities": probabilities,
    }


@single_threaded
def weighted_probabilities(model: SEPModel, rows: FloatArray) -> FloatArray:
    """Class probabilities of rows without missing values, as in `judge`, for a model with weights."""
    return _weigh_blocks(model, rows, with_keys=False)[0]


@single_threaded
def weigh_and_locate(model: SEPModel, rows: FloatArray) -> tuple[FloatArray, BoolArray]:
    """The probabilities of `weighted_probabilities`, and which ellipsoids each row lies in, of shape (n, K)."""
    weighed, keys = _weigh_blocks(model, rows, with_keys=True)
    return weighed, unpack_sets(keys, model.n_ellipsoids)


def _weigh_blocks(model: SEPModel, rows: FloatArray, with_keys: bool) -> tuple[FloatArray, FloatArray]:
    weighed, keys = np.empty((len(rows), len(model.classes))), []
    for block in _blocks(model, len(rows)):
        located = _locate(model, rows[block], with_keys)
        gauge = np.sqrt(located.squared)
        if len(located.outside):
            standardized = model.place(rows[block][located.outside])
            _, gauge[located.outside] = smallest_gauge(model, standardized, located.outside_squared)
        weighed[block] = _weigh(model, rows[block], located.extra, _guarded(model, rows[block], gauge))
        keys.append(located.keys)
    return weighed, np.concatenate([pack_sets(np.empty((0, model.n_ellipsoids), dtype=bool)), *keys])


def _judge_blocks(model: SEPModel, rows: FloatArray) -> tuple[Verdicts, FloatArray | None, FloatArray, IntArray]:
    """Verdicts by counts, probabilities by weights (None without weights), gauges and nearest places, in blocks."""
    n, C = len(rows), len(model.classes)
    counted, gauge, place = Verdicts.blank(n, C), np.empty(n), np.full(n, -1)
    weighed, names = (None, FIELDS) if model.weights is None else (np.empty((n, C)), BESIDE_WEIGHTS)
    for block in _blocks(model, n):
        located = _locate(model, rows[block])
        gauge[block] = np.sqrt(located.squared)
        known = model.table.find(located.keys)
        counted.put(block, judge_seen(model, known), known, names)
        _put_unseen(model, counted, located, known, block.start)
        if len(located.outside):
            outside = block.start + located.outside
            standardized = model.place(rows[outside])
            far, place[outside], gauge[outside] = judge_outside(model, standardized, located.outside_squared)
            counted.put(outside, far)
        gauge[block] = _guarded(model, rows[block], gauge[block])
        if weighed is not None:
            weighed[block] = _weigh(model, rows[block], located.extra, gauge[block])
    return counted, weighed, gauge, place


def _guarded(model: SEPModel, rows: FloatArray, gauge: FloatArray) -> FloatArray:
    """The gauges of rows or, if that is larger, how far a standalone feature lies beyond the range of training."""
    guard = model.guard(rows)
    return np.where(guard > 1.0, np.maximum(gauge, guard), gauge)


def _blocks(model: SEPModel, n: int) -> Iterator[slice]:
    step = max(1, min(BLOCK_ROWS, BLOCK_PAIRS // model.n_places))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _locate(model: SEPModel, rows: FloatArray, with_keys: bool = True) -> Located:
    """Where rows lie and, if the model has weights, their scores."""
    weights, standardized = model.placed_weights, model.place(rows)
    if weights is None:
        return locate(standardized, model.stack, model.slack)
    return locate(
        standardized,
        model.stack,
        model.slack,
        extra=lambda columns, squares: weights.scores(columns, squares, model.isolated),
        n_extra=len(model.classes),
        with_keys=with_keys,
    )


def _put_unseen(model: SEPModel, verdicts: Verdicts, located: Located, known: IntArray, start: int) -> None:
    """Decide on rows in a set of ellipsoids that was not seen in training; each set is judged once."""
    is_unseen = known < 0
    is_unseen[located.outside] = False
    unseen = np.flatnonzero(is_unseen)
    if len(unseen) == 0:
        return
    keys = located.keys[unseen]
    _, first, which = np.unique(as_values(keys), return_index=True, return_inverse=True)
    verdicts.put(start + unseen, judge_sets(model, unpack_sets(keys[first], model.n_ellipsoids)), which)


def _weigh(model: SEPModel, rows: FloatArray, scores: FloatArray, gauge: FloatArray) -> FloatArray:
    """Probabilities by weights: the softmax of the scores, computed in place and faded far from training rows."""
    if model.weights is not None and model.n_codes:
        scores += model.weights.category_terms(rows[:, len(model.shift) :]).sum(axis=1)
    if model.alone is not None:
        scores += model.alone_terms(rows)
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    far = np.flatnonzero(gauge > FADING_BEGINS)
    if len(far):
        scores[far] = fade(scores[far], gauge[far])
    return scores


def trust_by_weights(probabilities: FloatArray, label: IntArray, gauge: FloatArray) -> FloatArray:
    """The probability of each label; with one class, it fades as if there were a second one without rows."""
    if probabilities.shape[1] == 1:
        return fade(np.repeat([[1.0, 0.0]], len(label), axis=0), gauge)[:, 0]
    return np.asarray(probabilities[np.arange(len(label)), label])


def judge_any(model: SEPModel, rows: FloatArray, min_trust: float) -> tuple[FloatArray, Judged]:
    """Decide on rows with or without missing values; same result as `judge_with_gaps`."""
    if _have_gaps(model, rows):
        return judge_with_gaps(model, rows, min_trust)
    return rows, judge(model, rows, min_trust)


def probabilities_of(model: SEPModel, rows: FloatArray) -> FloatArray:
    """The probabilities of `judge_any`, without computing anything else."""
    rows = model.with_typical(rows)
    if model.weights is None or _have_gaps(model, rows):
        return judge_any(model, rows, 0.0)[1]["probabilities"]
    return weighted_probabilities(model, rows)


def labels_of(model: SEPModel, rows: FloatArray) -> NDArray[Any]:
    """The labels of `judge_any`, without computing anything else."""
    if model.weights is None:
        return judge_any(model, rows, 0.0)[1]["label"]
    return np.asarray(model.classes[most_likely(probabilities_of(model, rows), model.shares)])


def _have_gaps(model: SEPModel, rows: FloatArray) -> bool:
    return bool(np.isnan(rows[:, : len(model.shift)]).any())


def judge_with_gaps(model: SEPModel, rows: FloatArray, min_trust: float) -> tuple[FloatArray, Judged]:
    """Decide on rows of which some have missing values (NaN)."""
    d = len(model.shift)
    known = np.flatnonzero(~np.isnan(rows[:, :d]).any(axis=1))
    parts, places, complete = [judge(model, rows[known], min_trust)], [known], rows.copy()
    for where, completions in draw_completions(model, rows):
        complete[where], judged = _judge_completions(model, completions, min_trust)
        parts.append(judged)
        places.append(where)
    order = np.argsort(np.concatenate(places), kind="stable")
    return complete, {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def _judge_completions(model: SEPModel, completions: FloatArray, min_trust: float) -> tuple[FloatArray, Judged]:
    """Decide on rows by their completions, of shape (n, draws, d); return the most typical ones, and the decisions."""
    n, n_draws, width = completions.shape
    judged = judge(model, completions.reshape(-1, width), min_trust)
    probabilities = judged["probabilities"].reshape(n, n_draws, -1)
    mean, each = probabilities.mean(axis=1), np.arange(n)
    label = most_likely(mean, model.shares)
    typical = ((probabilities - mean[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    trust = _mean_trust(model, judged, probabilities, label)
    accepted = trust >= min_trust
    chosen = each * n_draws + typical
    columns = {name: values[chosen] for name, values in judged.items()}
    would_be = judged["accepted"].reshape(n, n_draws).mean(axis=1) > 0.5
    cause = np.where(would_be | columns["accepted"], int(Cause.MISSING), NOT_YET)
    columns |= {
        "label": model.classes[label],
        "trust": trust,
        "accepted": accepted,
        "cause": np.where(accepted, int(Cause.ACCEPTED), cause),
        "probabilities": mean,
    }
    return completions[each, typical], columns


def _mean_trust(model: SEPModel, judged: Judged, probabilities: FloatArray, label: IntArray) -> FloatArray:
    """The mean trust in a label over completions: their trust where they have that label, else its probability."""
    n, n_draws, _ = probabilities.shape
    same = judged["label"].reshape(n, n_draws) == model.classes[label][:, None]
    otherwise = probabilities[np.arange(n)[:, None], np.arange(n_draws), label[:, None]]
    return np.asarray(np.where(same, judged["trust"].reshape(n, n_draws), otherwise).mean(axis=1))
