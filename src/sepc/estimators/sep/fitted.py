"""What `fit` found, in the user's own features: ellipsoids, cuts, rounds and regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownAsCard, ShownInLists, ShownOnOneLine
from sepc.estimators.sep.multiclass import Pieces
from sepc.model.rules import judge_sets
from sepc.model.sep_model import SEPModel
from sepc.model.trust import credible_interval, smoothed
from sepc.partition.separate import Cut
from sepc.partition.sequence import Partition
from sepc.plain_values import plain
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.wording import counted, decimal, name_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Hyperplane(ShownOnOneLine):
    """One cut: rows with ``x @ normal >= offset`` were kept for the label of the ellipsoid.

    `through_means` is True if the hulls of the classes met, so that the cut goes through the class means instead.
    """

    normal: FloatArray
    offset: float
    through_means: bool


@dataclass(frozen=True, eq=False, repr=False)
class FittedEllipsoid(ShownInLists):
    """An ellipsoid as `fit` found it.

    Attributes
    ----------
    number : int
        Its position in the order in which ellipsoids were found.
    label : object
        The label it was made for.
    ellipsoid : Ellipsoid
        In the features given to `fit`.
    counts : (C,) array
        Training rows of each class inside it.
    cuts : tuple of Hyperplane
        The cuts that carved it out, in order; empty if its class was taken whole.
    n_round : int
        The round it was found in.
    is_terminal : bool
        Whether it encloses the rows left at the end, and so may be impure.
    """

    number: int
    label: Any
    ellipsoid: Ellipsoid
    counts: IntArray
    cuts: tuple[Hyperplane, ...]
    n_round: int
    is_terminal: bool

    @classmethod
    def of(cls, model: SEPModel, k: int, cuts: tuple[Hyperplane, ...], n_round: int) -> Self:
        """Ellipsoid `k` of a model, with the story of how it was found."""
        return cls(
            number=k,
            label=plain(model.classes[model.owners[k]]),
            ellipsoid=model.ellipsoid(k),
            counts=model.place_counts[k],
            cuts=cuts,
            n_round=n_round,
            is_terminal=bool(model.is_terminal[k]),
        )

    def _card(self) -> Card:
        held = counted(int(self.counts.sum()), "training row")
        facts = (
            ("training rows", f"{self.counts.sum():,}, by class {', '.join(f'{n:,}' for n in self.counts)}"),
            ("found in", f"round {self.n_round:,}, by {counted(len(self.cuts), 'cut')}"),
            *self.ellipsoid._card().facts,
        )
        note = "It encloses what was left at the end, and may be impure." if self.is_terminal else ""
        return Card(f"Ellipsoid {self.number} of {name_of(self.label)}, with {held}", facts, note=note)


@dataclass(frozen=True, repr=False)
class History(ShownInLists):
    """How one partition went: its label against the rest, the rows left after each round, and why it stopped."""

    label: Any
    rows_left: tuple[tuple[int, int], ...]
    stopped_because: str

    def _card(self) -> Card:
        rounds = counted(len(self.rows_left), "round")
        rows = tuple((f"{i:,}", *(f"{n:,}" for n in left)) for i, left in enumerate(self.rows_left, start=1))
        title = f"Partition of {name_of(self.label)} against the rest: {rounds}; {self.stopped_because}"
        return Card(title, (), ("round", "own rows left", "other rows left"), rows)


@dataclass(frozen=True, eq=False, repr=False)
class Regions(ShownAsCard):
    """The regions of a fitted model; the number of a region is its position here.

    Attributes
    ----------
    ellipsoids : tuple of tuples of int
        The set of ellipsoids that make up a region; empty for rows outside all of them.
    near : tuple of (int or None)
        For rows outside: the nearest ellipsoid, or the nearest isolated row numbered after the ellipsoids.
    counts : (n, C) array
        Training rows of each class; for a region outside, those of the nearest place.
    probabilities : (n, C) array
        Probabilities of the classes; for a region outside, right at the nearest place.
    classes : (C,) array
    """

    ellipsoids: tuple[tuple[int, ...], ...]
    near: tuple[int | None, ...]
    counts: IntArray
    probabilities: FloatArray
    classes: Any

    @property
    def label(self) -> Any:
        """The most probable label of every region."""
        return self.classes[self.probabilities.argmax(axis=1)]

    def interval(self, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Credible intervals for the probability that `label` is right in each region: two arrays of shape (n,).

        They come from training rows. For guarantees from held-out rows, see `SelectiveClassifier.certificates`.
        """
        n_rows = self.counts.sum(axis=1).astype(np.float64)
        return credible_interval(self.probabilities.max(axis=1), n_rows, confidence)

    def __len__(self) -> int:
        return len(self.ellipsoids)

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
        frame = pd.DataFrame({"ellipsoids": self.ellipsoids, "near": pd.array(self.near, dtype="Int64"), **columns})
        return frame.rename_axis("region")

    def _card(self) -> Card:
        n_rows, n_inside = self.counts.sum(axis=1), sum(near is None for near in self.near)
        order = np.argsort(-n_rows[:n_inside], kind="stable").tolist()
        label, probability = self.label, self.probabilities.max(axis=1)
        rows = [
            (
                str(i),
                ", ".join(map(str, self.ellipsoids[i])) or "none",
                f"{n_rows[i]:,}",
                name_of(label[i]),
                decimal(probability[i]),
            )
            for i in order
        ]
        facts = (
            ("with training rows", f"{n_inside:,}, the largest below"),
            ("outside", f"{len(self) - n_inside:,}, for rows nearest to an ellipsoid or an isolated row"),
        )
        head = ("region", "in ellipsoids", "rows", "label", "probability")
        return Card(f"{counted(len(self), 'region')}", facts, head, tuple(rows), "As a DataFrame: to_frame()")


def fitted_ellipsoids(model: SEPModel, pieces: Pieces) -> tuple[FittedEllipsoid, ...]:
    """The ellipsoids in the order in which they were found."""
    return tuple(
        FittedEllipsoid.of(model, k, tuple(_in_features(cut, model) for cut in piece.cuts), piece.n_round)
        for k, piece in enumerate(pieces.ellipsoids)
    )


def _in_features(cut: Cut, model: SEPModel) -> Hyperplane:
    normal = cut.normal / model.scale
    return Hyperplane(normal, cut.own_offset + float(normal @ model.shift), cut.through_means)


def histories(model: SEPModel, partitions: tuple[Partition, ...]) -> tuple[History, ...]:
    """The history of every partition."""
    return tuple(
        History(plain(label), tuple((left.n_pos, left.n_neg) for left in part.rounds), str(part.stop))
        for label, part in zip(model.classes, partitions, strict=False)
    )


def regions_of(model: SEPModel) -> Regions:
    """All regions: the sets of ellipsoids seen in training, then the places that rows outside may be nearest to."""
    inside = tuple(tuple(np.flatnonzero(row).tolist()) for row in model.table.memberships)
    n_places = len(model.place_counts)
    equal = np.full(len(model.classes), 1.0 / len(model.classes))
    near = smoothed(model.place_exact.astype(np.float64), model.place_counts.astype(np.float64), equal)
    return Regions(
        ellipsoids=(*inside, *((),) * n_places),
        near=(*(None,) * len(inside), *range(n_places)),
        counts=np.concatenate([model.table.counts, model.place_counts]),
        probabilities=np.concatenate([judge_sets(model, model.table.memberships).probabilities, near]),
        classes=model.classes,
    )
