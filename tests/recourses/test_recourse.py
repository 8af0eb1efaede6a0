"""Recourse: answers are accepted, within limits and no cheaper than the bound; what cannot be done is explained."""

import re
import warnings
from functools import cache

import numpy as np
import pytest
from loans import loans, model_of_loans
from optional import package_or_skip
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import RepairedClassifier, SelectiveClassifier, SEPClassifier, StratifiedClassifier, TrustedClassifier
from sepc.datasets import load
from sepc.model.membership import squared_radii
from sepc.wording import deviations

pd = package_or_skip("pandas")

FIXED, BOUNDS, DIRECTION = ["purpose"], {"amount": (500.0, 20_000.0), "home": ["own", "rent"]}, {"months": "down"}


@cache
def models():
    table, y = loans()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = model_of_loans()
        return {
            "sep": plain,
            "counts": SEPClassifier(trust="counts", min_trust=0.8).fit(table, y),
            "selective": SelectiveClassifier(SEPClassifier(), max_risk=0.1).fit(table, y),
            "groups": SelectiveClassifier(SEPClassifier(), max_risk=0.15, by="home", random_state=0).fit(table, y),
            "repaired": RepairedClassifier(plain).fit(*loans(300, seed=1)),
        }


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sep", "counts", "selective", "groups", "repaired"])
def test_answers_are_accepted_within_limits_and_above_the_bound(name):
    model = models()[name]
    n_answers = 0
    for row in rows_labelled(model, "late", 12):
        found = sepc.recourse(model, row, to="paid", fixed=FIXED, bounds=BOUNDS, direction=DIRECTION)
        for answer in found.answers:
            n_answers += 1
            decisions = sepc.decide(model, answer.row)
            assert decisions.label[0] == "paid"
            assert decisions.accepted[0]
            assert answer.cost >= found.bound - 1e-9
            assert answer.added == pytest.approx(answer.cost - found.bound, abs=1e-9)
            check_limits(row.iloc[0], answer.row.iloc[0])
    assert n_answers >= 8


def check_limits(before, after):
    assert after["purpose"] == before["purpose"]
    assert after["since"] == before["since"]
    assert after["note"] == before["note"]
    assert 500.0 <= after["amount"] <= 20_000.0
    assert after["home"] in ("own", "rent")
    assert after["months"] <= before["months"]
    assert after["months"] == int(after["months"])


@pytest.mark.slow_cases("selective")
@pytest.mark.parametrize("name", ["sep", "selective"])
def test_rows_alone_and_rows_of_a_table_are_decided_alike(name):
    """The search asks the partition itself; the table it leads to must be decided in the same way."""
    model = models()[name]
    for row in rows_labelled(model, "late", 5):
        for answer in sepc.recourse(model, row, to="paid").answers:
            again = sepc.decide(model, answer.row)[0]
            assert again.trust == answer.decision.trust
            assert again.label == answer.decision.label
            assert again.why() == answer.decision.why()


@pytest.mark.slow
def test_a_trusted_classifier_is_asked_with_rows_of_the_table():
    X, y = numbers()
    model = TrustedClassifier(LogisticRegression(), min_trust=0.9).fit(X, y)
    rows = X[(model.decide(X).label == 3)][:4]
    found = [sepc.recourse(model, row, to=7) for row in rows]
    assert sum(len(own.answers) for own in found) >= 3
    for own in found:
        for answer in own.answers:
            assert model.decide(answer.row).accepted[0]
            assert answer.row.shape == (1, 3)


@pytest.mark.slow
def test_changes_are_what_differs_and_costs_add_up():
    for row in rows_labelled(model_of_loans(), "late", 10):
        prices = {"amount": 2.0, "purpose": 0.5}
        found = sepc.recourse(model_of_loans(), row, to="paid", cost=prices)
        model = model_of_loans().model_
        for answer in found.answers:
            differs = [name for name in row.columns if row[name].iloc[0] != answer.row[name].iloc[0]]
            assert sorted(change.feature for change in answer.changes) == sorted(differs)
            costs = []
            for change in answer.changes:
                assert change.before == row[change.feature].iloc[0]
                assert change.after == answer.row[change.feature].iloc[0]
                j = model.feature_names.index(change.feature)
                is_category = isinstance(change.before, str)
                way = 1.0 if is_category else abs(change.after - change.before) / model.scale[j]
                costs.append(prices.get(change.feature, 1.0) * way)
                assert change.cost == pytest.approx(costs[-1])
            assert answer.cost == pytest.approx(np.sqrt(np.sum(np.square(costs))))
            assert costs == pytest.approx(sorted(costs, reverse=True))


