"""The regions of a fitted model, with their training rows and probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.cards import MOST_LINES, Card, ShownAsCard
from sepc.model.count_rules import judge_sets
from sepc.model.names import region_name
from sepc.model.sep_model import SEPModel
from sepc.model.trust import credible_interval, smooth
from sepc.statistics.binomial import beta_interval
from sepc.wording import check_number, counted, decimal, name_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Regions(ShownAsCard):
    """The regions of a fitted model; the number of a region is its position here.

    First come the sets of ellipsoids seen in training, then the places that rows outside may be nearest to. Attributes
    are computed on first access.

    Attributes
    ----------
    model : SEPModel
    names : tuple of str
        A name for every region, such as "worst area ≥ 900, worst texture ≥ 25"; no two are the same.
    ellipsoids : tuple of tuples of int
        The set of ellipsoids that make up a region; empty for rows outside all of them.
    near : tuple of (int or None)
        For rows outside: the nearest ellipsoid, or the nearest isolated row numbered after the ellipsoids.
    counts : (n, C) array
        Training rows of each class; for a region outside, those of the nearest place.
    probabilities : (n, C) array
        Probabilities of the classes; for a region outside, those at the nearest place itself.
    classes : (C,) array
    """

    model: SEPModel

    @property
    def classes(self) -> Any:
        """The labels."""
        return self.model.classes

    @cached_property
    def ellipsoids(self) -> tuple[tuple[int, ...], ...]:
        """The set of ellipsoids of every region."""
        inside = tuple(tuple(np.flatnonzero(row).tolist()) for row in self.model.table.memberships)
        return (*inside, *((),) * self.model.n_places)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for every region: the ranges of the features that set it apart."""
        return tuple(region_name(self.model, region) for region in range(len(self)))

    @cached_property
    def near(self) -> tuple[int | None, ...]:
        """The nearest ellipsoid or isolated row of each region outside; None for the others."""
        return (*(None,) * self._n_sets, *range(self.model.n_places))

    @cached_property
    def counts(self) -> IntArray:
        """Training rows of each class."""
        places = np.arange(self.model.n_places)
        return np.concatenate([self.model.table.counts, self.model.counts_at(places)])

    @cached_property
    def probabilities(self) -> FloatArray:
        """Probabilities of the classes."""
        model, places = self.model, np.arange(self.model.n_places)
        equal = np.full(len(model.classes), 1.0 / len(model.classes))
        wider, exact = (counts.astype(np.float64) for counts in model.counts_and_exact_at(places))
        inside = judge_sets(model, model.table.memberships).probabilities
        return np.concatenate([inside, smooth(exact, wider, equal)])

    @property
    def label(self) -> Any:
        """The most probable label of every region."""
        return self.classes[self.probabilities.argmax(axis=1)]

    def interval(self, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Credible intervals for the probability that `label` is right in each region: two arrays of shape (n,).

        They come from training rows. For guarantees from held-out rows, see `SelectiveClassifier.certificates`.
        """
        check_number("confidence", confidence, above=0, below=1)
        n_rows = self.counts.sum(axis=1).astype(np.float64)
        right = self.probabilities.max(axis=1)
        if self.model.trust == "published":
            # Unlike other probabilities, the paper's may be 1, so Jeffreys' prior adds half a row for and against.
            return beta_interval(right * n_rows + 0.5, (1.0 - right) * n_rows + 0.5, confidence)
        return credible_interval(right, n_rows, confidence)

    def __len__(self) -> int:
        return self._n_sets + self.model.n_places

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], int | None, IntArray]]:
        return zip(self.ellipsoids, self.near, self.counts, strict=True)

    def to_frame(self) -> pd.DataFrame:
        """The regions as a pandas DataFrame, indexed by the number of the region."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Regions.to_frame needs pandas: pip install pandas") from error
        low, high = self.interval()
        columns: dict[str, Any] = {f"n_{label}": self.counts[:, i] for i, label in enumerate(self.classes)}
        columns |= {"label": self.label, "probability": self.probabilities.max(axis=1), "low": low, "high": high}
        places = {"ellipsoids": self.ellipsoids, "near": pd.array(self.near, dtype="Int64")}
        frame = pd.DataFrame({"name": self.names, **places, **columns})
        return frame.rename_axis("region")

    @property
    def _n_sets(self) -> int:
        return len(self.model.table.counts)

    def _card(self) -> Card:
        facts = (
            ("with training rows", f"{self.model.table.n_regions:,}, the largest below"),
            ("outside", f"{self.model.n_places:,}, for rows nearest to an ellipsoid or an isolated row"),
        )
        head = ("region", "number", "rows", "label", "probability")
        # Rows beyond the length of a card are counted on it, but need no cells.
        rows = self._largest(MOST_LINES)
        rows += ((),) * (self.model.table.n_regions - len(rows))
        return Card(f"{counted(self.model.table.n_regions, 'region')}", facts, head, rows, "As a DataFrame: to_frame()")

    def _largest(self, most: int) -> tuple[tuple[str, ...], ...]:
        """The cells of the regions with the most training rows."""
        table, n_rows = self.model.table, self.model.table.counts.sum(axis=1)
        order = np.argsort(-n_rows, kind="stable")
        order = order[table.memberships[order].any(axis=1)][:most]
        probabilities = judge_sets(self.model, table.memberships[order]).probabilities
        labels = self.classes[probabilities.argmax(axis=1)]
        return tuple(
            (
                region_name(self.model, i),
                str(i),
                f"{n_rows[i]:,}",
                name_of(label),
                decimal(probability),
            )
            for i, label, probability in zip(order.tolist(), labels, probabilities.max(axis=1), strict=True)
        )
