"""Models of rows in blocks, and whether two models are the same to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.estimators.sep.given_tables import prepare
from sepc.estimators.sep.training_set import GivenColumns, TrainingSet
from sepc.points.blocks import ArrayBlocks, Block, BlockLabels, LabelledBlocks

ARRAYS = ("centers", "roots", "owners", "isolated", "isolated_owners", "shift", "scale", "class_counts", "is_terminal")


def draw(n, d=3, seed=0):
    """Rows of six clusters that overlap, and labels "a" and "b"."""
    rng = np.random.default_rng(seed)
    centers = 1.6 * rng.standard_normal((6, d))
    which = rng.integers(6, size=n)
    return centers[which] + rng.standard_normal((n, d)), np.where(which % 2, "b", "a")


def in_blocks(blocks, labels):
    """Rows with labels, in blocks in memory."""
    pairs = zip(blocks, map(BlockLabels.of, labels), strict=True)
    return LabelledBlocks.of(ArrayBlocks([Block(np.asarray(rows, float), own) for rows, own in pairs]))


def fitted_on_blocks(classifier, blocks, labels):
    """The classifier, fitted on blocks in memory."""
    found = in_blocks(blocks, labels)
    training = TrainingSet(found, found, found.labels, GivenColumns(found.n_columns))
    settings = classifier._settings()
    in_memory = prepare(np.concatenate(blocks), np.concatenate(labels), settings)
    training = replace(training, alone=in_memory.alone)
    # The workers of a cluster have one thread each, and BLAS rounds differently with more.
    with threadpool_limits(1):
        classifier._fit_training(training, settings)
    return classifier


def assert_same_model(left: SEPClassifier, right: SEPClassifier):
    assert left.model_.n_ellipsoids > 2
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(left.model_, name), getattr(right.model_, name), err_msg=name)
    np.testing.assert_array_equal(left.model_.table.memberships, right.model_.table.memberships)
    np.testing.assert_array_equal(left.model_.table.counts, right.model_.table.counts)
    for name, own in vars(left.model_.weights).items():
        if isinstance(own, np.ndarray):
            np.testing.assert_array_equal(own, getattr(right.model_.weights, name), err_msg=name)
    np.testing.assert_array_equal(left.classes_, right.classes_)
    assert [partition.rows_left for partition in left.history_] == [partition.rows_left for partition in right.history_]