@pytest.mark.slow
def test_a_dear_feature_changes_less():
    cheap, dear = [], []
    for row in rows_labelled(model_of_loans(), "late", 10):
        for price, moved in ((0.1, cheap), (10.0, dear)):
            answer = sepc.recourse(model_of_loans(), row, to="paid", cost={"amount": price}).answers[0]
            moved.append(abs(answer.row["amount"].iloc[0] - row["amount"].iloc[0]))
    assert np.mean(dear) < 0.2 * np.mean(cheap)


def test_several_answers_change_different_features():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    found = sepc.recourse(model_of_loans(), row, to="paid", n_answers=3)
    assert len(found.answers) >= 2
    assert [answer.cost for answer in found.answers] == sorted(answer.cost for answer in found.answers)
    for i, answer in enumerate(found.answers):
        assert sepc.decide(model_of_loans(), answer.row).accepted[0]
        for other in found.answers[:i]:
            assert shared_cost(answer, other) < 0.5
    assert sorted(set(found.to_frame()["answer"])) == list(range(1, len(found.answers) + 1))
    printed = str(found)
    for change in (change for answer in found.answers for change in answer.changes):
        assert change.words in printed


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


def test_what_cannot_be_reached_is_proved_and_blamed_on_the_right_limits():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    value, months = float(row["amount"].iloc[0]), int(row["months"].iloc[0])
    bounds = {"amount": (17_000.0, None), "rate": (5.0, 9.0), "months": (55, 59)}
    found = sepc.recourse(model_of_loans(), row, to="paid", bounds=bounds, fixed=["home"])
    assert not found.is_reachable
    assert found.answers == ()
    assert value < 17_000.0
    assert months < 60
    assert found.blocking
    assert "proved" in found.why()
    for leaf in found.proof:
        low, high, _, _ = leaf.box.relaxed
        root, center = (
            part[leaf.ellipsoid] for part in (model_of_loans().model_.roots, model_of_loans().model_.centers)
        )
        # A half-space that holds the ellipsoid, and no point of the box.
        assert np.linalg.norm(np.linalg.solve(root.T, leaf.proof.normal)) <= 1.0 + 1e-6
        assert (leaf.proof.center == center).all()
        assert leaf.proof.normal @ (np.where(leaf.proof.normal > 0.0, low, high) - center) > 1.0
    assert {leaf.ellipsoid for leaf in found.proof} == {
        k for k, own in enumerate(model_of_loans().ellipsoids_) if own.label == "paid"
    }


def test_without_any_one_of_the_blocking_limits_something_can_be_reached():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    bounds = {"amount": (17_000.0, None), "months": (55, None)}
    words = {"amount is at least 17,000": "amount", "months is at least 55": "months"}
    found = sepc.recourse(model_of_loans(), row, to="paid", bounds=bounds, fixed=["rate"])
    assert set(found.blocking) <= set(words)
    for blocking in found.blocking:
        fewer = {name: own for name, own in bounds.items() if name != words[blocking]}
        assert sepc.recourse(model_of_loans(), row, to="paid", bounds=fewer, fixed=["rate"]).is_reachable


def test_accepted_already():
    table = loans()[0]
    i = int(np.flatnonzero(model_of_loans().decide(table).accepted)[0])
    label = str(model_of_loans().decide(table).label[i])
    found = sepc.recourse(model_of_loans(), table.iloc[[i]], to=label)
    assert found.answers[0].cost == 0.0
    assert found.answers[0].changes == ()
    assert found.answers[0].row.equals(table.iloc[[i]].reset_index(drop=True))
    assert found.why() == f"It is accepted as {label!r} already."


def test_a_row_that_is_accepted_but_not_within_limits_has_to_change():
    table = loans()[0]
    decisions = model_of_loans().decide(table)
    i = int(np.flatnonzero(decisions.accepted & (decisions.label == "paid") & (table["months"] > 20))[0])
    found = sepc.recourse(model_of_loans(), table.iloc[[i]], to="paid", bounds={"months": (None, 15)})
    assert found.answers[0].row["months"].iloc[0] <= 15
    assert found.bound > 0.0


def test_less_and_more_trust():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    by_trust = [sepc.recourse(model_of_loans(), row, to="paid", min_trust=trust) for trust in (0.0, 0.8, 0.97)]
    costs = [found.answers[0].cost for found in by_trust]
    assert costs[0] < costs[1] < costs[2]
    assert by_trust[0].answers[0].decision.label == "paid"
    assert by_trust[2].answers[0].decision.trust >= 0.97
    assert by_trust[0].bound == by_trust[2].bound


