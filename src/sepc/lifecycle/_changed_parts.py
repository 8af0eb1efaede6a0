"""What differs between two models: their parts, and the rows whose decision changed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

import joblib
import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.decisions.decisions import column_of_names, frame_of
from sepc.decisions.kinds import Cause
from sepc.estimators.base import MIN_TRUST
from sepc.estimators.unwrapping import is_partition, is_repaired, makes_promise, unwrap
from sepc.lifecycle._paired_decisions import PairedDecisions
from sepc.lifecycle.rows import file_digest, record_digest
from sepc.model_files import STATES
from sepc.wording import AS_SET, decimal, listed, shown

if TYPE_CHECKING:
    import pandas as pd


# Thresholds listed in words; the others are counted.
MOST_THRESHOLDS = 4
UNKNOWN = "unknown"


class ModelPart(StrEnum):
    """A part of a model that can differ from another model's."""

    THRESHOLD = "threshold"  # from which trust a label is accepted, and what is promised
    REGIONS = "regions"  # the models of repaired regions
    WEIGHTS = "weights"  # the terms of features and ellipsoids; the ellipsoids are the same
    MODEL = "model"  # anything else: other ellipsoids, other columns, another kind of model


@dataclass(frozen=True)
class Anatomy:
    """A model taken apart, each part as a digest."""

    thresholds: tuple[str, ...] = ()
    regions: dict[int, str] = field(default_factory=dict)
    weights: str = ""
    rest: tuple[str, ...] = ()


def changed_parts(old: Any, new: Any) -> frozenset[ModelPart]:
    """The parts in which two models differ; empty if they are the same model."""
    before, after = _anatomy(old), _anatomy(new)
    if before.rest != after.rest or UNKNOWN in before.rest:
        return frozenset([ModelPart.MODEL, *_thresholds_or_regions(before, after)])
    found = _thresholds_or_regions(before, after)
    return frozenset([*found, *([ModelPart.WEIGHTS] if before.weights != after.weights else [])])


def threshold_in_words(model: Any) -> str:
    """From which trust labels are accepted; for several labels or groups, the threshold of each."""
    classifier = unwrap(model).classifier
    if is_repaired(classifier):
        return threshold_in_words(classifier.inner)
    threshold = getattr(classifier, "threshold_", getattr(classifier, "min_trust", MIN_TRUST))
    if isinstance(threshold, dict):
        several = [f"{shown(key)} {_trust_in_words(value)}" for key, value in threshold.items()]
        return listed(several, MOST_THRESHOLDS) or "accepts nothing"
    return _trust_in_words(threshold)


def _trust_in_words(threshold: float) -> str:
    if not np.isfinite(threshold):
        return "accepts nothing"
    text = decimal(threshold)
    return f"trust >= {text if float(text.lstrip('<> ')) == threshold else f'{threshold:.{AS_SET}g}'}"


def _thresholds_or_regions(before: Anatomy, after: Anatomy) -> list[ModelPart]:
    found = [ModelPart.THRESHOLD] if before.thresholds != after.thresholds else []
    return [*found, *([ModelPart.REGIONS] if before.regions != after.regions else [])]


def _anatomy(model: Any) -> Anatomy:
    inside = unwrap(model)
    classifier, before = inside.classifier, tuple(_hash(steps) for steps in inside.before)
    if makes_promise(classifier):
        known, shift = classifier.promise_.groups, classifier.promise_.shift
        groups = None if known is None else (known.by, dict(known.parents))
        covered = None if shift is None else shift.regions.tolist()
        own = repr((classifier.threshold_, groups, covered, np.asarray(classifier.classes_).tolist()))
        inner = _anatomy(classifier.estimator_)
        return replace(inner, thresholds=(own, *inner.thresholds), rest=before + inner.rest)
    if is_repaired(classifier):
        inner = _anatomy(classifier.inner)
        regions = {region: record_digest(each.model_) for region, each in classifier.routes_.items()}
        return replace(inner, regions=regions, rest=before + inner.rest)
    if is_partition(classifier):
        model_, preparation = classifier.model_, classifier.encoding_
        prepared = "" if preparation is None else record_digest(preparation)
        weights = "" if model_.weights is None else record_digest(model_.weights)
        rest = (record_digest(replace(model_, weights=None)), prepared)
        return Anatomy((repr(classifier.min_trust),), weights=weights, rest=before + rest)
    threshold = (repr(classifier.min_trust),) if hasattr(classifier, "min_trust") else ()
    return Anatomy(threshold, rest=(*before, type(classifier).__qualname__, _digest_of_other(classifier)))


