"""The rules for rows that may have gaps: decide on completions of each row with gaps, and average."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.decisions.kinds import Cause
from sepc.model.causes import NOT_YET
from sepc.model.completion import completed
from sepc.model.rules import JudgedRows, judge, weigh
from sepc.model.sep_model import SEPModel
from sepc.model.trust import most_likely


def judge_any(model: SEPModel, rows: FloatArray, min_trust: float) -> tuple[FloatArray, JudgedRows]:
    """Decide on rows with or without gaps; returns what `judge_with_gaps` does."""
    if _have_gaps(model, rows):
        return judge_with_gaps(model, rows, min_trust)
    return rows, judge(model, rows, min_trust)


def probabilities_of(model: SEPModel, rows: FloatArray) -> FloatArray:
    """The probabilities that `judge_any` gives, and no more than these need."""
    if model.weights is None or _have_gaps(model, rows):
        return judge_any(model, rows, 0.0)[1].probabilities
    return weigh(model, rows)


def labels_of(model: SEPModel, rows: FloatArray) -> NDArray[Any]:
    """The labels that `judge_any` gives, and no more than these need."""
    if model.weights is None:
        return judge_any(model, rows, 0.0)[1].label
    return np.asarray(model.classes[most_likely(probabilities_of(model, rows), model.shares)])


def _have_gaps(model: SEPModel, rows: FloatArray) -> bool:
    return bool(np.isnan(rows[:, : len(model.shift)]).any())


def judge_with_gaps(model: SEPModel, rows: FloatArray, min_trust: float) -> tuple[FloatArray, JudgedRows]:
    """Decide on rows of which some have gaps, which are NaN.

    Returns
    -------
    complete : array
        The rows, with the most typical completion of those with gaps.
    judged : JudgedRows
        Of a row with gaps, probabilities and trust are averages over its completions; region, rule and counts are
        those of the most typical one.
    """
    d = len(model.shift)
    known = np.flatnonzero(~np.isnan(rows[:, :d]).any(axis=1))
    parts, places, complete = [judge(model, rows[known], min_trust)], [known], rows.copy()
    for where, completions in completed(model, rows):
        complete[where], judged = _judge_completions(model, completions, min_trust)
        parts.append(judged)
        places.append(where)
    order = np.argsort(np.concatenate(places), kind="stable")
    together = {name: np.concatenate([vars(part)[name] for part in parts])[order] for name in vars(parts[0])}
    return complete, JudgedRows(**together)


def _judge_completions(model: SEPModel, completions: FloatArray, min_trust: float) -> tuple[FloatArray, JudgedRows]:
    """Decide on rows by their completions, of shape (n, draws, d); return the most typical ones, and the decisions."""
    n, n_draws, width = completions.shape
    judged = judge(model, completions.reshape(-1, width), min_trust)
    probabilities = judged.probabilities.reshape(n, n_draws, -1)
    mean, each = probabilities.mean(axis=1), np.arange(n)
    label = most_likely(mean, model.shares)
    typical = ((probabilities - mean[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    trust = _mean_trust(model, judged, probabilities, label)
    accepted = trust >= min_trust
    chosen = each * n_draws + typical
    own = {name: values[chosen] for name, values in vars(judged).items()}
    would_be = judged.accepted.reshape(n, n_draws).mean(axis=1) > 0.5
    cause = np.where(would_be | own["accepted"], int(Cause.MISSING), NOT_YET)
    own |= {
        "label": model.classes[label],
        "trust": trust,
        "accepted": accepted,
        "cause": np.where(accepted, int(Cause.ACCEPTED), cause),
        "probabilities": mean,
    }
    return completions[each, typical], JudgedRows(**own)


def _mean_trust(model: SEPModel, judged: JudgedRows, probabilities: FloatArray, label: IntArray) -> FloatArray:
    """The mean trust in a label over completions: their trust where they have that label, else its probability."""
    n, n_draws, _ = probabilities.shape
    same = judged.label.reshape(n, n_draws) == model.classes[label][:, None]
    otherwise = probabilities[np.arange(n)[:, None], np.arange(n_draws), label[:, None]]
    return np.asarray(np.where(same, judged.trust.reshape(n, n_draws), otherwise).mean(axis=1))