def test_rows_of_every_form():
    X, _ = numbers()
    i = int(np.flatnonzero(model_of_numbers().decide(X).label == 3)[0])
    first = sepc.recourse(model_of_numbers(), X[i], to=7, fixed=[2])
    same = sepc.recourse(model_of_numbers(), X[[i]], to=7, fixed=["x2"])
    assert (first.answers[0].row == same.answers[0].row).all()
    assert first.answers[0].row[0, 2] == X[i, 2]
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    by_frame = sepc.recourse(model_of_loans(), row, to="paid")
    for given in (row.iloc[0], row.iloc[0].to_dict()):
        assert sepc.recourse(model_of_loans(), given, to="paid").answers[0].cost == by_frame.answers[0].cost


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


def test_gaps_are_refused():
    row = rows_labelled(model_of_loans(), "late", 1)[0].assign(rate=np.nan)
    with pytest.raises(ValueError, match=r"Missing values: 'rate'\. Recourse needs a complete row"):
        sepc.recourse(model_of_loans(), row, to="paid")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"to": "lost"}, "no label 'lost'; the labels are 'late' and 'paid'"),
        ({"fixed": ["age"]}, "no column 'age'; there are 'amount'"),
        ({"fixed": ["rate"], "bounds": {"rate": (1, 2)}}, "'rate' is fixed, but also has bounds"),
        ({"bounds": {"rate": (2, 1)}}, "first must not exceed"),
        ({"bounds": {"rate": 3}}, r"give numbers \(low, high\)"),
        ({"bounds": {"rate": (np.nan, 1)}}, "first must not exceed"),
        ({"bounds": {"months": (10.2, 10.8)}}, "'months' contain no whole number; in training it was always one"),
        ({"bounds": {"purpose": ["boat"]}}, "'boat' is not a category of 'purpose'"),
        ({"bounds": {"purpose": "car"}}, "give a list"),
        ({"bounds": {"purpose": []}}, "No category of 'purpose' is allowed"),
        ({"bounds": {"since": (0, 1)}}, "dates, which are never changed"),
        ({"bounds": {"note": ["x"]}}, "not used by the model"),
        ({"direction": {"purpose": "up"}}, "categories, which have no direction"),
        ({"direction": {"rate": "sideways"}}, "must be 'up' or 'down'"),
        ({"direction": {"rate": "up"}, "bounds": {"rate": (None, -50.0)}}, "leave no value"),
        ({"cost": {"rate": 0.0}}, "must be a number above 0"),
        ({"cost": {"rate": np.inf}}, "must be a number above 0"),
        ({"min_trust": 1.5}, "min_trust"),
    ],
)
def test_mistakes_are_told_in_the_users_terms(given, message):
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    with pytest.raises(ValueError, match=message):
        sepc.recourse(model_of_loans(), row, **({"to": "paid"} | given))


def test_a_column_that_is_not_used_may_be_fixed():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    assert sepc.recourse(model_of_loans(), row, to="paid", fixed=["note"]).answers


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="at least one row"):
        sepc.recourse(model_of_numbers(), numbers()[0][:0], to=7)


def test_models_without_a_partition_of_the_columns_are_refused():
    X, y = numbers()
    with pytest.raises(TypeError, match="steps before SEPClassifier"):
        sepc.recourse(make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y), X[0], to=7)
    wrap = r"which LogisticRegression lacks. Wrap it: fit TrustedClassifier\(LogisticRegression\(...\)\)"
    with pytest.raises(TypeError, match=wrap):
        sepc.recourse(LogisticRegression().fit(X, y), X[0], to=7)
    with pytest.raises(TypeError, match="this SelectiveClassifier has none, or several; .* a TrustedClassifier around"):
        sepc.recourse(SelectiveClassifier(LogisticRegression(), 0.5, random_state=0).fit(X, y), X[0], to=7)
    stratified = StratifiedClassifier(SEPClassifier(), by=[3]).fit(np.column_stack([X, y == 7]), y)
    with pytest.raises(TypeError, match="this StratifiedClassifier has none, or several; .* of a single stratum"):
        sepc.recourse(stratified, np.append(X[0], 1.0), to=7)


def test_a_label_with_single_cases_only():
    X, y = numbers()
    X, y = np.vstack([X, [[9.0, 9.0, 9.0]]]), np.append(y, 11)
    found = sepc.recourse(SEPClassifier().fit(X, y), X[0], to=11)
    assert not found.is_reachable
    assert "too few cases of 11" in found.why()


def test_a_category_that_was_not_seen_may_stay():
    row = rows_labelled(model_of_loans(), "late", 1)[0].assign(purpose="boat")
    found = sepc.recourse(model_of_loans(), row, to="paid", fixed=["purpose"])
    assert found.answers[0].row["purpose"].iloc[0] == "boat"
    assert sepc.decide(model_of_loans(), found.answers[0].row).accepted[0]


