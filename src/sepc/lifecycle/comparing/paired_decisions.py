"""The decisions of two models on the same rows, and which of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.decisions.decisions import Decisions
from sepc.decisions.kinds import Cause
from sepc.estimators.base import decide_rows
from sepc.estimators.repaired.decisions import RepairedDecisions
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.selective.groups import has_columns
from sepc.estimators.unwrapping import classifier_name, group_columns, unwrap
from sepc.points.inputs import is_gap
from sepc.wording import shown


@dataclass(frozen=True, eq=False)
class PairedDecisions:
    """Decisions of two models on the same rows.

    Attributes
    ----------
    old, new : Decisions
    """

    old: Decisions
    new: Decisions

    @cached_property
    def label_differs(self) -> BoolArray:
        """Where the labels differ."""
        return np.asarray(self.old.label != self.new.label, dtype=bool)

    @cached_property
    def acceptance_differs(self) -> BoolArray:
        """Where just one of the two is accepted."""
        return np.asarray(self.old.accepted != self.new.accepted, dtype=bool)

    @cached_property
    def causes(self) -> tuple[IntArray, IntArray]:
        """The causes of both, looked up only where a row is rejected."""
        return _causes(self.old), _causes(self.new)

    @cached_property
    def only_cause_differs(self) -> BoolArray:
        """Where both abstain, with the same label, for different causes."""
        old, new = self.causes
        return np.asarray((old != new) & ~self.label_differs & ~self.acceptance_differs)

    @cached_property
    def differs(self) -> BoolArray:
        """Where the label, the acceptance or the cause of abstaining differs."""
        return self.label_differs | self.acceptance_differs | self.only_cause_differs

    @cached_property
    def is_repaired(self) -> BoolArray:
        """Where a repaired region's own model made one of the two decisions."""
        return _repaired(self.old) | _repaired(self.new)


def decide_both(
    old: Any, new: Any, X: Any, groups: Mapping[str, NDArray[Any]] | None = None, X_new: Any = None
) -> PairedDecisions:
    """Decide on rows with two models.

    `groups` are columns that a promise may need and `X` may lack; `X_new` are the rows for the new model, if it takes
    others.
    """
    pair = PairedDecisions(_decide(old, X, groups), _decide(new, X if X_new is None else X_new, groups))
    kinds = [decisions.classes.dtype.kind in "OUST" for decisions in (pair.old, pair.new)]
    if kinds[0] != kinds[1]:
        examples = [shown(decisions.classes[0]) for decisions in (pair.old, pair.new)]
        raise ValueError(
            f"The labels of the old model are such as {examples[0]}, those of the new one such as {examples[1]}; "
            "fit both models to the same labels."
        )
    return pair


def known_labels(y: Any, n_rows: int) -> tuple[NDArray[Any], BoolArray]:
    """True labels, and which of them are known; a label may be missing."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"y has shape {labels.shape}; it needs one label for each of the {n_rows:,} rows.")
    if labels.dtype.kind not in "fOmM":
        return labels, np.ones(n_rows, dtype=bool)
    return labels, np.array([not is_gap(label) for label in labels.tolist()], dtype=bool)


def _decide(model: Any, X: Any, groups: Mapping[str, NDArray[Any]] | None) -> Decisions:
    by = group_columns(model)
    if by and groups is not None and set(by) <= set(groups) and not has_columns(by, X):
        decided: Decisions = unwrap(model).classifier.decide(X, groups=dict(groups))
    else:
        decided = decide_rows(model, X)
    if np.isnan(decided.trust).any():
        raise TypeError(
            f"{classifier_name(model)} has neither decide nor predict_proba; wrap it in a TrustedClassifier."
        )
    return decided


def _causes(decisions: Decisions) -> IntArray:
    """The causes of all rows; where most are accepted, only the others are looked up."""
    rejected = np.flatnonzero(~np.asarray(decisions.accepted))
    if len(rejected) > 0.5 * len(decisions):
        return np.asarray(decisions.cause)
    causes = np.full(len(decisions), int(Cause.ACCEPTED))
    if len(rejected):
        causes[rejected] = decisions[rejected].cause
    return causes


def _repaired(decisions: Decisions) -> BoolArray:
    if isinstance(decisions, SelectiveDecisions):
        return _repaired(decisions.inner)
    if isinstance(decisions, RepairedDecisions):
        return decisions.repaired
    return np.zeros(len(decisions), dtype=bool)
