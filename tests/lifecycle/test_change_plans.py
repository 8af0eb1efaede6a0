"""Change plans: what they refuse, what they judge, and that a look is spent once."""

import json
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta, binom
from sepc_benchmarks.attacking.plans import DOUBTED, KEY, fixed, passes, reading, rows_of, written
from sklearn.linear_model import LogisticRegression

import sepc
from sepc import Costs, SelectiveClassifier, SEPClassifier
from sepc.errors import RefusedLookError
from sepc.lifecycle import ChangePlan, check_plan, row_digest
from sepc.statistics.rates import difference_bound

CHANGED = {"kind": "changed", "margin": 0.05, "what": "label"}


def check(folder, criterion, X, y, groups=None, **options):
    plan = written(folder, criterion, fixed(X, y, groups), **options)
    return check_plan(plan, reading(0), reading(1), X, y, groups)


@pytest.fixture
def rows():
    return rows_of(np.random.default_rng(0), 800, broken=0.01, repaired=0.03)


def lines_of(found):
    return [(line.about, line.outcome.value) for line in found.lines[1:]]


@pytest.mark.parametrize(
    "criterion",
    [
        CHANGED,
        {"kind": "promises"},
        {"kind": "overall", "margin": 0.03},
        {"kind": "overall", "margin": 0.03, "measure": "abstentions"},
        {"kind": "overall", "margin": 0.03, "measure": "accepted errors"},
        {"kind": "groups", "margin": 0.1, "names": [0, 1]},
    ],
    ids=lambda criterion: f"{criterion['kind']} {criterion.get('measure', '')}".strip(),
)
def test_what_a_good_candidate_meets_it_passes(tmp_path, criterion):
    pytest.importorskip("pandas")
    X, y = rows_of(np.random.default_rng(0), 800, broken=0.002, repaired=0.03)
    found = check(tmp_path, criterion, X, y, np.arange(800) % 2)
    assert found.passed, found.summary()
    assert found.headline().startswith("Passed")
    assert found.to_frame()["outcome"].tolist() == [line.outcome.value for line in found.lines]
    assert found.headline() in found.to_html()


def test_bounds_are_exact(tmp_path, rows):
    X, y = rows
    line = check(tmp_path, CHANGED, X, y, most=4).lines[1]
    n_changed = int((X[:, 0] != X[:, 2]).sum())
    assert line.estimate == n_changed / 800
    assert line.bound == pytest.approx(beta.ppf(1 - 0.05 / 4, n_changed + 1, 800 - n_changed))


def test_the_bound_on_a_difference_exceeds_it_as_often_as_it_says():
    """By all outcomes of 40 rows, for several true rates: no simulation."""
    n, confidence = 40, 0.9
    for more, fewer in ((0.1, 0.0), (0.2, 0.1), (0.45, 0.45), (0.05, 0.3)):
        missed = 0.0
        for i in range(n + 1):
            rest = binom.pmf(i, n, more)
            for j in range(n - i + 1):
                if difference_bound(i, j, n, confidence) < more - fewer:
                    missed += rest * binom.pmf(j, n - i, fewer / (1.0 - more))
        assert missed <= 1.0 - confidence


def test_what_rows_cannot_decide_is_not_passed(tmp_path, rows):
    X, y = rows_of(np.random.default_rng(0), 20)
    found = check(tmp_path, CHANGED, X, y)
    assert lines_of(found) == [("", "undecided")]
    assert not found.passed
    for kind, said in (("groups", "the group of every row"), ("regions", "has none")):
        with pytest.raises(ValueError, match=said):
            check(tmp_path, {"kind": kind, "margin": 0.05}, *rows, name=kind)


def test_a_group_that_is_absent_is_undecided_and_others_are_judged_together(tmp_path, rows):
    X, y = rows
    groups = np.where(np.arange(800) < 500, "a", np.where(np.arange(800) < 790, "b", "c"))
    found = check(tmp_path, {"kind": "groups", "margin": 0.06, "names": ["a", "z"]}, X, y, groups)
    assert [name for name, _ in lines_of(found)] == ["group = a", "group = z", "all others together"]
    assert found.lines[2].outcome.value == "undecided"
    plan = written(tmp_path, {"kind": "groups", "margin": 0.06, "fewest": 50}, fixed(X, y, groups), name="other")
    found = check_plan(plan, reading(0), reading(1), X, y, groups)
    assert [(line.about, line.n_rows) for line in found.lines[1:]] == [
        ("group = a", 500),
        ("group = b", 290),
        ("all others together", 10),
    ]


