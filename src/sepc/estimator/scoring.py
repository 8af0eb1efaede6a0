"""Decisions on Dask collections: nothing is computed until it is asked for, block by block, where the blocks are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray
from sepc.estimator.training import is_lazy


class FromDecisions:
    """Labels and probabilities of a classifier that has `decide`, also of Dask collections."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of rows; of a Dask collection, a Dask array of them."""
        if is_lazy(X):
            return cast(NDArray[Any], labels_of_blocks(self, X))
        return cast(NDArray[Any], cast(Any, self).decide(X).label)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes where each row lies, of shape (n, C); of a Dask collection, a Dask array."""
        if is_lazy(X):
            return cast(FloatArray, probabilities_of_blocks(self, X))
        return cast(FloatArray, cast(Any, self).decide(X).probabilities)


def decisions_of_blocks(estimator: Any, X: Any) -> Any:
    """A Dask DataFrame with the columns of ``Decisions.to_frame``."""
    import dask.dataframe as dd
    from dask import delayed

    meta = _frame(_example(estimator, X), estimator)[:0]
    if _is_frame(X):
        return X.map_partitions(_frame, estimator, meta=meta)
    # As a task of its own the estimator is named and sent once, not for every block.
    there = delayed(estimator, pure=True, traverse=False)
    blocks = [delayed(_frame, pure=True)(block, there) for block in _whole_rows(X).to_delayed().ravel()]
    return dd.from_delayed(blocks, meta=meta)


def labels_of_blocks(estimator: Any, X: Any) -> Any:
    """A Dask array of labels."""
    return _array(_labels, estimator, X)


def probabilities_of_blocks(estimator: Any, X: Any) -> Any:
    """A Dask array of probabilities, of shape (n, C)."""
    return _array(_probabilities, estimator, X)


def _array(function: Callable[[Any, Any], Any], estimator: Any, X: Any) -> Any:
    meta = function(_example(estimator, X), estimator)[:0]
    if _is_frame(X):
        return X.map_partitions(function, estimator, meta=meta)
    X = _whole_rows(X)
    shape = {"drop_axis": 1} if meta.ndim == 1 else {"chunks": (X.chunks[0], (meta.shape[1],))}
    return X.map_blocks(function, estimator, meta=meta, **shape)


def _frame(block: Any, estimator: Any) -> Any:
    frame = estimator.decide(_some(block)).to_frame()[: len(block)]
    return frame.set_index(block.index) if hasattr(block, "index") else frame


def _labels(block: Any, estimator: Any) -> Any:
    return estimator.predict(_some(block))[: len(block)]


def _probabilities(block: Any, estimator: Any) -> Any:
    return estimator.predict_proba(_some(block))[: len(block)]


def _some(block: Any) -> Any:
    """The block, or a row of zeros if it has none: scikit-learn refuses tables without rows."""
    if len(block):
        return block
    return block.reindex([0], fill_value=0.0) if hasattr(block, "reindex") else np.zeros((1, block.shape[1]))


def _example(estimator: Any, X: Any) -> Any:
    """One row as the blocks hold them, which is enough to check the columns."""
    check_is_fitted(estimator)
    if getattr(X, "ndim", None) != 2:
        raise ValueError(
            f"X is a {type(X).__name__} of Dask's; expected a DataFrame, or an array with rows and columns."
        )
    return X._meta_nonempty[:1] if _is_frame(X) else np.zeros((1, X.shape[1]))


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def _whole_rows(X: Any) -> Any:
    """The array in blocks of whole rows."""
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
