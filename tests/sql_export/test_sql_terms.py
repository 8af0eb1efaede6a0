"""Terms in a database are those of Python."""

import numpy as np
import pytest
from mixed_tables import complete, patients
from optional import package_or_skip
from sklearn.datasets import load_iris
from test_sql_parity import as_frame, rows_around

import sepc.sql
from sepc import SEPClassifier

pd = package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")


def assert_same(engine, model, rows):
    frame = as_frame(rows).assign(row_number=np.arange(len(rows)))
    engine.create("t", frame)
    said = engine.ask(sepc.sql.export(model, engine.dialect, "t", terms=True)).sort_values("row_number")
    terms, names = model.decide(rows).terms(), [f"sepc_term_{j}" for j in range(len(model.model_.feature_names))]
    assert said["sepc_runner_up"].tolist() == terms.runner_up.tolist()
    np.testing.assert_allclose(said[names].astype(float), terms.features, atol=1e-9, rtol=0.0)
    place = terms.ellipsoids.sum(axis=1) + terms.isolated
    np.testing.assert_allclose(said["sepc_term_place"].astype(float), place, atol=1e-9, rtol=0.0)
    np.testing.assert_allclose(said["sepc_term_average"].astype(float), terms.offset, atol=1e-12, rtol=0.0)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_numbers(engine, n_classes):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X[y < n_classes], y[y < n_classes])
    assert_same(engine, model, rows_around(X, 100))


def test_a_table_with_categories_and_dates(engine):
    table, y = patients(300)
    X = complete(table)
    assert_same(engine, SEPClassifier().fit(table, y), X.iloc[:100].reset_index(drop=True))


def test_a_comment_names_the_features_and_no_name_ends_it():
    X, y = load_iris(return_X_y=True)
    table = pd.DataFrame(X, columns=["a", "b\n; DROP TABLE t; --", "c", "d"])
    statement = sepc.sql.export(SEPClassifier().fit(table, y), "duckdb", "t", terms=True)
    assert "-- sepc_term_0: a\n" in statement
    assert "\n; DROP" not in statement.partition("WITH ")[0]
