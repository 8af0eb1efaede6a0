"""Feedback: decisions on rows whose true labels have become known."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.decisions import Decisions, partition_behind
from sepc.errors import TrainingRowsWarning
from sepc.estimators.base import check_labels
from sepc.lifecycle.rows import decide_in_memory, has_regions, training_rows_again
from sepc.model.names import region_name
from sepc.views.outcomes import is_right


@dataclass(frozen=True, eq=False)
class Feedback:
    """Decisions on rows with known labels, none of them training rows."""

    decisions: Decisions
    right: BoolArray
    region: IntArray | None

    @property
    def claimed_risk(self) -> FloatArray:
        """The probability of an error that each decision claims: 1 - trust."""
        return np.clip(1.0 - np.asarray(self.decisions.trust, dtype=np.float64), 0.0, 1.0)

    @cached_property
    def region_name(self) -> Callable[[int], str]:
        """A function that gives the name of a region."""
        partition = partition_behind(self.decisions)
        return fallback_name if partition is None else lambda region: region_name(partition.model, region)

    def __len__(self) -> int:
        return len(self.right)

    def take(self, rows: IntArray) -> Feedback:
        """The feedback at these positions."""
        return Feedback(self.decisions[rows], self.right[rows], None if self.region is None else self.region[rows])


def feedback_of(estimator: Any, X: Any, y: ArrayLike) -> Feedback:
    """Decide on rows and compare with their labels."""
    labels = check_labels(y, "Feedback")
    decisions = decide_in_memory(estimator, X)
    if len(decisions) != len(labels):
        raise ValueError(f"There are {len(decisions):,} rows and {len(labels):,} labels; each row needs one.")
    _warn_of_training_rows(decisions)
    return Feedback(decisions, is_right(decisions.label, labels), decisions.region if has_regions(decisions) else None)


def _warn_of_training_rows(decisions: Decisions) -> None:
    """Warn if many of the rows are training rows of the model."""
    n_again, n_remembered = training_rows_again(decisions)
    if n_again:
        warnings.warn(
            f"Training rows are among the {len(decisions):,} rows of feedback: {n_again:,} of the {n_remembered:,} "
            "whose hashes the model keeps. Scores on training rows are optimistic; give rows that the model was not "
            "trained on.",
            TrainingRowsWarning,
            stacklevel=4,
        )


def fallback_name(region: int) -> str:
    """The name of a region if there is no partition to describe it."""
    return f"region {region}"
