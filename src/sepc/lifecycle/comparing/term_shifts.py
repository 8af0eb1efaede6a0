"""Which columns changed decisions: the terms of two models on the same rows, column by column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import Decisions, positions_of
from sepc.estimators.repaired.decisions import RepairedDecisions
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.row_phrases import summed_by_column
from sepc.lifecycle.comparing.paired_decisions import PairedDecisions
from sepc.model.terms import Terms, terms_of

# Rows of a batch whose terms are compared, evenly spaced among those that changed.
MOST_EXPLAINED = 1_000

ELLIPSOIDS, AVERAGE = "where the row lies", "the average row"


@dataclass(frozen=True)
class TermShift:
    """How much one term changed, over the rows whose decision changed.

    Attributes
    ----------
    name : str
        A column; "where the row lies" for all ellipsoids and isolated rows together; "the average row" for the offset.
    mean_size : float
        The mean size of its change, in log-odds of the old label.
    n_largest : int
        Rows in which no other term changed as much.
    """

    name: str
    mean_size: float
    n_largest: int


class ShiftTally:
    """Adds up changes of terms, batch by batch."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._size: dict[str, float] = {}
        self._largest: dict[str, int] = {}

    def add(self, pair: PairedDecisions, rows: IntArray) -> None:
        """Add rows of a batch; nothing if the models have no terms that can be compared."""
        chosen = rows[:: max(1, -(-len(rows) // MOST_EXPLAINED))]
        if not len(chosen):
            return
        found = term_shifts(pair, chosen)
        if found is None:
            return
        names, shifts = found
        self.n_rows += len(chosen)
        sizes, largest = np.abs(shifts).sum(axis=0), np.bincount(np.abs(shifts).argmax(axis=1), minlength=len(names))
        for name, size, n in zip(names, sizes.tolist(), largest.tolist(), strict=True):
            self._size[name] = self._size.get(name, 0.0) + size
            self._largest[name] = self._largest.get(name, 0) + n

    def finish(self) -> tuple[TermShift, ...]:
        """The terms that changed, those with the largest changes first."""
        every = (TermShift(name, size / self.n_rows, self._largest[name]) for name, size in self._size.items())
        return tuple(sorted((one for one in every if one.mean_size > 0.0), key=lambda one: -one.mean_size))


def term_shifts(pair: PairedDecisions, rows: IntArray) -> tuple[list[str], FloatArray] | None:
    """Names of terms, and by how much each favours the old label more with the new model, of shape (rows, terms).

    The old label is compared with the new one or, where both are the same, with the old model's runner-up. The sum over
    the terms is the change of the log-odds. None if the models do not weigh the same columns, or know other labels.
    """
    old, new = _weighed(pair.old[rows]), _weighed(pair.new[rows])
    if old is None or new is None or not _are_comparable(old, new):
        return None
    label = positions_of(pair.old.label[rows], old.classes)
    other = positions_of(pair.new.label[rows], old.classes)
    against = np.where(label == other, _second_best(old.probabilities, label), other)
    before = terms_of(old.model, old.given_rows, label, old.gauge, against)
    after = terms_of(new.model, new.given_rows, label, new.gauge, against)
    shifts, column_of = after.features - before.features, old.model.column_of
    firsts = np.unique(column_of)
    columns = summed_by_column(shifts, np.ones(shifts.shape, dtype=bool), column_of)[:, firsts]
    names = [old.model.feature_names[j] for j in firsts]
    rest = [_elsewhere(after) - _elsewhere(before), after.offset - before.offset]
    return [*names, ELLIPSOIDS, AVERAGE], np.column_stack([columns, *rest])


def _weighed(decisions: Decisions) -> SEPDecisions | None:
    """The decisions that the labels come from, if they are sums of terms; no row is in a repaired region."""
    if isinstance(decisions, SelectiveDecisions):
        return _weighed(decisions.inner)
    if isinstance(decisions, RepairedDecisions):
        return _weighed(decisions.parts.outer[decisions.position])
    return decisions if isinstance(decisions, SEPDecisions) and decisions.model.weights is not None else None


def _second_best(probabilities: FloatArray, label: IntArray) -> IntArray:
    """The position of the most probable class besides the label; that of the label if there is no other."""
    others = probabilities.copy()
    others[np.arange(len(label)), label] = -1.0
    return np.asarray(others.argmax(axis=1))


def _are_comparable(old: SEPDecisions, new: SEPDecisions) -> bool:
    same_names = old.model.feature_names == new.model.feature_names
    return same_names and np.array_equal(old.model.classes, new.model.classes)


def _elsewhere(terms: Terms) -> FloatArray:
    return np.asarray(terms.ellipsoids.sum(axis=1) + terms.isolated)
