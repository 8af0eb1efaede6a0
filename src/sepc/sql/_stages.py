"""The stages of a decision as SQL: columns, places in ellipsoids, weights and terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray
from sepc.columns.categories import Categories
from sepc.columns.kinds import Column, Kind
from sepc.columns.preparation import DAYS_A_YEAR, Preparation
from sepc.columns.recognition import Written
from sepc.estimators.exported import Exported, are_texts
from sepc.model.count_rules import TIE
from sepc.model.membership import BOUNDARY_MARGIN, FARTHEST, pack_sets
from sepc.model.sep_model import SEPModel
from sepc.model.weights import (
    DEPTH_FLOOR,
    FADING_BEGINS,
    FADING_POWER,
    FARTHEST_SQUARED,
    LINE_END,
    NEARNESS_DECAY,
    Weights,
)
from sepc.sql._query import SQL, Query, choose, extreme, first_true, in_pairs, steps, total
from sepc.wording import listed, shown

# The name of the export target in messages.
TARGET = "SQL"

# The largest double; what exceeds it is infinite.
LARGEST = float(np.finfo(np.float64).max)
# Days beyond all finite dates of a database; PostgreSQL refuses the sine of an infinite one.
FARTHEST_DAY = 1e9

# Whether a row can be decided, in the column `state`.
COMPLETE, HAS_GAPS, IS_INFINITE = 0, 1, 2


@dataclass(frozen=True)
class GivenColumn:
    """A column of the table that features come from."""

    name: str
    kind: Kind
    categories: Categories | None = None
    has_season: bool = False
    written: Written | None = None

    @property
    def is_text(self) -> bool:
        """Whether it holds categories that are text."""
        return self.categories is not None and are_texts(self.name, self.categories, TARGET)


def given_columns(exported: Exported) -> list[GivenColumn]:
    """The columns of the table that the model uses, in order."""
    preparation = exported.decider.encoding_
    if preparation is None:
        return [GivenColumn(name, Kind.NUMBER) for name in exported.model.feature_names]
    used = [column for column in preparation.columns if column.kind is not Kind.LEFT_OUT]
    return [_given_column(column, preparation) for column in used]


def _given_column(column: Column, preparation: Preparation) -> GivenColumn:
    categories, has_season = preparation.categories.get(column.name), column.name in preparation.seasons
    given = GivenColumn(column.name, column.kind, categories, has_season, column.written)
    values = () if categories is None else categories.values
    odd = [value for value in values if not isinstance(value, str | int | float | None)]
    if odd:
        raise TypeError(
            f"Column {shown(column.name)} has the category {shown(odd[0])}, for which {TARGET} has no type."
        )
    return given


def text_column_comment(columns: list[GivenColumn]) -> SQL:
    """A comment that names the columns that were text in training but hold numbers or dates here; may be empty."""
    read = [f"{shown(column.name)} ({column.written.named()})" for column in columns if column.written is not None]
    if not read:
        return ""
    named = listed(read).replace("*/", "* /").replace("/*", "/ *")
    return f"/* In training these columns were text; here they hold the numbers or dates it stands for: {named}. */\n"


def add_features(query: Query, columns: list[GivenColumn], typical: Mapping[int, float]) -> tuple[list[SQL], list[SQL]]:
    """Add stages that compute the features `x0`, `x1`, ..., and `state`; returns them and the codes of categories."""
    given = {query.prefixed(f"g{i}"): column for i, column in enumerate(columns)}
    query.begin({name: _read(query, column) for name, column in given.items()})
    codes = {name: query.prefixed(f"c{name.removeprefix(query.prefixed('g'))}") for name in given}
    with_codes = {name: column for name, column in given.items() if column.categories is not None}
    query.add("coded", {codes[name]: _code(query, name, column) for name, column in with_codes.items()})
    values = [value for name, column in given.items() for value in _features(query, name, codes[name], column)]
    values = [query.dialect.number(typical[i]) if i in typical else value for i, value in enumerate(values)]
    features = {query.prefixed(f"x{i}"): value for i, value in enumerate(values)}
    # Values of a dropped column may be missing.
    numbers = [name for name in given if name not in with_codes and name in values]
    query.add("features", features | {query.prefixed("state"): _state(query, numbers)})
    known = [str(int(typical.get(len(values) + q, -1))) for q in range(len(with_codes))]
    return list(features), [codes[name] if code == "-1" else code for name, code in zip(with_codes, known, strict=True)]


def _read(query: Query, column: GivenColumn) -> SQL:
    dialect = query.dialect
    # With the table's name in front: SQLite reads a quoted name that is not a column as text.
    name = f"{query.alias}.{dialect.name(column.name)}"
    if column.kind is Kind.DATE:
        return dialect.given_days(name)
    return dialect.given_text(name) if column.is_text else dialect.given_number(name)


def _code(query: Query, name: SQL, column: GivenColumn) -> SQL:
    """The position of a value among the categories; their number for one not seen in training."""
    values = () if column.categories is None else column.categories.values
    dialect, unseen = query.dialect, str(len(values))
    is_gap = f"{name} IS NULL OR TRIM({name}) = ''" if column.is_text else f"{name} IS NULL"
    tests = [(is_gap, str(values.index(None)) if None in values else unseen)]
    for code, value in enumerate(values):
        if value is not None:
            literal = dialect.text(str(value)) if column.is_text else dialect.number(float(value))
            tests.append((f"{name} = {literal}", str(code)))
    return first_true(tests, unseen)


def _features(query: Query, name: SQL, code: SQL, column: GivenColumn) -> Iterator[SQL]:
    if column.categories is not None:
        for encodings in column.categories.encodings.T:
            yield query.dialect.look_up([*encodings, 0.0], code)
        return
    yield name
    if column.has_season:
        number = query.dialect.number
        days = query.dialect.clip(name, -FARTHEST_DAY, FARTHEST_DAY)
        angle = f"{days} * {number(2.0 * np.pi)} / {number(DAYS_A_YEAR)}"
        yield f"sin({angle})"
        yield f"cos({angle})"


def _state(query: Query, numbers: list[SQL]) -> SQL:
    if not numbers:
        return str(COMPLETE)
    has_gaps = in_pairs([f"{name} IS NULL" for name in numbers], "OR")
    is_infinite = in_pairs([f"abs({name}) > {query.dialect.number(LARGEST)}" for name in numbers], "OR")
    return first_true([(has_gaps, str(HAS_GAPS)), (is_infinite, str(IS_INFINITE))], str(COMPLETE))


# In databases with fast lists, squared radii are computed by polynomials if these have at most this error.
POLYNOMIAL_ERROR = 1e-9
# Coordinates this small are taken as zero: in PostgreSQL it is an error if their product underflows.
TINY = 1e-60
# Coordinates can be that small only if the shift is below this share of the scale; otherwise rounding prevents it.
TINY_SHIFT = 1e-44


@dataclass(frozen=True)
class Geometry:
    """Where rows lie, as columns of the query."""

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
    kinds = {geometry.smallest: geometry.squared, geometry.nearest: geometry.apart}
    query.add("nearby", {name: extreme(query.dialect.least, own) for name, own in kinds.items() if own})
    return geometry


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
    """A set as bits of integers, in the format of `sepc.model.membership.pack_sets`."""
    words = pack_sets(np.eye(len(unless), dtype=bool)).astype(np.int64).T.tolist()
    bits = [[(tests, bit) for tests, bit in zip(unless, word, strict=True) if bit] for word in words]
    return [
        f"CAST({total([first_true([(test, '0') for test in tests], str(bit)) for tests, bit in word])} AS BIGINT)"
        for word in bits
    ]


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
    # Larger classes win ties.
    *order, last = np.argsort(-model.shares, kind="stable").tolist()
    tests = [(f"{faded[c]} >= {largest} * {number(1.0 - TIE)}", str(c)) for c in order]
    query.add("labelled", {label: first_true(tests, str(last))})
    query.add("trusted", {trust: choose(label, faded)})


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


# Below all scores.
LOWEST = -1e300
PLACE, OFFSET, RUNNER_UP = "term_place", "term_average", "runner_up"


def add_terms(
    query: Query, model: SEPModel, weights: Weights, geometry: Geometry, codes: Sequence[SQL]
) -> Mapping[str, SQL]:
    """Add the terms of features, of the position relative to ellipsoids and isolated rows, and of an average row."""
    number, prefixed = query.dialect.number, query.prefixed
    names = [f"term_{j}" for j in range(len(model.feature_names))]
    if len(model.classes) == 1:
        return {name: number(0.0) for name in (*names, PLACE, OFFSET)} | {RUNNER_UP: "0"}
    label, second, runner_up = prefixed("label"), prefixed("second"), prefixed(RUNNER_UP)
    scores = [prefixed(f"o{c}") for c in range(len(model.classes))]
    others = [first_true([(f"{label} = {c}", number(LOWEST))], score) for c, score in enumerate(scores)]
    query.add("seconds", {second: extreme(query.dialect.greatest, others)})
    tests = [(f"{label} <> {c} AND {score} >= {second}", str(c)) for c, score in enumerate(scores)]
    query.add("runners_up", {runner_up: first_true(tests, str(len(scores) - 1))})

    def compared(by_class: Sequence[SQL]) -> SQL:
        return f"({choose(label, by_class)} - {choose(runner_up, by_class)})"

    by_feature = {
        prefixed(name): compared(_by_class(query, weights, geometry, codes, j)) for j, name in enumerate(names)
    }
    offsets = compared([number(float(value)) for value in weights.offsets - weights.offsets[0]])
    query.add("compared_terms", by_feature | {prefixed(OFFSET): offsets, prefixed("log_odds"): compared(scores)})
    query.add("placed_terms", {prefixed(PLACE): f"{prefixed('log_odds')} - {total([*by_feature, prefixed(OFFSET)])}"})
    return {name: prefixed(name) for name in (*names, PLACE, OFFSET, RUNNER_UP)}


def _by_class(query: Query, weights: Weights, geometry: Geometry, codes: Sequence[SQL], j: int) -> list[SQL]:
    """What a feature adds to the score of each class above that of the first."""
    dialect, (_, levels) = query.dialect, weights.curves[j]
    value = dialect.clip(geometry.rows[j], -LINE_END, LINE_END)
    starts = np.cumsum(weights.n_categories) - weights.n_categories
    columns = np.flatnonzero(weights.category_features == j).tolist()
    terms = [dialect.number(0.0)]
    for c in range(1, len(weights.offsets)):
        slope = dialect.number(float(weights.lines[j, c] - weights.lines[j, 0]))
        parts = [f"{slope} * {value}", dialect.look_up(levels[c] - levels[0], query.prefixed(f"k{j}"))]
        for q in columns:
            known = weights.category_levels[starts[q] : starts[q] + weights.n_categories[q]]
            parts.append(dialect.look_up([*(known[:, c] - known[:, 0]), 0.0], codes[q]))
        terms.append(total(parts))
    return terms
