"""Hashes of some training rows, to detect training rows among rows that should be new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import hypergeom

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.training_summary import FeatureDisplay, FeatureKind
from sepc.points.row_hash import row_hashes
from sepc.records import ints, record

# Number of hashes, and the seed that all models share.
MOST_HASHES = 1_000
SEED = 0
# Training rows are reported only if at least this many are found, which by chance has at most this probability.
FEWEST_AGAIN = 3
UNLIKELY = 1e-6


@record
class SeenRows:
    """Hashes of training rows.

    Attributes
    ----------
    hashes : (M,) array
        Of the numbers, dates and categories of some rows. A hash does not reveal its row, but anyone who guesses all of
        the row's values can check the guess.
    """

    hashes: IntArray = ints("M", low=-(2**63), high=2**63 - 1, name="seen_rows")

    @classmethod
    def of(cls, rows: FloatArray, displays: Sequence[FeatureDisplay]) -> SeenRows:
        """Hash some of these rows, given in the user's own features followed by category codes."""
        few = rows[:: max(1, -(-len(rows) // MOST_HASHES))]
        return cls(_hashes(few, displays))

    @classmethod
    def none(cls) -> SeenRows:
        """No hashes, so that nobody can check a guess."""
        return cls(np.empty(0, dtype=np.int64))

    def n_again(self, rows: FloatArray, displays: Sequence[FeatureDisplay]) -> int:
        """How many of the hashed rows are among other rows, if more than by chance; else 0.

        If the others were new rows of the same kind, a hashed row would be among them as often as one of them is
        among the rest. Fisher's exact test compares the two.
        """
        given = _hashes(rows, displays)
        n_again = int(np.isin(self.hashes, given).sum())
        _, which, copies = np.unique(given, return_inverse=True, return_counts=True)
        n_repeated, n = int((copies[which] > 1).sum()), len(given)
        chance = hypergeom.sf(n_again - 1, len(self.hashes) + n, n_again + n_repeated, len(self.hashes))
        return n_again if n_again >= FEWEST_AGAIN and chance <= UNLIKELY else 0


def _hashes(rows: FloatArray, displays: Sequence[FeatureDisplay]) -> IntArray:
    """Hashes of rows without encoded categories, which are encoded differently in training and in new rows."""
    given = given_columns(displays, rows.shape[1])
    return row_hashes(np.ascontiguousarray(rows[:, given]), SEED).view(np.int64)


def given_columns(displays: Sequence[FeatureDisplay], n_columns: int) -> BoolArray:
    """Which columns of rows hold values as given: numbers, dates and category codes.

    Encoded categories are left out, since their numbers in training differ from those of new rows.
    """
    is_given = [display.kind in (FeatureKind.NUMBER, FeatureKind.DATE) for display in displays]
    return np.concatenate([np.array(is_given, dtype=bool), np.ones(n_columns - len(is_given), dtype=bool)])
