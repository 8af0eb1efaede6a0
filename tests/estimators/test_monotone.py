"""Monotone and standalone features: no row violates a direction, wherever it lies and however it is decided."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from optional import package_or_skip
from scipy.special import logit

import sepc
from sepc import Edit, SEPClassifier
from sepc.model.completion import draw_completions

# What rounding may take from a probability.
ROUNDING = 1e-12
N_PAIRS = 2_000


def quick(**options) -> SEPClassifier:
    """A classifier with few ellipsoids, which is fast to fit."""
    return SEPClassifier(max_ellipsoids=6, **options)


def table(seed: int, n: int = 300, n_classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows with a rising and a falling feature, an interaction of others, a category, noise and missing values."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 5)), columns=["income", "debt", "age", "years", "noise"])
    X["home"] = rng.choice(["own", "rent", "other"], n)
    score = X.income - 0.8 * X.debt + 1.5 * X.age * X.years + (X.home == "own")
    score = score.to_numpy() + rng.logistic(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    X = X.mask(rng.random(X.shape) < 0.03)
    return X, y


@cache
def fitted(seed: int = 0, n_classes: int = 2) -> SEPClassifier:
    X, y = table(seed, n_classes=n_classes)
    monotone_for = None if n_classes == 2 else n_classes - 1
    return quick(monotone={"income": "up", "debt": "down"}, monotone_for=monotone_for).fit(X, y)


def pairs(seed: int, feature: str, *, with_gaps: bool = True, n: int = N_PAIRS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows that differ in one feature only, which is larger in the second: near training rows and far from them."""
    rng = np.random.default_rng([seed, 1])
    rows = table(seed + 1_000, n)[0]
    numbers = rows.columns[:5]
    rows[numbers] = rows[numbers] * rng.choice([1.0, 3.0, 30.0], n)[:, None]
    if with_gaps:
        rows = rows.mask(rng.random(rows.shape) < 0.1)
    else:
        rows[numbers] = rows[numbers].fillna(0.5)
    lower = rows.assign(**{feature: rng.standard_normal(n) * rng.choice([1.0, 10.0, 1e6], n)})
    return lower, lower.assign(**{feature: lower[feature] + rng.exponential(size=n) * rng.choice([1e-9, 1.0, 1e3], n)})


def largest_violation(before: np.ndarray, after: np.ndarray, direction: int) -> float:
    return float((direction * (before - after)).max())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("feature", "direction"), [("income", 1), ("debt", -1)])
def test_no_pair_of_rows_violates_a_direction(n_classes, feature, direction):
    model = fitted(n_classes=n_classes)
    lower, higher = pairs(0, feature)
    before, after = model.predict_proba(lower), model.predict_proba(higher)
    assert np.abs(after - before).max() > 0.1, "the feature has no effect: the test says nothing"
    assert largest_violation(before[:, -1], after[:, -1], direction) <= ROUNDING
    for other in range(n_classes - 1):
        odds = [probabilities[:, -1] / probabilities[:, other] for probabilities in (before, after)]
        assert largest_violation(np.log(odds[0]), np.log(odds[1]), direction) <= 1e-9


def test_log_odds_without_fading_never_go_the_wrong_way():
    model = fitted()
    lower, higher = (model.decide(rows).terms() for rows in pairs(2, "income", with_gaps=False, n=1_000))
    signed = [np.where(terms.label == 1, terms.log_odds, -terms.log_odds) for terms in (lower, higher)]
    assert largest_violation(signed[0], signed[1], 1) <= ROUNDING


def test_where_a_row_lies_does_not_depend_on_standalone_features():
    model = fitted()
    lower, higher = (model.decide(rows) for rows in pairs(3, "income", with_gaps=False))
    for name in ("region", "gauge", "place", "rule"):
        np.testing.assert_array_equal(getattr(lower, name), getattr(higher, name), name)


def test_labels_and_acceptance_follow():
    model = fitted()
    for feature in ("income", "debt"):
        lower, higher = map(model.decide, pairs(4, feature))
        worse, better = (lower, higher) if feature == "income" else (higher, lower)
        was_good = worse.label == 1
        assert was_good.any()
        assert (better.label[was_good] == 1).all()
        assert better.accepted[was_good & worse.accepted].all()


def test_a_missing_monotone_value_lies_between_the_extremes():
    model = fitted()
    rows, _ = pairs(5, "income", n=500)
    low, high, missing = (model.predict_proba(rows.assign(income=value))[:, 1] for value in (-1e9, 1e9, np.nan))
    assert (low - ROUNDING <= missing).all()
    assert (missing <= high + ROUNDING).all()


