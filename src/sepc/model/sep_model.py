"""The fitted model: arrays only, and no training rows except isolated ones."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.model._nearest import Places, prepare_places
from sepc.model.counts import KeptVerdicts, SignatureTable
from sepc.model.edits import Edits, count_of_edits
from sepc.model.imputation import ImputationMixture
from sepc.model.membership import FARTHEST, Stack, stack_ellipsoids
from sepc.model.standalone import Standalone
from sepc.model.training_summary import FeatureKind, SeenRows, TrainingSummary
from sepc.model.weights import Weights
from sepc.records import (
    bools,
    counts,
    floats,
    given,
    ints,
    labels,
    number,
    part,
    record,
    size_in_bytes,
    text,
    texts,
)
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.wording import counted, with_counts

# The distance at which training rows count as near, as a share of their spread. Chosen with sepc_benchmarks.causes.
REACH = 0.3

# Where labels and trust come from.
TRUSTS = ("weights", "counts", "published")

# Slack only covers rounding, so it never exceeds this.
MOST_SLACK = 1e-3

# Numbers in memory at a time: 8 MB.
BLOCK_ENTRIES = 2**20

Squares = TypeVar("Squares", float, FloatArray)


@record
class SEPModel(ShownAsCard):
    """A fitted partition as arrays: everything needed to decide on rows.

    Ellipsoids and isolated rows are in standardised features.

    Attributes
    ----------
    classes : (C,) array
        The labels, sorted.
    class_counts : (C,) array
        Training rows of each class.
    feature_names : tuple of str
        Names of the features.
    shift, scale : (d,) arrays
        A row is standardised as ``(x - shift) / scale``.
    centers, roots : (K, g) and (K, g, g) arrays
        The ellipsoids, in the order found, of the g features that are not standalone: a standardised row z lies in
        ellipsoid k if the squared length of ``roots[k] @ (z - centers[k])`` is at most ``1 + slack``.
    owners : (K,) array
        The class of each ellipsoid, as a position in `classes`.
    is_terminal : (K,) bool array
        Whether it encloses the rows left at the end, and so may be impure.
    isolated, isolated_owners : (J, g) and (J,) arrays
        Rows that no ellipsoid could be built around, and their classes.
    table : SignatureTable
    slack : float
        What rounding may add to a squared radius of one.
    trust : str
        How labels and trust are computed: "weights", "counts" or "published", which are the rules of the paper.
    weights : Weights or None
        Only with ``trust="weights"``; labels and probabilities then come from them.
    row_kinds : ImputationMixture or None
        What missing values are imputed from; only with weights. Without it, they are imputed from the ellipsoids.
    usual : TrainingSummary or None
        What is usual among training rows, for names and reasons; every fitted model has it.
    seen_rows : SeenRows or None
        Hashes of some training rows, to detect them among supposedly new ones; every fitted model has them.
    alone : Standalone or None
        Features that enter through their own curve alone; None if there are none.
    edits : Edits or None
        What experts changed in the weights, and the weights before; `weights` are those after all edits.
    """

    classes: NDArray[Any] = labels("C")
    class_counts: IntArray = counts("C")
    feature_names: tuple[str, ...] = texts("d")
    shift: FloatArray = floats("d")
    scale: FloatArray = floats("d")
    centers: FloatArray = floats("K", "g", low=-FARTHEST, high=FARTHEST)
    roots: FloatArray = floats("K", "g", "g", low=-FARTHEST, high=FARTHEST)
    owners: IntArray = ints("K", below="C")
    is_terminal: BoolArray = bools("K")
    isolated: FloatArray = floats("J", "g", low=-FARTHEST, high=FARTHEST)
    isolated_owners: IntArray = ints("J", below="C")
    table: SignatureTable = part(SignatureTable, is_inline=True)
    slack: float = number(0.0, MOST_SLACK)
    trust: str = text(*TRUSTS)
    weights: Weights | None = part(Weights, default=None)
    row_kinds: ImputationMixture | None = part(ImputationMixture, default=None)
    usual: TrainingSummary | None = part(TrainingSummary, default=None)
    seen_rows: SeenRows | None = part(SeenRows, is_inline=True, default=None)
    alone: Standalone | None = part(Standalone, default=None, may_lack=True)
    edits: Edits | None = given(default=None)

    def flaw(self) -> str | None:
        """What is wrong with the model, if anything: something that `fit` never produces."""
        if len(self.feature_names) == 0 or (self.scale <= 0.0).any():
            return "has no features, or a scale that is not positive"
        n_alone = 0 if self.alone is None else len(self.alone.features)
        if self.centers.shape[1] != len(self.feature_names) - n_alone or self.centers.shape[1] == 0:
            return "has ellipsoids of more or fewer features than it says"
        if self.alone is not None and (self.weights is None or self.alone.towards >= len(self.classes)):
            return "has standalone features without weights, or for a class that does not exist"
        if (self.weights is None) is (self.trust == "weights"):
            return "has weights without trust by weights, or trust by weights without them"
        if self.row_kinds is not None and self.weights is None:
            return "has an imputation mixture without weights"
        if self.usual is None or self.usual.n_classes != len(self.classes):
            return "has groups that are missing, repeated or not in order"
        if not np.array_equal(self.table.counts.sum(axis=0), self.class_counts) or self.class_counts.min() < 1:
            return "has a signature table that does not match its number of training rows"
        if len(self.centers) + len(self.isolated) == 0:
            return "has neither ellipsoids nor isolated rows"
        if not self._has_ellipsoids():
            return "has an invalid ellipsoid: its matrix is singular, or too large for its features"
        return None

    def _has_ellipsoids(self) -> bool:
        """Whether all ellipsoids are valid, in standardised features and in the user's own."""
        step = max(1, BLOCK_ENTRIES // self.centers.shape[1] ** 2)
        try:
            with np.errstate(all="ignore"):
                places = (self.in_own_units(places) for places in (self.centers, self.isolated))
                roots = (self.roots[start : start + step] for start in range(0, self.n_ellipsoids, step))
                finite = all(np.isfinite(values).all() for values in places)
                return (
                    finite
                    and all(_are_valid(some, self.scale[self.placed]) for some in roots)
                    and bool(np.isfinite(self.reach))
                )
        except (ZeroDivisionError, np.linalg.LinAlgError):
            return False

    @property
    def n_ellipsoids(self) -> int:
        """K, the number of ellipsoids."""
        return len(self.centers)

    @property
    def n_codes(self) -> int:
        """How many category codes follow the features of a row."""
        return 0 if self.weights is None else len(self.weights.category_features)

    @property
    def n_bytes(self) -> int:
        """Size of all arrays together."""
        return size_in_bytes(self)

    @cached_property
    def column_of(self) -> IntArray:
        """For each feature, the first feature of the column that it comes from; that one is named like the column."""
        each = np.arange(len(self.feature_names))
        if self.usual is None:
            return each
        is_first = [display.kind is not FeatureKind.PART for display in self.usual.displays]
        return np.asarray(np.maximum.accumulate(np.where(is_first, each, 0)))

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each class among the training rows."""
        return np.asarray(self.class_counts / self.class_counts.sum())

    @cached_property
    def stack(self) -> Stack:
        """The ellipsoids, prepared for many rows."""
        return stack_ellipsoids(self.centers, self.roots)

    @cached_property
    def places(self) -> Places:
        """The ellipsoids and isolated rows, prepared for rows that lie outside."""
        return prepare_places(self.centers, self.roots, self.isolated)

    @property
    def n_places(self) -> int:
        """K + J, the number of ellipsoids and isolated rows; places are numbered in this order."""
        return len(self.centers) + len(self.isolated)

    @cached_property
    def kept_verdicts(self) -> KeptVerdicts:
        """A cache of the verdicts on sets of ellipsoids."""
        return KeptVerdicts(len(self.table.counts), len(self.classes))

    @cached_property
    def place_rows(self) -> IntArray:
        """Training rows in each ellipsoid and at each isolated row, of shape (K + J,)."""
        return np.concatenate([self.table.rows_inside, np.ones(len(self.isolated), dtype=np.int64)])

    def counts_at(self, places: IntArray) -> IntArray:
        """Training rows of each class at each of these places, of shape (n, C)."""
        return self.counts_and_exact_at(places)[0]

    def counts_and_exact_at(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Training rows of each class at each of these places, and those only there; both of shape (n, C)."""
        distinct, which = np.unique(places, return_inverse=True)
        n_ellipsoids = int(np.searchsorted(distinct, self.n_ellipsoids))
        ellipsoids, isolated = distinct[:n_ellipsoids], distinct[n_ellipsoids:] - self.n_ellipsoids
        alone = np.zeros((len(isolated), len(self.classes)), dtype=np.int64)
        alone[np.arange(len(isolated)), self.isolated_owners[isolated]] = 1
        inside = (self.table.inside_each(ellipsoids), self.table.inside_one(ellipsoids))
        counts, exact = (np.concatenate([of_ellipsoids, alone])[which] for of_ellipsoids in inside)
        return counts, exact

    @cached_property
    def place_owners(self) -> IntArray:
        """The class of each ellipsoid and of each isolated row, of shape (K + J,)."""
        return np.concatenate([self.owners, self.isolated_owners])

    @cached_property
    def isolated_by_owner(self) -> tuple[IntArray, IntArray, IntArray]:
        """The isolated rows in the order of their classes, these classes, and where each begins in that order."""
        order = np.argsort(self.isolated_owners, kind="stable")
        return order, *np.unique(self.isolated_owners[order], return_index=True)

    @cached_property
    def reach(self) -> float:
        """The distance within which training rows count as near, used for causes.

        A share of the root mean square distance of the training rows from their mean, estimated from the ellipsoids.
        """
        return REACH * float(np.sqrt(mean_square_distance(self)))

    @cached_property
    def placed(self) -> IntArray:
        """The features that ellipsoids are made of: all that are not standalone."""
        every = np.arange(len(self.shift))
        return every if self.alone is None else np.setdiff1d(every, self.alone.features)

    @cached_property
    def is_placed(self) -> BoolArray:
        """Whether each feature takes part in ellipsoids, of shape (d,)."""
        return np.isin(np.arange(len(self.shift)), self.placed)

    def place(self, rows: FloatArray) -> FloatArray:
        """The standardised features of rows that ellipsoids are made of, of shape (n, g)."""
        standardized = self.standardize(rows)
        return standardized if self.alone is None else np.ascontiguousarray(standardized[:, self.placed])

    def in_own_units(self, places: FloatArray) -> FloatArray:
        """Standardised places of g features in the user's own units."""
        return np.asarray(self.shift[self.placed] + self.scale[self.placed] * places)

    def with_alone(self, places: FloatArray) -> FloatArray:
        """Standardised places of shape (n, g), with the mean of all training rows in every standalone feature."""
        if self.alone is None:
            return places
        whole = np.zeros((len(places), len(self.shift)))
        whole[:, self.placed] = places
        if self.usual is not None:
            overall = (self.usual.overall.mean(axis=1) - self.shift) / self.scale
            whole[:, self.alone.features] = overall[self.alone.features]
        return whole

    @cached_property
    def placed_weights(self) -> Weights | None:
        """The weights without the curves of standalone features and without categories, for rows as `place` gives."""
        weights = self.weights
        return weights if self.alone is None or weights is None else weights.of_features(self.placed)

    def alone_terms(self, rows: FloatArray) -> FloatArray:
        """What the standalone features of rows add to the scores together, of shape (n, C)."""
        assert self.alone is not None
        which = self.alone.features
        with np.errstate(over="ignore"):
            columns = ((rows[:, which] - self.shift[which]) / self.scale[which]).T
        return np.asarray(self._alone_weights.feature_terms(columns).sum(axis=1))

    def alone_gauges(self, rows: FloatArray) -> FloatArray:
        """How far the standalone features of rows lie beyond the range of training, of shape (n, A); 1 for within."""
        assert self.alone is not None
        which = self.alone.features
        with np.errstate(over="ignore"):
            return self.alone.gauges((rows[:, which] - self.shift[which]) / self.scale[which])

    def guard(self, rows: FloatArray) -> FloatArray:
        """The largest of these gauges, of shape (n,); 1 without standalone features."""
        return np.ones(len(rows)) if self.alone is None else np.asarray(self.alone_gauges(rows).max(axis=1))

    @cached_property
    def _alone_weights(self) -> Weights:
        assert self.alone is not None
        assert self.weights is not None
        return self.weights.of_features(self.alone.features)

    def standardize(self, rows: FloatArray) -> FloatArray:
        """The standardised features of rows; infinity where one is too large for a double."""
        with np.errstate(over="ignore"):
            moved = rows[:, : len(self.shift)] - self.shift
            moved /= self.scale
        return moved

    def with_typical(self, rows: FloatArray) -> FloatArray:
        """The rows with the typical value in every column that an edit dropped; the same array if there are none."""
        if self.edits is None or len(self.edits.fixed) == 0:
            return rows
        fixed = rows.copy()
        fixed[:, self.edits.fixed] = self.edits.typical
        return fixed

    def ellipsoid(self, k: int) -> Ellipsoid:
        """Ellipsoid `k`, in the user's own features, without standalone ones."""
        with np.errstate(over="ignore"):
            root = self.roots[k] / self.scale[self.placed]
        if not np.isfinite(root).all():
            j = int(self.placed[int(np.isfinite(root).all(axis=0).argmin())])
            raise ValueError(
                f"Feature {self.feature_names[j]!r} varies so little that double precision cannot hold an ellipsoid "
                "in its units. Multiply it by a constant first."
            )
        return Ellipsoid(self.in_own_units(self.centers[k]), root)

    def check_units(self) -> None:
        """Raise if double precision cannot hold an ellipsoid in the units of a feature."""
        for k in range(self.n_ellipsoids):
            self.ellipsoid(k)

    def _card(self) -> Card:
        isolated = f", and {counted(len(self.isolated), 'isolated row')}" if len(self.isolated) else ""
        facts: tuple[tuple[str, str], ...] = (
            ("training rows", with_counts(self.classes, self.class_counts)),
            ("ellipsoids", f"{self.n_ellipsoids:,}{isolated}"),
            ("regions", f"{self.table.n_regions:,} with training rows"),
            ("trust", f"by {self.trust}"),
            ("size", f"{self.n_bytes:,} bytes"),
        )
        if self.alone is not None:
            facts = (*facts, ("standalone features", f"{len(self.alone.features):,}"))
        if self.edits is not None:
            facts = (*facts, ("edited", count_of_edits(self.edits.made)))
        classes = counted(len(self.classes), "class", "classes")
        return Card(f"SEPModel of {classes}, {counted(len(self.feature_names), 'feature')}", facts)


def keeps_hashes(model: SEPModel) -> bool:
    """Whether a model was fitted with `keep_rows`, so that hashes and digests of its rows may be kept."""
    return model.seen_rows is None or len(model.seen_rows.hashes) > 0


def _are_valid(roots: FloatArray, scale: FloatArray) -> bool:
    """Whether these roots are invertible, and neither they nor their inverses are too large to be squared."""
    in_own_features = roots / scale
    sizes = (np.abs(matrix).max(initial=0.0) for matrix in (roots, np.linalg.inv(roots)))
    determinants = (np.linalg.slogdet(matrix).logabsdet for matrix in (roots, in_own_features))
    return (
        all(size <= FARTHEST for size in sizes)
        and bool(np.isfinite(in_own_features).all())
        and all(np.isfinite(logarithms).all() for logarithms in determinants)
    )


def even_variance(squares: Squares, n_features: int) -> Squares:
    """The variance of rows spread uniformly in an ellipsoid, given its squared semi-axes (or sums of these)."""
    return squares / (n_features + 2)


def mean_square_distance(model: SEPModel) -> float:
    """The mean squared distance of the training rows from their mean, estimated from ellipsoids and isolated rows."""
    places, held, mean = weighed_places(model)
    squared = np.sum((places - mean) ** 2, axis=1)
    d = places.shape[1]
    step = max(1, BLOCK_ENTRIES // d**2)
    for start in range(0, model.n_ellipsoids, step):
        axes = np.linalg.inv(model.roots[start : start + step])
        squared[start : start + len(axes)] += even_variance(np.sum(axes**2, axis=(1, 2)), d)
    return float(np.average(squared, weights=held))


def weighed_places(model: SEPModel) -> tuple[FloatArray, IntArray, FloatArray]:
    """Centers and isolated rows, the number of training rows at each, and the mean of the former by the latter."""
    places, held = np.concatenate([model.centers, model.isolated]), model.place_rows
    return places, held, np.average(places, axis=0, weights=held)
