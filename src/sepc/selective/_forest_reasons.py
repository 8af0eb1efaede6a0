"""The reasons of a forest in words: who agrees, by which features, and which regions moved the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import FloatArray
from sepc.regions.reasons import counted, listed, shown
from sepc.selective._members import Votes

if TYPE_CHECKING:
    from sepc.selective._forest_model import ForestModel

# Features are those of this share of the members that agree, the surest ones; so many are named.
SUREST_SHARE = 0.25
NAMED_MOST = 3

# So many regions are named on either side, if each brings at least this much log-odds.
NAMED_REGIONS = 2
LEAST_LOG_ODDS = 0.02


def explain_forest(model: ForestModel, row: FloatArray, label: Any, agreement: float, outside: float) -> str:
    """How many members agree, the features of the surest, and the regions that spoke most for and against `label`."""
    n = len(model.members)
    votes = [member.vote(model.standard.apply(row[None, :])) for member in model.members]
    told = f"{round(agreement * n)} of {n} members agree, and {round(outside * n)} of {n} have seen nothing near it"
    named = np.flatnonzero(model.classes == label)
    if len(named) == 0:
        return f"{told}."
    names = _features_of_the_surest(model, votes, int(named[0]))
    if names:
        told += f"; the surest that agree use {listed([repr(name) for name in names])} most"
    return " ".join([f"{told}.", *_regions(model, votes, int(named[0]))])


def _features_of_the_surest(model: ForestModel, votes: list[Votes], label: int) -> list[str]:
    sure = [vote.probabilities[0] for vote in votes]
    agree = [b for b, probabilities in enumerate(sure) if probabilities.argmax() == label]
    surest = sorted(agree, key=lambda b: -sure[b][label])[: max(1, round(SUREST_SHARE * len(agree)))]
    loads = sum((model.members[b].loads for b in surest), np.zeros(len(model.feature_names)))
    named = np.argsort(-loads, kind="stable")[:NAMED_MOST]
    return [model.feature_names[j] for j in named if loads[j] > 0.0]


def _regions(model: ForestModel, votes: list[Votes], label: int) -> list[str]:
    """Sentences on the ellipsoids whose weight times nearness moved the log-odds of `label` most."""
    if model.head is None:
        return []
    others = np.arange(len(model.classes)) != label
    pulls = []
    for b, vote in enumerate(votes):
        weights = model.head.weights[b]
        moved = vote.nearness[0] * (weights[:, label] - weights[:, others].mean(axis=1))
        pulls += [(float(pull), b, k) for k, pull in enumerate(moved)]
    pulls.sort()
    against = [one for one in pulls[:NAMED_REGIONS] if one[0] <= -LEAST_LOG_ODDS]
    speaking = [one for one in pulls[::-1][:NAMED_REGIONS] if one[0] >= LEAST_LOG_ODDS]
    sides = (("Most for it", speaking), ("against it", against))
    told = [f"{side}: {listed([_region(model, b, k) for _, b, k in found])}" for side, found in sides if found]
    if not told:
        return []
    sentence = "; ".join(told)
    return [f"{sentence[0].upper()}{sentence[1:]}."]


def _region(model: ForestModel, b: int, k: int) -> str:
    inner = model.members[b].model
    owner = shown(inner.classes[inner.owners[k]])
    return f"ellipsoid {k} of {owner} in member {b}, with {counted(inner, inner.place_counts[k])}"
