"""What a database says of a row is what the model in Python says."""

import time

import numpy as np
import pytest
from export_cases import MADE, PROMISES, SIGNED, made, of_kind, rows_around, with_labels, with_promise
from mixed_tables import complete, patients
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_iris
from zoo import fitted_once

import sepc.sql
from sepc import Edit, SEPClassifier

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


def assert_same_terms(engine, model, rows):
    frame = as_frame(rows).assign(row_number=np.arange(len(rows)))
    engine.create("t", frame)
    said = engine.ask(sepc.sql.export(model, engine.dialect, "t", terms=True)).sort_values("row_number")
    terms, names = model.decide(rows).terms(), [f"sepc_term_{j}" for j in range(len(model.model_.feature_names))]
    assert said["sepc_runner_up"].tolist() == terms.runner_up.tolist()
    np.testing.assert_allclose(said[names].astype(float), terms.features, atol=1e-9, rtol=0.0)
    place = terms.ellipsoids.sum(axis=1) + terms.isolated
    np.testing.assert_allclose(said["sepc_term_place"].astype(float), place, atol=1e-9, rtol=0.0)
    np.testing.assert_allclose(said["sepc_term_average"].astype(float), terms.offset, atol=1e-12, rtol=0.0)


@pytest.mark.quick_cases("postgres-*", "duck-rank_deficient", "sqlite-integer_grid")
@pytest.mark.parametrize("kind", ["near_degenerate", "rank_deficient", "integer_grid", "far_scales"])
def test_rows_of_awkward_kinds(engine, kind):
    model, rows = of_kind(kind)
    assert_same(engine, model, rows[:300])


@pytest.mark.slow_cases("*-sets never seen", "*-many classes", "duck-on knots", "postgres-on knots", "*-many features")
@pytest.mark.parametrize("name", MADE)
def test_models_of_every_awkward_kind(engine, name):
    model, rows = made(name)
    assert_same(engine, model, rows[:: max(1, len(rows) // 400)])


@pytest.mark.quick_cases("postgres-all rows", "duck-each label", "sqlite-a label", "sqlite-none", "duck-one unknown")
@pytest.mark.parametrize("kind", [*PROMISES, "one unknown"])
def test_promises(engine, kind):
    model, rows = with_promise(kind)
    assert_same(engine, model, rows[:400])


@fitted_once
def of_table(gaps=True):
    return SEPClassifier(min_trust=0.8).fit(*patients(gaps=gaps))


@pytest.mark.quick_cases("postgres-*", "duck-False", "sqlite-True")
@pytest.mark.parametrize("gaps", [True, False])
def test_tables_with_categories_and_dates(engine, gaps):
    model, fresh = of_table(gaps), complete(patients(seed=1)[0])
    assert fresh[["ward", "stage"]].isna().any(axis=None)
    assert_same(engine, model, fresh)
    odd = {"ward": np.resize(["south", "<missing>", "EAST"], len(fresh)), "stage": np.resize([2.5, -1.0], len(fresh))}
    assert_same(engine, model, fresh.assign(**odd))


CURVES = (
    Edit.flatten("age", 50, 70),
    Edit.clip("dose", most=0.2),
    Edit.shift("since", "2022-01-01", by=0.5),
    Edit.set_level("ward", "north", 0.4),
    Edit.drop_ellipsoid(0),
)
DROPPED = tuple(Edit.drop_feature(name) for name in ("age", "ward", "since"))


@pytest.mark.quick_cases("postgres-*", "duck-curves", "sqlite-dropped")
@pytest.mark.parametrize("edits", [(), CURVES, DROPPED], ids=["none", "curves", "dropped"])
def test_edited_tables_and_their_terms(engine, edits):
    model = of_table().edited(*edits, **SIGNED) if edits else of_table()
    table = complete(patients(seed=1)[0]).iloc[:100].reset_index(drop=True)
    assert_same(engine, model, table)
    assert_same_terms(engine, model, table)
    if edits is DROPPED:
        assert_same(engine, model, table.assign(age=np.nan, since=pd.NaT, ward=None))


@pytest.mark.quick_cases("postgres-3", "duck-1", "sqlite-2")
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_terms_of_numbers(engine, n_classes):
    X, y = load_iris(return_X_y=True)
    assert_same_terms(engine, SEPClassifier().fit(X[y < n_classes], y[y < n_classes]), rows_around(X, 100))


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


@pytest.mark.quick_cases("postgres-*", "duck-*no*", "duck-*True*", "sqlite-*1.0*", "sqlite-*True*")
@pytest.mark.parametrize("names", [("no", "perhaps", "yes ü"), (-5, 0, 2**40), (1.0, 2.0, 3.0), (False, True)], ids=str)
def test_labels_keep_their_type(engine, names):
    model, X = with_labels(*names)
    said = ask(engine, model, X)["label"].tolist()
    assert said == model.predict(X).tolist()
    assert type(said[0]) is (int if engine.dialect == "sqlite" and names[1] is True else type(names[0]))


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


def test_no_name_author_or_reason_ends_a_comment():
    odd = {"author": "x\n; DROP TABLE t; --", "reason": "a\r\nb */ DELETE FROM t; /*\u2028c", "date": "2026-05-04"}
    edited = of_table().edited(Edit.drop_ellipsoid(0), **odd)
    for dialect in ("duckdb", "postgres", "sqlite", "spark"):
        (comment,) = sepc.sql.export(edited, dialect, "t").partition("WITH ")[0].splitlines()
        assert comment.startswith("--")
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=["a", "b\n; DROP TABLE t; --", "c", "d"])
    statement = sepc.sql.export(SEPClassifier().fit(table, y), "duckdb", "t", terms=True)
    assert "-- sepc_term_0: a\n" in statement
    assert "\n; DROP" not in statement.partition("WITH ")[0]
