"""Files of queues and monitors: both go on as if never stopped, and what is damaged, foreign or forged is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from blobs import DAYS, X, Y, shared_model
from optional import package_or_skip
from sklearn.linear_model import LogisticRegression

import sepc
from sepc import SEPClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor, ReviewQueue

pd = package_or_skip("pandas")
HUGE = 10**400


def made_queue():
    """With a review learnt, one begun, and one of which no label has come."""
    queue = ReviewQueue(shared_model(), 60, coverage=0.8, certify_share=0.8, random_state=0)
    first, second, _ = (queue.choose(X[day]) for day in DAYS[:3])
    queue.learn(first, Y[DAYS[0]][first.positions])
    some = np.r_[0:22, 25:40]
    queue.learn(second, Y[DAYS[1]][second.positions[some]], second.positions[some], complete=False)
    return queue


def made_monitor():
    monitor = Monitor(shared_model(), X[DAYS[0]], Y[DAYS[0]])
    assert monitor.update(X[2000:4000] + [0.0, 1.0], Y[2000:4000])
    return monitor


@pytest.fixture(scope="module")
def data():
    """The bytes of a queue and of a monitor."""
    return {ReviewQueue: made_queue().to_bytes(), Monitor: made_monitor().to_bytes()}


def finished(queue):
    """The certificate after all labels that are out, and those of another day."""
    for number in list(queue.reviews_):
        review = queue.reviews_[number]
        queue.learn(review, Y[DAYS[number - 1]][review.positions])
    review = queue.choose(X[DAYS[3]])
    return review.positions.tolist(), queue.learn(review, Y[DAYS[3]][review.positions])


def test_a_saved_queue_goes_on_as_if_nothing_had_been(tmp_path):
    queue = made_queue()
    queue.save(tmp_path / "queue.sepc")
    again = ReviewQueue.load(tmp_path / "queue.sepc", shared_model())
    assert again.to_bytes() == queue.to_bytes()
    assert again.certificate() == queue.certificate()
    assert again.certificate().n_waiting > 0
    assert list(again.reviews_) == [2, 3]
    assert str(again.reviews_[3]) == str(queue.reviews_[3])
    assert again.reviews_[3].why(0) == queue.reviews_[3].why(0)
    np.testing.assert_array_equal(again.reviews_[3].label, queue.reviews_[3].label)
    assert finished(again) == finished(queue)
    assert again.to_bytes() == queue.to_bytes()


def test_a_saved_monitor_goes_on_also_with_a_model_from_a_file(tmp_path):
    monitor = made_monitor()
    monitor.save(tmp_path / "watch.sepc")
    sepc.save(shared_model(), tmp_path / "model.sepc")
    again = Monitor.load(tmp_path / "watch.sepc", sepc.load(tmp_path / "model.sepc"))
    assert again.alarms == monitor.alarms
    assert again.to_bytes() == monitor.to_bytes()
    assert len(again.to_bytes()) < 10_000 + 2_000 * len(monitor.alarms)
    assert again.update(X[4000:], Y[4000:]) == monitor.update(X[4000:], Y[4000:])
    pd.testing.assert_frame_equal(again.evidence(), monitor.evidence())
    np.testing.assert_array_equal(again.decide(X).cause, monitor.decide(X).cause)
    monitor.update(np.array([[1e200, 0.0], [-1e308, 1e308]]))
    assert Monitor.from_bytes(monitor.to_bytes(), shared_model()).to_bytes() == monitor.to_bytes()


def test_queues_without_a_first_day_or_regions():
    queue = ReviewQueue(shared_model(), np.int64(10), random_state=3)
    again = ReviewQueue.from_bytes(queue.to_bytes(), shared_model())
    assert again.choose(X[DAYS[0]]).positions.tolist() == queue.choose(X[DAYS[0]]).positions.tolist()
    model = LogisticRegression().fit(X[:500], Y[:500])
    queue = ReviewQueue(model, 10, random_state=0)
    queue.choose(X[DAYS[0]])
    again = ReviewQueue.from_bytes(queue.to_bytes(), model)
    assert again.reviews_[1].region is None
    assert again.to_bytes() == queue.to_bytes()
    with pytest.raises(TypeError, match="MT19937"):
        ReviewQueue(shared_model(), 10, random_state=np.random.Generator(np.random.MT19937(0))).to_bytes()


@pytest.mark.parametrize("kind", [ReviewQueue, Monitor])
def test_files_for_another_model_of_another_kind_or_damaged_are_refused(kind, data, tmp_path):
    for other in (SEPClassifier().fit(X[:500], Y[:500]), LogisticRegression().fit(X[:500], Y[:500])):
        with pytest.raises((FormatError, TypeError)):
            kind.from_bytes(data[kind], other)
    with pytest.raises(FormatError, match="another model"):
        kind.from_bytes(data[kind], SEPClassifier().fit(X[:500], Y[:500]))
    sepc.save(shared_model(), tmp_path / "model.sepc")
    with pytest.raises(FormatError, match="is not a"):
        kind.load(tmp_path / "model.sepc", shared_model())
    (tmp_path / "state.sepc").write_bytes(data[kind])
    with pytest.raises(FormatError):
        sepc.load(tmp_path / "state.sepc")
    damaged = bytearray(data[kind])
    damaged[-5] ^= 1
    with pytest.raises(FormatError, match="damaged"):
        kind.from_bytes(bytes(damaged), shared_model())


def changed(data, change):
    """The bytes of a file whose contents were changed and whose digest is right again."""
    arrays, content = decode(data)
    arrays = {name: array.copy() for name, array in arrays.items()}
    content = json.loads(
        json.dumps({name: content[name] for name in ("library", "queue", "monitor") if name in content})
    )
    change(arrays, content.get("queue", content.get("monitor")))
    return encode(arrays, content)


def test_a_budget_beyond_all_rows_draws_no_more_than_there_are_and_quickly(data):
    more = changed(data[ReviewQueue], lambda arrays, node: node.update(budget=10**12))
    review = ReviewQueue.from_bytes(more, shared_model()).choose(X[4000:5000])
    assert 0 < len(review) <= 1000
    assert len(np.unique(review.positions)) == len(review)
    queue = ReviewQueue(shared_model(), 10**9, coverage=0.8, random_state=0)
    assert len(queue.choose(np.tile(X, (40, 1)))) > 100_000


def many_bands(arrays, node):
    """So many that a plan for each would take 8 GB."""
    n = 30_000
    arrays["queue/evidence/least_trust"] = np.linspace(1.0, 0.0, n)
    arrays["queue/evidence/coverage"] = np.arange(1, n + 1) / n
    arrays["queue/evidence/claimed_risk"] = np.full(n, 0.1)
    for name in ("n_labels", "n_errors", "log_now", "log_peak"):
        arrays[f"queue/evidence/{name}"] = np.zeros(n)


def long_labels(arrays, node):
    """One label of 1,000 characters, for 50,000 rows."""
    n, review = 50_000, "queue/begun/0/rows"
    node["begun"][0]["rows"]["classes"] = {"type": "text", "values": ["blue", "r" * 1_000]}
    for name in ("label", "region"):
        arrays[f"{review}/{name}"] = np.zeros(n, dtype=np.int64)
    arrays |= {f"{review}/positions": np.arange(n), f"{review}/trust": np.zeros(n)}
    arrays |= {f"{review}/region_share": np.zeros(n), "queue/begun/0/found": np.full(n, -1)}
    node["begun"][0]["n_counted"] = 0


def counts_that_overflow(arrays, node):
    """In 4,096 regions 2^52 rows would add up to 2^64, which an integer of 64 bits takes for 0."""
    arrays["monitor/total/rows"].fill(2**52)


def rows_without_windows(arrays, node):
    """As many rows as only a monitor with 42 windows has seen."""
    arrays["monitor/total/rows"][0] = 2**52
    node["latest"] = []
    for name in [name for name in arrays if name.startswith("monitor/latest/")]:
        del arrays[name]


def array(name, change, prefix="queue/"):
    """A change of one array in place."""

    def changes(arrays, node):
        change(arrays[prefix + name])

    return changes


def every(name, value):
    return array(name, lambda own: own.fill(value))


def one(name, place, value):
    return array(name, lambda own: own.__setitem__(place, value), "monitor/")


def settings(**values):
    return lambda arrays, node: node.update(values)


def first_alarm(**values):
    return lambda arrays, node: node["alarms"][0].update(values)


# What is said, and how the file comes to it.
FORGED = {
    ReviewQueue: {
        "trust bands than": many_bands,
        "more data than": long_labels,
        "n_chosen is out of range": lambda arrays, node: node.update(n_chosen=2**60),
        "budget is out of range": settings(budget=HUGE),
        "max_risk is inf": settings(max_risk=HUGE),
        "shares out of range": settings(max_risk=5e-324),
        "shares out of": settings(max_risk=1.0),
        "n_more is inf": lambda arrays, node: node["begun"][0]["rows"].update(n_more=HUGE),
        "log_peak contains": every("evidence/log_peak", 1e308),
        "n_labels contains": every("evidence/n_labels", 1e308),
        "claimed_risk contains": every("evidence/claimed_risk", 5e-324),
        "not probabilities": every("begun/0/drawn", 5e-324),
        "are not probabilities": array("begun/0/drawn", lambda own: np.add(own, 1.0, out=own)),
        "trust contains": every("begun/0/rows/trust", 1e308),
        "region_share contains": every("begun/0/rows/region_share", -1.0),
        "log_peak is missing": lambda arrays, node: arrays.pop("queue/evidence/log_peak"),
        "more errors than": lambda arrays, node: arrays["queue/evidence/n_errors"].__iadd__(
            arrays["queue/evidence/n_labels"] + 1.0
        ),
        "not nested": array("evidence/least_trust", lambda own: own.__setitem__(slice(None), own[::-1].copy())),
        "or a wrong target": lambda arrays, node: node["evidence"].update(target=99),
        "do not match": lambda arrays, node: node["begun"][0].update(rows=None),
        "other bands": lambda arrays, node: node["begun"][0]["rows"].update(aim=99),
        "regions that the model": every("begun/0/rows/region", 10_000),
        "does not have": lambda arrays, node: node["begun"][0].update(n_counted=25),
        "never chosen": lambda arrays, node: node["begun"][-1].update(number=4),
        "not a review of this queue": every("begun/0/rows/positions", 1),
        "generator state": lambda arrays, node: node["draws"].update(inc="2"),
        "no review queue has": lambda arrays, node: arrays.update({"queue/strange": np.zeros(1)}),
    },
    Monitor: {
        "more rows than there can": counts_that_overflow,
        "windows that do not match": rows_without_windows,
        "log_evidence is inf": first_alarm(log_evidence=HUGE),
        "n_rows is out of range": first_alarm(n_rows=HUGE),
        "region is out of range": first_alarm(region=HUGE),
        "confidence is inf": lambda arrays, node: node.update(confidence=HUGE),
        "impossible": lambda arrays, node: node.update(confidence=1.0),
        "number is out of range": lambda arrays, node: node["latest"][0].update(number=HUGE),
        "not watched": first_alarm(region=10_000),
        "is not watched": first_alarm(kind="share", region=-2),
        "rows than there are": one("latest/0/labelled", 0, 9_999),
        "rows above a cut": one("total/beyond", (0, 0), 9_999),
        "does not have": first_alarm(moved=[{"name": "x9", "shift": 1.0}]),
        "the model does not have": lambda arrays, node: node["alarms"][0]["columns"][0].update(name="x9"),
        "where its rows come from": lambda arrays, node: node.update(sources=[]),
        "say where its rows": lambda arrays, node: node.update(sources=["a", "a"]),
        "more errors": one("total/errors", 0, 10_000),
        "out of range": one("reference/rows", 0, -1),
        "no monitor has": lambda arrays, node: arrays.update(more=np.zeros(1)),
        "NaN": one("total/sums", (0, 0), np.nan),
    },
}


@pytest.mark.parametrize(("kind", "said"), [(kind, said) for kind, all_said in FORGED.items() for said in all_said])
def test_what_no_queue_or_monitor_has_is_refused(kind, said, data):
    with pytest.raises(FormatError, match=said):
        kind.from_bytes(changed(data[kind], FORGED[kind][said]), shared_model())
