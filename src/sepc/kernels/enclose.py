"""The smallest ellipsoid that encloses a set of rows, with a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.errors import FlatSetWarning, NotConvergedWarning
from sepc.kernels._core_set import FlatRowsError, RefusedError, WhiteningFrame, enclose_whitened, frame_of
from sepc.kernels.numeric import divisors, single_threaded
from sepc.points.in_memory import ArrayPoints
from sepc.points.inputs import as_points, feature_names
from sepc.points.protocol import PointSet, reduce_once
from sepc.points.reductions import MOMENTS, Farthest, ProjectionRange, Spread, distinct
from sepc.shapes.ellipsoid import Ellipsoid, squared_norms
from sepc.wording import check_number, counted

# Up to this many rows are gathered once and solved as arrays; larger sets are only accessed through reductions.
LOCAL_ROWS = 200_000
# The first pool of a larger set: rows gathered per row that an ellipsoid can rest on (fewer cost another pass in 20
# dimensions, more gain nothing), its smallest and largest size, and how many rows each later pass may add.
POOL_PER_SUPPORT, POOL_FROM, POOL_TO, MORE_ROWS = 16, 1_000, 20_000, 4_000
# A set that needs more passes than this will not converge; 2 to 6 are usual.
MAX_PASSES = 30
NOT_FLAT = np.zeros(0), np.zeros(0)
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


def enclose(X: ArrayLike | PointSet, *, tol: float = 1e-6, max_rounds: int = 200) -> Enclosure:
    """Smallest ellipsoid that contains every row of a table.

    The minimum-volume enclosing (Löwner-John) ellipsoid, with a certificate of its duality gap. For any number of rows:
    the solver only ever works on the few that matter.

    Parameters
    ----------
    X : array, DataFrame or point set of shape (n, d)
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
    points: PointSet, is_refused: Callable[[Ellipsoid], bool], *, tol: float, local_rows: int, unit: FloatArray
) -> Enclosure | None:
    """Smallest ellipsoid of a non-empty point set, or None as soon as it is certain to be refused.

    `is_refused` is called with smaller ellipsoids that are certified to lie inside the smallest enclosing one. It must
    refuse one only if it would refuse every ellipsoid that contains it.
    """
    try:
        return enclose_points(points, tol=tol, local_rows=local_rows, unit=unit, is_refused=is_refused)
    except RefusedError:
        return None


@single_threaded
def enclose_points(
    points: PointSet,
    *,
    tol: float = 1e-10,
    max_rounds: int = 200,
    local_rows: int = LOCAL_ROWS,
    unit: FloatArray | None = None,
    is_refused: Callable[[Ellipsoid], bool] | None = None,
) -> Enclosure:
    """Smallest ellipsoid of a non-empty point set, without warnings: the caller judges the certificate.

    `unit` gives, per feature, the unit for the thickness of flat sets; by default the set's own standard deviation.

    A set of at most `local_rows` rows is gathered. Of a larger one, only a pool of the outermost rows is gathered, and
    each pass over the set adds the rows that lie outside the pool's ellipsoid.

    For `is_refused` see `enclose_unless`; it is not called for sets that are flat or not gathered.
    """
    whole = points.n_points <= local_rows
    if whole:
        points = ArrayPoints(points.gather(local_rows))
    spread = reduce_once(points, MOMENTS)
    scale = divisors(points, spread, unit)
    if scale is not None:
        small = ArrayPoints(points.gather(local_rows) / scale)
        unit = None if unit is None else unit / scale
        enclosure = enclose_points(small, tol=tol, max_rounds=max_rounds, local_rows=local_rows, unit=unit)
        return _rescale(enclosure, scale)
    frame = frame_of(points, spread)
    while True:
        try:
            return _enclose_in(frame, points, whole, tol, max_rounds, local_rows, unit, is_refused)
        except FlatRowsError:
            frame = frame.without_thinnest()


def _enclose_in(
    frame: WhiteningFrame,
    points: PointSet,
    whole: bool,
    tol: float,
    max_rounds: int,
    local_rows: int,
    unit: FloatArray | None,
    is_refused: Callable[[Ellipsoid], bool] | None,
) -> Enclosure:
    def is_refused_in_white(center: FloatArray, factor: FloatArray) -> bool:
        return is_refused is not None and is_refused(frame.ellipsoid(center, factor))

    may_refuse = is_refused is not None and whole and len(frame.flat_directions) == 0
    flat_range = points.reduce(ProjectionRange(frame.to_flat, frame.origin)) if len(frame.flat_directions) else NOT_FLAT
    pool = points.gather(local_rows) if whole else _outermost_rows(points, frame, local_rows)
    n_more = min(MORE_ROWS, local_rows // 2)
    best: Enclosure | None = None
    n_rounds = 0
    for _ in range(MAX_PASSES):
        core = enclose_whitened(frame.whiten(pool), tol, max_rounds, is_refused_in_white if may_refuse else None)
        n_rounds += core.n_rounds
        center, root = frame.restore(core, flat_range, unit)
        outside = points.reduce(Farthest(center, root, n_more, above=1.0 + tol))
        gap = max(core.excess, outside.largest - 1.0, 0.0)
        if best is None or gap < best.gap:
            best = Enclosure(
                ellipsoid=Ellipsoid(center, root / max(1.0, outside.largest) ** 0.5),
                support=pool[core.support],
                weights=core.weights,
                gap=gap,
                n_rounds=n_rounds,
                converged=gap <= tol,
                flat_directions=frame.flat_directions,
            )
        news = outside.rows[:0] if whole else _rows_not_in(pool, outside.rows, center, root)
        if best.converged or len(news) == 0:
            break
        pool = _renew_pool(pool, core.support, news, center, root, local_rows)
    assert best is not None
    return best


def _rescale(enclosure: Enclosure, scale: FloatArray) -> Enclosure:
    ellipsoid = Ellipsoid(enclosure.ellipsoid.center * scale, enclosure.ellipsoid.root / scale)
    return replace(enclosure, ellipsoid=ellipsoid, support=enclosure.support * scale)


def _outermost_rows(points: PointSet, frame: WhiteningFrame, local_rows: int) -> FloatArray:
    d = points.n_features
    n_most = min(max(POOL_FROM, POOL_PER_SUPPORT * d * (d + 3) // 2), POOL_TO, local_rows)
    return points.reduce(Farthest(frame.origin, frame.to_white.T, n_most)).rows


def _rows_not_in(pool: FloatArray, rows: FloatArray, center: FloatArray, root: FloatArray) -> FloatArray:
    """The rows that are not yet in the pool."""
    both = np.concatenate([pool, rows])
    first = distinct((both - center) @ root.T)
    return both[first[first >= len(pool)]]


def _renew_pool(
    pool: FloatArray, support: IntArray, news: FloatArray, center: FloatArray, root: FloatArray, local_rows: int
) -> FloatArray:
    """The pool with `news` added; its innermost rows are dropped if it would exceed `local_rows`."""
    squared = squared_norms(pool, center, root)
    squared[support] = np.inf
    room = max(local_rows - len(news), len(support))
    return np.concatenate([pool[np.argsort(-squared, kind="stable")[:room]], news])


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