def test_a_new_model_without_a_promise_keeps_none(tmp_path):
    old, new, X, y = partitions()
    plan = written(tmp_path, {"kind": "promises"}, fixed(X, y))
    line = check_plan(plan, old, new, X, y).lines[1]
    assert line.outcome.value == "failed"
    assert "promises nothing" in line.evidence


@cache
def partitions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=1500) > 0).astype(int)
    old, new = (SEPClassifier().fit(X[part], y[part]) for part in (slice(500), slice(500, 1000)))
    return old, new, X[1000:], y[1000:]


def test_regions_are_those_of_the_old_model(tmp_path):
    old, new, X, y = partitions()
    plan = written(tmp_path, {"kind": "regions", "margin": 0.3, "fewest": 40}, fixed(X, y))
    found = check_plan(plan, old, new, X, y)
    regions, counts = np.unique(old.decide(X).region, return_counts=True)
    large = sorted(counts[counts >= 40].tolist(), reverse=True)
    assert len(large) > 1
    assert [line.n_rows for line in found.lines[1:]] == [*large, int(counts[counts < 40].sum())]
    assert found.lines[0].passed


def test_only_what_may_change_may_change(tmp_path):
    old, new, X, y = partitions()
    plan = written(tmp_path, CHANGED, fixed(X, y))
    plan.write_text(plan.read_text().replace('["threshold", "regions", "weights", "model"]', '["threshold"]'))
    line = check_plan(plan, old, new, X, y).lines[0]
    assert (line.outcome.value, line.evidence) == ("failed", "model changed")


def test_rows_that_were_trained_on_are_refused(tmp_path):
    old, new, X, y = partitions()
    rng = np.random.default_rng(0)
    again = rng.normal(size=(1500, 2))[:500]
    plan = written(tmp_path, CHANGED, "draw = 400")
    with pytest.raises(RefusedLookError, match="old model was trained"):
        check_plan(plan, old, new, again, y)
    with pytest.raises(RefusedLookError, match="new model was trained"):
        check_plan(plan, new, old, again, y)
    assert not list(tmp_path.glob("*.jsonl"))


def test_promises_of_labels_groups_and_costs(tmp_path):
    X, y = rows_of(np.random.default_rng(0), 1500, broken=0.004)
    frozen = reading(1).estimator
    group = np.where(np.arange(1500) < 1490, "a", "b")
    several = {
        "labels": SelectiveClassifier(frozen, {0: 0.1, 1: 0.1}).fit(X[:500], y[:500]),
        "groups": SelectiveClassifier(frozen, 0.1, by="ward").fit(X[:500], y[:500], groups={"ward": group[:500]}),
        "costs": SelectiveClassifier(frozen, Costs(5.0 * (1 - np.eye(2)), review=1.0)).fit(X[:500], y[:500]),
    }
    about = {}
    for name, new in several.items():
        groups = {"ward": group[500:]}
        plan = written(tmp_path, {"kind": "promises"}, "draw = 900", name=name)
        found = check_plan(plan, reading(0), new, X[500:], y[500:], groups)
        assert found.passed, found.summary()
        about[name] = [line.about for line in found.lines[1:]]
    assert about == {"labels": ["predicted as 0", "predicted as 1"], "groups": ["ward = a"], "costs": [""]}


def test_a_promise_is_judged_on_accepted_rows(tmp_path):
    X, y = rows_of(np.random.default_rng(0), 1000, broken=0.3)
    X[X[:, 2] != y, 3] = DOUBTED
    line = check(tmp_path, {"kind": "promises"}, X, y).lines[1]
    assert (line.n_rows, line.estimate) == (int((X[:, 2] == y).sum()), 0.0)
    assert line.passed


# Rows.


