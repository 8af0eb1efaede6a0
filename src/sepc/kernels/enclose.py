"""The smallest ellipsoid that encloses a set of rows, with a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray
from sepc.cards import Card, ShownAsCard
from sepc.errors import FlatSetWarning, NotConvergedWarning
from sepc.kernels._core_set import FlatRowsError, RefusedError, WhiteningFrame, enclose_whitened, frame_of
from sepc.kernels.numeric import divisors, single_threaded
from sepc.points.in_memory import ArrayPoints
from sepc.points.inputs import as_points, feature_names
from sepc.points.reductions import PointSet, Spread
from sepc.points.tiles import project
from sepc.shapes.ellipsoid import Ellipsoid, squared_norms
from sepc.wording import check_number, counted

# A feature takes part in a flat direction if its coefficient is at least this share of the largest.
TAKES_PART = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Enclosure(ShownAsCard):
    """The smallest enclosing ellipsoid, and the proof that it is one.

    Attributes
    ----------
    ellipsoid : Ellipsoid
        Every row has squared radius at most 1.
    support : (m, d) array
        Rows on the boundary that determine the ellipsoid.
    weights : (m,) array
        Their weights, summing to one. The weighted mean is the centre, and `rank` times the weighted covariance the
        shape: no ellipsoid smaller than that of these moments contains the support.
    gap : float
        The certificate: the log-volume is at most ``rank / 2 * log(1 + gap)`` above the smallest possible.
    n_rounds : int
        How many times the rows were searched for one outside.
    converged : bool
        Whether `gap` is at most `tol`.
    flat_directions : (k, d) array
        Normals of the affine hull of the rows, in units of each feature's standard deviation; none if they span all
        features. The ellipsoid is the smallest within the hull, and has a small thickness across it.
    """

    ellipsoid: Ellipsoid
    support: FloatArray
    weights: FloatArray
    gap: float
    n_rounds: int
    converged: bool
    flat_directions: FloatArray

    @property
    def rank(self) -> int:
        """Dimension of the affine hull of the rows."""
        return self.ellipsoid.n_features - len(self.flat_directions)

    def _card(self) -> Card:
        d, above = self.ellipsoid.n_features, np.expm1(0.5 * self.rank * np.log1p(self.gap))
        flat = f", flat in {counted(d - self.rank, 'direction')}" if self.rank < d else ""
        shape = [(name, value) for name, value in self.ellipsoid._card().facts if name != "log-volume"]
        proof = f"{self.gap:.2g}, {'converged' if self.converged else 'not converged'}"
        facts = (
            *shape,
            ("support", counted(len(self.support), "row")),
            ("gap", f"{proof} after {counted(self.n_rounds, 'round')}"),
            ("volume", f"at most 1 + {above:.2g} times the smallest possible"),
        )
        return Card(f"Enclosure: the smallest ellipsoid, in {counted(d, 'feature')}{flat}", facts)


def enclose(X: ArrayLike, *, tol: float = 1e-6, max_rounds: int = 200) -> Enclosure:
    """Smallest ellipsoid that contains every row of a table.

    The minimum-volume enclosing (Löwner-John) ellipsoid, with a certificate of its duality gap. For any number of rows:
    the solver only ever works on the few that matter.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        Finite numbers. Scales, offsets, repeated rows and collinear columns do not matter.
    tol : float, default=1e-6
        The largest `gap` that counts as converged.
    max_rounds : int, default=200
        The solver stops after this many rounds, warns, and returns the best ellipsoid found and its gap.

    Returns
    -------
    Enclosure
        The ellipsoid, the rows that support it, and the certificate.

    Raises
    ------
    ValueError
        If `X` is empty, or holds text, NaN or infinity, or a range that double precision cannot handle.

    Warns
    -----
    FlatSetWarning
        If a feature is constant, or features are collinear.
    NotConvergedWarning
        If the gap is larger than `tol`.

    Examples
    --------
    >>> from sepc import enclose
    >>> enclosure = enclose([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [4.0, 2.0], [1.0, 1.0]])
    >>> enclosure.ellipsoid.center.round(6)
    array([2., 1.])
    >>> enclosure.ellipsoid.semi_axes.round(4)  # sqrt(2) times those of the box
    array([2.8284, 1.4142])
    >>> enclosure.support.shape, enclosure.converged
    ((4, 2), True)
    """
    check_number("tol", tol, least=0)
    check_number("max_rounds", max_rounds, least=1, whole=True)
    points, names = as_points(X), feature_names(X)
    enclosure = enclose_points(points, tol=tol, max_rounds=max_rounds)
    if enclosure.rank < points.n_features:
        message = describe_flat(enclosure.flat_directions, points.n_points, names)
        warnings.warn(f"{message}; the ellipsoid is given a small thickness there.", FlatSetWarning, stacklevel=2)
    if not enclosure.converged:
        warnings.warn(_gap_message(enclosure, tol, names), NotConvergedWarning, stacklevel=2)
    return enclosure


def enclose_unless(
    points: ArrayPoints, is_refused: Callable[[Ellipsoid], bool], *, tol: float, unit: FloatArray
) -> Enclosure | None:
    """Smallest ellipsoid of a non-empty set of rows, or None as soon as it is certain to be refused.

    `is_refused` is called with smaller ellipsoids that are certified to lie inside the smallest enclosing one. It must
    refuse one only if it would refuse every ellipsoid that contains it.
    """
    try:
        return enclose_points(points, tol=tol, unit=unit, is_refused=is_refused)
    except RefusedError:
        return None


@single_threaded
def enclose_points(
    points: ArrayPoints,
    *,
    tol: float = 1e-10,
    max_rounds: int = 200,
    unit: FloatArray | None = None,
    is_refused: Callable[[Ellipsoid], bool] | None = None,
) -> Enclosure:
    """Smallest ellipsoid of a non-empty set of rows, without warnings: the caller judges the certificate.

    `unit` gives, per feature, the unit for the thickness of flat sets; by default the set's own standard deviation.
    For `is_refused` see `enclose_unless`; it is not called for sets that are flat.
    """
    scale = divisors(points, unit)
    if scale is not None:
        small = ArrayPoints(points.rows / scale)
        enclosure = enclose_points(small, tol=tol, max_rounds=max_rounds, unit=None if unit is None else unit / scale)
        ellipsoid = Ellipsoid(enclosure.ellipsoid.center * scale, enclosure.ellipsoid.root / scale)
        return replace(enclosure, ellipsoid=ellipsoid, support=enclosure.support * scale)
    frame = frame_of(points, points.spread)
    while True:
        try:
            return _enclose_in(frame, points.rows, tol, max_rounds, unit, is_refused)
        except FlatRowsError:
            frame = frame.without_thinnest()


def _enclose_in(
    frame: WhiteningFrame,
    rows: FloatArray,
    tol: float,
    max_rounds: int,
    unit: FloatArray | None,
    is_refused: Callable[[Ellipsoid], bool] | None,
) -> Enclosure:
    def is_refused_in_white(center: FloatArray, factor: FloatArray) -> bool:
        return is_refused is not None and is_refused(frame.ellipsoid(center, factor))

    may_refuse = is_refused is not None and len(frame.flat_directions) == 0
    core = enclose_whitened(frame.whiten(rows), tol, max_rounds, is_refused_in_white if may_refuse else None)
    along_flat = [project(rows, direction, frame.origin) for direction in frame.to_flat.T]
    flat_range = np.array([values.min() for values in along_flat]), np.array([values.max() for values in along_flat])
    center, root = frame.restore(core, flat_range, unit)
    largest = float(squared_norms(rows, center, root).max())
    gap = max(core.excess, largest - 1.0, 0.0)
    return Enclosure(
        ellipsoid=Ellipsoid(center, root / max(1.0, largest) ** 0.5),
        support=rows[core.support],
        weights=core.weights,
        gap=gap,
        n_rounds=core.n_rounds,
        converged=gap <= tol,
        flat_directions=frame.flat_directions,
    )


def flat_directions(points: PointSet, spread: Spread) -> FloatArray:
    """Normals of the affine hull of rows with these moments, of shape (k, d), in units of each feature's deviation."""
    return frame_of(points, spread).flat_directions


