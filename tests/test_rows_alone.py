"""A row alone is decided bit for bit as in any batch, by every estimator."""

from dataclasses import fields
from functools import cache
from typing import Any

import cases
import numpy as np
import pytest
from optional import package_or_skip
from sklearn.tree import DecisionTreeClassifier
from weekly import weekly
from zoo import fitted_once

import sepc
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.lifecycle import repair

da, pd = package_or_skip("dask.array"), package_or_skip("pandas")

# Not of the row: what all rows share, and where a row stands in this batch.
NOT_OF_THE_ROW = {"classes", "index", "position"}
MODELS: dict[str, Any] = {
    "weights": SEPClassifier,
    "counts": lambda: SEPClassifier(trust="counts"),
    "published": SEPClassifier.as_published,
    "trusted": lambda: TrustedClassifier(DecisionTreeClassifier(max_depth=5, random_state=0), cv=2),
    "selective": lambda: SelectiveClassifier(SEPClassifier(), 0.1, random_state=0),
    "stratified": lambda: RoutedClassifier(SEPClassifier(), by=[0], min_rows=40),
}


@cache
def training_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    X = cases.clustered(rng, 400, 9) + 2.0 * y[:, None]
    X[:, 0] = rng.integers(2, size=400)
    return X, y


@cache
def new_rows():
    rng = np.random.default_rng(1)
    X = training_rows()[0]
    return np.concatenate([X[:150], X[150:250] + rng.normal(size=(100, 9)), X[:40] * 7.0, X[:10] * 1e30])


@fitted_once
def fitted(name):
    X, y = training_rows()
    if name.startswith("repaired"):
        first = SEPClassifier().fit(X, y)
        wrong = np.random.default_rng(2).permutation(y)
        regions = range(len(first.regions_) if name == "repaired everywhere" else 8)
        return repair(first, X + 1e-3, wrong, regions=regions, confidence=0.0, cv=2)
    return MODELS[name]().fit(X, y)


def bits(decisions):
    """Every array of the decisions with an entry for each row, and the estimator's own columns, as bytes."""
    found = {field.name: getattr(decisions, field.name) for field in fields(decisions)}
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    arrays |= {name: np.asarray(column) for name, column in decisions._extra_columns().items()}
    return {
        name: [repr(entry) if array.dtype == object else entry.tobytes() for entry in np.ascontiguousarray(array)]
        for name, array in arrays.items()
        if name not in NOT_OF_THE_ROW
    }


@cache
def together(name):
    return bits(fitted(name).decide(new_rows()))


def check(name, rows, which):
    for column, entries in bits(fitted(name).decide(rows)).items():
        assert entries == [together(name)[column][i] for i in which], column


EVERY = [*MODELS, "repaired", weekly("repaired everywhere")]


@pytest.mark.parametrize("name", EVERY)
def test_in_some_batches(name):
    for size, step in ((1, 59), (3, 59), (64, 59), (100, 100)):
        for start in range(0, 300, step):  # the last rows lie far away
            check(name, new_rows()[start : start + size], range(start, min(start + size, 300)))
    assert name != "repaired" or fitted(name).decide(new_rows()).is_repaired.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_row_alone(name):
    for i in range(300):
        check(name, new_rows()[i : i + 1], [i])


@pytest.mark.parametrize("name", EVERY)
def test_in_any_order_and_layout(name):
    rows, n = new_rows(), 300
    spread_out = np.zeros((n, 2 * rows.shape[1] + 1))
    spread_out[:, 1::2] = rows
    check(name, rows[::-1], range(n - 1, -1, -1))
    check(name, rows[5::3], range(5, n, 3))
    check(name, np.asfortranarray(rows), range(n))
    check(name, spread_out[:, 1::2], range(n))
    check(name, np.concatenate([rows] * 30)[-n:], range(n))


@pytest.mark.parametrize("name", EVERY)
def test_on_dask(name):
    lazy = sepc.decide(fitted(name), da.from_array(new_rows(), chunks=(70, -1))).compute(scheduler="synchronous")
    here = sepc.decide(fitted(name), new_rows()).to_frame()
    pd.testing.assert_frame_equal(lazy.reset_index(drop=True), here, check_exact=True)


def test_the_terms_of_a_row():
    terms = fitted("weights").decide(new_rows()).terms()
    assert len(fitted("weights").model_.isolated) > 1
    for i in range(0, 300, 7):
        alone = fitted("weights").decide(new_rows()[i : i + 1]).terms()
        for name in ("offset", "features", "ellipsoids", "isolated", "fading"):
            assert getattr(alone, name)[0].tobytes() == getattr(terms, name)[i].tobytes(), name
