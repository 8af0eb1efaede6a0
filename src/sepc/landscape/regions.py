"""What a partition shows about a data set: regions, small disjuncts, and rows it cannot separate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.landscape.labelled_rows import LabelledRows
from sepc.model.locate import as_values, locate, unpacked
from sepc.model.sep_model import SEPModel
from sepc.model.signature_table import SignatureTable
from sepc.points.signatures import SignatureCounts

# Rows located at a time, to bound the memory for rows outside all ellipsoids.
BLOCK_ROWS = 2**16


@dataclass(frozen=True)
class PartitionFigures:
    """A partition in figures.

    Attributes
    ----------
    n_regions : int
        Combinations of ellipsoids in which some row lies.
    n_mixed : int
        Regions that hold rows of two or more labels.
    mixed_share, outvoted_share : float
        Shares of all rows: those in mixed regions, and those there with another label than most rows of the region.
    outside_share : float
        Share of the rows that lie in no ellipsoid.
    n_small : int
        Small disjuncts: ellipsoids that hold less than a given share of the rows of their label.
    small_share : float
        Share of the rows that lie in a small disjunct of their label, and in no larger ellipsoid of it.
    """

    n_regions: int
    n_mixed: int
    mixed_share: float
    outvoted_share: float
    outside_share: float
    n_small: int
    small_share: float


def count_in(model: SEPModel, table: LabelledRows) -> SignatureTable:
    """Count all rows of a table in the ellipsoids of a model, which may have been fitted on some of them only."""
    return SignatureTable.of_classes([_signatures(model, rows) for rows in table.of_class])


def _signatures(model: SEPModel, rows: FloatArray) -> SignatureCounts:
    """The combinations of ellipsoids that occur among rows, and how many rows have each."""
    blocks = (rows[start : start + BLOCK_ROWS] for start in range(0, len(rows), BLOCK_ROWS))
    keys = np.concatenate([locate(model.standardize(block), model.stack, model.slack).keys for block in blocks])
    _, first, counts = np.unique(as_values(keys), return_index=True, return_counts=True)
    return SignatureCounts(unpacked(keys[first], model.n_ellipsoids), counts)


def figures_of(table: SignatureTable, owners: IntArray, small: float) -> PartitionFigures:
    """The figures of a partition whose ellipsoids belong to the classes `owners`."""
    counts, n_rows = table.counts, int(table.counts.sum())
    is_region = table.memberships.any(axis=1)
    is_mixed = is_region & (np.count_nonzero(counts, axis=1) > 1)
    n_outvoted = int((counts.sum(axis=1) - counts.max(axis=1))[is_mixed].sum())
    is_small = _are_small(table, owners, small)
    return PartitionFigures(
        n_regions=table.n_regions,
        n_mixed=int(is_mixed.sum()),
        mixed_share=float(counts[is_mixed].sum() / n_rows),
        outvoted_share=n_outvoted / n_rows,
        outside_share=float(counts[~is_region].sum() / n_rows),
        n_small=int(is_small.sum()),
        small_share=_held_only_by(is_small, table, owners) / n_rows,
    )


def _are_small(table: SignatureTable, owners: IntArray, small: float) -> BoolArray:
    held = table.inside_all(np.eye(len(owners), dtype=np.bool_))
    own = held[np.arange(len(owners)), owners]
    return np.asarray(own < small * table.counts.sum(axis=0)[owners])


def _held_only_by(is_small: BoolArray, table: SignatureTable, owners: IntArray) -> int:
    """Number of rows in a small ellipsoid of their own label and in no larger one of it."""
    n = 0
    for k in range(table.counts.shape[1]):
        own = table.memberships[:, owners == k]
        small_only = own.any(axis=1) & ~own[:, ~is_small[owners == k]].any(axis=1)
        n += int(table.counts[small_only, k].sum())
    return n
