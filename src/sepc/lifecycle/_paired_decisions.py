"""The decisions of two models on the same rows, and counts of those that differ, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.decisions.decisions import Decisions, frame_of, routed_behind
from sepc.decisions.kinds import Cause
from sepc.estimators.base import decide_rows
from sepc.estimators.selective.groups import has_columns
from sepc.estimators.unwrapping import classifier_name, group_columns, unwrap
from sepc.points.inputs import is_gap
from sepc.statistics.rates import rate_interval
from sepc.wording import check_number, shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PairedDecisions:
    """Decisions of two models on the same rows."""

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
        routed = [found for one in (self.old, self.new) if (found := routed_behind(one)) is not None]
        return np.asarray(np.any([np.zeros(len(self.old), dtype=bool), *(one.is_repaired for one in routed)], axis=0))


def decide_both(
    old: Any, new: Any, X: Any, groups: Mapping[str, NDArray[Any]] | None = None, X_new: Any = None
) -> PairedDecisions:
    """Decide on rows with two models."""
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
    causes = np.full(len(decisions), int(Cause.ACCEPTED))
    rejected = np.flatnonzero(~np.asarray(decisions.accepted))
    if len(rejected):
        causes[rejected] = decisions[rejected].cause
    return causes


@dataclass(frozen=True, eq=False, repr=False)
class ChangeCounts(ShownOnOneLine):
    """How many decisions changed in each region, group or class, those with the most changes first.

    Attributes
    ----------
    key : tuple
        The numbers of the regions, the groups, or the labels.
    name : tuple of str
        The same in words.
    n_rows : array of int
        All rows there.
    n_changed : array of int
        Rows whose decision changed in any way.
    n_label, n_acceptance : array of int
        Rows with another label, and rows that only one of the two models accepts; a row may be both.
    n_cause : array of int
        Rows that both models reject with the same label, for different causes.
    n_accepted_before, n_accepted_after : array of int
        Accepted rows of the old and of the new model.
    n_labelled : array of int
        Changed rows whose true label is known.
    n_right_before, n_right_after : array of int
        Of these, how many the old and the new model label correctly.
    """

    key: tuple[Any, ...]
    name: tuple[str, ...]
    n_rows: IntArray
    n_changed: IntArray
    n_label: IntArray
    n_acceptance: IntArray
    n_cause: IntArray
    n_accepted_before: IntArray
    n_accepted_after: IntArray
    n_labelled: IntArray
    n_right_before: IntArray
    n_right_after: IntArray

    def __len__(self) -> int:
        return len(self.key)

    def intervals(self, confidence: float = 0.95) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Clopper-Pearson intervals for the share of right labels among changed rows, "before" and "after"."""
        check_number("confidence", confidence, above=0, below=1)
        right = {"before": self.n_right_before, "after": self.n_right_after}
        return {when: rate_interval(n_right, self.n_labelled, confidence) for when, n_right in right.items()}

    def to_frame(self) -> pd.DataFrame:
        """The counts as a pandas DataFrame, with 95 % intervals for the shares of right labels."""
        columns: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        columns["key"], columns["name"] = list(self.key), list(self.name)
        for when, (low, high) in self.intervals().items():
            columns |= {f"right_{when}_low": low, f"right_{when}_high": high}
        return frame_of(columns)


COUNTS = tuple(each.name for each in fields(ChangeCounts))[2:]


class CountTally:
    """Adds up counts by a key of each row."""

    def __init__(self) -> None:
        self._counts: dict[Any, IntArray] = {}

    def add(self, keys: NDArray[Any], masks: FloatArray) -> None:
        """Add rows, given the key of each and which of `COUNTS` it adds to, of shape (counts, n)."""
        codes, distinct = _codes(keys)
        sums = np.array([np.bincount(codes, weights=mask, minlength=len(distinct)) for mask in masks])
        for key, counts in zip(distinct, sums.T.astype(np.int64), strict=True):
            self._counts[key] = self._counts.get(key, 0) + counts

    def finish(self, name: Callable[[Any], str]) -> ChangeCounts:
        """The counts, with names for the keys."""
        keys = sorted(self._counts, key=lambda key: (-self._counts[key][1], -self._counts[key][0]))
        columns = np.array([self._counts[key] for key in keys], dtype=np.int64).reshape(len(keys), len(COUNTS)).T
        return ChangeCounts(tuple(keys), tuple(map(name, keys)), **dict(zip(COUNTS, columns, strict=True)))


def masks_of(pair: PairedDecisions, right: tuple[BoolArray, BoolArray], is_known: BoolArray) -> FloatArray:
    """Which of `COUNTS` each row adds to; `right` tells where the old and the new label are the true one."""
    known = pair.differs & is_known
    every = [np.ones(len(known)), pair.differs, pair.label_differs, pair.acceptance_differs, pair.only_cause_differs]
    every += [pair.old.accepted, pair.new.accepted, known, known & right[0], known & right[1]]
    return np.array(every, dtype=np.float64)


def _codes(keys: NDArray[Any]) -> tuple[IntArray, list[Any]]:
    """The position of each key among the distinct ones, and these as Python values."""
    if keys.dtype.kind != "O":
        distinct, codes = np.unique(keys, return_inverse=True)
        return codes, distinct.tolist()
    place: dict[Any, int] = {}
    found = np.fromiter((place.setdefault(key, len(place)) for key in keys.tolist()), np.int64, len(keys))
    return found, list(place)