def describe_flat(directions: FloatArray, n_points: int, names: tuple[str, ...]) -> str:
    """Name the features that are constant or collinear."""
    d = len(names)
    if n_points <= d:
        return f"{n_points} rows span only {d - len(directions)} of {d} dimensions"
    sizes = np.abs(directions)
    takes_part = sizes >= TAKES_PART * sizes.max(axis=1, keepdims=True)
    is_alone = takes_part.sum(axis=1) == 1
    parts = [f"Feature {names[row.argmax()]!r} is constant" for row in takes_part[is_alone]]
    collinear = [repr(name) for name, takes in zip(names, takes_part[~is_alone].any(axis=0), strict=True) if takes]
    if collinear:
        parts.append(f"Features {', '.join(collinear)} are collinear")
    return f"{'; '.join(parts)} in the {n_points:,} rows"


def _gap_message(enclosure: Enclosure, tol: float, names: tuple[str, ...]) -> str:
    """Say whether more rounds would help, or whether the rounding of the centre is the limit."""
    rounding = np.spacing(np.abs(enclosure.ellipsoid.center)) * np.abs(enclosure.ellipsoid.root).max(axis=0)
    if rounding.max() > 0.1 * enclosure.gap:
        j = int(rounding.argmax())
        return (
            f"Feature {names[j]!r} hardly varies around {enclosure.ellipsoid.center[j]:.3g}: rounding of the centre "
            f"leaves a gap of {enclosure.gap:.0e} (tol is {tol:.0e}). Subtract a constant from it first."
        )
    return (
        f"enclose stopped after {enclosure.n_rounds} rounds with gap {enclosure.gap:.0e} (tol is {tol:.0e}). "
        "Raise max_rounds or loosen tol."
    )
