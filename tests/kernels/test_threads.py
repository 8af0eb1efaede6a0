"""One BLAS thread while a kernel runs, and as many as before afterwards."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sepc.kernels.threads import single_threaded


def n_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("before", [1, 2])
def test_one_thread_inside_and_as_many_as_before_outside(before):
    with threadpool_limits(before, user_api="blas"):
        assert single_threaded(n_threads)() == {1}
        assert n_threads() == {before}


def test_threads_come_back_after_an_error():
    def fail():
        raise ZeroDivisionError

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            single_threaded(fail)()
        assert n_threads() == {2}
