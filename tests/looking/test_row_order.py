"""Dates and drift are found, and rows without an order or in blocks of labels are not called ordered."""

import numpy as np
import pytest
from optional import package_or_skip
from scipy.stats import spearmanr

import sepc

pd = package_or_skip("pandas")


def row_findings(X, y=None):
    return [own for own in sepc.look(X, y) if own.about == "rows"]


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd")), rng.integers(2, size=n)


def test_rows_without_an_order_have_no_finding():
    found = [row_findings(*table(seed=seed)) for seed in range(40)]
    assert sum(map(len, found)) <= 1


def test_rows_sorted_by_label_are_no_drift_but_may_drift_within():
    X, y = table()
    y = np.sort(y)
    assert row_findings(X.assign(a=X["a"] + y * 3.0), y) == []
    (found,) = row_findings(X.assign(a=X["a"] + np.linspace(0, 3, len(X))), y)
    assert found.seen.startswith("1 of 4 columns drifts")
    assert "--test-last" not in found.advice


def test_drift_of_a_feature():
    X, y = table()
    X["b"] += np.linspace(0, 2, len(X))
    X["b"] += np.where(np.arange(len(X)) % 50 == 0, np.nan, 0.0)
    (found,) = row_findings(X, y)
    assert "'b' most" in found.seen
    assert "--test-last 0.3" in found.advice
    assert row_findings(X.to_numpy(), y)[0].seen.replace("'x1'", "'b'") == found.seen


def test_drift_of_labels_and_sorting():
    X, y = table()
    drifting_labels = np.random.default_rng(1).random(400) < np.linspace(0.2, 0.8, 400)
    (found,) = row_findings(X, drifting_labels)
    assert found.seen.startswith("labels drift")
    (found,) = row_findings(X.sort_values("c"), y)
    assert found.seen == "they are sorted by column 'c'"
    (found,) = row_findings(drifting(300, 0.95))
    assert "drifts" in found.seen


def drifting(n, r):
    """One column whose rank correlation with the row number is about r."""
    row = np.arange(n) - (n - 1) / 2
    noise = np.random.default_rng(0).normal(size=n)
    noise -= noise.mean() + row * (row @ noise) / (row @ row)
    column = r * row / row.std() + np.sqrt(1.0 - r * r) * noise / noise.std()
    assert spearmanr(np.arange(n), column)[0] == pytest.approx(r, abs=0.03)
    return column[:, None]


@pytest.mark.parametrize(
    ("n", "r", "n_others", "is_found"),
    [
        (99, 0.6, 0, False),  # too few rows
        (100, 0.6, 0, True),
        (100, 0.23, 0, False),  # chance gives as much in one table of 40
        (400, 0.23, 0, True),
        (100, 0.33, 0, True),  # in one of 400,
        (100, 0.33, 9, False),  # but not if there are ten columns
        (4000, 0.17, 0, False),  # certain, and too weak to matter
        (4000, 0.23, 0, True),
    ],
)
def test_how_many_rows_and_how_much_drift_it_takes(n, r, n_others, is_found):
    alike = np.random.default_rng(1).normal(size=(n, n_others))
    assert bool(row_findings(np.column_stack([drifting(n, r), alike]))) == is_found


@pytest.mark.parametrize("form", [None, "%Y-%m-%d", "%d/%m/%Y", "%d %b %Y", "%B %d, %Y"])
def test_dates_as_text_are_dates(form):
    X, y = table(n=50)
    days = pd.date_range("2024-01-01", periods=50)
    X["seen"] = days if form is None else days.strftime(form)
    assert len(row_findings(X)) == 1
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


@pytest.mark.parametrize("X", [np.array([["a", "b"]] * 200), np.empty((0, 2)), np.ones((200, 2))])
def test_nothing_to_see(X):
    assert row_findings(X, np.arange(len(X)) % 2) == []