def test_a_digest_knows_no_order_but_every_value():
    X, y = rows_of(np.random.default_rng(0), 50, 0.1)
    group, order = np.arange(50) % 3, np.random.default_rng(1).permutation(50)
    first = row_digest(KEY, X, y, group)
    assert row_digest(KEY, X[order], y[order], group[order]) == first
    other = X.copy()
    other[7, 2] = np.nextafter(other[7, 2], 2.0)
    labels, groups = y.copy(), group.copy()
    labels[3], groups[4] = 1 - labels[3], 9
    changed = [
        row_digest(KEY, other, y, group),
        row_digest(KEY, X, labels, group),
        row_digest(KEY, X, y, groups),
        row_digest(KEY, X, y),
        row_digest(KEY + "!", X, y, group),
        row_digest(KEY, X[1:], y[1:], group[1:]),
        row_digest(KEY, np.vstack([X, X[:1]]), np.append(y, y[0]), np.append(group, group[0])),
    ]
    assert len({first, *changed}) == len(changed) + 1


def test_a_digest_of_a_table_knows_its_columns_by_name():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"b": [1, 2], "a": ["x", None]})
    y = np.array(["u", "v"])
    first = row_digest(KEY, table, y)
    assert row_digest(KEY, table[["a", "b"]], y) == first
    assert row_digest(KEY, table.astype({"b": float}), y) == first
    assert row_digest(KEY, table.rename(columns={"a": "c"}), y) != first


def test_other_rows_than_those_of_the_plan_are_refused(tmp_path, rows):
    X, y = rows
    plan = written(tmp_path, CHANGED, fixed(X, y))
    with pytest.raises(RefusedLookError, match="not the rows"):
        check_plan(plan, reading(0), reading(1), X[1:], y[1:])
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_draw_depends_on_the_seed_and_on_no_order(tmp_path, rows):
    X, y = rows
    X[:, 5] = np.arange(len(X))
    seen = {}
    for seed in (0, 1):
        plan = written(tmp_path, CHANGED, f"draw = 300\nseed = {seed}", name=f"seed{seed}")
        line = check_plan(plan, reading(0), reading(1), X, y).lines[1]
        assert line.n_rows == 300
        seen[seed] = line.estimate
        order = np.random.default_rng(1).permutation(len(y))
        again = written(tmp_path, CHANGED, f"draw = 300\nseed = {seed}", name=f"again{seed}")
        assert check_plan(again, reading(0), reading(1), X[order], y[order]).lines[1] == line
    assert seen[0] != seen[1]
    with pytest.raises(ValueError, match="only 299 rows"):
        check_plan(written(tmp_path, CHANGED, "draw = 300", name="few"), reading(0), reading(1), X[:299], y[:299])


# The ledger.


def test_a_second_look_gives_the_same_answer_and_spends_nothing(tmp_path, rows):
    X, y = rows
    plan = written(tmp_path, CHANGED, fixed(X, y), most=2)
    first = check_plan(plan, reading(0), reading(1), X, y)
    ledger = (tmp_path / "plan.ledger.jsonl").read_text()
    again = check_plan(plan, reading(0), reading(1), X, y)
    assert (first.is_repeated, again.is_repeated) == (False, True)
    assert (again.lines, again.look) == (first.lines, 1)
    assert (tmp_path / "plan.ledger.jsonl").read_text() == ledger
    assert check_plan(plan, reading(0), reading(2), X, y).look == 2
    with pytest.raises(RefusedLookError, match="allows 2 candidates"):
        check_plan(plan, reading(0), reading(3), X, y)
    assert check_plan(plan, reading(0), reading(1), X, y).is_repeated
    with pytest.raises(TypeError, match="saved"):
        check_plan(plan, reading(0), LogisticRegression().fit(X, y), X, y)


def test_the_plan_the_table_and_the_old_model_stay(tmp_path, rows):
    X, y = rows
    plan = written(tmp_path, CHANGED, "draw = 200", most=5)
    check_plan(plan, reading(0), reading(1), X, y)
    with pytest.raises(RefusedLookError, match="The table is not"):
        check_plan(plan, reading(0), reading(2), X[1:], y[1:])
    with pytest.raises(RefusedLookError, match="The old model is not"):
        check_plan(plan, reading(3), reading(2), X, y)
    plan.write_text(plan.read_text().replace("margin = 0.05", "margin = 0.5"))
    with pytest.raises(RefusedLookError, match="The plan is not"):
        check_plan(plan, reading(0), reading(2), X, y)


