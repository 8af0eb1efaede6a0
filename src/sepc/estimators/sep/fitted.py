"""What `fit` found, in the user's own features: ellipsoids, cuts, rounds, regions and importances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import MOST_LINES, Card, ShownAsCard, ShownOnOneLine
from sepc.columns.preparation import Preparation
from sepc.decisions.decisions import frame_of
from sepc.estimators.sep.multiclass import Pieces
from sepc.model.count_rules import credible_interval, judge_sets, smooth
from sepc.model.names import region_name
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import ANYWHERE, TrainingSummary
from sepc.model.weights import Weights
from sepc.partition.sequence import Partition
from sepc.records import MOST, bools, counts, floats, given, ints, lists, record, text, whole
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.statistics.rates import beta_interval
from sepc.wording import check_number, counted, decimal, name_of, plain

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
class FittedEllipsoid(ShownOnOneLine):
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
        model, number = self.model, range(len(self))[k]
        end = int(self.n_cuts[: number + 1].sum())
        cuts = zip(self.normals, self.offsets.tolist(), self.through_means.tolist(), strict=True)
        return FittedEllipsoid(
            number=number,
            label=plain(model.classes[model.owners[number]]),
            ellipsoid=model.ellipsoid(number),
            counts=model.counts_at(np.array([number]))[0],
            cuts=tuple(Hyperplane(*cut) for cut in islice(cuts, end - int(self.n_cuts[number]), end)),
            n_round=int(self.n_round[number]),
            is_terminal=bool(model.is_terminal[number]),
        )

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
class History(ShownOnOneLine):
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
        low, high = self.interval()
        columns: dict[str, Any] = {"name": self.names, "ellipsoids": self.ellipsoids, "near": self.near}
        columns |= {f"n_{label}": self.counts[:, i] for i, label in enumerate(self.classes)}
        columns |= {"label": self.label, "probability": self.probabilities.max(axis=1), "low": low, "high": high}
        return frame_of(columns).astype({"near": "Int64"}).rename_axis("region")

    @property
    def _n_sets(self) -> int:
        return len(self.model.table.counts)

    def _card(self) -> Card:
        facts = (
            ("with training rows", f"{self.model.table.n_regions:,}, the largest below"),
            ("outside", f"{self.model.n_places:,}, for rows nearest to an ellipsoid or an isolated row"),
        )
        head = ("region", "number", "rows", "label", "probability")
        table, n_rows = self.model.table, self.model.table.counts.sum(axis=1)
        order = np.argsort(-n_rows, kind="stable")
        order = order[table.memberships[order].any(axis=1)][:MOST_LINES]
        probabilities = judge_sets(self.model, table.memberships[order]).probabilities
        cells = zip(order.tolist(), self.classes[probabilities.argmax(axis=1)], probabilities.max(axis=1), strict=True)
        rows: tuple[tuple[str, ...], ...] = tuple(
            (region_name(self.model, i), str(i), f"{n_rows[i]:,}", name_of(label), decimal(probability))
            for i, label, probability in cells
        )
        # Rows beyond the length of a card are counted on it, but need no cells.
        rows += ((),) * (table.n_regions - len(rows))
        return Card(counted(table.n_regions, "region"), facts, head, rows, "As a DataFrame: to_frame()")


def importances_of(model: SEPModel, preparation: Preparation | None) -> dict[str, float]:
    """The mean absolute term of each column used, in log-odds, over the training rows."""
    weights, usual = model.weights, model.usual
    assert weights is not None
    assert usual is not None
    values = (usual.overall.T - model.shift) / model.scale
    sizes = np.ptp(weights.feature_terms(np.ascontiguousarray(values.T)), axis=2).mean(axis=0)
    by_column = np.bincount(model.column_of, sizes)
    all_categories = () if preparation is None else preparation.all_categories
    for q, (first, categories) in enumerate(zip(weights.category_features, all_categories, strict=False)):
        parts = np.flatnonzero(model.column_of == first)
        by_column[first] = _of_categories(model, weights, usual, categories.encodings, parts, q)
    return {model.feature_names[j]: float(by_column[j]) for j in np.unique(model.column_of)}


def _of_categories(
    model: SEPModel, weights: Weights, usual: TrainingSummary, encodings: FloatArray, parts: IntArray, q: int
) -> float:
    """The mean absolute term of categorical column `q`, which these features encode."""
    rows = np.tile(model.shift, (len(encodings), 1))
    rows[:, parts] = encodings
    terms = weights.feature_terms(np.ascontiguousarray(model.standardize(rows).T))[:, parts].sum(axis=1)
    codes = np.zeros((len(rows), len(weights.category_features)))
    codes[:, q] = np.arange(len(rows))
    terms += weights.category_terms(codes)[:, q]
    of_class = usual.ellipsoid == ANYWHERE
    counts = usual.category_counts[of_class][:, usual.categories_of(int(parts[0]))]
    return float(np.ptp(terms, axis=1) @ (model.shares @ (counts / usual.n_rows[of_class, None])))
