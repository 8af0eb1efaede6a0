"""As many ellipsoids as pay: a partition grows in steps, as long as each lowers the log loss of rows left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.estimators.sep.crossing import FOLD_DIGITS, N_FOLDS, ellipsoid_arrays, folds_by_hash
from sepc.estimators.sep.multiclass import Growing, Pieces
from sepc.estimators.sep.weighed_columns import CurveColumns, PlaceColumns
from sepc.kernels.evidence import PRIOR_PENALTY
from sepc.kernels.softmax import fit_softmax
from sepc.model.membership import squared_radii
from sepc.partition.sequence import Settings
from sepc.points.row_digest import row_hashes

# A partition is looked at when it has these shares of the ellipsoids that it may have.
STEPS = (0.125, 0.25, 0.5, 1.0)
# The most rows and classes to judge a step by. Of more classes, each gets as many ellipsoids as it may have.
JUDGED_ROWS, JUDGED_CLASSES = 8_000, 2
# The curves that ellipsoids are judged beside have this many knots; scores are solved for up to this tolerance.
N_KNOTS, ROUGHLY = 6, 0.1


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Rows that a partition has not seen, in standard units: their classes, how much each counts, and its half."""

    rows: FloatArray
    which: IntArray
    weights: FloatArray
    curves: FloatArray
    halves: IntArray

    @classmethod
    def of(cls, rows: FloatArray, which: IntArray, weights: FloatArray, n_most: int) -> LeftOut:
        """At most `n_most` of these rows.

        Both the choice and the halves follow from rounded standard units, not from the order of the rows, which is that
        of the hashes of given values: the same rows in other units must give the same model.
        """
        rounded = rows.round(FOLD_DIGITS)
        order = np.lexsort((row_hashes(rounded, seed=0), which))
        few = order[np.linspace(0, len(rows) - 1, min(len(rows), n_most)).astype(np.int64)]
        rows, which, none = rows[few], which[few], np.empty((len(few), 0), dtype=np.int64)
        curves = CurveColumns.of(rows, none, (), n_most=N_KNOTS).beside(PlaceColumns.none(len(few))).to_array()
        return cls(rows, which, weights[few], curves, folds_by_hash(rounded[few], which))

    def losses(self, pieces: Pieces) -> FloatArray:
        """The log loss of every row, from a sum of curves and ellipsoids that is fitted to the other half of them."""
        squared = squared_radii(self.rows, *ellipsoid_arrays(pieces, self.rows.shape[1]))
        places = PlaceColumns.of(self.rows, squared, self.rows[:0], 1.0)
        columns = np.concatenate([self.curves, places.near, places.deep], axis=1)
        losses = np.zeros(len(columns))
        for half in range(N_FOLDS):
            seen, unseen = self.halves != half, self.halves == half
            known, which = np.unique(self.which[seen], return_inverse=True)
            # Rows of a class that the other half lacks say nothing.
            rows = np.flatnonzero(unseen & np.isin(self.which, known))
            if not len(rows):
                continue
            fit = fit_softmax(
                columns[seen], which, len(known), penalty=PRIOR_PENALTY, weights=self.weights[seen], tol=ROUGHLY
            )
            scores = columns[rows] @ fit.coefficients + fit.offsets
            scores -= scores.max(axis=1, keepdims=True)
            own = scores[np.arange(len(rows)), np.searchsorted(known, self.which[rows])]
            losses[rows] = np.log(np.exp(scores).sum(axis=1)) - own
        return self.weights * losses


def grow_while_it_pays(
    growing: Sequence[Growing],
    left_out: Sequence[LeftOut],
    settings: Settings,
    grow: Callable[[Growing, Settings], Growing],
    pieces_of: Callable[[Growing], Pieces],
) -> tuple[list[Growing], int]:
    """Partitions that grew together, and how many ellipsoids they may have.

    The first step is always taken. A further one is undone, and ends the growth, if it does not lower the log loss of
    the rows that each partition has not seen. To ask for a gain of a standard error would stop too early: on phoneme,
    1,600 rows, it costs a point of accuracy. More than two classes share a limit instead: so few of their rows lie near
    each ellipsoid that halves of them are too few to judge by.
    """
    most = settings.max_ellipsoids
    sizes = sorted({max(1, -int(-most * share // 1)) for share in STEPS})
    n_classes = max(int(each.which.max(initial=0)) + 1 for each in left_out)
    if n_classes > JUDGED_CLASSES:
        return [grow(each, settings) for each in growing], most
    kept, n_kept, loss = list(growing), most, np.inf
    for size in sizes:
        growing = [grow(each, replace(settings, max_ellipsoids=size)) for each in kept]
        losses = np.concatenate([rows.losses(pieces_of(each)) for each, rows in zip(growing, left_out, strict=True)])
        loss_now = float(losses.mean())
        if loss_now >= loss:
            break
        kept, n_kept, loss = growing, size, loss_now
        if not any(each.may_go_on for each in growing):
            break
    return kept, n_kept
