"""RepairedClassifier: an `SEPClassifier` with new models for some of its regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from sepc._typing import IntArray
from sepc.cards import Card, ShownAsCard, ShownInLists
from sepc.estimators.base import DecidingClassifier
from sepc.estimators.repaired.decisions import RepairedDecisions, RepairedParts
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.wording import counted


@dataclass(frozen=True, repr=False)
class Change(ShownInLists):
    """The outcome of a repair in one region.

    Attributes
    ----------
    region : int
    n_made : int
        Rows that the region's new model was fitted on.
    n_judged : int
        Other rows that it was judged on.
    errors_before, errors_after : int
        Errors on these rows, of the original model and of the new one.
    kept : bool
        Whether the new model is used.
    """

    region: int
    n_made: int
    n_judged: int
    errors_before: int
    errors_after: int
    kept: bool

    def __str__(self) -> str:
        if self.n_made == 0:
            return f"region {self.region}: left as it was, too few rows to make a model from"
        judged = "no other rows to judge it"
        if self.n_judged:
            rows = f"{self.n_judged:,} other row{'s' if self.n_judged > 1 else ''}"
            judged = f"errors on {rows}: {self.errors_before:,} before, {self.errors_after:,} after"
        outcome = "repaired" if self.kept else "left as it was, a new model was no better"
        return f"region {self.region}: {outcome}; made from {self.n_made:,} rows; {judged}"

    def _card(self) -> Card:
        facts = (
            ("made from", counted(self.n_made, "row")),
            ("judged by", counted(self.n_judged, "other row")),
            ("errors of these", f"{self.errors_before:,} before, {self.errors_after:,} after"),
        )
        outcome = "repaired" if self.kept else "left as it was"
        errors = f", {self.errors_before:,} errors before, {self.errors_after:,} after" if self.n_judged else ""
        return Card(f"Region {self.region}: {outcome}{errors}", facts)


class Changes(ShownAsCard, tuple[Change, ...]):
    """The outcome of a repair in each region: a tuple of `Change` that prints as a table."""

    __slots__ = ()

    def _card(self) -> Card:
        n_kept = sum(change.kept for change in self)
        title = (
            f"{n_kept:,} of {counted(len(self), 'region')} repaired" if self else "Nothing repaired: no region fails"
        )
        rows = tuple(
            (
                str(change.region),
                "repaired" if change.kept else "left as it was",
                *(f"{n:,}" for n in (change.n_made, change.n_judged, change.errors_before, change.errors_after)),
            )
            for change in self
        )
        head = ("region", "outcome", "made from", "judged by", "errors before", "after")
        return Card(title, (), head, rows, "All other decisions stay as they were." if self else "")


class RepairedClassifier(MetaEstimatorMixin, DecidingClassifier[RepairedDecisions]):
    """A fitted `SEPClassifier` in which some regions have a new model of their own.

    Made by `sepc.lifecycle.repair`. Decisions in all other regions are those of the original classifier, bit for bit.
    `fit` is a full refit of the classifier, without repairs.

    Parameters
    ----------
    estimator : SEPClassifier
        The classifier that `fit` clones and fits.

    Attributes
    ----------
    estimator_ : SEPClassifier
        The classifier that was repaired.
    repaired_ : dict of int to SEPClassifier
        The models of repaired regions.
    changes_ : Changes
        What was tried, as a `Change` for each region; `summary` says it in words.
    classes_, regions_, n_features_in_, feature_names_in_
        Those of `estimator_`.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @classmethod
    def of(cls, fitted: SEPClassifier, repaired: Mapping[int, SEPClassifier], changes: tuple[Change, ...]) -> Self:
        """A fitted classifier with the models of its repaired regions."""
        return cls(fitted)._set(fitted, repaired, changes)

    def _set(self, fitted: SEPClassifier, repaired: Mapping[int, SEPClassifier], changes: tuple[Change, ...]) -> Self:
        self.estimator_ = fitted
        self.repaired_: dict[int, SEPClassifier] = {int(region): repaired[region] for region in sorted(repaired)}
        self.changes_ = Changes(changes)
        self.classes_, self.regions_ = fitted.classes_, fitted.regions_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Refit the classifier on all these rows, without repairs.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        self
        """
        self.check_parameters()
        return self._set(clone(self.estimator).fit(X, y), {}, ())

    def _decide(self, X: Any) -> RepairedDecisions:
        outer = self.estimator_.decide(X)
        asked = {region: np.flatnonzero(outer.region == region) for region in self.repaired_}
        inner = {
            region: self.repaired_[region].decide(_safe_indexing(X, rows))
            for region, rows in asked.items()
            if len(rows)
        }
        return RepairedDecisions.gathered(RepairedParts(outer, inner))

    def empty_decisions(self) -> RepairedDecisions:
        """Decisions on zero rows, with all columns and their types."""
        return RepairedDecisions.gathered(RepairedParts(self.estimator_.empty_decisions(), {}))

    def apply(self, X: ArrayLike) -> IntArray:
        """The region of every row, as in the original classifier."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.apply(X))

    def summary(self) -> str:
        """What was changed, in words."""
        check_is_fitted(self)
        if not self.changes_:
            return "Nothing was changed: no region fails."
        n_kept = sum(change.kept for change in self.changes_)
        head = f"{n_kept:,} of {len(self.changes_):,} regions repaired; all other decisions stay as they were."
        return "\n".join([head, *(f"- {change}" for change in self.changes_)])

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "changes_") else repr(self)

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value; `fit` calls this first."""
        if not isinstance(self.estimator, SEPClassifier):
            kind = type(self.estimator).__name__
            raise TypeError(f"estimator is a {kind}; only the regions of an SEPClassifier can be repaired.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
