"""A table of applicants whose columns go together, and relations of every kind, checked without the code under test."""

import warnings
from functools import cache

import numpy as np
from optional import package_or_skip

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning

pd = package_or_skip("pandas")

DEGREES = {"school": 9, "trade": 12, "bachelor": 15, "master": 17}


def total_weekly(table):
    """The user's own function."""
    return 7.0 * table["daily"]


@cache
def applicants(n=500, seed=0):
    rng = np.random.default_rng(seed)
    job = rng.choice(["none", "office", "plant"], size=n, p=[0.2, 0.5, 0.3]).astype(object)
    table = pd.DataFrame({"salary": 1000.0 * rng.gamma(8.0, 0.4, n), "bonus": 300.0 * rng.gamma(2.0, 0.6, n)})
    table.loc[job == "none", ["salary", "bonus"]] = 0.0
    table["income"] = table["salary"] + table["bonus"]
    table["debt"] = 500.0 * rng.gamma(3.0, 1.0, n)
    table["height"], table["weight"] = rng.normal(1.72, 0.09, n), rng.normal(75.0, 12.0, n)
    table["bmi"] = table["weight"] / table["height"] ** 2
    table["daily"] = rng.uniform(0.0, 3.0, n)
    table["weekly"] = total_weekly(table)
    table["age"] = rng.integers(19, 70, n)
    table["tenure"] = (rng.random(n) * (table["age"] - 18) * 12).astype(int)
    table["job"] = job
    home = rng.integers(0, 3, n)
    for i, name in enumerate(("own", "rent", "parents")):
        table[name] = (home == i).astype(int)
    table["degree"] = rng.choice(list(DEGREES), size=n).astype(object)
    table["years"] = table["degree"].map(DEGREES).astype(int)
    score = (table["income"] - 2000) / 1500 - (table["debt"] - 1500) / 1200 + (table["years"] - 12) / 3
    score += table["tenure"] / 200 - (table["bmi"] - 25) / 5 + 0.5 * table["own"] - (table["weekly"] - 10) / 8
    return table, np.where(score + 0.4 * rng.standard_normal(n) > 0.0, "yes", "no")


@cache
def model_of_applicants():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)  # Income is a sum.
        return SEPClassifier(min_trust=0.8).fit(*applicants())


def relations():
    """Relations of every kind."""
    return [
        "income = salary + bonus",
        "change(age) >= change(years)",
        "bmi = weight / height^2",
        "if job = 'none' then salary = 0",
        "if job = 'none' then bonus = 0",
        "if job != 'none' then salary >= 1",
        "own + rent + parents = 1",
        "change(age) >= 0",
        "change(age) <= 6",
        "change(tenure) <= 12 * change(age)",
        "tenure <= 900",
        pd.DataFrame({"degree": list(DEGREES), "years": list(DEGREES.values())}),
        ("weekly", total_weekly),
        lambda table: table["debt"] >= 0.0,
    ]


def violations(before, after):
    """What a row breaks, by plain arithmetic."""
    broken = []
    if abs(after["income"] - after["salary"] - after["bonus"]) > 1e-6 * (1.0 + abs(after["income"])):
        broken.append("income")
    if after["age"] - before["age"] < after["years"] - before["years"] - 1e-9:
        broken.append("education")
    if abs(after["bmi"] - after["weight"] / after["height"] ** 2) > 1e-6:
        broken.append("bmi")
    if (after["job"] == "none") != (after["salary"] == 0.0) or (after["job"] == "none" and after["bonus"] != 0.0):
        broken.append("job")
    if sorted([after["own"], after["rent"], after["parents"]]) != [0, 0, 1]:
        broken.append("home")
    years = after["age"] - before["age"]
    if not 0 <= years <= 6 or after["tenure"] - before["tenure"] > 12 * years + 1e-6:
        broken.append("time")
    if after["years"] != DEGREES[after["degree"]]:
        broken.append("degree")
    if abs(after["weekly"] - 7.0 * after["daily"]) > 1e-6:
        broken.append("weekly")
    return broken
