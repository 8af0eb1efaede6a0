"""Relations between columns: answers keep all of them, the bound holds, and mistakes are explained."""

import numpy as np
import pytest
from loans import lie_inside, own_costs
from optional import package_or_skip
from related import DEGREES, applicants, model_of_applicants, relations, violations

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


def test_time_is_told():
    table, row = applicants()[0], refused(1)[0]
    given = ["tenure rises by at most 1 a month", "age rises by 1 a year", "years rises by at most 1 a year"]
    others = [name for name in table if name not in ("tenure", "age", "years", "degree")]
    degrees = pd.DataFrame({"degree": list(DEGREES), "years": list(DEGREES.values())})
    found = asked(row, [*given, degrees], fixed=others, min_trust=0.0, n_answers=1)
    assert found.answers
    for answer in found.answers:
        after, before = answer.row.iloc[0], row.iloc[0]
        years = max((after["tenure"] - before["tenure"]) / 12.0, after["years"] - before["years"])
        assert answer.takes.unit == "month"
        assert answer.takes.amount >= 12.0 * years - 1e-6
        assert abs(answer.takes.amount / 12.0 - (after["age"] - before["age"])) < 1.0
        assert str(answer.takes) in answer.why()
    sooner = asked(row, [*given, degrees, "within 1 month"], fixed=others, min_trust=0.0, n_answers=1)
    assert all(answer.takes.amount <= 1.0 + 1e-6 for answer in sooner.answers)


def test_columns_that_the_model_does_not_use_are_constants():
    row = refused(1)[0].assign(limit=1200.0)
    for answer in asked(row, ["debt <= limit", "debt >= before(debt) / 4"]).answers:
        assert answer.row["debt"].iloc[0] <= 1200.0 + 1e-6


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        ("c = `a b`^3", True),
        ("c = `a b`^2", False),
        ("0 < 1 + c <= 9", True),
        ("0 < 2 + c <= 9", False),
        ("max(c, 10) - `a b` = 8", True),
        ("min(c, 10) - `a b` = 8", False),
        ("not c = 8 or `a b` in [2, 4]", True),
        ("not (c = 8 or `a b` in [2, 4])", False),
    ],
)
def test_formulas_of_constants_hold_or_leave_no_answer(formula, holds):
    row = refused(1)[0].assign(**{"a b": 2.0, "c": 8.0})
    assert bool(asked(row, [formula], n_answers=1).answers) is holds


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
        (["income + bonus"], "compares"),
        (["income = = 3"], "formula"),
        (["__import__('os').getcwd() = 3"], "function"),
        (["salary.real > 3"], "names, numbers"),
        (["job > 'none'"], "order"),
        (["job + 1 > 2"], "category"),
        (["change(salary + bonus) > 1"], "name of a column"),
        (["one of own, salary"], "'salary'"),
        (["job rises by 1 a month"], "'job'"),
        (["tenure rises by 0 a month"], "positive"),
        ("income = salary", "list"),
        ([3], "pair"),
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


def test_known_changes_come_first():
    table, rng = applicants()[0], np.random.default_rng(0)
    before = table.sample(200, random_state=1).reset_index(drop=True)
    after = before.copy()
    after["debt"] = np.maximum(after["debt"] - rng.uniform(200.0, 1500.0, 200), 0.0)
    after["tenure"] += rng.integers(0, 12, 200)
    usual_first = 0
    for row in refused(1):
        found = asked(row, ["income = salary + bonus"], changes=(before, after), n_answers=2)
        shares = [answer.usual for answer in found.answers]
        assert all(0.0 < share <= 1.0 for share in shares)
        is_usual = [share >= 0.1 for share in shares]
        assert is_usual == sorted(is_usual, reverse=True)
        if is_usual[:1] == [True]:
            usual_first += 1
            change = found.answers[0].row.iloc[0]["debt"] - row.iloc[0]["debt"]
            assert change <= 0.0
        assert all("of known changes" in answer.summary for answer in found.answers)
    assert usual_first >= 1


def test_changes_must_be_pairs():
    table, row = applicants()[0], refused(1)[0]
    for n, message in ((4, "5 rows before and 4 after"), (5, "differ")):
        with pytest.raises(ValueError, match=message):
            asked(row, (), changes=(table[:5], table[:n]))
