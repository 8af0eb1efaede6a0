"""What a database says of a row is what the model in Python says."""

import time
import warnings

import cases
import numpy as np
import pytest
from mixed_tables import complete, patients
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.frozen import FrozenEstimator

import sepc.sql
from sepc import Cause, SelectiveClassifier, SEPClassifier
from sepc.errors import FlatSetWarning, NotConvergedWarning

pd = package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

OUTPUTS = ["label", "trust", "accepted", "cause", "region"]


def as_frame(X):
    return X if hasattr(X, "columns") else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def ask(engine, model, rows, table="t", **options):
    """Decisions on rows, in their order; the column of row numbers comes along, as all others do."""
    frame = as_frame(rows).assign(row_number=np.arange(len(rows)))
    engine.create(table, frame)
    said = engine.ask(sepc.sql.export(model, engine.dialect, table, **options))
    prefix = options.get("prefix", "sepc_")
    assert said.columns.tolist() == [*frame.columns, *(f"{prefix}{name}" for name in OUTPUTS)]
    said = said.sort_values("row_number")[[f"{prefix}{name}" for name in OUTPUTS]]
    return said.set_axis(OUTPUTS, axis=1).reset_index(drop=True)


def assert_same(engine, model, rows, **options):
    """All outputs are equal; rows on a boundary may differ in principle, but none of these do."""
    said, decided = ask(engine, model, rows, **options), model.decide(rows)
    inner = getattr(decided, "inner", None) or decided
    assert said["label"].tolist() == decided.label.tolist()
    assert said["accepted"].astype(bool).tolist() == decided.accepted.tolist()
    assert said["cause"].tolist() == decided.to_frame()["cause"].tolist()
    assert said["region"].tolist() == inner.region.tolist()
    np.testing.assert_allclose(said["trust"].astype(float), decided.trust, atol=1e-9, rtol=0.0)
    return decided


def rows_around(X, n, farthest=1e9):
    """Training rows as they are, moved a little, moved a lot, and far away."""
    rng = np.random.default_rng(0)
    steps = rng.choice([0.0, 0.01, 0.1, 0.5, 3.0, 100.0, farthest], size=(n, 1))
    return X[rng.integers(len(X), size=n)] + steps * rng.standard_normal((n, X.shape[1])) * (X.std(axis=0) + 1e-3)


def test_every_cause_and_several_classes(engine):
    X, y = load_wine(return_X_y=True)
    model = SEPClassifier(min_trust=0.8).fit(X[:, :4], y)
    decided = assert_same(engine, model, rows_around(X[:, :4], 400))
    assert set(decided.cause) == {Cause.ACCEPTED, Cause.OVERLAP, Cause.UNSEEN, Cause.THIN}


@pytest.mark.quick_cases("postgres-*", "duck-rank_deficient-*", "sqlite-integer_grid-*")
@pytest.mark.parametrize(
    ("kind", "standardize"),
    [("near_degenerate", False), ("rank_deficient", True), ("integer_grid", True), ("far_scales", False)],
)
def test_rows_of_awkward_kinds(engine, kind, standardize):
    rng = np.random.default_rng(1)
    X, y = cases.KINDS[kind](rng, 150, 3), np.arange(150) % 2
    X[y == 1] += 0.8 * X.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        warnings.simplefilter("ignore", NotConvergedWarning)
        model = SEPClassifier(standardize=standardize).fit(X, y)
    assert_same(engine, model, rows_around(X, 300))


@pytest.mark.slow
def test_more_ellipsoids_than_a_number_has_bits_and_sets_never_seen(engine):
    X, y = make_moons(500, noise=0.35, random_state=0)
    model = SEPClassifier(0, max_ellipsoids=500).fit(X, y)
    assert model.model_.n_ellipsoids > 52
    decided = assert_same(engine, model, rows_around(X, 600))
    assert np.sum(decided.region == -1) > 0


@pytest.mark.quick_cases("sqlite")
@pytest.mark.slow_cases("duck")
def test_many_classes_and_isolated_rows_beside_ellipsoids(engine):
    X, y = load_digits(return_X_y=True)
    X = X[:, 18:50:4]
    model = SEPClassifier(min_trust=0.9).fit(X[:600], y[:600])
    assert min(len(model.model_.isolated), model.model_.n_ellipsoids) > 0
    assert_same(engine, model, rows_around(X, 400))


def test_isolated_rows_only(engine):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 5)), np.arange(8) % 2
    model = SEPClassifier().fit(X, y)
    assert model.model_.n_ellipsoids == 0
    assert_same(engine, model, np.vstack([X, rows_around(X, 200)]))


def test_isolated_rows_that_are_the_same(engine):
    X = np.repeat(np.random.default_rng(0).standard_normal((15, 8)), 3, axis=0)
    model = SEPClassifier().fit(X, np.arange(len(X)) % 2)
    assert_same(engine, model, np.vstack([X, rows_around(X, 200, 1e4)]))


@pytest.mark.parametrize("d", [1, 2])
def test_one_class(engine, d):
    X = np.random.default_rng(0).standard_normal((60, d))
    assert_same(engine, SEPClassifier().fit(X, np.zeros(60, dtype=int)), rows_around(X, 200))


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_as_likely_as_others(engine, n_classes):
    X = np.tile(np.random.default_rng(0).standard_normal((60, 2)), (n_classes, 1))
    model = SEPClassifier().fit(X, np.repeat(np.arange(n_classes), 60))
    decided = assert_same(engine, model, np.vstack([X, rows_around(X, 200)]))
    assert (decided.label == 0).all()


