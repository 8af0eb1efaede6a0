"""Where rows lie: standardised, with squared radii as in `sepc.model.membership` and distances to isolated rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray
from sepc.model.locate import pack_sets
from sepc.model.membership import BOUNDARY_MARGIN, FARTHEST
from sepc.model.sep_model import SEPModel
from sepc.sql.columns import COMPLETE, LARGEST
from sepc.sql.expressions import SQL, extreme, first_true, total
from sepc.sql.query import Query

# In databases with fast lists, squared radii are computed by polynomials if these have at most this error.
POLYNOMIAL_ERROR = 1e-9
# Coordinates this small are taken as zero: in PostgreSQL it is an error if their product underflows.
TINY = 1e-60
# Coordinates can be that small only if the shift is below this share of the scale; otherwise rounding prevents it.
TINY_SHIFT = 1e-44


@dataclass(frozen=True)
class Geometry:
    """Where rows lie, as columns of the query.

    Attributes
    ----------
    rows : list of str
        Standardised features.
    placed : list of str
        Those of them that ellipsoids are made of: all that are not standalone.
    moved : str
        A vector: the coordinates relative to `origin`.
    origin : (g,) array
    size : str
        Squared distance from the origin.
    squared : list of str
        Squared radii in each ellipsoid.
    apart : list of str
        Squared distances to each isolated row.
    smallest, nearest : str
        The smallest of `squared` and of `apart`.
    """

    rows: list[SQL]
    placed: list[SQL]
    moved: SQL
    origin: FloatArray
    size: SQL
    squared: list[SQL]
    apart: list[SQL]
    smallest: SQL
    nearest: SQL


def add_places(query: Query, model: SEPModel, features: Sequence[SQL]) -> Geometry:
    """Add the stages that locate rows; those with missing or infinite numbers are put at zero."""
    geometry = _column_names(query, model)
    query.add("rows", {name: _standardize(query, model, j, features[j]) for j, name in enumerate(geometry.rows)})
    coordinates = [
        name if origin == 0.0 else f"({name} - {query.dialect.number(origin)})"
        for name, origin in zip(geometry.placed, geometry.origin.tolist(), strict=True)
    ]
    query.add("moved", query.dialect.vector(geometry.moved, coordinates))
    items = [query.dialect.item(geometry.moved, j) for j in range(len(geometry.placed))]
    query.add("sized", {geometry.size: total([f"{item} * {item}" for item in items])} | _monomials(query, model, items))
    squared = {name: _squared_radius(query, model, geometry, k) for k, name in enumerate(geometry.squared)}
    points = model.isolated - geometry.origin
    apart = {name: squared_distance(query, geometry, point) for name, point in zip(geometry.apart, points, strict=True)}
    query.add("located", squared | apart)
    query.add("nearby", _smallest(query, geometry))
    return geometry


def _smallest(query: Query, geometry: Geometry) -> dict[SQL, SQL]:
    kinds = {geometry.smallest: geometry.squared, geometry.nearest: geometry.apart}
    return {name: extreme(query.dialect.least, columns) for name, columns in kinds.items() if columns}


def _column_names(query: Query, model: SEPModel) -> Geometry:
    origin = model.stack.origin if model.n_ellipsoids else model.isolated.mean(axis=0)
    return Geometry(
        rows=[query.prefixed(f"z{j}") for j in range(len(model.shift))],
        placed=[query.prefixed(f"z{j}") for j in model.placed.tolist()],
        moved=query.prefixed("y"),
        origin=np.where(np.abs(origin) < TINY_SHIFT, 0.0, origin),
        size=query.prefixed("size"),
        squared=[query.prefixed(f"s{k}") for k in range(model.n_ellipsoids)],
        apart=[query.prefixed(f"a{j}") for j in range(len(model.isolated))],
        smallest=query.prefixed("smallest"),
        nearest=query.prefixed("apart"),
    )


def _standardize(query: Query, model: SEPModel, j: int, feature: SQL) -> SQL:
    """A coordinate, clipped before anything can overflow."""
    number, shift, scale = query.dialect.number, float(model.shift[j]), float(model.scale[j])
    with np.errstate(over="ignore"):
        end = 0.5 * min(FARTHEST, model.stack.farthest) * scale
        low, high = np.clip([shift - end, shift + end], -LARGEST, LARGEST).tolist()
    is_zero = f"{query.prefixed('state')} <> {COMPLETE}"
    if abs(shift) < TINY_SHIFT * scale:
        is_zero += f" OR abs({feature}) < {number(TINY * scale)}"
    moved = f"({query.dialect.clip(feature, low, high)} - {number(shift)}) / {number(scale)}"
    return first_true([(is_zero, number(0.0))], moved)


def _monomials(query: Query, model: SEPModel, items: Sequence[SQL]) -> dict[SQL, SQL]:
    """A vector of all products of two coordinates, and the coordinates, if `_squared_radius` uses it."""
    if not any(_is_polynomial(query, model, k) for k in range(model.n_ellipsoids)):
        return {}
    products = [f"{one} * {other}" for i, one in enumerate(items) for other in items[i:]]
    return query.dialect.vector(query.prefixed("m"), [*products, *items])


def _is_polynomial(query: Query, model: SEPModel, k: int) -> bool:
    is_accurate = k not in model.stack.rough and model.stack.margins[k, 0] <= BOUNDARY_MARGIN + 3.0 * POLYNOMIAL_ERROR
    return query.dialect.has_lists and is_accurate


def _squared_radius(query: Query, model: SEPModel, geometry: Geometry, k: int) -> SQL:
    """One polynomial where it is fast and accurate enough, else the squares of the mapped coordinates."""
    dialect, center = query.dialect, model.centers[k] - geometry.origin
    if _is_polynomial(query, model, k):
        *coefficients, constant = model.stack.coefficients[k].tolist()
        return dialect.dot(query.prefixed("m"), coefficients, constant)
    # Of all roots of an ellipsoid, the triangular one has the fewest numbers.
    root = np.triu(np.linalg.qr(model.roots[k], mode="r"))
    mapped = [dialect.dot(geometry.moved, row, -float(row @ center)) for row in root]
    return total([f"power({value}, {dialect.number(2.0)})" for value in mapped])


def squared_distance(query: Query, geometry: Geometry, point: FloatArray) -> SQL:
    """Squared distance of rows to a point, relative to the origin; near the point, half of the digits are lost."""
    return f"({geometry.size} + {query.dialect.dot(geometry.moved, -2.0 * point, float(point @ point))})"


def packed_set(unless: Sequence[Sequence[SQL]]) -> list[SQL]:
    """A set as bits of integers, in the format of `sepc.model.locate.pack_sets`.

    An element is in the set unless one of its tests holds; they are tried in order.
    """
    words = pack_sets(np.eye(len(unless), dtype=bool)).astype(np.int64).T.tolist()
    bits = [[(tests, bit) for tests, bit in zip(unless, word, strict=True) if bit] for word in words]
    return [
        f"CAST({total([first_true([(test, '0') for test in tests], str(bit)) for tests, bit in word])} AS BIGINT)"
        for word in bits
    ]
