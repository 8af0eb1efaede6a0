"""Some training rows, remembered by a hash of each, to tell when training rows come again as if they were new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import hypergeom

from sepc._typing import FloatArray, IntArray
from sepc.model.training_summary import FeatureDisplay, FeatureKind
from sepc.points.row_hash import row_hashes
from sepc.records import ints, record

# Hashes kept, and the seed that all models share.
MOST_HASHES = 1_000
SEED = 0
# Training rows among others are only spoken of if there are a few and chance is as unlikely an explanation as this.
FEWEST_AGAIN = 3
UNLIKELY = 1e-6


@record
class SeenRows:
    """Hashes of training rows.

    Attributes
    ----------
    hashes : (M,) array
        Of the numbers, dates and categories of some rows. From a hash nobody gets the row, but who guesses all of its
        values can check the guess.
    """

    hashes: IntArray = ints("M", low=-(2**63), high=2**63 - 1, name="seen_rows")

    @classmethod
    def of(cls, rows: FloatArray, displays: Sequence[FeatureDisplay]) -> SeenRows:
        """Remember some of these rows, which are in the user's own features with codes of categories after these."""
        few = rows[:: max(1, -(-len(rows) // MOST_HASHES))]
        return cls(_hashes(few, displays))

    def n_again(self, rows: FloatArray, displays: Sequence[FeatureDisplay]) -> int:
        """How many of the rows remembered are among others, if that is more than chance; else 0.

        Were the others new rows of the same kind, a row remembered would be among them as often as one of them is
        among the rest. Fisher's exact test compares the two.
        """
        given = _hashes(rows, displays)
        n_again = int(np.isin(self.hashes, given).sum())
        _, which, copies = np.unique(given, return_inverse=True, return_counts=True)
        n_repeated, n = int((copies[which] > 1).sum()), len(given)
        chance = hypergeom.sf(n_again - 1, len(self.hashes) + n, n_again + n_repeated, len(self.hashes))
        return n_again if n_again >= FEWEST_AGAIN and chance <= UNLIKELY else 0


def _hashes(rows: FloatArray, displays: Sequence[FeatureDisplay]) -> IntArray:
    """Hashes of rows without the numbers that stand for categories, which are others in training than later."""
    is_given = [own.kind in (FeatureKind.NUMBER, FeatureKind.DATE) for own in displays]
    given = np.concatenate([np.array(is_given), np.ones(rows.shape[1] - len(is_given), dtype=bool)])
    return row_hashes(np.ascontiguousarray(rows[:, given]), SEED).view(np.int64)
