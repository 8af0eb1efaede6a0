"""Categories that are whole numbers beyond 2**53, such as 64-bit ids, and other large numbers: never merged."""

import numpy as np
import pytest
from optional import package_or_skip

import sepc
import sepc.onnx
import sepc.sql
from sepc import SEPClassifier
from sepc.cli.rows import matched
from sepc.columns.categories import category
from sepc.tables.table_file import objects

pd = package_or_skip("pandas")

FIRST = 2**60
IDS = (FIRST, FIRST + 1, FIRST + 2)


def table_of(ids, n=240, seed=0):
    """A table whose label is one of three ids that are one double."""
    rng = np.random.default_rng(seed)
    which = rng.integers(3, size=n)
    table = pd.DataFrame({"id": np.array(ids)[which], "x": rng.normal(size=n)})
    return table, np.where(which == 1, "b", "a")


def with_a_gap(column):
    return column.where(np.arange(len(column)) != 5)


TYPES = {
    "whole": lambda table: table,
    "categorical with a gap": lambda table: table.assign(id=with_a_gap(table["id"].astype("category"))),
    "nullable with a gap": lambda table: table.assign(id=with_a_gap(table["id"].astype("Int64"))),
}


@pytest.mark.parametrize("kind", TYPES)
def test_ids_that_are_one_double_stay_apart_in_fit_decide_and_files(kind, tmp_path):
    table, y = table_of(IDS)
    table = TYPES[kind](table)
    y[5] = "a"
    classifier = SEPClassifier(categorical_features=["id"], max_ellipsoids=2).fit(table, y)
    known = [value for value in classifier.preparation_.categories["id"].values if value is not None]
    assert known == list(IDS)
    assert all(type(value) is int for value in known)
    assert classifier.score(table, y) == 1.0
    assert "not seen" in classifier.decide(table[:1].assign(id=FIRST + 3)).why(0)
    sepc.save(classifier, tmp_path / "ids.sepc")
    loaded = sepc.load(tmp_path / "ids.sepc")
    assert loaded.preparation_.categories["id"].values == classifier.preparation_.categories["id"].values
    np.testing.assert_array_equal(loaded.predict_proba(table), classifier.predict_proba(table))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_tables_keep_ids_apart_beside_gaps(library):
    (table, y), package = table_of(IDS), package_or_skip(library)
    ids = table["id"].tolist()
    ids[5], y[5] = None, "a"
    columns = {"id": ids, "x": table["x"].to_numpy()}
    if library == "polars":
        given = package.DataFrame(columns)
    else:
        given = package.table(columns | {"id": package.array(ids).dictionary_encode()})
    classifier = SEPClassifier(categorical_features=["id"], max_ellipsoids=2).fit(given, y)
    assert classifier.preparation_.categories["id"].values == (*IDS, None)
    assert (classifier.predict(given) == y).all()


def test_ids_are_kept_apart_in_parquet(tmp_path):
    table, y = table_of(IDS)
    table.assign(y=y).to_parquet(tmp_path / "ids.parquet")
    classifier = SEPClassifier(categorical_features=["id"], max_ellipsoids=2).fit(tmp_path / "ids.parquet", "y")
    assert classifier.preparation_.categories["id"].values == IDS
    assert classifier.score(table, y) == 1.0


@pytest.mark.parametrize("large", [-1e300, 2.0**63])
def test_large_doubles_are_categories_that_can_be_saved(large, tmp_path):
    table, y = table_of((0.5, large, 2.0))
    classifier = SEPClassifier(categorical_features=["id"], max_ellipsoids=2).fit(table, y)
    assert classifier.score(table, y) == 1.0
    sepc.save(classifier, tmp_path / "large.sepc")
    loaded = sepc.load(tmp_path / "large.sepc")
    assert large in loaded.preparation_.categories["id"].values
    np.testing.assert_array_equal(loaded.predict_proba(table), classifier.predict_proba(table))


def test_whole_doubles_are_the_same_category_as_whole_numbers():
    assert [category(value) for value in (3.0, np.int64(3), 2.0**62, float("nan"), 1.5)] == [3, 3, 2**62, None, 1.5]
    assert type(category(2.0**62)) is int
    assert category(1e300) == 1e300
    assert type(category(1e300)) is float


def test_the_command_tells_ids_apart_that_are_text_in_a_file():
    cells = objects([str(FIRST), str(FIRST + 1), "3.0", "007", "1e300", "9" * 5000])
    known = [FIRST, 3, 7, 1e300]
    assert matched(cells, known).tolist() == [FIRST, str(FIRST + 1), 3, 7, 1e300, "9" * 5000]


def test_exports_refuse_ids_that_doubles_would_merge(tmp_path):
    package_or_skip("onnx")
    table, y = table_of(IDS)
    classifier = SEPClassifier(categorical_features=["id"], max_ellipsoids=2).fit(table, y)
    with pytest.raises(TypeError, match=str(FIRST)):
        sepc.sql.export(classifier, "duckdb", "t")
    with pytest.raises(TypeError, match=str(FIRST)):
        sepc.onnx.export(classifier, tmp_path / "ids.onnx")
