"""Columns with constraints: standalone, in one direction, or chosen by a first fit with all of them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sepc._typing import FloatArray, IntArray
from sepc.columns.kinds import Kind
from sepc.columns.preparation import Preparation
from sepc.columns.table import column_names, is_table
from sepc.estimators.base import column_position
from sepc.estimators.sep.training_set import GivenColumns, is_collection
from sepc.model.rules import probabilities_of
from sepc.model.sep_model import SEPModel
from sepc.model.standalone import DOWN, UP, Standalone
from sepc.wording import MOST_NAMES, counted, listed, shown

DIRECTIONS: dict[Any, int] = {"up": UP, "down": DOWN, UP: UP, DOWN: DOWN, 0: 0, None: 0}


def check_constraints(monotone: Any, features_alone: Any, trust: str) -> None:
    """Raise if these parameters are invalid whatever the columns are."""
    if monotone is None and features_alone is None:
        return
    if trust != "weights":
        named = "monotone" if monotone is not None else "features_alone"
        raise ValueError(f"{named} needs trust='weights'; with other kinds of trust, features have no curves.")
    if isinstance(features_alone, str) or not isinstance(features_alone, Collection | None):
        raise ValueError(f"features_alone is {features_alone!r}; it must be a list of columns, or None.")
    if isinstance(monotone, str) or not isinstance(monotone, Mapping | Sequence | np.ndarray | None):
        raise ValueError(f"monotone is {monotone!r}; it must be a mapping such as {{'income': 'up'}}, or a sequence.")
    given = () if monotone is None else monotone.values() if isinstance(monotone, Mapping) else list(monotone)
    for direction in given:
        if isinstance(direction, bool) or direction not in DIRECTIONS:
            raise ValueError(f"monotone has {direction!r}; a direction is 'up' or 'down' (or 1, 0, -1).")


def standalone_of(
    columns: GivenColumns, labels: NDArray[Any], monotone: Any, monotone_for: Any, features_alone: Any
) -> Standalone | None:
    """The standalone features of a fit, and their directions; None if there are none."""
    directions = _directions(columns, monotone)
    alone = {position_of_column(columns, column, "features_alone"): 0 for column in features_alone or ()}
    by_feature: dict[int, int] = {}
    for position, direction in (alone | directions).items():
        features = _features(columns, position, "monotone" if position in directions else "features_alone", direction)
        by_feature |= dict.fromkeys(features, direction)
    if not by_feature:
        return None
    if len(by_feature) == len(columns.feature_names):
        raise ValueError(
            f"monotone and features_alone name every feature (n_features = {len(by_feature)}), but ellipsoids need at "
            "least one that they do not name. Leave one out of them, such as one whose effect depends on others."
        )
    return Standalone.of(by_feature, _towards(labels, monotone_for, is_needed=bool(directions)))


def _directions(columns: GivenColumns, monotone: Any) -> dict[int, int]:
    """The direction of each column that has one, by position."""
    if not isinstance(monotone, Mapping | None):
        if len(monotone) != columns.n:
            raise ValueError(f"monotone has {len(monotone)} directions for {columns.n} columns; give one for each.")
        monotone = dict(enumerate(monotone))
    given = {position_of_column(columns, column, "monotone"): DIRECTIONS[to] for column, to in (monotone or {}).items()}
    return {position: direction for position, direction in given.items() if direction != 0}


def position_of_column(columns: GivenColumns, column: Any, parameter: str) -> int:
    """The position of a column, given its name or position."""
    return column_position(column, columns.names or [f"x{j}" for j in range(columns.n)], parameter)


def _features(columns: GivenColumns, position: int, parameter: str, direction: int) -> list[int]:
    """The features of a column; with a direction, the column must have an order."""
    if columns.preparation is None:
        return [position]
    column = columns.preparation.columns[position]
    if column.kind is Kind.LEFT_OUT:
        raise ValueError(
            f"{parameter} names {shown(column.name)}, which is left out ({column.why}). "
            f"Name it in force_features too, or take it out of {parameter}."
        )
    features = [j for j, (origin, _) in enumerate(columns.preparation.features) if origin == column.name]
    if direction and column.kind is Kind.CATEGORY:
        raise ValueError(
            f"monotone names {shown(column.name)}, which holds categories. Give it as numbers in their order, or name "
            "it in features_alone."
        )
    if direction and len(features) > 1:
        raise ValueError(
            f"monotone names {shown(column.name)}, whose time of year counts too. Give it as a number, such as days."
        )
    return features


def _towards(labels: NDArray[Any], monotone_for: Any, *, is_needed: bool) -> int:
    """The class that directions refer to."""
    known = labels.tolist()
    if monotone_for is None:
        if is_needed and len(known) > 2:
            raise ValueError(
                f"monotone needs monotone_for with more than two classes: the label that directions refer to, one of "
                f"{listed(map(shown, known), MOST_NAMES)}."
            )
        return min(1, len(known) - 1)
    if monotone_for not in known:
        raise ValueError(
            f"monotone_for is {monotone_for!r}; it must be one of {listed(map(shown, known), MOST_NAMES)}."
        )
    return int(known.index(monotone_for))


# The most rows on which columns are compared, and the smallest probability, so that logarithms stay finite.
COMPARED_ROWS = 1_000
LEAST_PROBABILITY = 1e-9


def best_columns(classifier: Any, X: Any, y: Any, sample_weight: Any) -> tuple[str, ...] | None:
    """The `max_features` columns that a model of all columns relies on most; None if it has no more than that."""
    if is_collection(X) or not is_table(X):
        raise TypeError(
            "max_features chooses among the columns of a table in memory; give a DataFrame, or leave it out."
        )
    names = [str(name) for name in column_names(X)]
    named = _named(classifier, names)
    if len(named) > classifier.max_features:
        raise ValueError(
            f"max_features is {classifier.max_features}, but monotone, features_alone and force_features name "
            f"{counted(len(named), 'column')}, which are always used. Raise max_features to {len(named)} or more."
        )
    first = clone(classifier).set_params(max_features=None, out_of_fold=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to the chosen columns warns again
        first.fit(X, y, sample_weight)
    few = np.linspace(0, len(y) - 1, min(len(y), COMPARED_ROWS)).astype(np.int64)
    sizes = reliance(first.model_, first.encoding_, first.decide(_safe_indexing(X, few)).rows)
    if len(sizes) <= classifier.max_features:
        return None
    order = sorted(sizes, key=lambda name: (name not in named, -sizes[name]))
    chosen = set(order[: classifier.max_features])
    return tuple(name for name in names if name in chosen)


def reliance(model: SEPModel, preparation: Preparation | None, rows: FloatArray) -> Mapping[str, float]:
    """How much a model relies on each column: the mean absolute change of log-odds if its values are shuffled."""
    before = _log_probabilities(model, rows)
    shuffled = np.random.default_rng(0).permutation(len(rows))
    sizes = {}
    for name, positions in _positions(model, preparation).items():
        changed = rows.copy()
        changed[:, positions] = rows[np.ix_(shuffled, positions)]
        sizes[name] = float(np.ptp(_log_probabilities(model, changed) - before, axis=1).mean())
    return sizes


def _log_probabilities(model: SEPModel, rows: FloatArray) -> FloatArray:
    return np.log(np.maximum(probabilities_of(model, rows), LEAST_PROBABILITY))


def _positions(model: SEPModel, preparation: Preparation | None) -> dict[str, IntArray]:
    """Where a row holds the features and the category code of each column."""
    if preparation is None:
        return {name: np.array([j]) for j, name in enumerate(model.feature_names)}
    origins, codes = [origin for origin, _ in preparation.features], list(preparation.categories)
    found = {}
    for name in dict.fromkeys(origins):
        features = [j for j, origin in enumerate(origins) if origin == name]
        code = [len(origins) + codes.index(name)] if name in codes else []
        found[name] = np.array([*features, *code])
    return found


def _named(classifier: Any, names: Sequence[str]) -> set[str]:
    """The columns that other parameters name."""
    columns, monotone, alone = GivenColumns(len(names), tuple(names)), classifier.monotone, classifier.features_alone
    if not isinstance(monotone, Mapping | None):
        monotone = [j for j, direction in enumerate(monotone) if direction]
    positions = [position_of_column(columns, column, "monotone") for column in monotone or ()]
    positions += [position_of_column(columns, column, "features_alone") for column in alone or ()]
    return {*(names[position] for position in positions), *map(str, classifier.force_features or ())}