def test_completions_do_not_depend_on_standalone_features():
    model = fitted()
    rows = [model._rows(rows) for rows in pairs(6, "debt", n=300)]
    j = model.model_.feature_names.index("debt")
    (where, before), (also, after) = (next(draw_completions(model.model_, each)) for each in rows)
    assert len(where) > 50
    np.testing.assert_array_equal(where, also)
    np.testing.assert_array_equal(np.delete(before, j, axis=2), np.delete(after, j, axis=2))


def test_models_are_the_same_after_saving(tmp_path):
    model = fitted()
    sepc.save(model, tmp_path / "model.sepc")
    again = sepc.load(tmp_path / "model.sepc")
    rows, _ = pairs(7, "income", n=500)
    np.testing.assert_array_equal(model.predict_proba(rows), again.predict_proba(rows))
    assert str(again.proofs()) == str(model.proofs())
    assert again.get_params() == model.get_params()
    sepc.save(again, tmp_path / "again.sepc")
    assert (tmp_path / "model.sepc").read_bytes() == (tmp_path / "again.sepc").read_bytes()


def test_files_without_constraints_do_not_mention_them(tmp_path):
    X, y = table(0, 60)
    sepc.save(quick().fit(X[["age", "years"]], y), tmp_path / "free.sepc")
    content = (tmp_path / "free.sepc").read_bytes()
    assert b"monotone" not in content
    assert b"alone" not in content


@pytest.mark.parametrize("terms", [False, True])
def test_onnx_decides_alike(tmp_path, terms):
    package_or_skip("onnx")
    runtime = package_or_skip("onnxruntime")
    X, y = table(0)
    columns = ["income", "debt", "age", "years", "noise"]
    model = quick(monotone={"income": "up", "debt": "down"}).fit(X[columns], y)
    from sepc.onnx import export

    export(model, tmp_path / "model.onnx", terms=terms)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    assert "never lowers" in session.get_modelmeta().custom_metadata_map["remarks"]
    found = []
    for rows in pairs(8, "income", with_gaps=False):
        given = rows[columns].to_numpy()
        label, probabilities, trust = session.run(["label", "probabilities", "trust"], {"X": given})
        decided = model.decide(rows[columns])
        np.testing.assert_allclose(probabilities, decided.probabilities, atol=1e-9)
        np.testing.assert_allclose(trust, decided.trust, atol=1e-9)
        assert (label == decided.label).mean() > 0.999
        if terms:
            (given_terms,) = session.run(["terms"], {"X": given})
            np.testing.assert_allclose(given_terms[:, :5], decided.terms().features, atol=1e-9)
        found.append(probabilities)
    assert largest_violation(found[0][:, 1], found[1][:, 1], 1) <= ROUNDING


def test_sql_decides_alike():
    duckdb = package_or_skip("duckdb")
    from sepc.sql import export

    model = fitted()
    statement = export(model, "duckdb", "applicants", terms=True)
    assert "-- A larger 'income' never lowers the log-odds of 1" in statement
    found = []
    for rows in pairs(9, "income", with_gaps=False, n=400):
        connection = duckdb.connect()
        connection.register("applicants", rows.assign(home=rows.home.astype(object).where(rows.home.notna(), None)))
        answer = connection.sql(statement).df()
        decided = model.decide(rows)
        np.testing.assert_array_equal(answer.sepc_label, decided.label)
        np.testing.assert_allclose(answer.sepc_trust, decided.trust, atol=1e-9)
        found.append(np.where(answer.sepc_label == 1, answer.sepc_trust, 1 - answer.sepc_trust))
    assert largest_violation(found[0], found[1], 1) <= ROUNDING


def test_terms_add_up_and_reasons_name_standalone_features():
    model = fitted()
    rows, _ = pairs(10, "income", n=200)
    decisions = model.decide(rows)
    terms = decisions.terms()
    complete = ~rows.isna().to_numpy()[:, :5].any(axis=1) & (terms.fading == 1.0)
    assert complete.sum() > 20
    np.testing.assert_allclose(terms.log_odds[complete], logit(terms.probability[complete]), rtol=1e-6, atol=1e-6)
    assert any("income" in decisions[i].why() for i in range(20))


def test_certain_labels_stay_whatever_a_missing_standalone_value_is():
    rng = np.random.default_rng(3)
    y = np.arange(120) % 2
    X = rng.standard_normal((120, 3)) + np.outer(y, [6.0, 6.0, 0.3])
    model = quick(monotone={2: "up"}).fit(X, y)
    rows = X[:20].copy()
    rows[:, 2] = np.nan
    decisions = model.decide(rows)
    certain = [i for i in range(len(rows)) if decisions[i].is_certain]
    assert len(certain) > 5
    for value in (-1e6, -1.0, 0.0, 1.0, 1e6):
        rows[:, 2] = value
        np.testing.assert_array_equal(model.predict(rows)[certain], decisions.label[certain])


