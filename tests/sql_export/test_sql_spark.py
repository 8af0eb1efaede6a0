"""Spark SQL decides as Python does; weekly, since Spark takes seconds for each statement."""

import warnings

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from test_sql_names_and_gaps import hostile_table
from test_sql_parity import ask, assert_same

from sepc import SEPClassifier

pd = package_or_skip("pandas")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")]


class SparkTables:
    """Spark SQL, with the same methods as the other databases."""

    dialect = "spark"

    def __init__(self, session):
        self.session = session

    def create(self, name, frame):
        objects = {column: frame[column].astype(object) for column in frame if frame[column].dtype.kind not in "fibM"}
        given = frame.assign(**{column: values.where(values.notna(), None) for column, values in objects.items()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Spark's own
            self.session.createDataFrame(given).createOrReplaceTempView(f"`{name}`")

    def ask(self, statement):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.session.sql(statement).toPandas()


@pytest.fixture
def tables(spark):
    return SparkTables(spark)


def test_a_table_with_categories_dates_and_gaps(tables):
    table, y = patients(120)
    model = SEPClassifier(min_trust=0.8, max_ellipsoids=2).fit(table, y)
    said, decided = ask(tables, model, table), model.decide(table)
    has_gaps = table[["age", "dose", "since"]].isna().any(axis=1).to_numpy()
    assert 5 < has_gaps.sum() < 60
    assert ((said["cause"] == "MISSING") == has_gaps).all()
    assert said[["label", "trust", "region"]][has_gaps].isna().all(axis=None)
    for name in ("label", "accepted", "region"):
        assert said[name][~has_gaps].tolist() == getattr(decided, name)[~has_gaps].tolist()
    assert said["cause"][~has_gaps].tolist() == decided.to_frame()["cause"][~has_gaps].tolist()
    np.testing.assert_allclose(said["trust"][~has_gaps], decided.trust[~has_gaps], atol=1e-9)


def test_hostile_names_change_nothing_whatever_the_parser_does_with_backslashes(tables):
    table, y = hostile_table(80)
    model = SEPClassifier(max_ellipsoids=2).fit(table, y)
    assert_same(tables, model, table)
    tables.session.conf.set("spark.sql.parser.escapedStringLiterals", "true")
    try:
        assert_same(tables, model, table)
    finally:
        tables.session.conf.unset("spark.sql.parser.escapedStringLiterals")
