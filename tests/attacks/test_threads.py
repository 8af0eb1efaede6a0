"""Eight threads share what has a state, and no row is lost; rows that a model refuses leave no trace."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from optional import package_or_skip
from sepc_benchmarks.attacking.monitors import labels_of, model_of, normal, started
from sepc_benchmarks.attacking.reviews import SEVERAL, desk

from sepc import SEPClassifier
from sepc.lifecycle import Monitor, ReviewQueue

pd = package_or_skip("pandas")

N_THREADS, N_CALLS, N_ROWS = 8, 30, 25
N_ALL = N_THREADS * N_CALLS * N_ROWS


@pytest.fixture(autouse=True)
def threads_take_turns_often():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def in_threads(work):
    """What `work` gives in each of eight threads, called with the thread's number."""
    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(work, range(N_THREADS)))


def batches(thread):
    rng = np.random.default_rng(thread)
    return [(X, labels_of(rng, X)) for X in (normal(rng, N_ROWS) for _ in range(N_CALLS))]


def test_a_monitor_counts_every_row_and_label():
    shared = started(np.random.default_rng(0))
    in_threads(lambda thread: [shared.update(X, y) for X, y in batches(thread)])
    assert shared.n_rows == N_ALL
    alone = shared.fresh()
    for thread in range(N_THREADS):
        for X, y in batches(thread):
            alone.update(X, y)
    assert shared.evidence().equals(alone.evidence())


@pytest.mark.slow
def test_a_monitor_is_merged_and_saved_while_rows_come():
    shared = started(np.random.default_rng(0))
    workers = [shared.fresh() for _ in range(2)]

    def work(thread):
        for X, y in batches(thread):
            workers[thread % 2].update(X, y)
            merged = shared.merge(*workers)
            assert merged.n_rows % N_ROWS == 0
            assert len(workers[thread % 2].to_bytes())
        return True

    assert all(in_threads(work))
    assert shared.merge(*workers).n_rows == N_ALL


def test_a_queue_counts_every_label_once():
    people = desk(np.random.default_rng(0), SEVERAL)

    def work(thread):
        rng, n_labels, numbers = np.random.default_rng(thread), 0, []
        for _ in range(N_CALLS):
            X, y = SEVERAL.draw(rng, 400)
            review = people.queue.choose(X, n_rows=5)
            people.queue.learn(review, y[review.positions])
            n_labels += len(review)
            numbers.append(review.number)
        return n_labels, numbers

    found = in_threads(work)
    numbers = [number for _, own in found for number in own]
    assert sorted(numbers) == list(range(1, N_THREADS * N_CALLS + 1))
    assert not people.queue.reviews_
    certificate = people.queue.certificate()
    assert certificate.n_waiting == 0
    assert 0 < certificate.n_labels <= sum(n_labels for n_labels, _ in found)


def test_a_model_decides_the_same_in_every_thread():
    X = normal(np.random.default_rng(0), 2000)
    model = model_of(normal, 3)
    first, *others = in_threads(lambda _: model.decide(X))
    assert all((one.trust == first.trust).all() and (one.region == first.region).all() for one in others)


def test_refused_rows_leave_no_trace():
    rng = np.random.default_rng(0)
    X = normal(rng, 1200)
    X, y = pd.DataFrame(X, columns=["width", "height"]), labels_of(rng, X)
    model = SEPClassifier(trust="counts").fit(X[:400], y[:400])
    monitor, queue = Monitor(model, X[400:800], y[400:800]), ReviewQueue(model, 10, rows=X[400:800], random_state=0)
    before, new = (monitor.to_bytes(), queue.to_bytes()), X[800:]
    for bad, said in (
        (new.rename(columns={"height": "Height"}), "'height'"),
        (new.assign(width=np.where(np.arange(len(new)) == 7, np.inf, new["width"])), "infinity"),
        (new[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=said):
            monitor.update(bad, y[800:][: len(bad)])
        with pytest.raises(ValueError, match=said):
            queue.choose(bad)
    assert (monitor.to_bytes(), queue.to_bytes()) == before
