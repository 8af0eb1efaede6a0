"""A table of loans that the tests of recourse share: numbers, whole numbers, categories and a date."""

import warnings
from functools import cache

import numpy as np
from optional import package_or_skip

from sepc import SEPClassifier
from sepc.errors import LeftOutWarning
from sepc.model.membership import squared_radii
from sepc.recourses.given_limits import given_limits
from sepc.recourses.given_row import Row

pd = package_or_skip("pandas")


@cache
def loans(n=600, seed=0):
    rng = np.random.default_rng(seed)
    purpose = rng.choice(["car", "house", "trip", "school"], size=n, p=[0.4, 0.3, 0.2, 0.1])
    table = pd.DataFrame(
        {
            "amount": (1000.0 * rng.gamma(3.0, 1.5, size=n)).round(2),
            "months": rng.integers(6, 60, size=n),
            "rate": rng.normal(5.0, 1.5, size=n).round(3),
            "purpose": purpose.astype(object),
            "home": pd.Categorical(rng.choice(["own", "rent"], size=n)),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, size=n), unit="D"),
            "note": [f"loan number {i}" for i in range(n)],
        }
    )
    score = table["months"] / 20 + table["amount"] / 4000 + (purpose == "trip") - (table["home"] == "own") - 2.5
    return table, np.where(score + 0.3 * rng.standard_normal(n) > 0.0, "late", "paid")


@cache
def model_of_loans():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)  # The note is no feature.
        return SEPClassifier(min_trust=0.9).fit(*loans())


def limits_of(model, row, cost=None, fixed=(), bounds=None):
    """The limits within which recourse searches for a row."""
    decisions = model.decide(row)
    asked = Row(decisions.model, decisions.rows[0], model.preparation_)
    return given_limits(asked, cost, fixed, bounds, None).limits()


def own_costs(model, row, rows):
    """What rows cost, without the code of recourse: numbers in units of the model, and 1 for another category."""
    own = model.model_
    numbers = [name for name in rows if rows[name].dtype.kind in "fi"]
    scale = [own.scale[own.feature_names.index(name)] for name in numbers]
    steps = ((rows[numbers] - row[numbers].iloc[0]) / scale).to_numpy(dtype=float)
    others = [name for name in rows if name not in numbers]
    differs = sum((rows[name] != row[name].iloc[0]).to_numpy(dtype=float) for name in others)
    return np.sqrt((steps**2).sum(axis=1) + differs)


def lie_inside(model, rows, label):
    """Whether rows lie in an ellipsoid of a label."""
    decisions = model.decide(rows)
    inner = decisions.model
    own = np.flatnonzero(inner.classes[inner.owners] == label)
    return (squared_radii(inner.place(decisions.rows), inner.centers[own], inner.roots[own]) <= 1.0).any(axis=1)