def test_a_ledger_that_was_changed_is_refused(tmp_path, rows):
    X, y = rows
    plan, path = written(tmp_path, CHANGED, fixed(X, y), most=3), tmp_path / "plan.ledger.jsonl"
    heads = [check_plan(plan, reading(0), reading(i), X, y).ledger_head for i in (1, 2)]
    text = path.read_text()
    looks = [json.loads(line) for line in text.splitlines()]
    assert [look["digest"] for look in looks] == heads
    assert looks[1]["previous"] == heads[0]
    flipped = [dict(looks[0], passed=not looks[0]["passed"]), looks[1]]
    for wrong in (flipped, looks[1:], looks[::-1]):
        path.write_text("".join(json.dumps(look) + "\n" for look in wrong))
        with pytest.raises(RefusedLookError, match="line 1"):
            check_plan(plan, reading(0), reading(3), X, y)
    for junk in ("{}\n", "not json\n", "[1]\n"):
        path.write_text(junk)
        with pytest.raises(RefusedLookError, match="line 1"):
            check_plan(plan, reading(0), reading(3), X, y)


# Files.

GOOD = """version = 1
may_change = ["model"]
[rows]
key = "sixteen or more letters"
draw = 10
[candidates]
most = 2
[[criteria]]
kind = "changed"
margin = 0.1
level = 0.05
"""


# A part of the plan, and by what it is replaced; then the word that says what is wrong.
WRONG = [
    ("version = 1", "version = 2", "plans of version 1"),
    ("version = 1", "", "version is None"),
    ("version = 1", "version = ", "TOML"),
    ("[rows]", "titles = 1\n[rows]", "Did you mean 'title'"),
    ('["model"]', '["everything"]', "may_change is"),
    ('["model"]', '"model"', "must be a list"),
    ('key = "sixteen or more letters"', 'key = "short"', "has 5 characters"),
    ('key = "sixteen or more letters"', "", "lacks 'key'"),
    ("draw = 10", "", "neither digest nor draw"),
    ("draw = 10", "draw = 0", "draw in .rows. is 0"),
    ("draw = 10", "draw = 10\nseeds = 3", "Did you mean 'seed'"),
    ("draw = 10", 'digest = "abc"', "64 hexadecimal"),
    ("most = 2", "most = 0", "at least 1"),
    ("most = 2", "most = true", "whole number"),
    ('kind = "changed"', 'kind = "change"', "criterion 1 is 'change'"),
    ("margin = 0.1", "", "lacks 'margin'"),
    ("margin = 0.1", "margin = 1.5", "is 1.5"),
    ("margin = 0.1", 'margin = 0.1\nmeasure = "errors"', "has 'measure'"),
    ("margin = 0.1", 'margin = 0.1\nwhat = "trust"', "is 'trust'"),
    ("level = 0.05", "level = 0", "no number of rows"),
    ("level = 0.05", "", "lacks 'level'"),
    ('kind = "changed"', 'kind = "regions"\nnames = ["x"]', "by their numbers"),
    ('kind = "changed"', 'kind = "groups"\nnames = []', "is empty"),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG)
def test_a_plan_that_is_wrong_says_what(tmp_path, old, new, says):
    path = tmp_path / "plan.toml"
    path.write_text(GOOD)
    plan = ChangePlan.load(path)
    assert (plan.most_candidates, plan.rows.draw, plan.rows.seed, plan.criteria[0].what) == (2, 10, 0, "any")
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ValueError, match=says):
        ChangePlan.load(path)


def test_the_helper_of_the_attacks_lets_good_candidates_pass(tmp_path):
    """Or attacks that never break a plan would show nothing."""
    X, y = rows_of(np.random.default_rng(0), 1000, broken=0.01)
    assert passes(written(tmp_path, CHANGED, fixed(X, y)), reading(1), X, y)
    assert sepc.compare(reading(0), reading(1), X).n_changed == int((X[:, 0] != X[:, 2]).sum())
