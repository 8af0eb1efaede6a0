"""The rows whose decision changed, with both decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.decisions.frames import column_of_names, frame_of
from sepc.decisions.kinds import Cause
from sepc.lifecycle.comparing.changed_parts import ModelPart
from sepc.lifecycle.comparing.paired_decisions import PairedDecisions

if TYPE_CHECKING:
    import pandas as pd

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
