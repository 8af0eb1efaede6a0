"""Certificates: lower bounds on the accuracy in each region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.frames import frame_of
from sepc.statistics.binomial import lower_bound
from sepc.wording import AS_SET, counted, floored_percent, percent

if TYPE_CHECKING:
    import pandas as pd


HEAD = ("region", "rows", "wrong", "right at least")


@dataclass(frozen=True, eq=False, repr=False)
class Certificates(ShownAsCard):
    """Lower bounds on the accuracy in each region, which hold together with probability `confidence`.

    `str` gives a sentence for each region.

    Attributes
    ----------
    region : array of int
        The regions that have held-out rows, as `apply` numbers them; -1 stands for all unseen combinations together.
    n_rows, n_errors : array of int
        Held-out rows there, and how many of them were wrong.
    accuracy_at_least : array of float
        The lower bounds.
    confidence : float
        Probability that no bound is too high.
    """

    region: IntArray
    n_rows: IntArray
    n_errors: IntArray
    accuracy_at_least: FloatArray
    confidence: float

    @classmethod
    def of(cls, regions: IntArray, wrong: BoolArray, confidence: float) -> Self:
        """Bounds from held-out rows, given the region of each and whether its label was wrong."""
        region, which, n_rows = np.unique(regions, return_inverse=True, return_counts=True)
        n_errors = np.bincount(which, weights=wrong, minlength=len(region)).astype(np.int64)
        each = 1.0 - (1.0 - confidence) / len(region)
        return cls(region, n_rows, n_errors, lower_bound(n_rows - n_errors, n_rows, each), confidence)

    def __len__(self) -> int:
        return len(self.region)

    def summary(self) -> str:
        """The certificates as sentences, the region with the most rows first."""
        lines = [
            f"Region {self.region[i]}: at least {floored_percent(self.accuracy_at_least[i])} right, "
            f"{percent(self.confidence, AS_SET)} confidence, {counted(self.n_rows[i], 'row')}."
            for i in np.argsort(-self.n_rows, kind="stable")
        ]
        together = (
            f"The {percent(self.confidence, AS_SET)} confidence holds for all of this jointly. " if lines[1:] else ""
        )
        return "\n".join([*lines, f"{together}It holds for new rows drawn like these held-out rows."])

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self) -> pd.DataFrame:
        """The certificates as a pandas DataFrame, a row for each region."""
        names = ("region", "n_rows", "n_errors", "accuracy_at_least")
        return frame_of({name: getattr(self, name) for name in names})

    def _card(self) -> Card:
        bounds = [floored_percent(bound) for bound in self.accuracy_at_least]
        rows = tuple(
            (f"{self.region[i]}", f"{self.n_rows[i]:,}", f"{self.n_errors[i]:,}", bounds[i])
            for i in np.argsort(-self.n_rows, kind="stable").tolist()
        )
        facts = (
            ("confidence", f"{percent(self.confidence, AS_SET)}, for all of them together"),
            ("held-out rows", f"{self.n_rows.sum():,}, {self.n_errors.sum():,} of them wrong"),
        )
        return Card(f"Certificates of {counted(len(self), 'region')}", facts, HEAD, rows, "As a DataFrame: to_frame()")
