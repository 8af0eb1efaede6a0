"""A real local Spark session decides as NumPy does, and wrong tables are told so in plain words."""

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator

import sepc.spark
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier

pd = package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :4], np.where(y == 0, "malignant", "benign")


@pytest.fixture(scope="module")
def classifier(rows):
    X, y = rows
    return SEPClassifier().fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def table(spark, rows):
    X, y = rows
    return spark.createDataFrame(X.assign(id=np.arange(len(X)), diagnosis=y, **{"odd name": 1.5})).repartition(3)


def decided(model, table, **options):
    return sepc.spark.decide(model, table, keep=["id"], **options).toPandas().sort_values("id").reset_index(drop=True)


def test_decisions_are_those_of_numpy(classifier, table, rows):
    found, expected = decided(classifier, table), classifier.decide(rows[0]).to_frame()
    assert found.columns.tolist() == ["id", *expected.columns]
    for name in expected:
        if expected[name].dtype.kind == "f":
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-12)
        else:
            assert found[name].tolist() == expected[name].tolist()


@pytest.mark.parametrize("kind", ["trusted", "selective"])
def test_other_estimators_decide_as_well(kind, classifier, table, rows):
    X, y = rows
    if kind == "trusted":
        model = TrustedClassifier(SEPClassifier(), cv=2).fit(X[::2], y[::2])
    else:
        model = SelectiveClassifier(FrozenEstimator(classifier), max_risk=0.1).fit(X[1::2], y[1::2])
    found, expected = decided(model, table), model.decide(X).to_frame()
    assert found.columns.tolist() == ["id", *expected.columns]
    assert found["label"].tolist() == expected["label"].tolist()
    assert found["accepted"].tolist() == expected["accepted"].tolist()
    np.testing.assert_allclose(found["trust"], expected["trust"], rtol=0, atol=1e-12)


def test_columns_are_kept_in_the_order_of_the_table(classifier, table, rows):
    kept = sepc.spark.decide(classifier, table, keep=["odd name", "id", "mean area"])
    assert kept.columns[:4] == ["mean area", "id", "odd name", "label"]
    assert dict(kept.dtypes)["id"] == "bigint"
    first = kept.orderBy("id").first()
    assert (first["mean area"], first["odd name"]) == (rows[0]["mean area"][0], 1.5)


def test_a_model_without_names_takes_columns_by_position(spark, rows):
    X, y = rows
    model = SEPClassifier().fit(X.to_numpy()[::2], y[::2])
    table = spark.createDataFrame(X.set_axis(list("abcd"), axis=1).assign(id=np.arange(len(X))))
    assert decided(model, table)["label"].tolist() == model.predict(X.to_numpy()).tolist()
    with pytest.raises(ValueError, match="5 columns"):
        sepc.spark.decide(model, table)


def test_labels_of_other_types(spark, rows):
    X, y = rows
    table = spark.createDataFrame(X.assign(id=np.arange(len(X))))
    for labels, kind in ((y == "benign", "boolean"), ((y == "benign").astype(np.int32), "bigint")):
        model = SEPClassifier(max_ellipsoids=2).fit(X, labels)
        found = sepc.spark.decide(model, table, keep=["id"])
        assert dict(found.dtypes)["label"] == kind
        assert found.toPandas().sort_values("id")["label"].tolist() == model.predict(X).tolist()


def test_tables_that_do_not_fit_are_told_at_once_and_empty_ones_are_not(classifier, table, spark, rows):
    text = spark.createDataFrame(rows[0].assign(**{"mean area": "large"}))
    for given, keep, message in (
        (table.drop("mean radius"), (), "'mean radius'"),
        (table, ["key"], "'key'"),
        (table.withColumnRenamed("diagnosis", "label"), ["label"], "'label'"),
        (text, (), "'mean area'"),
    ):
        with pytest.raises(ValueError, match=message):
            sepc.spark.decide(classifier, given, keep=keep)
    found = sepc.spark.decide(classifier, table.limit(0))
    assert found.count() == 0
    assert "trust" in found.columns


@pytest.mark.parametrize("cell", [np.nan, None])
def test_empty_cells_are_gaps(cell, classifier, spark, rows):
    X = rows[0][:5].astype(object)
    X.iloc[2, 3] = cell
    table = spark.createDataFrame(X.assign(id=range(5)).to_numpy().tolist(), schema=[*X.columns, "id"])
    found = decided(classifier, table)
    expected = classifier.decide(X.astype(float))
    assert expected.missing.sum() == 1
    np.testing.assert_allclose(found["trust"], expected.trust, rtol=0, atol=1e-12)
    assert found["cause"].tolist() == expected.to_frame()["cause"].tolist()


@pytest.fixture(scope="module")
def mixed(spark):
    """A table with dates, decimals and gaps, in Spark's types, and the same in pandas."""
    (X, y), (fresh, _) = patients(), patients(120, seed=5)
    X, fresh = (part.assign(since=part["since"].dt.floor("D")).astype({"stage": "float64"}) for part in (X, fresh))
    plain = fresh.astype(object).where(fresh.notna(), None).assign(id=range(len(fresh)))
    plain["since"] = [None if since is None else since.date() for since in plain["since"]]
    types = "age decimal(4,1), dose double, ward string, stage double, since date, key string, id int"
    plain["age"] = [None if age is None else Decimal(str(age)) for age in plain["age"]]
    return X, y, fresh, spark.createDataFrame(plain.to_numpy().tolist(), schema=types).repartition(3)


@pytest.mark.quick_cases("classifier", "stratified")
@pytest.mark.parametrize("kind", ["classifier", "selective", "stratified"])
def test_tables_of_all_types_with_gaps(kind, mixed):
    X, y, fresh, table = mixed
    models: dict[str, Any] = {
        "classifier": SEPClassifier(categorical_features=["stage"]),
        "selective": SelectiveClassifier(SEPClassifier(), 0.1, random_state=0),
        "stratified": RoutedClassifier(SEPClassifier(), by=["ward"], min_rows=50),
    }
    model = models[kind].fit(X, y)
    found, expected = decided(model, table), model.decide(fresh)
    assert fresh.isna().any(axis=1).sum() > 10
    columns = [name for name in ("label", "cause", "route") if name in expected.to_frame()]
    for name in columns:
        assert found[name].tolist() == expected.to_frame()[name].tolist()
    np.testing.assert_allclose(found["trust"], expected.trust, rtol=0, atol=1e-12)
    for name in ("since", "age"):
        with pytest.raises(ValueError, match=f"'{name}'"):
            sepc.spark.decide(model, table.withColumn(name, table["key"]))
    if kind == "classifier":
        assert "key" not in model.preparation_.used_columns
        assert decided(model, table.drop("key"))["label"].tolist() == expected.label.tolist()


def test_groups_are_told_by_a_column_that_is_no_feature(mixed):
    X, y, fresh, table = mixed
    inside = FrozenEstimator(SEPClassifier(trust="counts").fit(X.drop(columns="key"), y))
    clinics = np.resize(["a", "b"], len(X))
    model = SelectiveClassifier(inside, 0.4, by="clinic").fit(X.drop(columns="key"), y, groups=clinics)
    told = table.withColumn("clinic", table["id"].cast("string").substr(-1, 1))
    expected = model.decide(fresh, groups=[str(i)[-1] for i in range(len(fresh))])
    assert decided(model, told)["accepted"].tolist() == expected.accepted.tolist()
    with pytest.raises(ValueError, match="'clinic'"):
        model.decide(fresh)
