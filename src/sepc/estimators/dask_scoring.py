"""Lazy predictions on Dask collections, block by block, on the workers that hold the blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features

from sepc.estimators.given_rows import given_features, with_left_out

# Computes the result for one block, given the block and the model.
BlockFunction = Callable[[Any, Any], Any]


def is_lazy(X: Any) -> bool:
    """Whether this is a Dask collection."""
    return hasattr(type(X), "__dask_graph__")  # pandas takes ten times as long to find that an instance lacks it


def frame_of_blocks(function: BlockFunction, model: Any, X: Any, none: Any) -> Any:
    """Apply `function` to every block, as a Dask DataFrame; `none` is its result for zero rows."""
    import dask.dataframe as dd
    from dask import delayed

    check_columns(model, X, lambda example: given_features(model, example))
    if _is_frame(X):
        return X.map_partitions(function, model, meta=none)
    # As a task of its own, the model is hashed and sent once, not once per block.
    there = delayed(model, pure=True, traverse=False)
    blocks = [delayed(function, pure=True)(block, there) for block in _whole_rows(X).to_delayed().ravel()]
    return dd.from_delayed(blocks, meta=none)


def array_of_blocks(function: BlockFunction, model: Any, X: Any, none: Any) -> Any:
    """Apply `function` to every block, as a Dask array; `none` is its result for zero rows."""
    check_columns(model, X, lambda example: with_left_out(model, example))
    if _is_frame(X):
        return X.map_partitions(function, model, meta=none)
    X = _whole_rows(X)
    shape = {"drop_axis": 1} if none.ndim == 1 else {"chunks": (X.chunks[0], (none.shape[1],))}
    return X.map_blocks(function, model, meta=none, **shape)


def check_columns(model: Any, X: Any, taken: Callable[[Any], Any]) -> None:
    """Check the columns, converted by `taken`, against those of the model without computing a row."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(f"X is a Dask {type(X).__name__}; expected a DataFrame, or an array with rows and columns.")
    example = taken(_example(X) if _is_frame(X) else np.zeros((1, X.shape[1])))
    if hasattr(model, "check_columns"):
        model.check_columns(example)
    if hasattr(model, "n_features_in_"):
        _check_feature_names(model, example, reset=False)
        _check_n_features(model, example, reset=False)


def _example(X: Any) -> Any:
    """A few made-up rows with the columns and types of a Dask DataFrame."""
    from dask.dataframe.utils import make_meta, meta_nonempty

    return meta_nonempty(make_meta(X))


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def _whole_rows(X: Any) -> Any:
    """Rechunk the array so that every block holds whole rows."""
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
