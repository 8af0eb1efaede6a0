"""Decisions of any estimator of ours as columns of a table, without a loop over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.regions.kinds import Cause, Rule

# What decisions may have beside their label, in the order it is written; `rule` and `cause` by name.
PLAIN = (
    "trust",
    "accepted",
    "rule",
    "cause",
    "confidence",
    "support",
    "agreement",
    "region",
    "gauge",
    "counts_label",
    "stratum",
)
NAMED: dict[str, type[Rule] | type[Cause]] = {"rule": Rule, "cause": Cause}


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of few different texts: for each row, the position of its own."""

    codes: NDArray[np.int32]
    texts: tuple[str, ...]


Column = NDArray[Any] | Coded


def columns_of(decisions: Any, classes: NDArray[Any]) -> dict[str, Column]:
    """The columns of `to_frame`, and for strata, which have no such method, what there is.

    Parameters
    ----------
    decisions : Decisions, TrustedDecisions, SelectiveDecisions or StratifiedDecisions
    classes : (C,) array
        The estimator's labels.
    """
    columns: dict[str, Column] = {"label": _labels(np.asarray(decisions.label), classes)}
    for name in PLAIN:
        values = getattr(decisions, name, None)
        if values is not None:
            columns[name] = _column(name, np.asarray(values), classes)
    if hasattr(decisions, "counts"):
        columns |= {f"n_{label}": decisions.counts[:, k] for k, label in enumerate(classes)}
    elif hasattr(decisions, "probabilities"):
        columns |= {f"p_{label}": decisions.probabilities[:, k] for k, label in enumerate(classes)}
    return columns


def _column(name: str, values: NDArray[Any], classes: NDArray[Any]) -> Column:
    if name in NAMED:
        return _coded(values, NAMED[name])
    return _labels(values, classes) if name == "counts_label" else values


def _labels(labels: NDArray[Any], classes: NDArray[Any]) -> Column:
    """Numbers as they are; text by its position among the classes."""
    if labels.dtype.kind in "biuf":
        return labels
    codes = np.searchsorted(classes, labels) if labels.dtype.kind == "U" else _positions(labels, classes)
    return Coded(codes.astype(np.int32), tuple(map(str, classes)))


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """For labels of several types, which have no order."""
    codes = np.zeros(len(labels), dtype=np.int32)
    for k, label in enumerate(classes):
        codes[labels == label] = k
    return codes


def _coded(values: NDArray[Any], kinds: type[Rule] | type[Cause]) -> Coded:
    first = min(kinds)
    return Coded((values - int(first)).astype(np.int32), tuple(kind.name for kind in kinds))
