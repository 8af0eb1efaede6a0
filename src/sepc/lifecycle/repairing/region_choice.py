"""Which regions to repair, as all of the feedback says and as it says without a fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import IntArray
from sepc.lifecycle.auditing.audit import Audit, audit_feedback
from sepc.lifecycle.auditing.feedback import Feedback


@dataclass(frozen=True, eq=False)
class RegionChoice:
    """The regions to repair.

    If the feedback itself says which regions fail, then errors in these are more than those to come. So a fold judges
    new models only in regions that the others choose without it.

    Attributes
    ----------
    regions : list of int
    without : list of lists of int
        For each fold, which of these are chosen without it.
    """

    regions: list[int]
    without: list[list[int]]

    @classmethod
    def given(cls, regions: Sequence[int], n_folds: int) -> Self:
        """Regions that were chosen without this feedback."""
        distinct = list(dict.fromkeys(int(region) for region in regions))
        return cls(distinct, [distinct] * n_folds)

    @classmethod
    def by_audits(
        cls, audit: Audit, feedback: Feedback, X: Any, labels: NDArray[Any], folds: IntArray, n_folds: int, seed: int
    ) -> Self:
        """Regions that an audit of this feedback found, and which of them audits find without each fold."""
        every = audit.to_repair.tolist()

        def found_without(fold: int) -> list[int]:
            rows = np.flatnonzero(folds != fold)
            part = audit_feedback(feedback.take(rows), _safe_indexing(X, rows), labels[rows], audit.fdr, seed)
            return [region for region in part.to_repair.tolist() if region in every]

        return cls(every, [found_without(fold) if every else [] for fold in range(n_folds)])


def is_of(audit: Audit, feedback: Feedback) -> bool:
    """Whether this is an audit of this very feedback, by the number of rows and of errors."""
    return (audit.n_rows, audit.n_errors) == (len(feedback), int(np.sum(~feedback.right)))
