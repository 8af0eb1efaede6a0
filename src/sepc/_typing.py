"""Types used in annotations."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]


class LazyTable(Protocol):
    """A Dask collection."""

    def __dask_graph__(self) -> Any:
        """The task graph that computes it."""
