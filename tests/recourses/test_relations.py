"""Relations between columns: answers keep all of them, the bound holds, and mistakes are explained."""

import numpy as np
import pytest
from loans import lie_inside, own_costs
from optional import package_or_skip
from related import applicants, model_of_applicants, relations, violations

import sepc

pd = package_or_skip("pandas")


def refused(n):
    table = applicants()[0]
    return [table.iloc[[i]] for i in np.flatnonzero(model_of_applicants().predict(table) == "no")[:n]]


def asked(row, given, **options):
    return sepc.recourse(model_of_applicants(), row, to="yes", relations=given, **options)


def kinds_kept(n_rows):
    """Ask about rows with relations of every kind, and check the answers; the features that change in each."""
    kinds = []
    for row in refused(n_rows):
        found = asked(row, relations(), n_answers=2)
        for answer in found.answers:
            assert violations(row.iloc[0], answer.row.iloc[0]) == []
            assert sepc.decide(model_of_applicants(), answer.row).accepted[0]
            assert answer.cost >= found.bound - 1e-9
            kinds.append({change.feature for change in answer.changes})
        assert "bmi = weight / height^2" in found.loose
        assert "income = salary + bonus" not in found.loose
    return kinds


def test_answers_keep_relations_of_every_kind():
    assert len(kinds_kept(1)) == 2


@pytest.mark.slow  # on every change, for one row, as above
def test_answers_to_several_rows_keep_relations_of_every_kind():
    kinds = kinds_kept(6)
    assert len(kinds) >= 6
    assert len(set().union(*kinds)) >= 8


def test_without_relations_they_are_broken():
    """Else the test above would show nothing."""
    broken = set()
    for row in refused(2):
        for answer in asked(row, (), n_answers=1).answers:
            broken |= set(violations(row.iloc[0], answer.row.iloc[0]))
    assert len(broken) >= 2


LINEAR = ["income = salary + bonus", "change(age) >= change(years)", "debt / income <= 0.8", "weekly = 7 * daily"]


def test_linear_relations_raise_the_bound():
    for row in refused(3)[1:]:
        assert asked(row, LINEAR, n_answers=1).bound > asked(row, (), n_answers=1).bound + 0.3


@pytest.mark.parametrize("i", range(2))
def test_no_row_that_keeps_linear_relations_is_cheaper_than_the_bound(i):
    row = refused(3)[i]
    given = [*LINEAR, "bmi <= 26"]
    found, before = asked(row, given, n_answers=1), asked(row, (), n_answers=1)
    assert found.loose == ()
    assert found.bound >= before.bound - 1e-9
    rows = drawn(row, n=20_000, seed=i)
    keep = (rows["age"] - row["age"].iloc[0] >= rows["years"] - row["years"].iloc[0]) & (rows["bmi"] <= 26.0)
    rows = rows[keep & (rows["debt"] <= 0.8 * rows["income"])].reset_index(drop=True)
    model = model_of_applicants()
    inside, costs = lie_inside(model, rows, "yes"), own_costs(model, row, rows)
    assert inside.sum() > 20
    assert costs[inside].min() >= found.bound - 1e-6


def drawn(row, n, seed):
    """Rows that differ from one in some columns, with sums and products computed."""
    rng, table = np.random.default_rng(seed), applicants()[0]
    rows = row.iloc[np.zeros(n, dtype=int)].reset_index(drop=True)
    donors = table.iloc[rng.integers(0, len(table), n)].reset_index(drop=True)
    for name in ("salary", "bonus", "debt", "daily", "weight", "bmi", "tenure", "age", "years", "degree", "job"):
        part = rng.random(n) if rows[name].dtype.kind == "f" else 1
        moved = donors[name] if name in ("degree", "job") else rows[name] + part * (donors[name] - rows[name])
        rows[name] = moved.where(rng.random(n) < 0.4, rows[name])
    rows["income"], rows["weekly"] = rows["salary"] + rows["bonus"], 7.0 * rows["daily"]
    return rows


def test_what_relations_rule_out_is_proved_and_named():
    row = refused(1)[0]
    given = ["weekly = 7 * daily", "daily >= 20", "bmi >= 30"]
    found = asked(row, given)
    assert not found.is_reachable
    assert found.answers == ()
    assert set(found.blocking) <= set(given)
    assert found.blocking
    assert asked(row, [text for text in given if text not in found.blocking]).is_reachable


def test_columns_that_the_model_does_not_use_are_constants():
    row = refused(1)[0].assign(limit=1200.0)
    for answer in asked(row, ["debt <= limit", "debt >= before(debt) / 4"]).answers:
        assert answer.row["debt"].iloc[0] <= 1200.0 + 1e-6


@pytest.mark.parametrize(
    ("relation", "holds"),
    [
        ("c = `a b`^3", True),
        ("c = `a b`^2", False),
        ("c / `a b` <= 4", True),
        ("c / `a b` <= 3", False),
        ("2.5 * `a b` + 3 = c", True),
        ("before(c) - 1e1 >= -`a b`", True),
        ("- c + 3 = - 5", True),
        ("c in [2, 8]", True),
        ("c not in [2, 8]", False),
        ("if `a b` = 2 then c = 7", False),
        ("if `a b` = 3 then c = 7", True),
        (lambda table: table["c"] == 8.0, True),
        (lambda table: table["c"] == 7.0, False),
    ],
)
def test_relations_of_constants_hold_or_leave_no_answer(relation, holds):
    row = refused(1)[0].assign(**{"a b": 2.0, "c": 8.0})
    assert bool(asked(row, [relation], n_answers=1).answers) is holds


