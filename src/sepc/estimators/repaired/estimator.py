"""RepairedClassifier: a classifier with regions, some of which were refitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from sepc._typing import IntArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.editable import Editable
from sepc.estimators.fitted_record import as_fitted, at_once
from sepc.estimators.repaired.changes import Change, Changes
from sepc.estimators.repaired.decisions import RepairedDecisions, RepairedParts
from sepc.estimators.repaired.partition import HasRegions, partition_decisions, partition_of
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.editing import edits_for_region
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.wrapping import Wrapper, take_features
from sepc.model.edits import Edit
from sepc.model.provenance import Provenance

NEW_PROMISE = (
    "The promise of the SelectiveClassifier was about the previous labels and no longer holds. Make a new one on "
    "rows that were not used for this repair: SelectiveClassifier(FrozenEstimator(repaired), ...).fit(X, y)."
)


class RepairedClassifier(Editable, Wrapper[RepairedDecisions]):
    """A fitted classifier in which some regions have a new model of their own.

    Made by `sepc.lifecycle.repair`. Decisions in all other regions are those of the original classifier, bit for bit.
    `fit` is a full refit of the classifier, without repairs.

    Parameters
    ----------
    estimator : SEPClassifier or TrustedClassifier
        The classifier that `fit` clones and fits.

    Attributes
    ----------
    estimator_ : SEPClassifier or TrustedClassifier
        The classifier that was repaired.
    repaired_ : dict of int to SEPClassifier
        The models of repaired regions. They take the same columns as the partition.
    changes_ : Changes
        What was tried, as a `Change` for each region; `summary` puts it in words.
    lost_promise_ : bool
        Whether the classifier was inside a `SelectiveClassifier`, whose promise no longer holds.
    edits_ : tuple of Edit
        What experts changed in the model, with `edited`. Edits of columns also hold in the models of repaired regions,
        as far as these know the label; edits of ellipsoids do not, since these models have ellipsoids of their own.
    provenance_ : Provenance or None
        Digests of the rows of the repair and of the model that was repaired, and versions; None if read from a file of
        0.1.0.
    regions_ : Regions
        Those of the partition.
    classes_, n_features_in_, feature_names_in_
        Those of `estimator_`.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @classmethod
    def of(
        cls,
        fitted: HasRegions,
        repaired: Mapping[int, SEPClassifier],
        changes: Iterable[Change],
        lost_promise: bool = False,
        provenance: Provenance | None = None,
    ) -> Self:
        """A fitted classifier with the models of its repaired regions."""
        return cls(fitted)._set(fitted, repaired, changes, provenance, lost_promise)

    def _set(
        self,
        fitted: HasRegions,
        repaired: Mapping[int, SEPClassifier],
        changes: Iterable[Change],
        provenance: Provenance | None,
        lost_promise: bool = False,
    ) -> Self:
        self.estimator_ = fitted
        self.repaired_: dict[int, SEPClassifier] = {int(region): repaired[region] for region in sorted(repaired)}
        self.changes_ = Changes(changes)
        self.lost_promise_ = lost_promise
        self.provenance_: Provenance | None = provenance
        self.classes_, self.regions_ = fitted.classes_, partition_of(fitted).regions_
        take_features(self, fitted)
        return self

    @at_once
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
        fitted = clone(self.estimator).fit(X, y)
        return self._set(fitted, {}, (), fitted.provenance_)

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, which are signed."""
        fitted = as_fitted(self)
        estimator = fitted.estimator_.with_edits(edits)
        # A model that several regions share stays one model.
        models = {
            id(model): model.with_edits(edits_for_region(edits, model.model_)) for model in fitted.repaired_.values()
        }
        repaired = {region: models[id(model)] for region, model in fitted.repaired_.items()}
        regions = partition_of(estimator).regions_
        return fitted.with_fitted(estimator_=estimator, repaired_=repaired, regions_=regions)

    def _decide(self, X: Any) -> RepairedDecisions:
        outer: Decisions = self.estimator_.decide(X)
        rows_of = {region: np.flatnonzero(outer.region == region) for region in self.repaired_}
        located = partition_decisions(outer)
        inner = {region: self._decide_in(region, located[rows]) for region, rows in rows_of.items() if len(rows)}
        return RepairedDecisions.gather(RepairedParts(outer, inner))

    def _decide_in(self, region: int, located: SEPDecisions) -> SEPDecisions:
        """The decisions of a region's own model on rows that lie there."""
        model = self.repaired_[region]
        rows, preparation = located.given_rows, located.preparation
        return SEPDecisions.of(model.model_, rows, model.min_trust, located.notes, located.empty, preparation)

    def empty_decisions(self) -> RepairedDecisions:
        """Decisions on zero rows, with all columns and their types."""
        return RepairedDecisions.gather(RepairedParts(self.estimator_.empty_decisions(), {}))

    def apply(self, X: ArrayLike) -> IntArray:
        """The region of every row, numbered as in the original classifier."""
        return np.asarray(self.estimator_.decide(X).region)

    def summary(self) -> str:
        """What was changed, in words."""
        fitted = as_fitted(self)
        return "\n".join([fitted.changes_.summary(), *([NEW_PROMISE] if fitted.lost_promise_ else [])])

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "changes_") else repr(self)

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value; `fit` calls this first."""
        if not isinstance(self.estimator, HasRegions):
            kind = type(self.estimator).__name__
            raise TypeError(
                f"estimator is a {kind}; only the regions of an SEPClassifier or a TrustedClassifier can be repaired."
            )
