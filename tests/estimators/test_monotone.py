"""Monotone and standalone features: no row violates a direction, wherever it lies and however it is decided."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from optional import package_or_skip

import sepc
import sepc.errors
import sepc.sql
from sepc import Edit, SEPClassifier

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


def test_where_a_row_lies_does_not_depend_on_standalone_features_and_decisions_follow_them():
    model = fitted()
    for feature in ("income", "debt"):
        lower, higher = map(model.decide, pairs(4, feature))
        for name in ("region", "gauge", "place", "rule"):
            complete = ~(lower.missing | higher.missing).any(axis=1)
            np.testing.assert_array_equal(getattr(lower, name)[complete], getattr(higher, name)[complete], name)
        worse, better = (lower, higher) if feature == "income" else (higher, lower)
        was_good = worse.label == 1
        assert was_good.any()
        assert (better.label[was_good] == 1).all()
        assert better.accepted[was_good & worse.accepted].all()
    terms = [model.decide(rows).terms() for rows in pairs(2, "income", with_gaps=False, n=1_000)]
    signed = [np.where(own.label == 1, own.log_odds, -own.log_odds) for own in terms]
    assert largest_violation(signed[0], signed[1], 1) <= ROUNDING


def test_a_missing_monotone_value_lies_between_the_extremes():
    model = fitted()
    rows, _ = pairs(5, "income", n=500)
    low, high, missing = (model.predict_proba(rows.assign(income=value))[:, 1] for value in (-1e9, 1e9, np.nan))
    assert (low - ROUNDING <= missing).all()
    assert (missing <= high + ROUNDING).all()


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
    X, y = table(0, 60)
    sepc.save(quick().fit(X[["age", "years"]], y), tmp_path / "free.sepc")
    content = (tmp_path / "free.sepc").read_bytes()
    assert b"monotone" not in content
    assert b"alone" not in content


def test_exports_decide_alike(tmp_path):
    onnx, runtime, duckdb = (package_or_skip(name) for name in ("sepc.onnx", "onnxruntime", "duckdb"))
    X, y = table(0)
    columns = ["income", "debt", "age", "years", "noise"]
    model = quick(monotone={"income": "up", "debt": "down"}).fit(X[columns], y)
    onnx.export(model, tmp_path / "model.onnx", terms=True)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    assert "never lowers" in session.get_modelmeta().custom_metadata_map["remarks"]
    statement = sepc.sql.export(fitted(), "duckdb", "applicants", terms=True)
    assert "'income' never lowers" in statement
    found = []
    for rows in pairs(8, "income", with_gaps=False, n=400):
        decided, given = model.decide(rows[columns]), rows[columns].to_numpy()
        names = ["label", "probabilities", "trust", "terms"]
        label, probabilities, trust, terms = session.run(names, {"X": given})
        np.testing.assert_allclose(probabilities, decided.probabilities, atol=1e-9)
        np.testing.assert_allclose(trust, decided.trust, atol=1e-9)
        np.testing.assert_allclose(terms[:, :5], decided.terms().features, atol=1e-9)
        assert (label == decided.label).mean() > 0.99
        connection = duckdb.connect()
        connection.register("applicants", rows.assign(home=rows.home.astype(object).where(rows.home.notna(), None)))
        answer, decided = connection.sql(statement).df(), fitted().decide(rows)
        np.testing.assert_array_equal(answer.sepc_label, decided.label)
        np.testing.assert_allclose(answer.sepc_trust, decided.trust, atol=1e-9)
        found.append((probabilities[:, 1], np.where(answer.sepc_label == 1, answer.sepc_trust, 1 - answer.sepc_trust)))
    for before, after in zip(*found, strict=True):
        assert largest_violation(before, after, 1) <= ROUNDING


def test_standalone_features_without_a_direction_may_bend():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((800, 3)), columns=["age", "b", "c"])
    y = ((X.age.abs() < 0.7) ^ (rng.random(800) < 0.1)).astype(int).to_numpy()
    model = quick(features_alone=["age"]).fit(X, y)
    assert model.model_.centers.shape[1] == 2
    assert model.score(X, y) > 0.8
    assert len(model.proofs()) == 0
    assert "no direction: 'age'" in str(model.proofs())
    X = rng.standard_normal((600, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(600) > 0).astype(int)
    wrong = quick(monotone={0: "down"}).fit(X, y)  # it can only be flat
    assert np.ptp(wrong.predict_proba(np.column_stack([np.linspace(-3, 3, 50), np.zeros(50)]))[:, 1]) < 1e-12


def test_sequences_names_positions_and_labels_mean_the_same():
    X, y = table(2, 300)
    X = X[["income", "debt", "age", "years"]].fillna(0.0)
    ways = [
        (X, {"monotone": {"income": "up", "debt": "down"}}),
        (X, {"monotone": {0: 1, 1: -1}}),
        (X, {"monotone": np.array([1, -1, 0, 0])}),
        (X.to_numpy(), {"monotone": {"x0": "up", "x1": "down"}}),
        (X, {"monotone": [-1, 1, 0, 0], "monotone_for": 0}),
    ]
    found = [quick(**options).fit(rows, y).predict_proba(rows) for rows, options in ways]
    for probabilities in found[1:]:
        np.testing.assert_allclose(probabilities, found[0], rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone": {"incme": "up"}}, "'incme'"),
        ({"monotone": {"income": "rising"}}, "'up' or 'down'"),
        ({"monotone": {"home": "up"}}, "categories"),
        ({"monotone": {"id": "up"}}, "left out"),
        ({"monotone": [1, 0]}, "2 directions"),
        ({"monotone": "income"}, "mapping"),
        ({"monotone": {17: "up"}}, "position"),
        ({"monotone": {"income": "up"}, "trust": "counts"}, "weights"),
        ({"features_alone": "age"}, "list"),
        ({"features_alone": ["income", "debt", "age", "years", "noise", "home"]}, "every feature"),
        ({"monotone": {"income": "up"}, "monotone_for": "yes"}, "'yes'"),
    ],
)
def test_impossible_constraints_are_refused(options, message):
    X, y = table(0, 100)
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(X.assign(id=np.arange(100)) if message == "left out" else X, y)
    with pytest.raises(ValueError, match="monotone_for"):
        quick(monotone={"income": "up"}).fit(X, np.arange(100) % 3)


def test_proofs_follow_edits():
    model = fitted()
    assert [proof.holds for proof in model.proofs()] == [True, True]
    bent = model.edited(Edit.shift("income", 0.5, by=-2.0, label=1), author="A. Wu", reason="a test", date="2026-05-04")
    assert [proof.holds for proof in bent.proofs()] == [False, True]
    assert "No longer" in str(bent.proofs())
