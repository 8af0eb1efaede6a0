"""One BLAS thread while a kernel runs, and as many as before afterwards."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sepc.kernels.threads import single_threaded


def n_threads():
    """Threads of each BLAS library; some, that solvers bring along, never have more than one."""
    return {own["filepath"]: own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}


@pytest.mark.parametrize("before", [1, 2])
def test_one_thread_inside_and_as_many_as_before_outside(before):
    with threadpool_limits(before, user_api="blas"):
        usual = n_threads()
        assert max(usual.values()) == before
        assert set(single_threaded(n_threads)().values()) == {1}
        assert n_threads() == usual


def test_threads_come_back_after_an_error():
    def fail():
        raise ZeroDivisionError

    with threadpool_limits(2, user_api="blas"):
        usual = n_threads()
        with pytest.raises(ZeroDivisionError):
            single_threaded(fail)()
        assert n_threads() == usual
