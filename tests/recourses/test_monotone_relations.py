"""Relations that join a monotone column, which no ellipsoid has, with columns that ellipsoids have."""

from functools import cache

import numpy as np
from optional import package_or_skip

import sepc

pd = package_or_skip("pandas")

RELATIONS = ["income = salary + bonus", "debt <= 0.5 * income"]


@cache
def people():
    rng = np.random.default_rng(3)
    n = 500
    table = pd.DataFrame({"salary": 1000 * rng.gamma(8, 0.4, n), "bonus": 300 * rng.gamma(2, 0.6, n)})
    table["income"] = table["salary"] + table["bonus"]
    table["debt"] = 500 * rng.gamma(3, 1, n)
    score = table["income"] / 1500 - table["debt"] / 1200 + 0.3 * rng.standard_normal(n)
    granted = np.where(score > 1.0, "yes", "no")
    return table, sepc.SEPClassifier(monotone={"income": "up"}, min_trust=0.8).fit(table, granted)


def test_answers_keep_relations_and_cost_no_less_than_the_bound():
    table, model = people()
    n_answers = 0
    for i in np.flatnonzero(model.predict(table) == "no")[:4]:
        found = sepc.recourse(model, table.iloc[[i]], to="yes", relations=RELATIONS)
        assert found.loose == ()
        for answer in found.answers:
            after = answer.row.iloc[0]
            assert abs(after.income - after.salary - after.bonus) <= 1e-6 * after.income
            assert after.debt <= 0.5 * after.income + 1e-6
            assert answer.cost >= found.bound - 1e-9
            n_answers += 1
    assert n_answers >= 4


def test_no_row_that_keeps_relations_is_cheaper_than_the_bound():
    table, model = people()
    rng = np.random.default_rng(0)
    row = table[model.predict(table) == "no"].iloc[[1]]
    found = sepc.recourse(model, row, to="yes", relations=RELATIONS, n_answers=1)
    scale = np.array([table[name].std() for name in table])
    tried = pd.DataFrame(row.to_numpy() + rng.normal(size=(20_000, 4)) * scale * 0.5, columns=table.columns)
    tried["income"] = tried["salary"] + tried["bonus"]
    low, high = table.min(), table.max()
    can = (tried >= low).all(axis=1) & (tried <= high).all(axis=1) & (tried["debt"] <= 0.5 * tried["income"])
    tried = tried[can]
    decisions = model.decide(tried)
    inside = decisions.accepted & (decisions.label == "yes")
    cost = np.sqrt((((tried - row.to_numpy()) / scale) ** 2).sum(axis=1))
    assert inside.any()
    assert cost[inside].min() >= found.bound - 1e-6


def bounds(given, n=4):
    table, model = people()
    rows = np.flatnonzero(model.predict(table) == "no")[:n]
    return np.array([sepc.recourse(model, table.iloc[[i]], to="yes", relations=given, n_answers=1).bound for i in rows])


def test_relations_raise_the_bound_unless_they_always_hold():
    without, related = bounds(()), bounds(RELATIONS)
    np.testing.assert_allclose(bounds(["income + salary <= 1000000"]), without, atol=1e-9)
    assert (related >= without - 1e-9).all()
    assert (related / without).max() > 1.02
