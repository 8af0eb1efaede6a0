"""An edited model in a database says what it says in Python; names in its comments end nothing."""

import numpy as np
import pytest
from mixed_tables import complete, patients
from optional import package_or_skip
from sklearn.datasets import load_wine
from test_sql_parity import assert_same, rows_around
from test_sql_terms import assert_same as assert_same_terms
from zoo import fitted_once

import sepc.sql
from sepc import Edit, SEPClassifier

pd = package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

SIGNED = {"author": "A. Wu", "reason": "a reason", "date": "2026-05-04"}


@fitted_once
def of_table():
    return SEPClassifier(min_trust=0.8).fit(*patients(300))


CURVES = (
    Edit.flatten("age", 50, 70),
    Edit.clip("dose", most=0.2),
    Edit.shift("since", "2022-01-01", by=0.5),
    Edit.set_level("ward", "north", 0.4),
    Edit.drop_ellipsoid(0),
)
DROPPED = tuple(Edit.drop_feature(name) for name in ("age", "ward", "since"))


@pytest.mark.parametrize("edits", [CURVES, DROPPED], ids=["curves", "dropped"])
def test_a_table(engine, edits):
    model = of_table().edited(*edits, **SIGNED)
    table = complete(patients(seed=1)[0]).iloc[:100].reset_index(drop=True)
    assert_same(engine, model, table)
    assert_same_terms(engine, model, table)


def test_a_dropped_number_may_be_missing(engine):
    model = of_table().edited(*DROPPED, **SIGNED)
    table = complete(patients(seed=1)[0]).iloc[:50].reset_index(drop=True)
    assert_same(engine, model, table.assign(age=np.nan, since=pd.NaT, ward=None))


def test_several_classes(engine):
    X, y = load_wine(return_X_y=True)
    X = X[:, :4]
    model = SEPClassifier(min_trust=0.8).fit(X, y)
    monotone = Edit.monotone("x0", "decreasing", label=0)
    assert_same(
        engine, model.edited(monotone, Edit.flatten("x1", 1, 2), Edit.drop_feature("x3"), **SIGNED), rows_around(X, 200)
    )


def test_no_author_and_no_reason_ends_a_comment():
    odd = {"author": "x\n; DROP TABLE t; --", "reason": "a\r\nb */ DELETE FROM t; /*\u2028c", "date": "2026-05-04"}
    for dialect in ("duckdb", "postgres", "sqlite", "spark"):
        statement = sepc.sql.export(of_table().edited(Edit.drop_ellipsoid(0), **odd), dialect, "t")
        before = statement.partition("WITH ")[0]
        assert all(line.startswith("--") for line in before.splitlines())
        assert len(before.splitlines()) == 1
