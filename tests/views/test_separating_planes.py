"""Planes in which labels are apart: by brute force over all pairs, and by distances within and between labels."""

from itertools import combinations

import numpy as np
import pytest

from sepc import SEPClassifier
from sepc.views.planes import most_separating_pair, separating_plane


def separation(rows, labels):
    """The trace of the scatter between labels, in units of the one within."""
    centered = rows - rows.mean(axis=0)
    between = within = np.zeros((2, 2))
    for label in np.unique(labels):
        own = centered[labels == label]
        between = between + len(own) * np.outer(own.mean(axis=0), own.mean(axis=0))
        within = within + (own - own.mean(axis=0)).T @ (own - own.mean(axis=0))
    return np.trace(np.linalg.solve(within, between))


@pytest.mark.parametrize("seed", range(5))
def test_no_pair_of_features_separates_better(seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, 200)
    rows = random.normal(size=(200, 6)) @ random.normal(size=(6, 6)) + np.outer(labels, random.normal(size=6))
    best = max(combinations(range(6), 2), key=lambda pair: separation(rows[:, pair], labels))
    assert set(most_separating_pair(rows, labels)) == set(best)


def test_constant_and_equal_features_are_harmless():
    rows = np.column_stack([np.arange(20.0), np.arange(20.0), np.ones(20), np.arange(20.0) % 3])
    first, second = most_separating_pair(rows, np.arange(20) > 9)
    assert first in (0, 1)
    assert second != first


def test_the_plane_of_many_labels_separates_better_than_two_features():
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 400)
    centers = random.normal(size=(4, 5)) * 3
    rows = centers[labels] + random.normal(size=(400, 5)) @ random.normal(size=(5, 5))
    model = SEPClassifier().fit(rows, labels).model_
    plane = separating_plane(model, rows, labels)
    best = max(separation(rows[:, pair], labels) for pair in combinations(range(5), 2))
    assert separation(plane.place(rows), labels) >= best
    assert separating_plane(model, rows, labels > 1) is None
