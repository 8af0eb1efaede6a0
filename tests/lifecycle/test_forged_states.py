"""Files of queues and monitors whose numbers are impossibly large: refused, or of no consequence."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor, ReviewQueue
from sepc.lifecycle.reviewing.label_studio import from_label_studio, to_label_studio

HUGE = 10**400
X, Y = make_blobs(4000, centers=[[0, 0], [4, 0]], random_state=0)
Y = np.array(["blue", "red"])[Y]


@fitted_once
def shared_model():
    return SEPClassifier().fit(X[:1000], Y[:1000])


@pytest.fixture(scope="module")
def queue_bytes():
    """Of a queue with a review begun, and one of which no label has come."""
    queue = ReviewQueue(shared_model(), 60, coverage=0.8, certify_share=0.8, random_state=0)
    first, _ = queue.choose(X[1000:2000]), queue.choose(X[2000:3000])
    queue.learn(first, Y[1000:2000][first.positions[:40]], first.positions[:40], complete=False)
    return queue.to_bytes()


@pytest.fixture(scope="module")
def monitor_bytes():
    monitor = Monitor(shared_model(), X[1000:2000], Y[1000:2000])
    monitor.update(X[2000:] + [0.0, 1.0], Y[2000:])
    return monitor.to_bytes()


def changed(data, change):
    """The bytes of a file whose contents were changed and whose digest is right again."""
    arrays, content = decode(data)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays, content.get("queue", content.get("monitor")))
    return encode(arrays, content)


def many_bands(arrays, node):
    """So many that a plan for each would take 8 GB."""
    n = 30_000
    arrays["queue/least_trust"] = np.linspace(1.0, 0.0, n)
    arrays["queue/coverage"] = np.arange(1, n + 1) / n
    arrays["queue/claimed_risk"] = np.full(n, 0.1)
    for name in ("n_labels", "n_errors", "log_now", "log_peak"):
        arrays[f"queue/{name}"] = np.zeros(n)


def long_labels(arrays, node):
    """One label of 1,000 characters, for 50,000 rows."""
    n, review = 50_000, "queue/reviews/0"
    node["reviews"][0]["classes"] = {"type": "text", "values": ["blue", "r" * 1_000]}
    for name in ("band", "label"):
        arrays[f"{review}/{name}"] = np.zeros(n, dtype=np.int64)
    arrays |= {f"{review}/positions": np.arange(n), f"{review}/trust": np.zeros(n)}
    arrays |= {f"{review}/region": np.zeros(n, dtype=np.int64), f"{review}/region_share": np.zeros(n)}


QUEUES = {
    "more bands of trust than a queue makes": many_bands,
    "much more data than the file contains": long_labels,
    "n_chosen is out of range": lambda arrays, node: node.update(n_chosen=2**60),
    "budget is out of range": lambda arrays, node: node["settings"].update(budget=HUGE),
    "max_risk is inf, which is out of range": lambda arrays, node: node["settings"].update(max_risk=HUGE),
    "shares that no queue has": lambda arrays, node: node["settings"].update(max_risk=5e-324),
    "n_more is inf, which is out of range": lambda arrays, node: node["reviews"][0].update(n_more=HUGE),
    "log_peak contains numbers out of range": lambda arrays, node: arrays["queue/log_peak"].fill(1e308),
    "n_labels contains numbers out of range": lambda arrays, node: arrays["queue/n_labels"].fill(1e308),
    "claimed_risk contains numbers out of range": lambda arrays, node: arrays["queue/claimed_risk"].fill(5e-324),
    "draws that are no probabilities": lambda arrays, node: arrays["queue/begun/0/drawn"].fill(5e-324),
    "trust contains numbers out of range": lambda arrays, node: arrays["queue/reviews/0/trust"].fill(1e308),
    "region_share contains numbers out of range": lambda arrays, node: arrays["queue/reviews/0/region_share"].fill(
        -1.0
    ),
}


@pytest.mark.parametrize("told", QUEUES)
def test_numbers_that_no_queue_has_are_refused(queue_bytes, told):
    with pytest.raises(FormatError, match=told):
        ReviewQueue.from_bytes(changed(queue_bytes, QUEUES[told]), shared_model())


def test_a_budget_beyond_all_rows_draws_no_more_than_there_are(queue_bytes):
    data = changed(queue_bytes, lambda arrays, node: node["settings"].update(budget=10**12))
    queue = ReviewQueue.from_bytes(data, shared_model())
    review = queue.choose(X[3000:])
    assert 0 < len(review) <= 1000
    assert len(np.unique(review.positions)) == len(review)


def test_many_rows_are_drawn_in_little_time():
    queue = ReviewQueue(shared_model(), 10**9, coverage=0.8, random_state=0)
    rows = np.tile(X, (50, 1))
    assert len(queue.choose(rows)) > 100_000


def counts_that_overflow(arrays, node):
    """In 4,096 regions 2^52 rows would add up to 2^64, which an integer of 64 bits takes for 0."""
    arrays["monitor/own/total/rows"].fill(2**52)


def rows_without_windows(arrays, node):
    """As many rows as only a monitor with 42 windows has seen."""
    arrays["monitor/own/total/rows"][0] = 2**52
    node["own"]["latest"] = []
    for name in [name for name in arrays if name.startswith("monitor/own/latest/")]:
        del arrays[name]


def streams_that_overflow(arrays, node):
    """Each stream can be counted, but not all of them together."""
    arrays["monitor/own/total/rows"][0] = 2**53 - 10**6
    node["own"]["latest"] += [{"number": 1}] * (44 - len(node["own"]["latest"]))
    own = [name for name in arrays if name.startswith("monitor/own/")]
    for i in range(len(node["own"]["latest"])):
        for name in [name for name in own if name.startswith("monitor/own/total/")]:
            arrays.setdefault(name.replace("/total/", f"/latest/{i}/"), np.zeros_like(arrays[name]))
    other = {**node["own"], "segments": [{"token": "z", "start": 0}], "n_updates": 1}
    node["others"] = [other]
    for name in [name for name in arrays if name.startswith("monitor/own/")]:
        arrays[name.replace("/own/", "/others/0/")] = arrays[name]


MONITORS = {
    "has seen more rows than can be counted": streams_that_overflow,
    "counts more rows than there can be": counts_that_overflow,
    "has seen more rows than its windows tell": rows_without_windows,
    "log_evidence is inf, which is out of range": lambda arrays, node: node["alarms"][0].update(log_evidence=HUGE),
    "n_rows is out of range": lambda arrays, node: node["alarms"][0].update(n_rows=HUGE),
    "region is out of range": lambda arrays, node: node["alarms"][0].update(region=HUGE),
    "confidence is inf, which is out of range": lambda arrays, node: node.update(confidence=HUGE),
    "number is out of range": lambda arrays, node: node["own"]["latest"][0].update(number=HUGE),
}


@pytest.mark.parametrize("told", MONITORS)
def test_numbers_that_no_monitor_has_are_refused(monitor_bytes, told):
    with pytest.raises(FormatError, match=told):
        Monitor.from_bytes(changed(monitor_bytes, MONITORS[told]), shared_model())


def test_a_monitor_that_saw_rows_very_far_away_is_read_again():
    monitor = Monitor(shared_model(), X[1000:2000], Y[1000:2000])
    monitor.update(np.array([[1e200, 0.0], [-1e308, 1e308]]))
    assert Monitor.from_bytes(monitor.to_bytes(), shared_model()).to_bytes() == monitor.to_bytes()


def test_files_for_another_model_are_refused(queue_bytes, monitor_bytes):
    other = SEPClassifier().fit(X[:500], Y[:500])
    with pytest.raises(FormatError, match="review queue for another model"):
        ReviewQueue.from_bytes(queue_bytes, other)
    with pytest.raises(FormatError, match="monitor of another model"):
        Monitor.from_bytes(monitor_bytes, other)


def told_about(tasks):
    try:
        return f"{len(from_label_studio(tasks, shared_model().classes_).labels)} tasks are labelled"
    except ValueError as error:
        return str(error)


ODD = (None, 3, "x", [], {}, [3], [None], {"a": 1})


@pytest.mark.parametrize("path", [(), ("annotations",), ("annotations", 0), ("annotations", 0, "result"), ("data",)])
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_annotations_that_are_malformed_are_told_in_plain_words(path, value):
    review = ReviewQueue(shared_model(), 4, random_state=0).choose(X[3000:])
    tasks = json.loads(json.dumps(to_label_studio(review, X[3000:])))
    choice = {"from_name": "label", "value": {"choices": ["blue"]}}
    for task in tasks:
        task["annotations"] = [{"result": [choice]}]
    assert told_about(tasks) == "4 tasks are labelled"
    node, *inner = [tasks, 0, *path]
    for name in inner[:-1]:
        node = node[name]
    node[inner[-1]] = value
    assert "task" in told_about(tasks).lower()
    assert told_about(tasks) != "4 tasks are labelled"
