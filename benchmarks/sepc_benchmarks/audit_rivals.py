"""Other ways to find clusters of wrong rows: cleanlab, a decision tree, and a scan of one half tested on the other."""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.tree import DecisionTreeClassifier

from sepc.lifecycle.audit import tail
from sepc.lifecycle.disjuncts import scan

FEWEST_OF_A_LEAF = 10


def by_cleanlab(labels: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> list[np.ndarray]:
    """Rows whose labels cleanlab holds for wrong, each a finding of its own: it knows no clusters."""
    from cleanlab.filter import find_label_issues

    flagged = find_label_issues(np.searchsorted(classes, labels), probabilities, n_jobs=1)
    return [np.array([row]) for row in np.flatnonzero(flagged)]


def by_tree(rows: np.ndarray, wrong: np.ndarray) -> list[np.ndarray]:
    """Leaves of a tree of wrong against right in which most rows are wrong."""
    tree = DecisionTreeClassifier(min_samples_leaf=FEWEST_OF_A_LEAF, random_state=0).fit(rows, wrong)
    leaf = tree.apply(rows)
    found = [np.flatnonzero(leaf == one) for one in np.unique(leaf)]
    return [one for one in found if wrong[one].mean() > 0.5]


def by_halves(rows: np.ndarray, wrong: np.ndarray, risk: np.ndarray, fdr: float, seed: int) -> list[np.ndarray]:
    """Clusters found in one half, tested against their claim in the other, and the other way round."""
    half = np.random.default_rng(seed).permutation(len(rows)) % 2
    p_values, found = [], []
    for one in (0, 1):
        own, other = np.flatnonzero(half == one), np.flatnonzero(half != one)
        for cluster in scan(rows[own], wrong[own], risk[own], 2.0 * fdr, seed):
            center = rows[own[cluster.rows]].mean(axis=0)
            reach = np.quantile(np.linalg.norm(rows[own[cluster.rows]] - center, axis=1), 0.9)
            inside = np.linalg.norm(rows - center, axis=1) <= reach
            tested = other[inside[other]]
            enough = len(tested) > 0 and wrong[tested].mean() > 0.5
            args = (np.array(v) for v in (wrong[tested].sum(), len(tested), risk[tested].sum()))
            p_values.append(float(tail(*args)) if enough else 1.0)
            found.append(np.flatnonzero(inside))
    if not found:
        return []
    adjusted = false_discovery_control(p_values)
    return [one for one, p in zip(found, adjusted, strict=True) if p <= fdr]
