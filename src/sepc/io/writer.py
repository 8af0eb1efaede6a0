"""Write the parts of a model: values go into JSON nodes, arrays beside them under the path of their node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.io.container import Arrays

Node = dict[str, Any]


@dataclass(frozen=True)
class Writer:
    """Collects arrays, each named after the path of the node it belongs to."""

    path: str = ""
    arrays: Arrays = field(default_factory=dict)

    def under(self, name: str | int) -> Writer:
        """A writer for a part of this node."""
        return Writer(f"{self.path}{name}/", self.arrays)

    def put(self, **arrays: NDArray[Any]) -> None:
        """Store arrays of this node as float64, int64 or bool."""
        for name, array in arrays.items():
            kind = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[np.asarray(array).dtype.kind]
            self.arrays[self.path + name] = np.ascontiguousarray(array, dtype=kind)
