"""What probably happened to a column of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.lifecycle.column_changes.column_change import CONSTANT, NEW_CATEGORY, RENAMED, Guess
from sepc.lifecycle.column_changes.distances import total_variation
from sepc.lifecycle.column_changes.number_guesses import CONSTANT_SHARE, TIMES_NEARER
from sepc.wording import listed, name_of

# A category is gone if it keeps at most this share of its frequency in training; rarer ones than this are ignored.
GONE_SHARE, LEAST_SHARE = 0.1, 0.02
# Renamed categories that are listed; the others are counted.
MOST_LISTED = 4
# A category with at least this share of training was effectively the only one.
ONLY_BEFORE = 0.9
# A new category with at least this many rows is no accident.
FEWEST_NEW = 5


def guess_category(
    new: IntArray, training: FloatArray, names: Sequence[str], unseen: Counter[str], distance: float, most: float
) -> Guess:
    """What probably happened to categories.

    Parameters
    ----------
    new, training : (m + 1,) arrays
        Rows of each category; the last entry counts unseen categories, which training does not have.
    names : sequence of str
        The m categories of training.
    unseen : Counter
        The unseen categories, as far as their names are known.
    distance, most : float
        The distance from training, and the largest distance between similar columns.
    """
    n_new, shares = int(new.sum()), new / max(new.sum(), 1)
    if int(new[-1]) >= FEWEST_NEW:
        renamed = _guess_renamed(new, training, names, unseen)
        if renamed is not None and renamed.after <= min(most, distance / TIMES_NEARER):
            return renamed
        gone = (training[:-1] / max(training.sum(), 1) >= LEAST_SHARE) & (new[:-1] == 0)
        if not gone.any() or renamed is None:
            named = listed([name_of(name) for name, _ in unseen.most_common(MOST_LISTED)]) if unseen else "unknown"
            return Guess(NEW_CATEGORY, float(shares[-1]), named, _without_new(new, training))
    top = int(new.argmax())
    if top < len(names) and shares[top] >= CONSTANT_SHARE and training[top] / max(training.sum(), 1) < ONLY_BEFORE:
        return Guess(CONSTANT, 0.0, names[top], 0.0) if n_new else Guess()
    return Guess()


def _guess_renamed(new: IntArray, training: FloatArray, names: Sequence[str], unseen: Counter[str]) -> Guess | None:
    """New names for the categories that are gone, matched by how frequent they are."""
    usual = training[:-1] / max(training.sum(), 1)
    shares = new[:-1] / max(new.sum(), 1)
    gone = np.flatnonzero((usual >= LEAST_SHARE) & (shares <= GONE_SHARE * usual))
    if len(gone) == 0 or not unseen:
        return None
    ordered = gone[np.argsort(-usual[gone], kind="stable")]
    pairs = list(zip(ordered.tolist(), unseen.most_common(len(ordered)), strict=False))
    restored = new.copy()
    for code, (_, count) in pairs:
        restored[code] += count
        restored[-1] -= count
    # The rest are rare categories that were renamed too.
    rare = np.flatnonzero((usual < LEAST_SHARE) & (shares <= GONE_SHARE * usual))
    if len(pairs) == len(ordered) and len(rare) and restored[-1] > 0:
        left = np.append(restored[:-1][rare].sum() + restored[-1], 0)
        restored[rare], restored[-1] = 0, 0
        restored[rare[0]] = left[0]
        training = training.copy()
        training[rare[0]], training[rare[1:]] = training[rare].sum(), 0
    renames = [f"{names[code]} is now {name_of(name)}" for code, (name, _) in pairs]
    return Guess(RENAMED, 0.0, listed(renames, MOST_LISTED), total_variation(restored, training))


def _without_new(new: IntArray, training: FloatArray) -> float:
    return total_variation(np.append(new[:-1], 0), training)
