"""Dates and drift are found, and rows without an order or in blocks of labels are not called ordered."""

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc.looking import look

pd = package_or_skip("pandas")


def row_findings(X, y=None):
    return [own for own in sepc.look(X, y) if own.about == "rows"]


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd")), rng.integers(2, size=n)


def test_rows_without_an_order_have_no_finding():
    found = [row_findings(*table(seed=seed)) for seed in range(40)]
    assert sum(map(len, found)) <= 1


def test_rows_sorted_by_label_are_no_drift():
    X, y = table()
    y = np.sort(y)
    X["a"] += y * 3.0
    assert row_findings(X, y) == []


def test_drift_of_a_feature():
    X, y = table()
    X["b"] += np.linspace(0, 2, len(X))
    X["b"] += np.where(np.arange(len(X)) % 50 == 0, np.nan, 0.0)
    (found,) = row_findings(X, y)
    assert found.about == "rows"
    assert found.seen.startswith("1 of 4 columns drifts from the first row to the last, 'b' most")
    assert "--test-last 0.3" in found.advice
    assert row_findings(X.to_numpy(), y)[0].seen.replace("'x1'", "'b'") == found.seen


def test_drift_of_labels():
    X, _ = table()
    y = np.random.default_rng(1).random(400) < np.linspace(0.2, 0.8, 400)
    (found,) = row_findings(X, y)
    assert found.seen.startswith("labels drift from the first row to the last")


def test_rows_sorted_by_a_column():
    X, y = table()
    (found,) = row_findings(X.sort_values("c"), y)
    assert found.seen == "they are sorted by column 'c'"


def test_dates():
    X, y = table(n=50)
    X["seen"] = pd.date_range("2024-01-01", periods=50)
    (found,) = row_findings(X, y)
    assert found.seen == "column 'seen' holds dates, from 2024-01-01 to 2024-02-19"
    assert row_findings(X) == [found]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%d %b %Y", "%B %d, %Y"])
def test_dates_as_text_are_dates(form):
    X, y = table(n=50)
    X["seen"] = pd.date_range("2024-01-01", periods=50).strftime(form)
    (found,) = row_findings(X, y)
    assert found.seen == "column 'seen' holds dates, from 2024-01-01 to 2024-02-19"
    assert "--test-last 0.3" in found.advice


@pytest.mark.parametrize("written", ["€ {:,.2f}", "{:.1f} kg", "{:.2f}%", "{:.1f} days"])
def test_numbers_as_text_drift_as_numbers_do(written):
    X, y = table()
    drifting = 100 + X["b"] * 9 + np.linspace(0, 30, len(X))
    expected = row_findings(X.assign(b=drifting), y)[0].seen.split(" (")[0]
    (found,) = row_findings(X.assign(b=[written.format(x) for x in drifting]), y)
    assert found.seen.startswith(expected)


def test_the_kinds_of_columns_are_found_once(monkeypatch):
    calls = []
    kinds_of = look.kinds_of
    monkeypatch.setattr(look, "kinds_of", lambda *given: calls.append(given) or kinds_of(*given))
    sepc.look(*table())
    assert len(calls) == 1


@pytest.mark.parametrize("X", [np.array([["a", "b"]] * 200), np.empty((0, 2)), np.ones((200, 2))])
def test_nothing_to_see(X):
    assert row_findings(X, np.arange(len(X)) % 2) == []