def _digest_of_other(classifier: Any) -> str:
    if type(classifier) not in STATES:
        return _hash(classifier)
    plain = copy.copy(classifier)
    if hasattr(plain, "min_trust"):
        plain.min_trust = MIN_TRUST
    return file_digest(plain)


def _hash(model: Any) -> str:
    try:
        return str(joblib.hash(model, hash_name="sha1"))
    except (pickle.PicklingError, TypeError, AttributeError):
        return UNKNOWN


CAUSES = ("cause_before", "cause_after")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ChangedRows(ShownOnOneLine):
    """Rows whose decision changed, as arrays with one entry per row.

    Attributes
    ----------
    position : array of int
        The position of the row among all rows compared, from 0.
    label_before, label_after : array
    accepted_before, accepted_after : array of bool
    cause_before, cause_after : array of `Cause`
    trust_before, trust_after : array of float
    region : array of int
        Its region, as the old model numbers them.
    part : array of str
        The part of the model that the change comes from: "threshold", "regions", "weights" or "model".
    group : array of object, or None
        Its group, if groups were given.
    true_label : array, or None
        Its true label, None where it is missing; None without labels.
    index : sequence, or None
        Its label in the index of the DataFrame compared.
    """

    position: IntArray
    label_before: NDArray[Any]
    label_after: NDArray[Any]
    accepted_before: BoolArray
    accepted_after: BoolArray
    cause_before: IntArray
    cause_after: IntArray
    trust_before: FloatArray
    trust_after: FloatArray
    region: IntArray
    part: NDArray[Any]
    group: NDArray[Any] | None = None
    true_label: NDArray[Any] | None = None
    index: Sequence[Any] | None = None

    def __len__(self) -> int:
        return len(self.position)

    @classmethod
    def of(
        cls,
        pair: PairedDecisions,
        first: int,
        part: NDArray[Any],
        group: NDArray[Any] | None,
        true_label: NDArray[Any] | None,
    ) -> Self:
        """The changed rows of a batch that begins at position `first`; `part` is for these rows alone."""
        rows, (before, after), index = np.flatnonzero(pair.differs), pair.causes, pair.old.index
        return cls(
            position=first + rows,
            label_before=pair.old.label[rows],
            label_after=pair.new.label[rows],
            accepted_before=pair.old.accepted[rows],
            accepted_after=pair.new.accepted[rows],
            cause_before=before[rows],
            cause_after=after[rows],
            trust_before=pair.old.trust[rows],
            trust_after=pair.new.trust[rows],
            region=pair.old.region[rows],
            part=part,
            group=None if group is None else group[rows],
            true_label=None if true_label is None else true_label[rows],
            index=None if index is None else list(index[rows]),
        )

    @classmethod
    def joined(cls, parts: Sequence[ChangedRows]) -> ChangedRows:
        """The rows of all batches, in order."""
        columns: dict[str, Any] = {}
        for each in fields(cls):
            values = [getattr(one, each.name) for one in parts]
            if values[0] is None:
                columns[each.name] = None
            elif each.name == "index":
                columns[each.name] = [value for some in values for value in some]
            else:
                columns[each.name] = np.concatenate(values)
        return ChangedRows(**columns)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame, with the index of the table compared."""
        names = [each.name for each in fields(self) if each.name != "index"]
        columns = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        columns |= {name: column_of_names(Cause, columns[name]) for name in CAUSES}
        return frame_of(columns, self.index)

    def is_from(self, part: ModelPart) -> BoolArray:
        """Which changes come from this part of the model."""
        return np.asarray(self.part == part.value, dtype=bool)
