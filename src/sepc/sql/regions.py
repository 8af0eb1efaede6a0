"""The region of each row, and its gauge in the nearest place: mirrors `sepc.model.count_rules.smallest_gauge`."""

from __future__ import annotations

import numpy as np

from sepc._typing import IntArray
from sepc.model.locate import packed
from sepc.model.sep_model import SEPModel
from sepc.sql.expressions import SQL, first_true
from sepc.sql.locating import Lying, packed_set
from sepc.sql.query import Query


def add_regions(query: Query, model: SEPModel, lying: Lying) -> None:
    """Add `gauge`, `inside` and `region`; the set of ellipsoids is looked up in a table of those with rows."""
    number, gauge, place = query.dialect.number, query.own("gauge"), query.own("place")
    inside, limit = query.own("inside"), number(1.0 + model.slack)
    gauges, own_place = _gauges(query, model, lying)
    words = packed_set([[f"{squared} > {limit}"] for squared in lying.squared]) if lying.squared else []
    keys = {query.own(f"w{i}"): word for i, word in enumerate(words)}
    is_inside = f"CASE WHEN {lying.smallest} <= {limit} THEN 1 ELSE 0 END" if words else "0"
    query.add("keyed", {gauge: gauges, place: own_place, inside: is_inside} | keys)
    outside = f"{place} + {len(model.table.counts)}"
    if not words:
        query.add("found", {query.own("region"): outside})
        return
    columns, at, regions = [query.own(f"v{i}") for i in range(len(keys))], query.own("at"), query.own("regions")
    known = packed(model.table.memberships).astype(np.int64).tolist()
    query.constant(regions, [*columns, at], [[*key, i] for i, key in enumerate(known)])
    same = " AND ".join(f"{column} = {key}" for column, key in zip(columns, keys, strict=True))
    region = first_true([(f"{inside} = 1", f"COALESCE({at}, -1)")], outside)
    query.add("found", {query.own("region"): region}, join=f" LEFT JOIN {regions} ON {same}")


def _gauges(query: Query, model: SEPModel, lying: Lying) -> tuple[SQL, SQL]:
    """The smallest gauge, and the ellipsoid or isolated row that has it, if that is not nearer than 1."""
    dialect, K = query.dialect, model.n_ellipsoids
    in_ellipsoid = f"sqrt({dialect.at_least_zero(lying.smallest)})"
    of_ellipsoid = _first(lying.squared, lying.smallest, np.arange(K))
    if not lying.apart:
        return in_ellipsoid, of_ellipsoid
    # Of identical isolated rows, Python always finds the same one.
    same = K + np.asarray(model.places.isolated.query(model.isolated)[1], dtype=np.int64)
    distance, unit = f"sqrt({dialect.at_least_zero(lying.nearest)})", float(np.sqrt(len(model.shift)))
    at_isolated = f"({dialect.number(1.0)} + {distance} / {dialect.number(unit)})"
    of_isolated = _first(lying.apart, lying.nearest, same)
    if not lying.squared:
        return at_isolated, of_isolated
    nearer = f"{at_isolated} < {in_ellipsoid}"
    return f"{dialect.least}({at_isolated}, {in_ellipsoid})", first_true([(nearer, of_isolated)], of_ellipsoid)


def _first(columns: list[SQL], smallest: SQL, places: IntArray) -> SQL:
    """The place of the first column that has the smallest value."""
    tests = [(f"{column} = {smallest}", str(place)) for column, place in zip(columns, places.tolist(), strict=True)]
    return first_true(tests[:-1], tests[-1][1]) if tests else "0"
