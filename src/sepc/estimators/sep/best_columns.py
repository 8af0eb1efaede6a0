"""Choose the columns that a model relies on most, by a first fit with all of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sepc._typing import FloatArray, IntArray
from sepc.columns.preparation import Preparation
from sepc.columns.table import column_names, is_table
from sepc.estimators.sep.constraints import position_of_column
from sepc.estimators.sep.training_set import GivenColumns, is_collection
from sepc.model.rules import probabilities_of
from sepc.model.sep_model import SEPModel
from sepc.wording import counted

# The most rows on which columns are compared, and the smallest probability, so that logarithms stay finite.
COMPARED_ROWS = 1_000
LEAST_PROBABILITY = 1e-9


def best_columns(classifier: Any, X: Any, y: Any, sample_weight: Any) -> tuple[str, ...] | None:
    """The `max_features` columns that a model of all columns relies on most; None if it has no more than that.

    Columns that `monotone`, `features_alone` or `force_features` name are always among them.
    """
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
    first = clone(classifier).set_params(max_features=None, out_of_fold=False, verbose=False)
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
    """How much a model relies on each column: the mean absolute change of log-odds if its values are shuffled.

    Unlike the terms of a column, this includes what it adds through ellipsoids. Rows have no missing values.
    """
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
    columns, monotone = GivenColumns(len(names), tuple(names)), classifier.monotone
    if monotone is not None and not isinstance(monotone, Mapping):
        named = [name for name, direction in zip(names, monotone, strict=False) if direction]
    else:
        named = [names[position_of_column(columns, column, "monotone")] for column in monotone or ()]
    alone = [names[position_of_column(columns, column, "features_alone")] for column in classifier.features_alone or ()]
    return {*named, *alone, *map(str, classifier.force_features or ())}