@pytest.mark.quick_cases("sqlite")
def test_rows_on_knots_and_one_step_beside_them(engine):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(1e3, 1.0, 200), rng.integers(0, 2, 200), rng.exponential(1e-6, 200)])
    model = SEPClassifier().fit(X, X[:, 0] + X[:, 1] > 1e3 + rng.standard_normal(200))
    assert model.model_.weights.n_knots[[0, 2]].min() > 0
    assert_same(engine, model, np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)]))


@pytest.mark.quick_cases("postgres-*", "duck-False", "sqlite-True")
@pytest.mark.parametrize("gaps", [True, False])
def test_tables_with_categories_and_dates(engine, gaps):
    table, y = patients(gaps=gaps)
    model = SEPClassifier(min_trust=0.8).fit(table, y)
    assert_same(engine, model, complete(table))
    fresh = complete(patients(seed=1)[0])
    assert fresh[["ward", "stage"]].isna().any(axis=None)
    assert_same(engine, model, fresh)


@pytest.mark.quick_cases("postgres")
def test_categories_not_seen_in_training_add_nothing(engine):
    model, fresh = SEPClassifier(min_trust=0.8).fit(*patients()), complete(patients(seed=1)[0])
    odd = {"ward": np.resize(["south", "<missing>", "EAST"], len(fresh)), "stage": np.resize([2.5, -1.0], len(fresh))}
    assert_same(engine, model, fresh.assign(**odd))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["duck", "sqlite"])
def test_categories_are_told_apart_by_case_whatever_the_column_says(name, request):
    engine = request.getfixturevalue(name)
    table, y = patients(gaps=False, key=False)
    table["ward"] = table["ward"].replace("north", "EAST")
    model = SEPClassifier().fit(table, y)
    assert_same(engine, model, table)
    types = "age DOUBLE, dose DOUBLE, ward TEXT COLLATE NOCASE, stage DOUBLE, since TIMESTAMP, row_number BIGINT"
    engine.connection.execute(f"CREATE TABLE folded ({types})")
    engine.connection.execute("INSERT INTO folded SELECT * FROM t")
    said = engine.ask(sepc.sql.export(model, engine.dialect, "folded")).sort_values("row_number")
    assert said["sepc_label"].tolist() == model.decide(table).label.tolist()
    np.testing.assert_allclose(said["sepc_trust"], model.decide(table).trust, atol=1e-9)


@pytest.mark.quick_cases("postgres-0.2", "duck-max_risk1", "sqlite-max_risk2", "sqlite-1e-06")
@pytest.mark.parametrize("max_risk", [0.2, {0: 0.3, 1: 0.2}, {1: 0.2}, 1e-6])
def test_promises(engine, max_risk):
    X, y = make_moons(400, noise=0.3, random_state=0)
    model = SelectiveClassifier(SEPClassifier(), max_risk, random_state=0).fit(X, y)
    decided = assert_same(engine, model, rows_around(X, 400))
    assert decided.accepted.any() == (max_risk != 1e-6)


def test_a_promise_about_labels_that_a_frozen_classifier_does_not_know(duck):
    X, y = make_moons(800, noise=0.3, random_state=0)
    frozen = FrozenEstimator(SEPClassifier().fit(X[:400], 2 * y[:400]))
    model = SelectiveClassifier(frozen, 0.3).fit(X[400:], np.where(np.arange(400) % 40, 2 * y[400:], 1))
    assert_same(duck, model, rows_around(X, 200))


@pytest.mark.quick_cases("postgres-*", "duck-*no*", "sqlite-*1.0*")
@pytest.mark.parametrize("names", [["no", "perhaps", "yes ü"], [-5, 0, 2**40], [1.0, 2.0, 3.0]], ids=str)
def test_labels_keep_their_type(engine, names):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X, np.array(names)[y])
    said = ask(engine, model, X)["label"].tolist()
    assert said == model.predict(X).tolist()
    assert type(said[0]) is type(names[0])


def test_labels_that_are_booleans(engine):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X, y == 1)
    said = ask(engine, model, X)["label"]
    assert said.dtype == (np.int64 if engine.dialect == "sqlite" else bool)
    np.testing.assert_array_equal(said.astype(bool), model.predict(X))


def test_classes_of_another_weight(duck):
    X, y = load_breast_cancer(return_X_y=True)
    model = SEPClassifier(class_weight="balanced").fit(X[:, :4], y)
    assert_same(duck, model, X[:, :4])


@pytest.mark.quick_cases("postgres")
def test_no_rows(engine):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X[:, :2], y)
    engine.create("t", as_frame(X[:, :2]))
    statement = sepc.sql.export(model, engine.dialect, "t")
    assert len(engine.ask(f"SELECT * FROM ({statement}) AS said WHERE x0 > 1000")) == 0


def test_a_query_around_the_statement_is_quick_too(engine):
    """DuckDB once merged it with all stages, and planned for minutes."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, [1, 23, 26]]
    model = SEPClassifier().fit(X[::2], y[::2])
    engine.create("t", as_frame(X[1::2]))
    statement = sepc.sql.export(model, engine.dialect, "t")
    started = time.perf_counter()
    counted = engine.ask(f"SELECT sepc_cause AS cause, count(*) AS n FROM ({statement}) AS decided GROUP BY sepc_cause")
    assert time.perf_counter() - started < 30.0
    expected = model.decide(X[1::2]).to_frame()["cause"].value_counts()
    assert dict(zip(counted["cause"], counted["n"].astype(int), strict=True)) == expected.to_dict()