def test_a_function_never_proves_that_nothing_can_be_reached():
    found = asked(refused(1)[0], [lambda table: np.zeros(len(table), dtype=bool)])
    assert found.answers == ()
    assert found.is_reachable
    assert len(found.loose) == 1
    assert not asked(refused(1)[0], ["debt = -7"]).is_reachable


@pytest.mark.parametrize(
    "text", ["x / y <= 2", "-2 <= x / y", "2 <= x / y", "x / y = 2", "-2 <= y / x", "1 / x <= 2 / y"]
)
def test_what_a_ratio_means_for_the_bound_holds_wherever_the_ratio_does(text):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=400), "y": rng.choice([-1.0, 1.0], 400) * rng.exponential(size=400)})
    label = np.where(rows["x"] > 0.0, "a", "b")
    for table in (rows, rows.assign(y=rows["y"].abs()), rows.abs()):
        model = sepc.SEPClassifier(min_trust=0.5).fit(table, label)
        row = table.iloc[[0]]
        to = "b" if model.predict(row)[0] == "a" else "a"
        for answer in sepc.recourse(model, row, to=to, n_answers=1).answers:
            x, y = answer.row.iloc[0]
            for same in [f"x / y <= {x / y + 1e-6}", f"{y / x - 1e-6} <= y / x"] if x and y else []:
                assert sepc.recourse(model, row, to=to, relations=[same], n_answers=1).bound <= answer.cost + 1e-6
        found = sepc.recourse(model, row, to=to, relations=[text], n_answers=1)
        assert all(answer.cost >= found.bound - 1e-6 for answer in found.answers)


def test_products_raise_the_bound_and_no_row_is_cheaper():
    """The bound knows a product by the chords and tangents of logarithms."""
    row = refused(5)[4]
    most = round(0.85 * row["bmi"].iloc[0], 1)
    given, fixed = (
        ["bmi = weight / height^2", f"bmi <= {most}"],
        ["weight", "salary", "bonus", "income", "debt", "daily"],
    )
    found = asked(row, given, n_answers=1, fixed=fixed)
    without = asked(row, given[1:], n_answers=1, fixed=fixed)
    assert found.loose == tuple(given[:1])
    assert found.bound > without.bound + 0.3
    rng, n = np.random.default_rng(0), 60_000
    rows = row.iloc[np.zeros(n, dtype=int)].reset_index(drop=True)
    table = applicants()[0]
    for name in ("height", "tenure", "age", "years"):
        part = rng.random(n) * (rng.random(n) < 0.7)
        moved = rows[name] + part * (table[name].to_numpy()[rng.integers(0, len(table), n)] - rows[name])
        rows[name] = moved if rows[name].dtype.kind == "f" else moved.round()
    rows["bmi"] = rows["weight"] / rows["height"] ** 2
    rows = rows[rows["bmi"] <= most].reset_index(drop=True)
    inside = lie_inside(model_of_applicants(), rows, "yes")
    assert inside.sum() > 10
    assert (own_costs(model_of_applicants(), row, rows)[inside] >= found.bound - 1e-6).all()


def test_conditions_and_ratios_of_fixed_columns_are_exact():
    table, ratio = applicants()[0], ["bmi = weight / height^2"]
    assert asked(refused(1)[0], ratio, n_answers=1).loose == tuple(ratio)
    assert asked(refused(1)[0], ratio, fixed=["height"], n_answers=1).loose == ()
    is_refused = model_of_applicants().predict(table) == "no"
    row = table[is_refused & (table["job"] == "office")].iloc[[0]]
    given = ["if job = 'office' then debt <= 500", "if job = 'plant' then debt <= 1"]
    found = asked(row, given, fixed=["job"], n_answers=1)
    assert found.loose == ()
    assert all(answer.row["debt"].iloc[0] <= 500.0 + 1e-6 for answer in found.answers)
    model = model_of_applicants().model_
    scale = model.scale[model.feature_names.index("debt")]
    assert found.bound >= (row["debt"].iloc[0] - 500.0) / scale - 1e-6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["income = pay + bonus"], "'pay'"),
        (["income + bonus"], "<= and >="),
        (["income = = 3"], "<= and >="),
        (["income = 3 salary"], "operator"),
        (["income = (salary + bonus)"], "not understood"),
        (["income < salary"], "<= and >="),
        (["salary * bonus + debt = 3"], "neither a sum"),
        (["income = salary +"], "missing"),
        (["job + 1 >= 2"], "category"),
        (["change(salary)^2 >= 1"], "change"),
        (["if salary <= 3 then debt = 0"], "condition"),
        (["job in none"], "<= and >="),
        (["job in ['none'"], "list of texts"),
        ("income = salary", "list"),
        ([3], "pair of a column"),
        ([("weekly", lambda table: [1.0, 2.0, 3.0])], "returned 3"),
        ([("weekly", lambda table: table["no such"])], "KeyError"),
        ([("job", len)], "'job'"),
        ([pd.DataFrame({"degree": []})], "empty"),
        ([pd.DataFrame({"level": ["a"]})], "'level'"),
    ],
)
def test_mistakes_quote_the_relation(given, message):
    with pytest.raises(ValueError, match=message):
        asked(refused(1)[0], given)
