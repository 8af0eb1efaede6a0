"""Care for numbers: columns of extreme magnitude are scaled, and small matrices use one BLAS thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np
from threadpoolctl import LibController, ThreadpoolController

from sepc._typing import BoolArray, FloatArray
from sepc.points.in_memory import ArrayPoints
from sepc.points.reductions import ColumnRange

# Sums of squares in this range have neither overflowed nor lost digits to underflow.
SQUARES_FROM, SQUARES_TO = 1e-280, 1e280
# The thickness of a column that varies by less would have an infinite inverse; twice the upper limit overflows.
RANGE_FROM, RANGE_TO = 1e-301, 8e307
# A column that varies by less than this share of its unit is flat; its squares would be indistinguishable from zero.
NEGLIGIBLE = 1e-140


def divisors(points: ArrayPoints, unit: FloatArray | None = None) -> FloatArray | None:
    """Powers of two to divide the columns by, or None if sums of their squares are accurate as they are.

    If the `unit` of each column is given, variation far smaller than it is ignored.
    """
    squares = np.diag(points.spread.scatter)
    if squares.min() > SQUARES_FROM and squares.max() < SQUARES_TO:
        return None
    low, high = points.reduce(ColumnRange())
    extent = width(low, high)
    if unit is not None:
        extent = np.where(extent < NEGLIGIBLE * unit, 0.0, extent)
    refuse_unworkable(low, high, (extent > RANGE_TO) | ((extent > 0.0) & (extent < RANGE_FROM)))
    alike = extent.max() or 1.0 if unit is None else unit
    size = np.where(extent > 0.0, extent, np.maximum(np.abs(low), alike))
    sound = (size > SQUARES_FROM**0.5) & (size < SQUARES_TO**0.5)
    return None if sound.all() else power_of_two(size)


def width(low: FloatArray, high: FloatArray) -> FloatArray:
    """The range of each column; infinity if it is too large for a double."""
    with np.errstate(over="ignore"):
        return np.asarray(high - low)


def power_of_two(values: FloatArray) -> FloatArray:
    """The power of two just above each of the positive `values`: dividing by it loses no digits."""
    return np.ldexp(np.ones_like(values), np.minimum(np.frexp(values)[1], np.finfo(np.float64).maxexp - 1))


def refuse_unworkable(
    low: FloatArray, high: FloatArray, is_unworkable: BoolArray, names: Sequence[str] | None = None
) -> None:
    """Raise a ValueError for the first column marked as out of range for double precision."""
    for j in np.flatnonzero(is_unworkable).tolist():
        column = f"Column {j}" if names is None else f"Feature {names[j]!r}"
        action = "Divide" if high[j] > 1.0 or low[j] < -1.0 else "Multiply"
        raise ValueError(
            f"{column} ranges from {low[j]:.3g} to {high[j]:.3g}, which double precision "
            f"cannot handle. {action} it by a constant first."
        )


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@cache
def _blas_libraries() -> tuple[LibController, ...]:
    return tuple(library for library in ThreadpoolController().lib_controllers if library.user_api == "blas")


def single_threaded(solve: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Run `solve` with one BLAS thread and restore the number afterwards.

    With two threads on two busy cores, enclosing 570 rows of 30 features took twelve times as long as with one, and
    deciding on 200,000 rows four times as long. Avoiding threadpoolctl's context manager, which looks up the version of
    every library on each call, cuts the overhead from 20 to 2 microseconds if there is only one thread anyway.
    """

    @wraps(solve)
    def limited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        before = [(library, library.num_threads) for library in _blas_libraries()]
        several = [(library, n_threads) for library, n_threads in before if n_threads != 1]
        for library, _ in several:
            library.set_num_threads(1)
        try:
            return solve(*args, **kwargs)
        finally:
            for library, n_threads in several:
                library.set_num_threads(n_threads)

    return limited
