"""Which missing number to fetch: the one that most often settles the case."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.completion import completed
from sepc.model.gap_rules import judge_with_gaps
from sepc.model.sep_model import SEPModel


def settled_by(model: SEPModel, row: FloatArray, groups: list[IntArray], min_trust: float) -> list[tuple[float, float]]:
    """For each group of missing features, how often the row would be accepted if these were known, and its mean trust.

    Parameters
    ----------
    model : SEPModel
    row : array
        In the user's own features, with NaN for gaps.
    groups : list of arrays
        Positions of features that become known together.
    min_trust : float
    """
    ((_, completions),) = completed(model, row[None])
    known = np.repeat(row[None], len(groups) * completions.shape[1], axis=0).reshape(len(groups), -1, len(row))
    for own, group in zip(known, groups, strict=True):
        own[:, group] = completions[0][:, group]
    judged = judge_with_gaps(model, known.reshape(-1, len(row)), min_trust)[1]
    accepted, trust = (values.reshape(len(groups), -1).mean(axis=1) for values in (judged.accepted, judged.trust))
    return list(zip(accepted.tolist(), trust.tolist(), strict=True))
