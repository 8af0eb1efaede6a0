"""Decisions of any estimator as columns of a table, without a loop over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.decisions.decisions import KINDS, Decisions
from sepc.decisions.kinds import Cause, Rule

LABELS = ("label", "counts_label")


@dataclass(frozen=True, eq=False)
class Coded:
    """A column with few distinct texts; `codes` are the positions of the rows' texts among them."""

    codes: NDArray[np.int32]
    texts: tuple[str, ...]


Column = NDArray[Any] | Coded


def columns_of(decisions: Decisions) -> dict[str, Column]:
    """The columns of `to_frame`, with text as codes."""
    return {name: _column(name, values, decisions.classes) for name, values in decisions.columns().items()}


def _column(name: str, values: NDArray[Any], classes: NDArray[Any]) -> Column:
    if name in KINDS:
        return _coded(values, KINDS[name])
    return _labels(values, classes) if name in LABELS else values


def _labels(labels: NDArray[Any], classes: NDArray[Any]) -> Column:
    """Numbers as they are, text as positions among the classes."""
    if labels.dtype.kind in "biuf":
        return labels
    codes = np.searchsorted(classes, labels) if labels.dtype.kind == "U" else _positions(labels, classes)
    return Coded(codes.astype(np.int32), tuple(map(str, classes)))


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """The class of each label, for labels of mixed types, which cannot be sorted."""
    codes = np.zeros(len(labels), dtype=np.int32)
    for k, label in enumerate(classes):
        codes[labels == label] = k
    return codes


def _coded(values: NDArray[Any], kinds: type[Rule] | type[Cause]) -> Coded:
    first = min(kinds)
    return Coded((values - int(first)).astype(np.int32), tuple(kind.name for kind in kinds))
