"""Amounts, percentages, dates and durations that are text are read on Spark as they are in memory."""

import numpy as np
import pytest
from mixed_tables import texts_of_all_kinds
from optional import package_or_skip

import sepc.spark
from sepc import SEPClassifier

pd = package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own


@pytest.fixture(scope="module")
def fitted():
    return SEPClassifier().fit(*texts_of_all_kinds())


def assert_decides_alike(model, spark, rows):
    frame = spark.createDataFrame(rows.assign(id=np.arange(len(rows)))).repartition(3)
    found = sepc.spark.decide(model, frame, keep=["id"]).toPandas().sort_values("id").reset_index(drop=True)
    expected = model.decide(rows).to_frame()
    assert found.columns.tolist() == ["id", *expected.columns]
    for name in ("label", "accepted", "cause"):
        assert found[name].tolist() == expected[name].tolist()
    np.testing.assert_allclose(found["trust"], expected["trust"], rtol=0, atol=1e-12)


def test_texts_intervals_gaps_and_cells_that_cannot_be_read(fitted, spark):
    rows, _ = texts_of_all_kinds(90, seed=2)
    assert {own.name for own in fitted.preparation_.columns if own.written} == set(rows.columns) - {"city"}
    rows = rows.astype({"price": object, "rate": object, "day": object, "took": object})
    rows.loc[:9, "price"], rows.loc[10:19, "rate"] = None, "7"
    rows.loc[20:29, "day"], rows.loc[30:39, "took"] = "soon", "long"
    rows.loc[40:49, "span"] = pd.NaT
    assert_decides_alike(fitted, spark, rows)


def test_columns_that_are_numbers_and_dates_by_now(fitted, spark):
    rows, _ = texts_of_all_kinds(60, seed=3)
    days = pd.to_datetime(rows["day"], format="%d/%m/%Y")
    prices = rows["price"].str.strip("€ ").str.replace(",", "").astype(float)
    assert_decides_alike(fitted, spark, rows.assign(day=days, price=prices))
    frame = spark.createDataFrame(rows.assign(day=days.dt.date, id=np.arange(60)))
    assert dict(frame.dtypes)["day"] == "date"
    found = sepc.spark.decide(fitted, frame, keep=["id"]).toPandas().sort_values("id")
    np.testing.assert_allclose(found["trust"], fitted.decide(rows).trust, rtol=0, atol=1e-12)
