"""The bound on what it costs to reach a label's ellipsoids: against trying everything, and by its own proof."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cone_oracle import nearest_by_scs
from loans import limits_of, loans, model_of_loans
from optional import package_or_skip

from sepc.model.membership import squared_radii
from sepc.recourses import bounds as reaching
from sepc.recourses.bounds import Box, bound_cost

pd = package_or_skip("pandas")


def limits_at(i, **given):
    return limits_of(model_of_loans(), loans()[0].iloc[[i]], **given)


def ellipsoids_of(limits, label):
    return np.flatnonzero(limits.model.classes[limits.model.owners] == label)


def drawn_inside(limits, ellipsoids, n=20_000, seed=0):
    """Rows within limits that lie in one of the ellipsoids, drawn without the code under test."""
    rng, model = np.random.default_rng(seed), limits.model
    rows = np.tile(limits.row, (n, 1))
    for j in limits.free:
        rows[:, j] = rng.uniform(limits.low[j], limits.high[j], size=n)
        # Half of them stay, so that cheap rows are drawn too.
        rows[rng.random(n) < 0.5, j] = limits.row[j]
    rows[:, np.flatnonzero(limits.is_whole)] = rows[:, np.flatnonzero(limits.is_whole)].round()
    for choice in limits.choices:
        codes = rng.choice(choice.allowed, size=n)
        rows[:, limits.n_features + choice.column] = codes
        rows[:, choice.features] = choice.encodings[codes]
    squared = squared_radii(model.standardize(rows), model.centers[ellipsoids], model.roots[ellipsoids])
    return rows[(squared <= 1.0).any(axis=1)]


@pytest.mark.parametrize(("i", "most"), [(0, 4), (1, 10), (2, 200), (3, 4), (4, 10), (5, 200), (6, 4), (7, 10)])
def test_no_row_is_cheaper_than_the_bound(i, most, monkeypatch):
    """However early the search ends."""
    monkeypatch.setattr(reaching, "MOST_PROJECTIONS", most)
    limits = limits_at(i, cost={"amount": 3.0})
    for label in ("paid", "late"):
        ellipsoids = ellipsoids_of(limits, label)
        rows = drawn_inside(limits, ellipsoids)
        assert len(rows) > 20
        assert limits.costs(rows).min() ** 2 >= bound_cost(limits, ellipsoids).bound - 1e-9


@pytest.mark.parametrize("i", range(4))
def test_a_long_search_closes_the_gap(i, monkeypatch):
    monkeypatch.setattr(reaching, "MOST_PROJECTIONS", 5_000)
    limits = limits_at(i)
    reached = bound_cost(limits, ellipsoids_of(limits, "late"))
    assert reached.bound == pytest.approx(reached.cost, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("i", range(6))
def test_leaves_prove_the_bound_and_entries_reach_it(i):
    """Leaves hold every row in an ellipsoid, each bound follows from a half-space; entries are rows at their cost."""
    limits = limits_at(i)
    model, ellipsoids = limits.model, ellipsoids_of(limits, "late")
    reached: Any = bound_cost(limits, ellipsoids)
    for entry in reached.entries:
        row = entry.box.rows_at(entry.place[np.newaxis])
        assert limits.allow(row).all()
        own = [entry.ellipsoid]
        assert squared_radii(model.standardize(row), model.centers[own], model.roots[own])[0, 0] <= 1.0 + 1e-7
        assert limits.costs(row)[0] ** 2 == pytest.approx(entry.squared, rel=1e-6, abs=1e-6)
    for leaf in reached.leaves:
        assert (leaf.proof.center == model.centers[leaf.ellipsoid]).all()
        # The normal is a unit vector of the ellipsoid's own measure, so the half-space holds the ellipsoid.
        assert np.linalg.norm(np.linalg.solve(model.roots[leaf.ellipsoid].T, leaf.proof.normal)) <= 1.0 + 1e-6
        assert leaf.bound <= leaf.box.bound(leaf.proof) + 1e-9 or leaf.bound <= reached.bound + 1e-9
    rows = drawn_inside(limits, ellipsoids)
    places = model.standardize(rows)
    inside = squared_radii(places, model.centers, model.roots) <= 1.0
    for k in ellipsoids:
        own = [leaf for leaf in reached.leaves if leaf.ellipsoid == k]
        held = np.array([holds(leaf.box, places, rows) for leaf in own])
        assert held.any(axis=0)[inside[:, k]].all()


def holds(box, places, rows):
    numbers = box.limits.prices > 0.0
    slack = 1e-9 * (1.0 + np.abs(places[:, numbers]))
    within = ((box.low[numbers] - slack <= places[:, numbers]) & (places[:, numbers] <= box.high[numbers] + slack)).all(
        axis=1
    )
    for options in box.options:
        within &= np.isin(box.limits.codes(rows, options.choice), options.codes)
    return within


@pytest.mark.parametrize("i", range(6))
def test_the_convex_part_is_as_cheap_as_another_solver_finds(i):
    limits = limits_at(i)
    every = Box.whole(limits)
    for k in ellipsoids_of(limits, "paid"):
        found = every.project(k)
        nearest = nearest_by_scs(limits.start, replace_weightless(every.projector(k)))
        assert found.squared == pytest.approx(nearest, rel=1e-6, abs=1e-6)


def replace_weightless(projector):
    """Fixed coordinates have no weight in ours; the other solver does not care."""
    return replace(projector, weights=np.where(projector.low < projector.high, projector.weights, 1.0))


def test_parts_of_options_are_the_options_and_none_costs_less_than_its_price():
    for choice in limits_at(0).choices:
        for options in (choice.every, *choice.every.parts):
            for code in options.codes:
                own, way = options.relaxed, choice.places[code] - choice.places[choice.current]
                exact = 0.0 if code == choice.current else choice.price**2
                assert own.squared + own.price**2 * (way @ way) <= exact + 1e-12
        parts = [choice.every]
        while any(len(own.codes) > 1 for own in parts):
            largest = max(parts, key=lambda own: len(own.codes))
            parts = [own for own in parts if own is not largest] + list(largest.parts)
        assert sorted(int(own.codes[0]) for own in parts) == sorted(choice.allowed.tolist())


def test_rows_that_leave_the_limits_are_not_allowed():
    limits = limits_at(0, bounds={"amount": (1000.0, 9000.0), "purpose": ["car", "trip"]})
    row = limits.row.copy()
    row[0] = 5000.0
    purpose = limits.choices[0]
    row[limits.n_features + purpose.column] = purpose.allowed[0]
    odd = {0: 9000.5, 1: limits.row[1] + 0.5, limits.n_features + purpose.column: 1.0}
    assert 1 not in purpose.allowed
    for j, value in odd.items():
        other = row.copy()
        other[j] = value
        assert limits.allow(np.array([row, other])).tolist() == [True, False]
