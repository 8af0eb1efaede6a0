"""Decisions by weights: mirrors `sepc.model.weights` and its rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sepc._typing import FloatArray
from sepc.model.sep_model import SEPModel
from sepc.model.trust import TIE
from sepc.model.weights import (
    DEPTH_FLOOR,
    FADING_BEGINS,
    FADING_POWER,
    FARTHEST_SQUARED,
    LINE_END,
    NEARNESS_DECAY,
    Weights,
)
from sepc.sql.expressions import SQL, choose, extreme, first_true, steps, total
from sepc.sql.locating import Geometry
from sepc.sql.query import Query

# Exponentials below this are not computed, since PostgreSQL raises an error on underflow. They are below 1e-26.
LOWEST_EXPONENT = -60.0
# Gauges beyond this fade to less than 1e-46.
FARTHEST_GAUGE = 1e12


def add_labels(query: Query, model: SEPModel, weights: Weights, geometry: Geometry, codes: Sequence[SQL]) -> None:
    """Add `label`, as a position among the classes, and `trust`."""
    dialect, label, trust = query.dialect, query.prefixed("label"), query.prefixed("trust")
    number, n_classes = dialect.number, len(model.classes)
    left, largest = query.prefixed("left"), query.prefixed("largest")
    gauge = dialect.clip(query.prefixed("gauge"), FADING_BEGINS, FARTHEST_GAUGE)
    fading = {left: f"power({number(FADING_BEGINS)} / {gauge}, {number(float(FADING_POWER))})"}
    if n_classes == 1:
        # A model of one class fades as if there were two.
        query.add("faded", {label: "0"} | fading)
        query.add("trusted", {trust: _fade(query, number(1.0), 2)})
        return
    near = _add_probabilities(query, model, weights, geometry, codes)
    faded = [query.prefixed(f"p{c}") for c in range(n_classes)]
    query.add("fading", fading)
    query.add("faded", {p: _fade(query, q, n_classes) for p, q in zip(faded, near, strict=True)})
    query.add("compared", {largest: extreme(dialect.greatest, faded)})
    tests = [(f"{faded[c]} >= {largest} * {number(1.0 - TIE)}", c) for c in _larger_first(model)]
    query.add("labelled", {label: first_true([(test, str(c)) for test, c in tests[:-1]], str(tests[-1][1]))})
    query.add("trusted", {trust: choose(label, faded)})


def _larger_first(model: SEPModel) -> list[int]:
    """Classes in the order in which they win ties."""
    return [int(c) for c in np.argsort(-model.shares, kind="stable")]


def _fade(query: Query, probability: SQL, n_classes: int) -> SQL:
    left, number = query.prefixed("left"), query.dialect.number
    return f"({left} * {probability} + ({number(1.0)} - {left}) / {number(float(n_classes))})"


def _add_probabilities(
    query: Query, model: SEPModel, weights: Weights, geometry: Geometry, codes: Sequence[SQL]
) -> list[SQL]:
    """The softmax of the scores; only differences of scores matter, so that of the first class is set to zero."""
    dialect, top, whole = query.dialect, query.prefixed("top"), query.prefixed("whole")
    zero, classes = dialect.number(0.0), range(len(model.classes))
    terms, coefficients = _terms(query, weights, geometry)
    query.add("terms", dialect.vector(query.prefixed("t"), terms) | _positions(query, weights, geometry))
    scores, powers, shares = ([query.prefixed(f"{letter}{c}") for c in classes] for letter in "oeq")
    above_first = {scores[c]: _score(query, weights, codes, coefficients, c) for c in classes[1:]}
    query.add("scored", {scores[0]: zero} | above_first)
    query.add("topped", {top: extreme(dialect.greatest, scores)})
    exponents = [f"{dialect.greatest}({score} - {top}, {dialect.number(LOWEST_EXPONENT)})" for score in scores]
    query.add("raised", {power: f"exp({value})" for power, value in zip(powers, exponents, strict=True)})
    query.add("summed", {whole: total(powers)})
    query.add("shared", {share: f"{power} / {whole}" for share, power in zip(shares, powers, strict=True)})
    return shares


def _terms(query: Query, weights: Weights, geometry: Geometry) -> tuple[list[SQL], FloatArray]:
    """The terms of which scores are linear combinations, and their coefficients for each class."""
    dialect, number = query.dialect, query.dialect.number
    terms = [dialect.clip(row, -LINE_END, LINE_END) for row in geometry.rows]
    last = 1.0 - LOWEST_EXPONENT / NEARNESS_DECAY
    for squared in geometry.squared:
        beyond = f"({dialect.clip(squared, 1.0, last)} - {number(1.0)})"
        terms.append(f"exp({beyond} * {number(-NEARNESS_DECAY)})")
    for squared in geometry.squared:
        terms.append(f"ln({dialect.clip(squared, 0.0, FARTHEST_SQUARED)} + {number(DEPTH_FLOOR)})")
    rate = -0.5 / weights.width**2 if geometry.apart else -1.0
    for apart in geometry.apart:
        terms.append(f"exp({dialect.clip(apart, 0.0, LOWEST_EXPONENT / rate)} * {number(rate)})")
    return terms, np.concatenate([weights.lines, weights.near, weights.deep, weights.isolated])


def _score(query: Query, weights: Weights, codes: Sequence[SQL], coefficients: FloatArray, c: int) -> SQL:
    """The score of a class above that of the first."""
    constant = weights.offsets - weights.ellipsoid_means.sum(axis=0) - weights.isolated_mean
    linear = query.dialect.dot(
        query.prefixed("t"), coefficients[:, c] - coefficients[:, 0], float(constant[c] - constant[0])
    )
    return total([linear, *_curves(query, weights, c), *_categories(query, weights, codes, c)])


def _positions(query: Query, weights: Weights, geometry: Geometry) -> dict[SQL, SQL]:
    """How many knots of its curve each feature has passed."""
    return {
        query.prefixed(f"k{j}"): steps(row, query.dialect.numbers(knots), list(map(str, range(len(knots) + 1))))
        for j, (row, (knots, _)) in enumerate(zip(geometry.rows, weights.curves, strict=True))
    }


def _curves(query: Query, weights: Weights, c: int) -> Iterator[SQL]:
    for j, (_, levels) in enumerate(weights.curves):
        yield query.dialect.look_up(levels[c] - levels[0], query.prefixed(f"k{j}"))


def _categories(query: Query, weights: Weights, codes: Sequence[SQL], c: int) -> Iterator[SQL]:
    """What categories add; one not seen in training adds nothing."""
    parts = np.split(weights.category_levels, np.cumsum(weights.n_categories)[:-1])
    for code, levels in zip(codes, parts, strict=False):
        yield query.dialect.look_up([*(levels[:, c] - levels[:, 0]), 0.0], code)
