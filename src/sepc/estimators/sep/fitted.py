"""What `fit` found, in the user's own features: ellipsoids, cuts and rounds; and how many rows it used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, overload

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import MOST_LINES, Card, ShownAsCard, ShownInLists, ShownOnOneLine
from sepc.estimators.sep.multiclass import Pieces
from sepc.model.sep_model import SEPModel
from sepc.partition.sequence import Partition
from sepc.plain_values import plain
from sepc.records import MOST, bools, counts, floats, given, ints, lists, record, text, whole
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.wording import counted, name_of


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
        The label of its class.
    ellipsoid : Ellipsoid
        In the features given to `fit`, without standalone ones.
    counts : (C,) array
        Training rows of each class inside it.
    cuts : tuple of Hyperplane
        The cuts that carved it out, in order; empty if its class was enclosed whole.
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
        """Ellipsoid `k` of a model, with the cuts that led to it."""
        return cls(
            number=k,
            label=plain(model.classes[model.owners[k]]),
            ellipsoid=model.ellipsoid(k),
            counts=model.counts_at(np.array([k]))[0],
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


@record
class FittedEllipsoids(ShownAsCard, Sequence[FittedEllipsoid]):
    """The ellipsoids of a model in the order found, as a lazy sequence.

    Attributes
    ----------
    model : SEPModel
    n_cuts, n_round : (K,) arrays
        Number of cuts of each ellipsoid, and the round it was found in.
    normals, offsets, through_means : (M, g), (M,) and (M,) arrays
        The cuts of all ellipsoids one after the other, as in `Hyperplane`.
    """

    model: SEPModel = given()
    n_cuts: IntArray = counts("K")
    n_round: IntArray = ints("K")
    normals: FloatArray = floats("M", "g", name="cut_normals")
    offsets: FloatArray = floats("M", name="cut_offsets")
    through_means: BoolArray = bools("M")

    def flaw(self) -> str | None:
        """What is wrong with the cuts, if anything."""
        return None if self.n_cuts.sum() == len(self.offsets) else "has cuts that do not match its ellipsoids"

    def __len__(self) -> int:
        return self.model.n_ellipsoids

    @overload
    def __getitem__(self, k: int) -> FittedEllipsoid: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[FittedEllipsoid, ...]: ...
    def __getitem__(self, k: int | slice) -> FittedEllipsoid | tuple[FittedEllipsoid, ...]:
        if isinstance(k, slice):
            return tuple(self[i] for i in range(len(self))[k])
        number = range(len(self))[k]
        end = int(self._ends[number])
        cuts = range(end - int(self.n_cuts[number]), end)
        return FittedEllipsoid.of(self.model, number, tuple(self._cut(i) for i in cuts), int(self.n_round[number]))

    @cached_property
    def _ends(self) -> IntArray:
        return np.cumsum(self.n_cuts)

    def _cut(self, i: int) -> Hyperplane:
        return Hyperplane(self.normals[i], float(self.offsets[i]), bool(self.through_means[i]))

    def _card(self) -> Card:
        owners, n_rows = self.model.classes[self.model.owners[:MOST_LINES]], self.model.table.rows_inside
        rows: tuple[tuple[str, ...], ...] = tuple(
            (str(k), name_of(owner), f"{n_rows[k]:,}", f"{self.n_round[k]:,}", f"{self.n_cuts[k]:,}")
            for k, owner in enumerate(owners)
        )
        # Rows beyond the length of a card are only counted, so they need no cells.
        rows += ((),) * (len(self) - len(rows))
        head = ("ellipsoid", "label", "training rows", "found in round", "cuts")
        return Card(f"{counted(len(self), 'ellipsoid')}, in the order found", (), head, rows)


@record
class History(ShownInLists):
    """The rounds of one partition: a label against the rest.

    Attributes
    ----------
    label : object
    rows_left : tuple of pairs of int
        Rows of the label, and other rows, left after each round.
    stopped_because : str
        Why there was no further round, in words.
    """

    label: Any = given()
    rows_left: tuple[tuple[int, int], ...] = lists("n", "2")
    stopped_because: str = text()

    def flaw(self) -> str | None:
        """What is wrong with `rows_left`, if anything."""
        is_possible = all(type(n) is int and 0 <= n < MOST for left in self.rows_left for n in left)
        return None if is_possible else "has rows_left that are not pairs of integers"

    def _card(self) -> Card:
        rounds = counted(len(self.rows_left), "round")
        rows = tuple((f"{i:,}", *(f"{n:,}" for n in left)) for i, left in enumerate(self.rows_left, start=1))
        title = f"Partition of {name_of(self.label)} against the rest: {rounds}; {self.stopped_because}"
        return Card(title, (), ("round", "own rows left", "other rows left"), rows)


def fitted_ellipsoids(model: SEPModel, pieces: Pieces) -> FittedEllipsoids:
    """The ellipsoids in the order in which they were found, in the user's own features."""
    cuts = [cut for piece in pieces.ellipsoids for cut in piece.cuts]
    shift, scale = model.shift[model.placed], model.scale[model.placed]
    normals = np.array([cut.normal / scale for cut in cuts]).reshape(-1, len(scale))
    offsets = [cut.own_offset + float(normal @ shift) for cut, normal in zip(cuts, normals, strict=True)]
    return FittedEllipsoids(
        model=model,
        n_cuts=np.array([len(piece.cuts) for piece in pieces.ellipsoids], dtype=np.int64),
        n_round=np.array([piece.n_round for piece in pieces.ellipsoids], dtype=np.int64),
        normals=normals,
        offsets=np.array(offsets, dtype=np.float64),
        through_means=np.array([cut.through_means for cut in cuts], dtype=bool),
    )


