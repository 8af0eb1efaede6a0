"""A table of loans that the tests of recourse share: numbers, whole numbers, categories and a date."""

import warnings
from functools import cache

import numpy as np
from optional import package_or_skip

from sepc import LeftOutWarning, SEPClassifier
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


def asked_row(model, row):
    """A row as recourse asks about it."""
    decisions = model.decide(row)
    return Row(decisions.model, decisions.rows[0], model.preparation_)
