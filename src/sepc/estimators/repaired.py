"""RepairedClassifier: a classifier with regions, some of which were refitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard, ShownInLists
from sepc.decisions.decisions import SHARED, Decision, Decisions, frame_of, positions_of, replace_columns
from sepc.decisions.kinds import Reason
from sepc.decisions.letter import Grounds, Words
from sepc.estimators.base import Wrapper, take_features
from sepc.estimators.editable import Editable
from sepc.estimators.fitted_record import as_fitted, at_once
from sepc.estimators.sep import state as sep_state
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.editing import edits_for_region
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted import TrustedClassifier
from sepc.estimators.trusted_decisions import TrustedDecisions
from sepc.io.codec import Node, Reader, Writer, are_among, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, fields_to_node, restore_fields
from sepc.model.edits import Edit
from sepc.model.provenance import Provenance
from sepc.records import flag, number, record, text, whole
from sepc.wording import counted, p_in_short, with_number

if TYPE_CHECKING:
    import pandas as pd


# Regions listed in a summary; the others are counted.
MOST_LISTED = 10
COLUMNS = ("region", "where", "kept", "n_made", "n_judged", "errors_before", "errors_after", "p_value", "n_together")


@record
class Change(ShownInLists):
    """The outcome of a repair in one region.

    Attributes
    ----------
    region : int
        Its number.
    where : str
        The region in words.
    n_made : int
        Rows that the region's new model was fitted to; 0 if there were too few.
    n_judged : int
        Held-out rows of the region; each was tested on a new model that was not fitted to it.
    errors_before, errors_after : int
        Errors on these rows, of the original model and of the new ones.
    p_value : float
        Of an exact one-sided sign test (McNemar's): the probability, if new models were no better, that they are right
        on at least as many of the rows on which only one of the two is right.
    n_together : int
        Number of regions tested together, including this one; regions with few rows are pooled.
    kept : bool
        Whether the new model is used.
    """

    region: int = whole(low=-1)
    where: str = text()
    n_made: int = whole()
    n_judged: int = whole()
    errors_before: int = whole()
    errors_after: int = whole()
    p_value: float = number(0.0, 1.0)
    n_together: int = whole(low=1)
    kept: bool = flag()

    def __str__(self) -> str:
        name = with_number(self.where, self.region)
        if self.n_made == 0:
            return f"{name}: left as it was, too few rows to fit a model to"
        outcome = "repaired" if self.kept else "left as it was, a new model is not shown to be better"
        if self.n_judged == 0:
            return f"{name}: {outcome}; no rows to judge it"
        errors = f"{self.errors_before:,} before, {self.errors_after:,} after"
        return f"{name}: {outcome}; errors on {counted(self.n_judged, 'row')}: {errors}{self._p}"

    @property
    def _p(self) -> str:
        others = f", together with {counted(self.n_together - 1, 'other region')}" if self.n_together > 1 else ""
        return f" (p {p_in_short(self.p_value, '= ')}{others})"

    def _card(self) -> Card:
        facts = (
            ("where", self.where),
            ("fitted on", counted(self.n_made, "row")),
            ("judged by", f"{counted(self.n_judged, 'row')} that it was not fitted on"),
            ("errors of these", f"{self.errors_before:,} before, {self.errors_after:,} after{self._p}"),
        )
        outcome = "repaired" if self.kept else "left as it was"
        errors = f", {self.errors_before:,} errors before, {self.errors_after:,} after" if self.n_judged else ""
        return Card(f"Region {self.region}: {outcome}{errors}", facts)


class Changes(ShownAsCard, tuple[Change, ...]):
    """The outcome of a repair in each region: a tuple of `Change` that prints as a table."""

    __slots__ = ()

    @property
    def kept(self) -> tuple[Change, ...]:
        """The changes of repaired regions."""
        return tuple(change for change in self if change.kept)

    def headline(self) -> str:
        """How many regions were repaired, and their errors before and after, in a sentence."""
        if not self:
            return "Nothing repaired: no region fails."
        head = f"{len(self.kept):,} of {counted(len(self), 'region')} repaired"
        if not self.kept:
            return f"{head}: no new model is shown to be better."
        before, after = (sum(getattr(change, f"errors_{when}") for change in self.kept) for when in ("before", "after"))
        return f"{head}; errors there on rows not fitted on: {before:,} before, {after:,} after."

    def summary(self) -> str:
        """What was changed, in words."""
        lines = [self.headline(), *(f"- {change}" for change in self[:MOST_LISTED])]
        if len(self) > MOST_LISTED:
            lines.append(f"- and {counted(len(self) - MOST_LISTED, 'more region')}: see changes_.to_frame()")
        return "\n".join([*lines, "All other decisions stay as they were."] if self else lines)

    def to_frame(self) -> pd.DataFrame:
        """The changes as a pandas DataFrame, a row for each region."""
        return frame_of({name: [getattr(change, name) for change in self] for name in COLUMNS})

    def _card(self) -> Card:
        rows = tuple(
            (
                change.where,
                str(change.region),
                "repaired" if change.kept else "as it was",
                *(f"{n:,}" for n in (change.n_judged, change.errors_before, change.errors_after)),
                p_in_short(change.p_value),
            )
            for change in self
        )
        head = ("where", "region", "outcome", "rows", "wrong before", "after", "p")
        note = "All other decisions stay as they were." if self else ""
        return Card(self.headline().removesuffix("."), (), head, rows, note)


HasRegions: TypeAlias = SEPClassifier | TrustedClassifier


def partition_of(fitted: HasRegions) -> SEPClassifier:
    """The fitted `SEPClassifier` whose regions these are."""
    return fitted.partition_ if isinstance(fitted, TrustedClassifier) else fitted


def partition_decisions(decisions: Decisions) -> SEPDecisions:
    """The decisions of the partition alone."""
    if isinstance(decisions, TrustedDecisions):
        return decisions.partition
    assert isinstance(decisions, SEPDecisions)
    return decisions


# Columns of all decisions, and those of the partition.
BY_ROW = ("label", "trust", "accepted", "cause")
OF_PARTITION = ("counts_label", "rule", "gauge", "place")


@dataclass(frozen=True, eq=False)
class RepairedParts:
    """The decisions of each model: `outer` on all rows, `inner` on the rows of each repaired region, in order."""

    outer: Decisions
    inner: Mapping[int, SEPDecisions]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RepairedDecisions(Decisions):
    """Decisions of a `RepairedClassifier`: those of the original, and in repaired regions those of their own models.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`; in a repaired region, by its own model. Regions are those of the original classifier.
    rule, gauge, place, counts, counts_label
        As in `SEPDecisions`: by the partition of the original or, in a repaired region, by its own model.
    repaired : array of bool
        Whether the region's own model decided.
    position : array of int
        Position of each row among the rows that its model decided on.
    """

    parts: RepairedParts = field(metadata=SHARED)
    rule: IntArray
    gauge: FloatArray
    place: IntArray
    counts: IntArray
    counts_label: NDArray[Any]
    repaired: BoolArray
    position: IntArray

    @classmethod
    def gather(cls, parts: RepairedParts) -> Self:
        """Combine the decisions: those of repaired regions replace those of the original classifier."""
        outer, partition = parts.outer, partition_decisions(parts.outer)
        values = {name: np.array(getattr(outer, name)) for name in (*BY_ROW, "probabilities")}
        values |= {name: np.array(getattr(partition, name)) for name in OF_PARTITION}
        values["counts"] = _in_order_of(outer.classes, partition.classes, partition.counts)
        repaired, position = np.zeros(len(outer), dtype=bool), np.arange(len(outer))
        for region, decided in parts.inner.items():
            rows = np.flatnonzero(outer.region == region)
            repaired[rows], position[rows] = True, np.arange(len(rows))
            for name in (*BY_ROW, *OF_PARTITION):
                values[name][rows] = getattr(decided, name)
            for name in ("counts", "probabilities"):
                values[name][rows] = _in_order_of(outer.classes, decided.classes, getattr(decided, name))
        return cls(
            classes=outer.classes,
            region=outer.region,
            by="RepairedClassifier",
            parts=parts,
            repaired=repaired,
            position=position,
            **values,
        )

    def _single(self) -> RepairedDecision:
        """The only decision, as single values."""
        return RepairedDecision(self)

    def _with_feature_names(self, features: Sequence[str], restore: Any = None) -> Self:
        """The same decisions, with these feature names in their reasons, and values converted by `restore`."""
        inner = {region: decided._with_feature_names(features, restore) for region, decided in self.parts.inner.items()}
        return replace_columns(
            self, parts=RepairedParts(self.parts.outer._with_feature_names(features, restore), inner)
        )

    def _extra_columns(self) -> dict[str, Any]:
        """Columns that are specific to this class of decisions."""
        columns = {"rule": self.rule, "gauge": self.gauge, "counts_label": self.counts_label}
        columns |= {"repaired": self.repaired}
        return columns | {f"n_{label}": self.counts[:, i] for i, label in enumerate(self.classes)}

    def _reasons(self) -> list[Reason]:
        """The reasons for every decision, without the verdicts."""
        outer = np.flatnonzero(~self.repaired)
        reasons = dict(zip(outer.tolist(), self.parts.outer[self.position[outer]]._reasons(), strict=True))
        for region, decided in self.parts.inner.items():
            rows = np.flatnonzero(self.repaired & (self.region == region))
            pairs = zip(rows.tolist(), decided[self.position[rows]]._reasons(), strict=True)
            reasons |= {i: reason.after("By the repaired model: ") for i, reason in pairs}
        return [reasons[i] for i in range(len(self))]

    def _grounds(self, words: Words) -> Grounds:
        """The grounds of the only decision, for a letter, in these words."""
        decided = self.parts.inner[int(self.region[0])] if self.repaired[0] else self.parts.outer
        return decided[self.position]._grounds(words)


def _in_order_of(classes: NDArray[Any], known: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Reorder columns from a model's known classes to `classes`; zeros for a class it does not know."""
    place = positions_of(known, classes)
    columns = np.zeros((len(values), len(classes)), dtype=values.dtype)
    columns[:, place[place >= 0]] = values[:, place >= 0]
    return columns


@dataclass(frozen=True, eq=False, repr=False)
class RepairedDecision(Decision):
    """The decision on one row; its attributes are those of `RepairedDecisions`, as single values."""

    _only: RepairedDecisions

    @property
    def inner(self) -> Decision:
        """The decision of the model that decided on this row."""
        parts: RepairedParts = self.parts
        decided: Decisions = parts.inner[self.region] if self.repaired else parts.outer
        return decided[[self.position]]._single()


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


def write(repaired: RepairedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a repaired classifier; a model that several regions share is written once."""
    models = list({id(model): model for model in repaired.repaired_.values()}.values())
    place = {id(model): i for i, model in enumerate(models)}
    writer.put(
        regions=np.array(list(repaired.repaired_), dtype=np.int64),
        asked=np.array([place[id(model)] for model in repaired.repaired_.values()], dtype=np.int64),
    )
    return fields_to_node(repaired, without=("estimator",)) | {
        "estimator": inner.to_node(repaired.estimator_, writer.under("estimator")),
        "models": [sep_state.write(model, writer.under(f"models/{i}"), inner) for i, model in enumerate(models)],
        "changes": [record_to_node(change, writer) for change in repaired.changes_],
        "lost_promise": repaired.lost_promise_,
    }


def read(reader: Reader, inner: InnerModels) -> RepairedClassifier:
    """Read a repaired classifier."""
    estimator = inner.from_node(reader.part("estimator"))
    if not isinstance(estimator, HasRegions):
        raise reader.wrong("repairs something that has no regions")
    models = [_fitting(sep_state.read(part, inner), estimator, part) for part in reader.parts("models")]
    regions = reader.ints("regions", None, low=-1, below=len(partition_of(estimator).regions_))
    asked = reader.ints("asked", len(regions), below=len(models))
    if (np.diff(regions) <= 0).any() or list(dict.fromkeys(asked.tolist())) != list(range(len(models))):
        raise reader.wrong("has repeated regions, or models that no region uses")
    changes = tuple(record_from(Change, part) for part in reader.parts("changes"))
    model_of = {int(region): models[i] for region, i in zip(regions, asked, strict=True)}
    lost_promise = reader.value("lost_promise", bool)
    repaired = restore_fields(RepairedClassifier.of(estimator, model_of, changes, lost_promise), reader)
    if repaired.n_features_in_ != estimator.n_features_in_:
        raise reader.wrong("differs from its estimator in the number of features")
    return repaired


def _fitting(model: SEPClassifier, estimator: HasRegions, reader: Reader) -> SEPClassifier:
    """Return a region's model if it takes the columns of the partition and has labels of the estimator, else raise."""
    known, labels = estimator.classes_, model.classes_
    same_labels = labels.dtype.kind == known.dtype.kind and are_among(labels, known)
    if not same_labels or _columns(model) != _columns(partition_of(estimator)):
        raise reader.wrong("differs in features or labels from the classifier it repairs")
    return model


def _columns(classifier: SEPClassifier) -> Any:
    """The columns a classifier takes and how they become features, as comparable values."""
    names, preparation = getattr(classifier, "feature_names_in_", None), classifier.encoding_
    named = classifier.n_features_in_, None if names is None else list(names)
    if preparation is None:
        return named
    return (
        *named,
        preparation.columns,
        preparation.feature_names,
        {name: each.values for name, each in preparation.categories.items()},
    )