def histories(model: SEPModel, partitions: tuple[Partition, ...]) -> tuple[History, ...]:
    """The history of every partition."""
    return tuple(
        History(plain(label), tuple((left.n_pos, left.n_neg) for left in part.rounds), str(part.stop))
        for label, part in zip(model.classes, partitions, strict=False)
    )


@record
class RowsUsed(ShownOnOneLine):
    """How many rows were partitioned into ellipsoids, and how many the weights were fitted to; all are counted.

    Attributes
    ----------
    n_rows, n_partitioned, n_weighed : int
        Training rows, those partitioned, and those that weights were fitted to.

    Examples
    --------
    >>> print(RowsUsed(n_rows=100_000, n_partitioned=4_000, n_weighed=40_000))
    Partitioned 4,000 of 100,000 rows, counted all, and fitted weights to 40,000.
    >>> print(RowsUsed(n_rows=150, n_partitioned=150, n_weighed=150))
    Fitted on all 150 rows.
    """

    n_rows: int = whole()
    n_partitioned: int = whole()
    n_weighed: int = whole()

    def flaw(self) -> str | None:
        """What is wrong with the numbers, if anything: more rows used than there are."""
        return "has impossible numbers of rows" if max(self.n_partitioned, self.n_weighed) > self.n_rows else None

    def __str__(self) -> str:
        rows = counted(self.n_rows, "row")
        if self.n_partitioned == self.n_rows and self.n_weighed in (0, self.n_rows):
            return f"Fitted on all {rows}."
        partitioned = f"{self.n_partitioned:,} of" if self.n_partitioned < self.n_rows else "all"
        if self.n_weighed == 0:
            return f"Partitioned {partitioned} {rows} and counted all."
        weighed = f"{self.n_weighed:,}" if self.n_weighed < self.n_rows else "all"
        return f"Partitioned {partitioned} {rows}, counted all, and fitted weights to {weighed}."


def sample_rows(ellipsoids: Sequence[FittedEllipsoid], owner: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw `n` rows uniformly from these ellipsoids, each in proportion to its training rows of class `owner`."""
    held = np.array([fitted.counts[owner] for fitted in ellipsoids], dtype=np.float64)
    chosen = rng.choice(len(ellipsoids), size=n, p=held / held.sum())
    rows = np.empty((n, len(ellipsoids[0].ellipsoid.center)))
    for k, fitted in enumerate(ellipsoids):
        rows[chosen == k] = fitted.ellipsoid.sample(int(np.sum(chosen == k)), rng)
    return rows
