"""Names that look like SQL change nothing; gaps, extreme numbers and models that cannot be exported."""

import numpy as np
import pytest
from mixed_tables import orders_in_text, patients
from optional import package_or_skip
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_sql_parity import ask, assert_same

import sepc.sql
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier

pd = package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

HOSTILE = [
    'a"; DROP TABLE t; --',
    "it's /* so */ `odd`",
    "line\nbreak\tand \\' back\\slash\\",
    "ü 漢字 🙂 %s {x} $1 :name ?",
]


def hostile_table(n=120):
    """A table whose columns, categories and labels all look like SQL."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((n, 3)), columns=HOSTILE[:3])
    table[HOSTILE[3]] = rng.choice([*HOSTILE, "${env:HOME}", "\\", "'", "''", "", " "], size=n)
    y = np.where(table[HOSTILE[0]] + rng.standard_normal(n) * 0.3 > 0, HOSTILE[1], "${system:user.name}\\")
    return table, y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y, SEPClassifier(min_trust=0.5).fit(X, y)


@pytest.mark.quick_cases("*-t", "postgres-*", "duck-*DROP*", "sqlite-*odd*")
@pytest.mark.parametrize("table_name", ["t", 'x"; DROP TABLE t; --', "it's -- \n odd `table`"])
def test_hostile_names_change_nothing(engine, table_name):
    table, y = hostile_table()
    engine.create("t", pd.DataFrame({"kept": [1]}))
    assert_same(engine, SEPClassifier().fit(table, y), table, table=table_name)
    if table_name != "t":
        assert engine.ask("SELECT kept FROM t")["kept"].tolist() == [1]


def test_backslashes_mean_the_same_whatever_the_setting(postgres):
    table, y = hostile_table()
    model = SEPClassifier().fit(table, y)
    postgres.connection.execute("SET standard_conforming_strings = off")
    postgres.connection.execute("SET escape_string_warning = off")
    try:
        assert_same(postgres, model, table)
    finally:
        postgres.connection.execute("RESET ALL")


def test_a_schema(engine, iris):
    if engine.dialect == "sqlite":
        pytest.skip("a schema is another file there")
    X, y, model = iris
    engine.connection.execute('CREATE SCHEMA IF NOT EXISTS "odd "".schema"')
    engine.create("t", X)
    engine.connection.execute('CREATE TABLE IF NOT EXISTS "odd "".schema"."flowers" AS SELECT * FROM t')
    said = engine.ask(sepc.sql.export(model, engine.dialect, ('odd ".schema', "flowers")))
    assert sorted(said["sepc_label"]) == sorted(model.predict(X))


def test_another_prefix_decides_on_a_table_with_decisions(engine, iris):
    X, y, model = iris
    once = ask(engine, model, X).add_prefix("sepc_")
    again = ask(engine, model, pd.concat([X, once], axis=1), prefix="second_")
    assert again["label"].tolist() == once["sepc_label"].tolist()


@pytest.mark.quick_cases("postgres-*", "duck-None", "sqlite-nan", "sqlite-inf", "duck--inf")
@pytest.mark.parametrize("gap", [None, np.nan, np.inf, -np.inf])
def test_rows_with_gaps_or_infinity_are_refused_and_spoil_no_others(engine, iris, gap):
    X, y, model = iris
    spoilt = X.copy()
    spoilt.iloc[::7, 1] = gap
    whole, said = ask(engine, model, X), ask(engine, model, spoilt)
    bad = np.arange(len(X)) % 7 == 0
    assert set(said["cause"][bad]) == {"MISSING" if pd.isna(gap) else "UNSEEN"}
    assert not said["accepted"][bad].astype(bool).any()
    assert said[["label", "trust", "region"]][bad].isna().all(axis=None)
    pd.testing.assert_frame_equal(said[~bad], whole[~bad], check_dtype=False)


def test_a_number_that_is_none_is_a_gap(engine, iris):
    X, y, model = iris
    value = "'no number'" if engine.dialect == "sqlite" else "CAST('NaN' AS double precision)"
    name, *others = (f'"{column}"' for column in X.columns)
    engine.create("t", X)
    engine.connection.execute("DROP TABLE IF EXISTS spoilt")
    engine.connection.execute(f"CREATE TABLE spoilt AS SELECT {value} AS {name}, {', '.join(others)} FROM t")
    assert set(engine.ask(sepc.sql.export(model, engine.dialect, "spoilt"))["sepc_cause"]) == {"MISSING"}


@pytest.mark.quick_cases("postgres")
def test_gaps_in_dates_are_missing_and_those_in_categories_are_not(engine):
    table, y = patients()
    model = SEPClassifier(min_trust=0.0).fit(table, y)
    said = ask(engine, model, table)
    has_gaps = table[["age", "dose", "since"]].isna().any(axis=1).to_numpy()
    assert 20 < has_gaps.sum() < 200
    assert ((said["cause"] == "MISSING") == has_gaps).all()
    assert (said["accepted"].astype(bool) == ~has_gaps).all()


def test_numbers_at_the_ends_of_a_double(engine, iris):
    X, y, _ = iris
    centred = X - X.mean()
    model = SEPClassifier().fit(centred, y)
    parts = []
    for far in (5e-324, 1e-310, 1e-200, 1e-100, 1e30, 1e150, 1e300, -1e300, 1.7e308, -1.7e308):
        one = centred.iloc[:3].copy()
        one.iloc[:, 2] = far
        parts += [one, centred.iloc[3:6] * min(abs(far), 1e300)]
    rows = pd.concat(parts, ignore_index=True)
    decided, said = model.decide(rows), ask(engine, model, rows)
    assert said["label"].tolist() == decided.label.tolist()
    assert said["cause"].tolist() == decided.to_frame()["cause"].tolist()
    np.testing.assert_allclose(said["trust"], decided.trust, atol=1e-9)


def test_dates_that_are_infinite_are_unseen(postgres):
    table, y = patients(gaps=False)
    model = SEPClassifier().fit(table, y)
    postgres.create("t", table)
    postgres.connection.execute("UPDATE t SET since = 'infinity'")
    statement = sepc.sql.export(model, "postgres", "t")
    assert set(postgres.ask(f"SELECT sepc_cause FROM ({statement}) AS said")["sepc_cause"]) == {"UNSEEN"}


def test_dates_of_every_type(duck):
    table, y = patients(gaps=False)
    table["since"] = table["since"].dt.normalize()
    model = SEPClassifier().fit(table, y)
    duck.create("t", table.drop(columns="key"))
    expected = model.decide(table).label.tolist()
    for kind in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS"):
        duck.connection.execute(
            f"CREATE OR REPLACE TABLE dated AS SELECT * REPLACE (since::TIMESTAMP::{kind} AS since) FROM t"
        )
        assert duck.ask(sepc.sql.export(model, "duckdb", "dated"))["sepc_label"].tolist() == expected


def test_days_as_text_count_to_the_microsecond_and_odd_ones_are_gaps(sqlite):
    rng = np.random.default_rng(0)
    seconds = rng.uniform(0.0, 120.0, 200).round(6)
    since = pd.Series(pd.Timestamp("2021-03-01") + pd.to_timedelta(seconds, unit="s"))
    rows = pd.DataFrame({"x": rng.normal(size=200), "since": since})
    model = SEPClassifier(min_trust=0.0).fit(rows, seconds + rng.normal(0.0, 20.0, 200) > 60.0)
    texts = since.astype(str)
    texts[:100] = texts[:100].str.replace(" ", "T")
    odd = ["no", "", "2021-03-01 12:00:00+02:00", None, "number"]
    texts[:5] = odd
    sqlite.create("days", rows.assign(since=texts.astype(object), row_number=range(200)))
    sqlite.connection.execute("UPDATE days SET since = 2459000.5 WHERE since = 'number'")
    said = sqlite.ask(sepc.sql.export(model, "sqlite", "days")).sort_values("row_number")
    assert (said["sepc_cause"] == "MISSING").tolist() == 5 * [True] + 195 * [False]
    decided = model.decide(rows[5:])
    assert len(np.unique(decided.trust)) > 50
    np.testing.assert_allclose(said["sepc_trust"][5:].astype(float), decided.trust, atol=1e-9)


@pytest.mark.slow_cases("Trusted*", "Routed*", "Selective*")
@pytest.mark.parametrize(
    ("told", "model"),
    [
        ("SEPClassifier with trust='counts'", SEPClassifier(trust="counts")),
        ("SEPClassifier with trust='published'", SEPClassifier(trust="published")),
        ("RoutedClassifier", RoutedClassifier(SEPClassifier(), by=[0], min_rows=20)),
        ("TrustedClassifier", TrustedClassifier(LogisticRegression(max_iter=500), cv=2)),
        ("Pipeline", make_pipeline(StandardScaler(), SEPClassifier())),
        ("SelectiveClassifier around LogisticRegression", SelectiveClassifier(LogisticRegression(max_iter=500), 0.2)),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_models_that_cannot_be_exported(iris, told, model):
    with pytest.raises(TypeError, match=f"^{told} cannot be exported"):
        sepc.sql.export(model.fit(iris[0].round(), iris[1]), "duckdb", "t")


@pytest.mark.parametrize(
    ("names", "dialect", "message"),
    [
        (["SEPC_z0", "b", "c", "d"], "duckdb", "prefix"),
        (["a", "A", "c", "d"], "duckdb", "'a' and 'A'"),
        (["${env:HOME}", "b", "c", "d"], "spark", "variable"),
        (["a\0", "b", "c", "d"], "sqlite", "null character"),
        (["a\ud800", "b", "c", "d"], "postgres", "Unicode"),
    ],
)
def test_columns_that_a_database_cannot_tell_or_hold(iris, names, dialect, message):
    X, y, _ = iris
    model = SEPClassifier(max_ellipsoids=2).fit(X.set_axis(pd.Index(names, dtype=object), axis=1), y)
    with pytest.raises(ValueError, match=message):
        sepc.sql.export(model, dialect, "t")


@pytest.mark.slow
def test_more_columns_than_a_database_allows():
    X = np.random.default_rng(0).standard_normal((15, 1100))
    model = SEPClassifier().fit(X, X[:, 0] > 0.0)
    for dialect, most in (("postgres", "1,664"), ("sqlite", "2,000")):
        with pytest.raises(ValueError, match=most):
            sepc.sql.export(model, dialect, "t")


def test_wrong_arguments(iris):
    _, _, model = iris
    assert sepc.sql.export(model, "postgres", "t") == sepc.sql.export(model, "postgres", "t")
    wrong = [({"dialect": "oracle"}, "'oracle'")]
    wrong += [({"table": table}, "table") for table in ("", (), ("a", ""), 3 * [None])]
    wrong += [({"prefix": prefix}, "1 to 31") for prefix in ("", "A_", "a b", "1", "x" * 40)]
    for given, message in wrong:
        with pytest.raises(ValueError, match=message):
            sepc.sql.export(model, **({"dialect": "duckdb", "table": "t"} | given))


def test_columns_that_differ_in_case_only(postgres, iris):
    X, y, _ = iris
    X = X.set_axis(["a", "A", "c", "d"], axis=1)
    assert_same(postgres, SEPClassifier().fit(X, y), X)


def test_a_column_that_is_not_there_is_an_error(engine, iris):
    X, y, model = iris
    engine.create("t", X.drop(columns=X.columns[1]))
    with pytest.raises(Exception, match="sepal width"):
        engine.ask(sepc.sql.export(model, engine.dialect, "t"))


def test_a_view_is_an_error_in_sqlite_and_none_elsewhere(engine, iris):
    X, y, model = iris
    engine.create("t", X)
    engine.connection.execute("DROP VIEW IF EXISTS seen")
    engine.connection.execute("CREATE VIEW seen AS SELECT * FROM t")
    statement = sepc.sql.export(model, engine.dialect, "seen")
    if engine.dialect == "sqlite":
        with pytest.raises(Exception, match="integer overflow"):
            engine.ask(statement)
    else:
        assert len(engine.ask(statement)) == len(X)
    engine.connection.execute("DROP VIEW seen")


def test_nothing_is_computed_twice(sqlite, iris):
    X, y, model = iris
    sqlite.create("t", X)
    plan = sqlite.ask(f"EXPLAIN QUERY PLAN {sepc.sql.export(model, 'sqlite', 't')}")["detail"]
    assert not plan.str.startswith("MATERIALIZE sepc_located").any()
    assert (plan == "CO-ROUTINE sepc_located").sum() == 1
    assert (plan == "SCAN sepc_table").sum() == 1


def test_what_was_text_in_training_comes_as_numbers_and_the_statement_says_so(engine):
    texts, plain, y = orders_in_text(300)
    model = SEPClassifier().fit(texts.rename(columns={"amount": "amount */ x"}), y)
    plain = plain.rename(columns={"amount": "amount */ x"})
    said = ask(engine, model, plain)
    np.testing.assert_allclose(said["trust"].astype(float), model.decide(plain).trust, atol=1e-9, rtol=0.0)
    assert "'amount * / x' (numbers (€))" in sepc.sql.export(model, "duckdb", "t").partition("WITH ")[0]
