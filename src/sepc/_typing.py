"""Types used in annotations."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
# An array or a table, one row as a dict, or a list of such rows.
RowsLike: TypeAlias = ArrayLike | Mapping[str, Any] | Sequence[Mapping[str, Any]]


class LazyTable(Protocol):
    """A Dask collection."""

    def __dask_graph__(self) -> Any:
        """The task graph that computes it."""
