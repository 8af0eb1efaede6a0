"""The bound on the cost of acceptance, from the curves of models with standalone features: against trying rows."""

from functools import cache

import numpy as np
import pytest
from loans import lie_inside, limits_of, own_costs
from optional import package_or_skip

import sepc
from sepc.recourses.accepting import LogOddsBound

pd = package_or_skip("pandas")

OTHERS = ("maybe", "no")


@cache
def people():
    """Two columns with monotone curves, a standalone category, and three labels."""
    rng = np.random.default_rng(5)
    n = 350
    table = pd.DataFrame(
        {
            "income": 1000 * rng.gamma(4, 0.7, n),
            "debt": 500 * rng.gamma(3, 1, n),
            "age": rng.integers(19, 70, n),
            "rate": rng.normal(5, 1.5, n),
            "home": rng.choice(["own", "rent", "free"], n).astype(object),
            "job": rng.choice(["none", "office", "plant", "shop"], n).astype(object),
        }
    )
    score = table["income"] / 1200 - table["debt"] / 900 + (table["home"] == "own") - 0.4 * (table["rate"] - 5)
    score += 0.5 * (table["job"] == "office") + 0.3 * rng.standard_normal(n)
    labels = np.where(score > 1.6, "yes", np.where(score > 0.4, "maybe", "no"))
    directions = {"income": "up", "debt": "down"}
    model = sepc.SEPClassifier(
        monotone=directions, monotone_for="yes", features_alone=["home"], min_trust=0.7, random_state=0
    )
    return table, model.fit(table, labels)


def refused(n):
    table, model = people()
    return [table.iloc[[i]] for i in np.flatnonzero(model.predict(table) == "no")[:n]]


def drawn(row, n, seed):
    """Rows that differ from one in some columns, by much or by little."""
    table, rng = people()[0], np.random.default_rng(seed)
    donors = table.iloc[rng.integers(0, len(table), n)].reset_index(drop=True)
    rows = row.iloc[np.zeros(n, dtype=int)].reset_index(drop=True)
    way = rng.random(n) ** rng.integers(0, 4, n)
    for name in table:
        moves = rng.random(n) < 0.5
        if table[name].dtype.kind == "f":
            rows[name] = rows[name] + moves * way * (donors[name] - rows[name])
        else:
            rows[name] = donors[name].where(moves, rows[name])
    return rows


def bounds_of(row):
    """The bound on the log-odds of "yes" against each other label, and the positions of these labels."""
    model = people()[1]
    limits = limits_of(model, row)
    names, own = model.classes_.tolist(), np.flatnonzero(model.model_.classes[model.model_.owners] == "yes")
    return {names.index(other): LogOddsBound(limits, names.index("yes"), names.index(other), own) for other in OTHERS}


def test_at_no_cost_the_log_odds_are_those_of_the_row():
    table, model = people()
    inside = np.flatnonzero(lie_inside(model, table, "yes"))[:5]
    yes = model.classes_.tolist().index("yes")
    for i in inside.tolist():
        probabilities = model.decide(table.iloc[[i]]).probabilities[0]
        for other, bound in bounds_of(table.iloc[[i]]).items():
            assert bound.log_odds_within(0.0) == pytest.approx(np.log(probabilities[yes] / probabilities[other]))


@pytest.mark.parametrize("i", range(3))
def test_no_row_has_higher_log_odds_than_its_cost_allows(i):
    row, model = refused(3)[i], people()[1]
    rows = drawn(row, 3_000, seed=i)
    rows = rows[lie_inside(model, rows, "yes")][:300].reset_index(drop=True)
    probabilities, costs = model.decide(rows).probabilities, own_costs(people()[1], row, rows)
    yes = model.classes_.tolist().index("yes")
    for other, bound in bounds_of(row).items():
        log_odds = np.log(probabilities[:, yes] / probabilities[:, other])
        most = np.array([bound.log_odds_within(cost) for cost in costs])
        assert (log_odds <= most + 1e-9).all()
        assert most.min() < most.max()
    assert len(rows) > 50


@pytest.mark.parametrize("i", range(3))
def test_no_accepted_row_is_cheaper_than_the_bound(i):
    row, model = refused(3)[i], people()[1]
    found = sepc.recourse(model, row, to="yes", n_answers=1)
    rows = drawn(row, 20_000, seed=i)
    costs, decisions = own_costs(people()[1], row, rows), model.decide(rows)
    good = decisions.accepted & (decisions.label == "yes") & lie_inside(model, rows, "yes")
    assert good.sum() > 20
    assert costs[good].min() >= found.bound - 1e-9
    assert found.bound == max(found.bound, found.accepting)
    assert all(answer.cost >= found.bound - 1e-9 for answer in found.answers)


def test_the_bound_is_exact_if_only_a_monotone_column_may_change():
    table, model = people()
    n_compared = 0
    for row in refused(15):
        fixed = [name for name in table if name != "income"]
        found = sepc.recourse(model, row, to="yes", fixed=fixed, min_trust=0.0, n_answers=1)
        if not found.answers:
            continue
        values = np.linspace(row["income"].iloc[0], table["income"].max(), 4_000)
        rows = row.iloc[np.zeros(len(values), dtype=int)].reset_index(drop=True).assign(income=values)
        first = values[model.decide(rows).label == "yes"].min()
        cheapest = own_costs(people()[1], row, row.assign(income=first))[0]
        # Against each other label alone, so that a third one leaves a gap.
        assert 0.9 * cheapest <= found.bound <= cheapest + 1e-9
        assert found.accepting == found.bound
        n_compared += 1
    assert n_compared >= 2


def test_moves_in_the_wrong_direction_gain_nothing():
    options = {"to": "yes", "fixed": ["age", "rate", "home", "job"], "n_answers": 1, "min_trust": 0.0}
    found = [sepc.recourse(people()[1], row, **options) for row in refused(12)]
    i = next(i for i, own in enumerate(found) if own.answers)
    one_way = sepc.recourse(people()[1], refused(12)[i], direction={"income": "up", "debt": "down"}, **options)
    assert found[i].accepting == pytest.approx(one_way.accepting, rel=1e-5)
    assert found[i].accepting > 0.0


def test_without_standalone_features_there_is_none():
    table, model = people()
    plain = sepc.SEPClassifier(min_trust=0.7).fit(table, model.predict(table))
    assert sepc.recourse(plain, refused(1)[0], to="yes", n_answers=1).accepting == 0.0
