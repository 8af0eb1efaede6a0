"""Decisions of an `SEPClassifier`: where rows lie in its partition, and the labels that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.preparation import Preparation
from sepc.decisions.decisions import LATER, SHARED, Decision, Decisions, replace_columns
from sepc.decisions.kinds import Reason
from sepc.decisions.letter import Grounds, Words
from sepc.estimators.sep.reasons import SEPReasons
from sepc.estimators.sep.row_phrases import grounds_of
from sepc.model.gaps import EmptyCategory, is_certain, likely_values, possible_ellipsoids, value_of_information
from sepc.model.rules import judge_any, look_up_causes
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Term, Terms, terms_of
from sepc.model.training_summary import Restore


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SEPDecisions(Decisions):
    """Decisions of an `SEPClassifier`, as arrays with one entry per row.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`. A region is a position in `SEPClassifier.regions_`: the set of ellipsoids a row lies in or,
        for a row outside, the nearest ellipsoid or isolated row.
    rule : array of `Rule`
        The rule of the paper by which the counts were found.
    gauge : array of float
        The Mahalanobis distance in units of the ellipsoid: below 1 in the ellipsoid where the row lies deepest; above
        1, in the nearest one, if it lies outside all of them.
    place : array of int
        For rows outside, the nearest ellipsoid, or the nearest isolated row numbered after the ellipsoids; else -1.
    counts : (n, C) array of int
        Training rows of each class where the row lies.
    missing : (n, d) bool array
        Missing features. Such a row is decided by multiple imputation, with completions like the training rows:
        probabilities and trust are averages, and `rows`, `region` and the rest are those of the most typical one.
    notes : array of str
        Remarks on the cells of the row: one that cannot be read, what was assumed, a category not seen in training;
        empty for most.
    empty : (n, Q) bool array
        Missing categories, by column in the order of the table. A missing category counts as a category of its own if
        training rows lacked it too, else as an unseen one.
    preparation : Preparation or None
        How columns become features; None if all of them are numbers.
    counts_label : array
        The label that the counts alone would give; rows where it differs from `label` are worth checking.
    dropped : (n, F) array
        The given values of columns that an edit of the model dropped; `rows` have their typical values instead.
    known_cause : array of int
        Causes as far as they are known without looking at the training rows around; else -1.
    """

    model: SEPModel = field(metadata=SHARED)
    min_trust: float = field(metadata=SHARED)
    rows: FloatArray
    rule: IntArray
    gauge: FloatArray
    place: IntArray
    counts: IntArray
    counts_label: NDArray[Any]
    notes: NDArray[Any]
    missing: BoolArray
    empty: BoolArray
    dropped: FloatArray
    known_cause: IntArray
    preparation: Preparation | None = field(default=None, metadata=SHARED)

    @classmethod
    def of(
        cls,
        model: SEPModel,
        rows: FloatArray,
        min_trust: float,
        notes: NDArray[Any] | None = None,
        empty: BoolArray | None = None,
        preparation: Preparation | None = None,
    ) -> Self:
        """Decide on rows given in the user's own features."""
        dropped = rows[:, [] if model.edits is None else model.edits.fixed]
        rows = model.with_typical(rows)
        complete, judged = judge_any(model, rows, min_trust)
        return cls(
            model=model,
            classes=model.classes,
            rows=complete,
            by="SEPClassifier",
            min_trust=min_trust,
            missing=np.isnan(rows[:, : len(model.shift)]),
            notes=np.full(len(rows), "", dtype=object) if notes is None else notes,
            empty=np.zeros((len(rows), 0), dtype=bool) if empty is None else empty,
            dropped=dropped,
            preparation=preparation,
            known_cause=judged["cause"],
            **judged | {"cause": LATER},
        )

    @property
    def features(self) -> FloatArray:
        """The rows without category codes, of shape (n, d)."""
        return self.rows[:, : len(self.model.shift)]

    @property
    def given_rows(self) -> FloatArray:
        """The rows as they were given, with NaN for missing values."""
        given = self.rows.copy()
        given[:, : self.missing.shape[1]][self.missing] = np.nan
        return given

    @property
    def watched_rows(self) -> FloatArray:
        """The rows with the given values of dropped columns, where there are any: what to compare with training."""
        if self.dropped.shape[1] == 0 or self.model.edits is None:
            return self.rows
        rows, fixed = self.rows.copy(), self.model.edits.fixed
        rows[:, fixed] = np.where(np.isnan(self.dropped), rows[:, fixed], self.dropped)
        return rows

    @property
    def _partition_behind(self) -> SEPDecisions:
        return self

    _weighed_behind = _partition_behind

    def _find_cause(self) -> IntArray:
        return look_up_causes(self.model, self.min_trust, self.rows, self.rule, self.known_cause)

    def _single(self) -> SEPDecision:
        return SEPDecision(self)

    def terms(self) -> Terms:
        """What each feature and each ellipsoid adds to the log-odds of the label against the runner-up."""
        label = np.searchsorted(self.model.classes, self.label)
        return terms_of(self.model, self.given_rows, label, self.gauge)

    def _with_feature_names(self, features: Sequence[str], restore: Restore | None = None) -> Self:
        if len(features) != len(self.model.feature_names):
            return self
        usual = None if self.model.usual is None else self.model.usual.with_restore(restore)
        return replace_columns(self, model=replace(self.model, feature_names=tuple(features), usual=usual))

    def _extra_columns(self) -> dict[str, Any]:
        columns = {"rule": self.rule, "gauge": self.gauge, "counts_label": self.counts_label}
        notes = {} if self.preparation is None else {"notes": self.notes.astype(str)}
        return columns | {f"n_{label}": self.counts[:, i] for i, label in enumerate(self.classes)} | notes

    def _reasons(self) -> list[Reason]:
        return SEPReasons(self).all()

    def _grounds(self, words: Words) -> Grounds:
        return grounds_of(self, words)


@dataclass(frozen=True, eq=False, repr=False)
class SEPDecision(Decision):
    """The decision on one row; its attributes are those of `SEPDecisions`, as single values."""

    _only: SEPDecisions

    @property
    def possible_ellipsoids(self) -> list[int]:
        """The ellipsoids that the row may lie in, given its known values; for a complete row, those it lies in."""
        return [int(k) for k in possible_ellipsoids(self._only.model, self._with_gaps(), self._empty())]

    @property
    def is_certain(self) -> bool:
        """Whether the label stays the same however missing values are filled in, if the row is like the training rows.

        That is, for every known category in place of a missing one, and for all missing numbers that put the row in one
        of the ellipsoids. False if that cannot be shown, and without weights.
        """
        model = self._only.model
        return is_certain(model, self._with_gaps(), int(np.searchsorted(model.classes, self.label)), self._empty())

    def ask_for(self) -> list[tuple[str, float]]:
        """The missing values, and how often knowing each would be enough to accept the row; best first.

        Ties, such as among values that are never enough, are ordered by the trust they add.
        """
        model, row, empty = self._only.model, self._with_gaps(), self._empty()
        names, missing = model.feature_names, np.flatnonzero(self.missing)
        columns = model.column_of[missing]
        firsts = np.unique(columns).tolist()
        known = likely_values(model, row, [missing[columns == first] for first in firsts])
        known += [(column.positions, column.likely(model, self.probabilities)) for column in empty]
        if not known:
            return []
        asked = [*(names[first] for first in firsts), *(names[column.feature] for column in empty)]
        settled = value_of_information(model, row, known, self._only.min_trust)
        ranked = sorted(zip(settled, asked, strict=True), key=lambda item: item[0], reverse=True)
        return [(name, share) for (share, _), name in ranked]

    def _empty(self) -> list[EmptyCategory]:
        """The missing categories."""
        preparation = self._only.preparation
        if preparation is None:
            return []
        first_code, all_categories = len(preparation.feature_names), preparation.categories.values()
        return [
            EmptyCategory.of(int(feature), first_code + q, *categories.known)
            for q, (feature, categories) in enumerate(zip(preparation.category_features, all_categories, strict=True))
            if self.empty[q]
        ]

    def _with_gaps(self) -> FloatArray:
        return np.asarray(self._only.given_rows[0])

    def terms(self) -> Term:
        """What each feature and each ellipsoid adds to the log-odds of the label against the runner-up."""
        return self._only.terms()[0]
