"""Answers on Dask collections: nothing is computed until it is asked for, block by block, where the blocks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features

# An answer on one block, from the block and the model.
BlockFunction = Callable[[Any, Any], Any]


def is_lazy(X: Any) -> bool:
    """Whether this is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def frame_of_blocks(function: BlockFunction, model: Any, X: Any, none: Any) -> Any:
    """A Dask DataFrame of what `function` gives for each block; `none` is its answer on no rows."""
    import dask.dataframe as dd
    from dask import delayed

    check_columns(model, X)
    if _is_frame(X):
        return X.map_partitions(function, model, meta=none)
    # As a task of its own the model is named and sent once, not for every block.
    there = delayed(model, pure=True, traverse=False)
    blocks = [delayed(function, pure=True)(block, there) for block in _whole_rows(X).to_delayed().ravel()]
    return dd.from_delayed(blocks, meta=none)


def array_of_blocks(function: BlockFunction, model: Any, X: Any, none: Any) -> Any:
    """A Dask array of what `function` gives for each block; `none` is its answer on no rows."""
    check_columns(model, X)
    if _is_frame(X):
        return X.map_partitions(function, model, meta=none)
    X = _whole_rows(X)
    shape = {"drop_axis": 1} if none.ndim == 1 else {"chunks": (X.chunks[0], (none.shape[1],))}
    return X.map_blocks(function, model, meta=none, **shape)


def check_columns(model: Any, X: Any) -> None:
    """Compare the columns with those of the model, which takes no row."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(
            f"X is a {type(X).__name__} of Dask's; expected a DataFrame, or an array with rows and columns."
        )
    example = _example(X) if _is_frame(X) else np.zeros((1, X.shape[1]))
    if hasattr(model, "check_columns"):
        model.check_columns(example)
    if hasattr(model, "n_features_in_"):
        _check_feature_names(model, example, reset=False)
        _check_n_features(model, example, reset=False)


def _example(X: Any) -> Any:
    """A few rows that Dask makes up, with the columns and types of a DataFrame."""
    from dask.dataframe.utils import make_meta, meta_nonempty

    return meta_nonempty(make_meta(X))


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def _whole_rows(X: Any) -> Any:
    """The array in blocks of whole rows."""
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
