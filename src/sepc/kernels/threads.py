"""Use one BLAS thread where matrices are small and several threads would mostly wait for one another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import LibController, ThreadpoolController

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