def test_standalone_features_without_a_direction_may_bend():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((800, 3)), columns=["age", "b", "c"])
    y = ((X.age.abs() < 0.7) ^ (rng.random(800) < 0.1)).astype(int).to_numpy()
    model = quick(features_alone=["age"]).fit(X, y)
    assert model.model_.centers.shape[1] == 2
    assert model.score(X, y) > 0.8
    assert len(model.proofs()) == 0
    assert "Standalone, in no direction: 'age'" in str(model.proofs())


def test_a_wrong_direction_leaves_a_flat_curve():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(600) > 0).astype(int)
    model = quick(monotone={0: "down"}).fit(X, y)
    probabilities = model.predict_proba(np.column_stack([np.linspace(-3, 3, 50), np.zeros(50)]))[:, 1]
    assert np.ptp(probabilities) < 1e-12


def test_sequences_names_and_positions_mean_the_same():
    X, y = table(2, 300)
    X = X[["income", "debt", "age", "years"]].fillna(0.0)
    ways = [
        (X, {"income": "up", "debt": "down"}),
        (X, {0: 1, 1: -1}),
        (X, [1, -1, 0, 0]),
        (X, np.array([1, -1, 0, 0])),
        (X.to_numpy(), {"x0": "up", "x1": "down"}),
    ]
    found = [quick(monotone=monotone).fit(rows, y).predict_proba(rows) for rows, monotone in ways]
    for probabilities in found[1:]:
        np.testing.assert_array_equal(probabilities, found[0])


def test_directions_refer_to_the_label_of_monotone_for():
    X, y = table(2, 300)
    X = X[["income", "age", "years"]].fillna(0.0)
    second, first = (
        quick(monotone={"income": direction}, monotone_for=label).fit(X, y)
        for direction, label in (("up", 1), ("down", 0))
    )
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-9)
    assert "log-odds of 0" in str(first.proofs())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone": {"incme": "up"}}, "monotone names 'incme'; the columns are 'income'"),
        ({"monotone": {"income": "rising"}}, "a direction is 'up' or 'down'"),
        ({"monotone": {"home": "up"}}, "'home', which holds categories"),
        ({"monotone": [1, 0]}, "2 directions for 6 columns"),
        ({"monotone": "income"}, "it must be a mapping"),
        ({"monotone": {17: "up"}}, "position of one of 6 columns"),
        ({"monotone": {"income": "up"}, "trust": "counts"}, "monotone needs trust='weights'"),
        ({"features_alone": "age"}, "a list of columns"),
        ({"features_alone": list(table(0, 5)[0].columns)}, "name every feature"),
        ({"monotone": {"income": "up"}, "monotone_for": "yes"}, "monotone_for is 'yes'"),
    ],
)
def test_impossible_constraints_are_refused(options, message):
    X, y = table(0, 100)
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X, y)


def test_more_than_two_classes_need_a_label():
    X, y = table(0, 150, n_classes=3)
    with pytest.raises(ValueError, match="monotone needs monotone_for with more than two classes"):
        quick(monotone={"income": "up"}).fit(X, y)


def test_columns_left_out_cannot_be_monotone():
    X, y = table(0, 100)
    with pytest.warns(UserWarning, match="id"), pytest.raises(ValueError, match="which is left out"):
        quick(monotone={"id": "up"}).fit(X.assign(id=np.arange(100)), y)


def test_proofs_follow_edits():
    model = fitted()
    assert [proof.holds for proof in model.proofs()] == [True, True]
    bent = model.edited(Edit.shift("income", 0.5, by=-2.0, label=1), author="A. Wu", reason="a test", date="2026-05-04")
    assert [proof.holds for proof in bent.proofs()] == [False, True]
    assert "No longer proved, after an edit" in str(bent.proofs())


def test_samples_are_refused_for_standalone_features():
    with pytest.raises(ValueError, match="standalone features have no part in: 'income' and 'debt'"):
        fitted().sample(3, 1)


def test_recourse_may_change_standalone_features():
    model = fitted()
    rows = pairs(12, "income", with_gaps=False, n=200)[0].assign(income=-1.0, debt=1.0)
    rows = rows[rows.home.notna()]
    decisions = model.decide(rows)
    i = int(np.flatnonzero((decisions.label == 0) & (decisions.gauge < 1.0))[0])
    found = sepc.recourse(model, rows.iloc[[i]], to=1, min_trust=0.6)
    answer = found.answers[0]
    best = model.decide(answer.row)
    assert best.label[0] == 1
    assert best.trust[0] >= 0.6
    assert found.bound <= answer.cost * (1.0 + 1e-9)
    changes = {change.feature: change for change in answer.changes}
    assert {"income", "debt"} & set(changes)
    if "income" in changes:
        assert changes["income"].after > changes["income"].before
