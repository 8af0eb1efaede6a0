"""Training rows among supposedly new ones, by the hashes that models keep."""

from __future__ import annotations

from collections.abc import Iterator

from sepc.decisions.decisions import Decisions
from sepc.estimators.partition_behind import partition_behind
from sepc.estimators.repaired.decisions import RepairedDecisions
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.sep.decisions import SEPDecisions


def training_rows_again(decisions: Decisions) -> tuple[int, int]:
    """How many of the training rows that the models behind decisions remember are among these rows, of how many.

    Both are 0 if there are no more of them than chance explains, or if nothing is remembered.
    """
    n_again, n_remembered = 0, 0
    for partition in _partitions(decisions):
        seen, usual = partition.model.seen_rows, partition.model.usual
        if seen is not None and usual is not None and len(partition):
            found = seen.n_again(partition.watched_rows, usual.displays)
            n_again, n_remembered = n_again + found, n_remembered + (len(seen.hashes) if found else 0)
    return n_again, n_remembered


def _partitions(decisions: Decisions) -> Iterator[SEPDecisions]:
    """The partition that defines the regions, followed by those of repaired regions."""
    partition = partition_behind(decisions)
    if partition is not None:
        yield partition
    while isinstance(decisions, SelectiveDecisions):
        decisions = decisions.inner
    if isinstance(decisions, RepairedDecisions):
        yield from decisions.parts.inner.values()
