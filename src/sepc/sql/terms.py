"""What each feature adds to the log-odds of a label against the runner-up: mirrors `sepc.model.terms`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sepc.model.sep_model import SEPModel
from sepc.model.weights import LINE_END, Weights
from sepc.sql.expressions import SQL, choose, extreme, first_true, total
from sepc.sql.locating import Geometry
from sepc.sql.query import Query

# Below all scores.
LOWEST = -1e300
PLACE, OFFSET, RUNNER_UP = "term_place", "term_average", "runner_up"


def add_terms(
    query: Query, model: SEPModel, weights: Weights, geometry: Geometry, codes: Sequence[SQL]
) -> Mapping[str, SQL]:
    """Add the terms of features, of the position relative to ellipsoids and isolated rows, and of an average row.

    Returns their names without the prefix, and their columns. Needs the stages of `add_labels`.
    """
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
