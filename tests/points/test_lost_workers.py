"""Workers that die during a fit: the model stays the same bit for bit; without any worker, a clear error."""

import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from optional import package_or_skip
from same_model import assert_same_model, draw, fitted_on_blocks

from sepc import SEPClassifier

da = package_or_skip("dask.array")
N, D, BLOCKS = 3000, 3, 6

pytestmark = pytest.mark.cluster


def classifier():
    return SEPClassifier(n_impure=0.05, max_ellipsoids=2)


@pytest.fixture(scope="module")
def rows():
    return draw(N, D)


@pytest.fixture(scope="module")
def undisturbed(rows):
    return fitted_on_blocks(classifier(), *(np.array_split(part, BLOCKS) for part in rows))


@pytest.fixture
def killing(monkeypatch):
    """A function that has worker processes killed, right when the n-th pass begins to wait for them."""
    from sepc.points import engines

    def at(n, victims):
        n_passes, waiting = 0, engines.answers_of

        def answers(client, futures):
            nonlocal n_passes
            n_passes += 1
            if n_passes == n:
                for pid in victims():
                    os.kill(pid, signal.SIGKILL)
            return waiting(client, futures)

        monkeypatch.setattr(engines, "answers_of", answers)
        return lambda: n_passes

    return at


def fit(X, y):
    return classifier().fit(da.from_array(X, (N // BLOCKS, D)), da.from_array(y, N // BLOCKS))


@contextmanager
def two_workers(distributed):
    """The client of a cluster of two worker processes that are started again when they die."""
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with distributed.LocalCluster(n_workers=2, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def nannied(distributed):
    with two_workers(distributed) as client:
        yield client


@pytest.fixture
def fresh(distributed):
    """Two workers for one test: those that kill both sometimes leave a nanny that is not heard of again."""
    with two_workers(distributed) as client:
        yield client


@pytest.fixture
def pids(nannied):
    """The processes of both workers, once both are there; a nanny gives up if its worker dies while it starts."""
    for _ in range(300):
        running = nannied.run(os.getpid, on_error="ignore").values()
        if len(running) == 2:
            return list(running)
        time.sleep(0.2)
    raise AssertionError("the workers did not come back")


@pytest.mark.quick_cases("4")
@pytest.mark.parametrize("n", [1, 4])
def test_a_worker_killed_in_mid_fit_changes_nothing(n, pids, rows, undisturbed, killing):
    n_passes = killing(n, lambda: pids[:1])
    assert_same_model(fit(*rows), undisturbed)
    assert n_passes() > 4


@pytest.fixture
def mortal(distributed):
    """A cluster of one worker process that nobody restarts."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker"]
    with (
        distributed.LocalCluster(
            n_workers=0, processes=True, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster),
    ):
        options = ("--no-nanny", "--nthreads", "1", "--no-dashboard")
        process = subprocess.Popen([*command, cluster.scheduler_address, *options], stderr=subprocess.DEVNULL)
        yield process
        process.kill()
        process.wait()


def test_without_any_worker_left_one_line_says_so(mortal, rows, killing, monkeypatch):
    from sepc.points import engines

    monkeypatch.setattr(engines, "PATIENCE", 2.0)
    killing(3, lambda: [mortal.pid])
    with pytest.raises(RuntimeError, match="no worker") as error:
        fit(*rows)
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__


def test_blocks_that_kill_every_worker_are_told(fresh, rows):
    def give_up_at_once(dask_scheduler=None):
        dask_scheduler.allowed_failures = 0

    fresh.run_on_scheduler(give_up_at_once)
    lazy = da.from_array(rows[0], (N, D)).map_blocks(die, meta=np.empty((0, D)))
    with pytest.raises(RuntimeError, match="Several workers"):
        classifier().fit(lazy, rows[1])


def die(block):
    os.kill(os.getpid(), signal.SIGKILL)


def test_both_workers_killed_and_restarted_change_nothing(fresh, rows, undisturbed, killing):
    killing(4, lambda: fresh.run(os.getpid).values())
    assert_same_model(fit(*rows), undisturbed)
