"""Recourse: answers are accepted, within limits and no cheaper than the bound; what cannot be done is explained."""

import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from loans import lie_inside, loans, model_of_loans
from optional import package_or_skip
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.wording import deviations

pd = package_or_skip("pandas")

FIXED, BOUNDS, DIRECTION = ["purpose"], {"amount": (500.0, 20_000.0), "home": ["own", "rent"]}, {"months": "down"}


@cache
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=400) > 0.0, 7, 3)
    return X, y


@cache
def model_of_numbers():
    return SEPClassifier(min_trust=0.9).fit(*numbers())


def rows_labelled(model, label, n):
    table = loans()[0]
    decisions = model.decide(table)
    return [table.iloc[[i]] for i in np.flatnonzero((decisions.label == label) & (decisions.trust > 0.6))[:n]]


@pytest.fixture(scope="module")
def row():
    """A loan that the model says will be late."""
    return rows_labelled(model_of_loans(), "late", 1)[0]


def reach(row, **given):
    return sepc.recourse(model_of_loans(), row, **({"to": "paid"} | given))


PRICES = {"amount": 2.0, "home": 0.5}


@cache
def model_of(name):
    """A model of loans; the trusted one is not ours inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "sep":
            return model_of_loans()
        if name == "repaired":
            return RoutedClassifier(model_of_loans()).fit(*loans(300, seed=1))
        table, y = loans()
        by_home = {"max_risk": 0.15, "by": "home", "random_state": 0}
        models: dict[str, Any] = {
            "counts": SEPClassifier(trust="counts", min_trust=0.8),
            "selective": SelectiveClassifier(SEPClassifier(), max_risk=0.1),
            "groups": SelectiveClassifier(SEPClassifier(), **by_home),
            "trusted": TrustedClassifier(SEPClassifier(trust="counts"), cv=2, min_trust=0.8),
        }
        return models[name].fit(table, y)


@pytest.mark.slow_cases("counts", "selective", "groups", "repaired", "trusted")
@pytest.mark.parametrize("name", ["sep", "counts", "selective", "groups", "repaired", "trusted"])
def test_answers_are_accepted_within_limits_above_the_bound_and_cost_what_differs(name):
    model, n_answers = model_of(name), 0
    scale = dict(zip(model_of_loans().model_.feature_names, model_of_loans().model_.scale, strict=True))
    for row in rows_labelled(model, "late", 4 if name == "sep" else 12):
        found = sepc.recourse(model, row, to="paid", fixed=FIXED, bounds=BOUNDS, direction=DIRECTION, cost=PRICES)
        for answer in found.answers:
            n_answers += 1
            again = sepc.decide(model, answer.row)[0]
            assert (again.label, again.accepted, again.trust) == ("paid", True, answer.decision.trust)
            assert again.why() == answer.decision.why()
            assert answer.cost >= found.bound - 1e-9
            assert answer.added == pytest.approx(answer.cost - found.bound, abs=1e-9)
            before, after = row.iloc[0], answer.row.iloc[0]
            check_limits(before, after)
            assert {change.feature for change in answer.changes} == {
                name for name in row if before[name] != after[name]
            }
            costs = []
            is_own = name in ("sep", "counts")  # others measure with the scale of a model inside
            for change in answer.changes:
                assert (change.before, change.after) == (before[change.feature], after[change.feature])
                is_category = isinstance(change.before, str)
                way = 1.0 if is_category else abs(change.after - change.before) / scale[change.feature]
                costs.append(PRICES.get(change.feature, 1.0) * way)
                assert not is_own or change.cost == pytest.approx(costs[-1])
            assert not is_own or answer.cost == pytest.approx(np.linalg.norm(costs))
            assert not is_own or costs == pytest.approx(sorted(costs, reverse=True))
    assert n_answers >= 6


def check_limits(before, after):
    assert after["purpose"] == before["purpose"]
    assert after["since"] == before["since"]
    assert after["note"] == before["note"]
    assert 500.0 <= after["amount"] <= 20_000.0
    assert after["home"] in ("own", "rent")
    assert after["months"] <= before["months"]
    assert after["months"] == int(after["months"])


def test_several_answers_change_different_features(row):
    found = reach(row, n_answers=3)
    assert len(found.answers) >= 2
    assert [answer.cost for answer in found.answers] == sorted(answer.cost for answer in found.answers)
    printed = str(found)
    for i, answer in enumerate(found.answers):
        assert sepc.decide(model_of_loans(), answer.row).accepted[0]
        assert all(change.words in printed for change in answer.changes)
        for other in found.answers[:i]:
            assert shared_cost(answer, other) < 0.5
    assert sorted(set(found.to_frame()["answer"])) == list(range(1, len(found.answers) + 1))


def shared_cost(one, other):
    """The share of squared costs that two answers have in common, computed from their rows."""
    shares = []
    for answer in (one, other):
        ways = {
            change.feature: (
                change.after if isinstance(change.after, str) else change.after > change.before,
                change.cost,
            )
            for change in answer.changes
        }
        shares.append({(name, way): cost**2 / answer.cost**2 for name, (way, cost) in ways.items()})
    return sum(min(share, shares[1].get(key, 0.0)) for key, share in shares[0].items())


def test_what_cannot_be_reached_is_proved_and_blamed_on_the_right_limits(row):
    model, bounds = model_of_loans(), {"amount": (17_000.0, None), "months": (55, None)}
    found = reach(row, bounds=bounds, fixed=["rate"])
    assert not found.is_reachable
    assert found.answers == ()
    for leaf in found.proof:
        low, high, _, _ = leaf.box.relaxed
        root, center = model.model_.roots[leaf.ellipsoid], model.model_.centers[leaf.ellipsoid]
        # A half-space that holds the ellipsoid, and no point of the box.
        assert np.linalg.norm(np.linalg.solve(root.T, leaf.proof.normal)) <= 1.0 + 1e-6
        assert (leaf.proof.center == center).all()
        assert leaf.proof.normal @ (np.where(leaf.proof.normal > 0.0, low, high) - center) > 1.0
    assert {leaf.ellipsoid for leaf in found.proof} == {
        k for k, own in enumerate(model.ellipsoids_) if own.label == "paid"
    }
    assert found.blocking
    for blocking in found.blocking:
        fewer = {name: own for name, own in bounds.items() if not blocking.startswith(name)}
        assert reach(row, bounds=fewer, fixed=["rate"]).is_reachable


def test_a_row_that_is_accepted_changes_only_if_limits_ask_for_it():
    table = loans()[0]
    decisions = model_of_loans().decide(table)
    i = int(np.flatnonzero(decisions.accepted & (decisions.label == "paid") & (table["months"] > 20))[0])
    found = reach(table.iloc[[i]])
    assert (found.answers[0].cost, found.answers[0].changes) == (0.0, ())
    assert found.answers[0].row.equals(table.iloc[[i]].reset_index(drop=True))
    found = reach(table.iloc[[i]], bounds={"months": (None, 15)})
    assert found.answers[0].row["months"].iloc[0] <= 15
    assert found.bound > 0.0


def test_less_and_more_trust(row):
    by_trust = [reach(row, min_trust=trust) for trust in (0.0, 0.8, 0.97)]
    costs = [found.answers[0].cost for found in by_trust]
    assert costs[0] < costs[1] < costs[2]
    assert by_trust[0].answers[0].decision.label == "paid"
    assert by_trust[2].answers[0].decision.trust >= 0.97
    assert by_trust[0].bound == by_trust[2].bound
    none = reach(row, min_trust=1.0)
    assert (none.answers, none.is_reachable) == ((), True)
    assert none.to_frame().empty


def test_rows_of_every_form(row):
    X, _ = numbers()
    i = int(np.flatnonzero(model_of_numbers().decide(X).label == 3)[0])
    first = sepc.recourse(model_of_numbers(), X[i], to=7, fixed=[2])
    same = sepc.recourse(model_of_numbers(), X[[i]], to=7, fixed=["x2"])
    assert (first.answers[0].row == same.answers[0].row).all()
    assert first.answers[0].row[0, 2] == X[i, 2]
    assert not sepc.recourse(model_of_numbers(), X[i], to=7, fixed=[0, 1, 2]).answers
    cost = reach(row).answers[0].cost
    for given in (row.iloc[0], row.iloc[0].to_dict()):
        assert reach(given, fixed=["note"]).answers[0].cost == cost


@pytest.mark.slow
def test_columns_keep_their_types():
    X, y = numbers()
    table = pd.DataFrame({"flag": X[:, 0] > 0.0, "count": (10.0 * X[:, 1]).astype(int), "level": X[:, 2]})
    model = SEPClassifier(min_trust=0.8).fit(table, y)
    found = [
        sepc.recourse(model, table.iloc[[i]], to=7, min_trust=0.6)
        for i in np.flatnonzero(model.predict(table) == 3)[:8]
    ]
    rows = [own.answers[0].row for own in found if own.answers]
    assert any((row["flag"] != table.loc[0, "flag"]).any() for row in rows)
    assert all((row.dtypes == table.dtypes).all() for row in rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"to": "lost"}, "'lost'"),
        ({"fixed": ["age"]}, "'age'"),
        ({"fixed": ["rate"], "bounds": {"rate": (1, 2)}}, "fixed"),
        ({"bounds": {"rate": (2, 1)}}, "exceed"),
        ({"bounds": {"rate": 3}}, r"\(low, high\)"),
        ({"bounds": {"rate": (np.nan, 1)}}, "exceed"),
        ({"bounds": {"months": (10.2, 10.8)}}, "whole number"),
        ({"bounds": {"purpose": ["boat"]}}, "'boat'"),
        ({"bounds": {"purpose": "car"}}, "list"),
        ({"bounds": {"purpose": []}}, "No category"),
        ({"bounds": {"since": (0, 1)}}, "dates"),
        ({"bounds": {"note": ["x"]}}, "not used"),
        ({"direction": {"purpose": "up"}}, "direction"),
        ({"direction": {"rate": "sideways"}}, "'up' or 'down'"),
        ({"direction": {"rate": "up"}, "bounds": {"rate": (None, -50.0)}}, "no value"),
        ({"cost": {"rate": 0.0}}, "above 0"),
        ({"cost": {"rate": np.inf}}, "above 0"),
        ({"min_trust": 1.5}, "min_trust"),
    ],
)
def test_mistakes_are_told_in_the_users_terms(row, given, message):
    with pytest.raises(ValueError, match=message):
        reach(row, **given)


def test_models_without_a_partition_of_the_columns_are_refused():
    X, y = numbers()
    pipeline = make_pipeline(StandardScaler(), SEPClassifier())
    for model, message in (
        (pipeline, "steps before SEPClassifier"),
        (LogisticRegression(), "TrustedClassifier"),
        (SelectiveClassifier(LogisticRegression(), 0.5, random_state=0), "TrustedClassifier"),
        (RoutedClassifier(SEPClassifier(), by=[2], min_rows=50), "single stratum"),
    ):
        with pytest.raises(TypeError, match=message):
            sepc.recourse(model.fit(X.round(), y), X[0].round(), to=7)
    for rows, message in ((X[:0], "at least one row"), (X[:1] * [1.0, np.nan, 1.0], "'x1'")):
        with pytest.raises(ValueError, match=message):
            sepc.recourse(model_of_numbers(), rows, to=7)


def test_a_label_with_single_cases_only():
    X, y = numbers()
    X, y = np.vstack([X, [[9.0, 9.0, 9.0]]]), np.append(y, 11)
    found = sepc.recourse(SEPClassifier().fit(X, y), X[0], to=11)
    assert not found.is_reachable
    assert "too few" in found.why()


def test_a_category_that_was_not_seen_may_stay(row):
    found = reach(row.assign(purpose="boat"), fixed=["purpose"])
    assert found.answers[0].row["purpose"].iloc[0] == "boat"
    assert sepc.decide(model_of_loans(), found.answers[0].row).accepted[0]


def test_the_same_answer_every_time_and_after_a_restart(row, tmp_path):
    given, centers = row.copy(), model_of_loans().model_.centers.copy()
    sepc.save(model_of_loans(), tmp_path / "loans.sepc")
    models = model_of_loans(), model_of_loans(), sepc.load(tmp_path / "loans.sepc")
    first, again, loaded = (sepc.recourse(model, row, to="paid") for model in models)
    assert first.answers[0].row.equals(again.answers[0].row)
    assert first.answers[0].row.equals(loaded.answers[0].row)
    assert (first.bound, first.why()) == (loaded.bound, loaded.why())
    assert row.equals(given)
    assert (model_of_loans().model_.centers == centers).all()


def test_reasons_have_at_most_60_words_and_true_numbers():
    for row in rows_labelled(model_of_loans(), "late", 4):
        found = sepc.recourse(model_of_loans(), row, to="paid")
        words, answer = found.why(), found.answers[0]
        assert len(words.split()) <= 60
        assert f"trust {answer.decision.trust:.3f}" in words
        assert deviations(answer.cost) in words
        assert f"{found.bound:.3g}" in words
        for change in answer.changes:
            assert change.words in words
        name, before, after = re.search(r"change (\w+) from ([\d,.]+|\w+) to ([\d,.]*\d|\w+)", words).groups()
        assert name == answer.changes[0].feature
        for told, value in ((before, answer.changes[0].before), (after, answer.changes[0].after)):
            told_number = isinstance(value, float)
            assert float(told.replace(",", "")) == pytest.approx(value, rel=0.01) if told_number else told == value


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(scale):
    X, y = numbers()
    i = int(np.flatnonzero(model_of_numbers().decide(X).label == 3)[0])
    scaled = X * [scale, 1.0, 1.0 / scale]
    here = sepc.recourse(model_of_numbers(), X[i], to=7)
    there = sepc.recourse(SEPClassifier(min_trust=0.9).fit(scaled, y), scaled[i], to=7)
    assert there.bound == pytest.approx(here.bound, rel=1e-4)
    assert there.answers[0].cost == pytest.approx(here.answers[0].cost, rel=1e-2)


@pytest.mark.slow  # on every change, no row is cheaper than the bound, in test_reaching.py
def test_answers_are_hardly_dearer_than_the_best_of_many_rows():
    """Of 40,000 rows drawn around the first, none that would do as well is much cheaper."""
    (X, _), model, rng = numbers(), model_of_numbers(), np.random.default_rng(1)
    for i in np.flatnonzero(model.decide(X).label == 3)[:6]:
        answer = sepc.recourse(model, X[i], to=7).answers[0]
        rows = X[i] + 1.5 * answer.cost * model.model_.scale * rng.uniform(-1.0, 1.0, size=(40_000, 3))
        rows = rows[((X.min(axis=0) <= rows) & (rows <= X.max(axis=0))).all(axis=1)]
        decisions = model.decide(rows)
        good = decisions.accepted & (decisions.label == 7) & lie_inside(model, rows, 7)
        costs = np.linalg.norm((rows - X[i]) / model.model_.scale, axis=1)[good]
        assert answer.cost <= 1.15 * costs.min()