def test_nothing_is_written_to():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    before, centers = row.copy(), model_of_loans().model_.centers.copy()
    sepc.recourse(model_of_loans(), row, to="paid", n_answers=2)
    assert row.equals(before)
    assert (model_of_loans().model_.centers == centers).all()


def test_the_same_answer_every_time_and_after_a_restart(tmp_path):
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    sepc.save(model_of_loans(), tmp_path / "loans.sepc")
    first, again, loaded = (
        sepc.recourse(model, row, to="paid") for model in (*[model_of_loans()] * 2, sepc.load(tmp_path / "loans.sepc"))
    )
    assert first.answers[0].row.equals(again.answers[0].row)
    assert first.answers[0].row.equals(loaded.answers[0].row)
    assert first.bound == loaded.bound
    assert first.why() == loaded.why()


def test_reasons_have_at_most_60_words_and_true_numbers():
    for row in rows_labelled(model_of_loans(), "late", 8):
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


def test_finding_nothing_is_said():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    found = sepc.recourse(model_of_loans(), row, to="paid", min_trust=1.0)
    assert found.answers == ()
    assert found.is_reachable
    assert "nothing was found there that the model accepts" in found.why()
    assert found.to_frame().empty


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(scale):
    X, y = numbers()
    i = int(np.flatnonzero(model_of_numbers().decide(X).label == 3)[0])
    scaled = X * [scale, 1.0, 1.0 / scale]
    here = sepc.recourse(model_of_numbers(), X[i], to=7)
    there = sepc.recourse(SEPClassifier(min_trust=0.9).fit(scaled, y), scaled[i], to=7)
    assert there.bound == pytest.approx(here.bound, rel=1e-4)
    assert there.answers[0].cost == pytest.approx(here.answers[0].cost, rel=1e-2)


def test_cards_are_short():
    row = rows_labelled(model_of_loans(), "late", 1)[0]
    found = sepc.recourse(model_of_loans(), row, to="paid", n_answers=3)
    assert len(repr(found).splitlines()) <= 15
    assert f"Recourse to 'paid': {len(found.answers)} answers" in repr(found)
    assert "<table" in found._repr_html_()
    assert "Answer with" in str(found.answers[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["german_credit_numeric", "heart_cleveland"])
def test_on_real_tables(name):
    data = load(name)
    complete = data.features.notna().all(axis=1).to_numpy()
    X, y = data.features[complete].astype(dict.fromkeys(data.categorical, "category")), data.target[complete]
    model = SEPClassifier().fit(X[::2], y[::2])
    decisions = model.decide(X[1::2])
    n_found = 0
    for i in range(20):
        to = next(label for label in model.classes_ if label != decisions.label[i])
        for answer in sepc.recourse(model, X[1::2].iloc[[i]], to=to).answers:
            n_found += 1
            assert model.decide(answer.row).accepted[0]
            assert model.decide(answer.row).label[0] == to
    assert n_found >= 8  # of german credit, one label is hardly ever accepted


@pytest.mark.slow  # on every change, no row is cheaper than the bound, in test_reaching.py
def test_answers_are_hardly_dearer_than_the_best_of_many_rows():
    """Of 40,000 rows drawn around the first, none that would do as well is much cheaper."""
    (X, _), model, rng = numbers(), model_of_numbers(), np.random.default_rng(1)
    own = np.flatnonzero(model.model_.classes[model.model_.owners] == 7)
    for i in np.flatnonzero(model.decide(X).label == 3)[:6]:
        answer = sepc.recourse(model, X[i], to=7).answers[0]
        rows = X[i] + 1.5 * answer.cost * model.model_.scale * rng.uniform(-1.0, 1.0, size=(40_000, 3))
        rows = rows[((X.min(axis=0) <= rows) & (rows <= X.max(axis=0))).all(axis=1)]
        decisions, squared = (
            model.decide(rows),
            squared_radii(model.model_.standardize(rows), model.model_.centers[own], model.model_.roots[own]),
        )
        good = decisions.accepted & (decisions.label == 7) & (squared <= 1.0).any(axis=1)
        costs = np.linalg.norm((rows - X[i]) / model.model_.scale, axis=1)[good]
        assert answer.cost <= 1.15 * costs.min()


def test_with_all_columns_fixed_nothing_is_found_and_nothing_warns():
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = SEPClassifier().fit(X, y)
    said = set()
    for i in range(30):
        found = sepc.recourse(model, X[[i]], to=1 - model.predict(X[[i]])[0], fixed=["x0", "x1"])
        assert not found.answers
        said.add(re.sub(r"cases of \d", "cases", found.why().split(",")[0]))
    assert said == {"It is like cases already", "Nothing like cases can be reached"}
