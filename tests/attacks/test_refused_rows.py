"""Rows that a model refuses are not counted, and leave no trace in what has a state."""

import numpy as np
import pytest
from optional import package_or_skip
from sepc_benchmarks.attacking.monitors import labels_of, normal

from sepc import SEPClassifier
from sepc.lifecycle import Monitor, ReviewQueue

pd = package_or_skip("pandas")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = normal(rng, 1200)
    return pd.DataFrame(X, columns=["width", "height"]), labels_of(rng, X)


def bad_rows(X):
    return {
        "a column of another name": X.rename(columns={"height": "Height"}),
        "a row that is infinite": X.assign(width=np.where(np.arange(len(X)) == 7, np.inf, X["width"])),
        "no row": X[:0],
    }


@pytest.mark.parametrize("what", ["a column of another name", "a row that is infinite", "no row"])
def test_refused_rows_leave_no_trace(rows, what):
    X, y = rows
    model = SEPClassifier(trust="counts").fit(X[:400], y[:400])
    monitor, queue = Monitor(model, X[400:800], y[400:800]), ReviewQueue(model, 10, rows=X[400:800], random_state=0)
    before = monitor.to_bytes(), queue.to_bytes()
    bad = bad_rows(X[800:])[what]
    for use in (lambda: monitor.update(bad, y[800:][: len(bad)]), lambda: queue.choose(bad)):
        with pytest.raises(ValueError, match="no column 'height'|infinity|0 sample"):
            use()
    assert (monitor.to_bytes(), queue.to_bytes()) == before
