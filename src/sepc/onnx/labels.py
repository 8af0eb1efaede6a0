"""Labels as ONNX holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def label_constant(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The labels as a constant, and its type; TypeError if ONNX has no type for them.

    Examples
    --------
    >>> label_constant(np.array([3, 7], dtype=np.int8))
    (array([3, 7]), 'INT64')
    >>> label_constant(np.array(["no", "yes"]))[1]
    'STRING'
    """
    kinds = {type(one) for one in classes.tolist()}
    if kinds == {str}:
        return classes.astype(object), "STRING"
    if kinds == {bool}:
        return classes.astype(np.bool_), "BOOL"
    if kinds == {int} and max(classes.tolist()) < 2**63:
        return classes.astype(np.int64), "INT64"
    if kinds == {float}:
        return classes.astype(np.float64), "DOUBLE"
    found = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(
        f"The labels are of type {found}; ONNX holds whole numbers below 2**63, floats, booleans or text, of one type "
        "for all classes. Fit with such labels."
    )
