"""Tables with categories and dates on a Dask cluster and in Parquet files are fitted as they are in memory."""

import warnings

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from same_model import assert_same_model
from threadpoolctl import threadpool_limits

import sepc
from sepc import SEPClassifier, datasets
from sepc.errors import LeftOutWarning
from sepc.estimators.sep import given_tables
from sepc.points import on_parquet

dask = package_or_skip("dask")
dd = package_or_skip("dask.dataframe")
pd = package_or_skip("pandas")
pa = package_or_skip("pyarrow")
pq = package_or_skip("pyarrow.parquet")


@pytest.fixture(params=["dask", "parquet"])
def stored(request, tmp_path):
    """Puts a table with its labels on the cluster or into a folder of files, in some blocks."""
    if request.param == "dask":
        request.getfixturevalue("client")
        return on_dask
    return lambda table, n_blocks=3: in_files(table, tmp_path, n_blocks)


def on_dask(table, n_blocks=3):
    return dd.from_pandas(table, npartitions=n_blocks, sort=False)


def in_files(table, folder, n_blocks=3):
    for old in folder.glob("*.parquet"):
        old.unlink()
    for i, part in enumerate(np.array_split(np.arange(len(table)), n_blocks)):
        table.iloc[part].to_parquet(folder / f"part-{i}.parquet", index=False)
    return folder


def rows(n=900, **options):
    """Patients with their labels; stages are text, since categories that are numbers are plain numbers in files."""
    table, y = patients(n, **{"gaps": False, "key": False} | options)
    return table.assign(stage=table["stage"].astype(str).astype("category"), target=y)


def without_target(table):
    return table.drop(columns="target")


def in_memory(table, **options):
    return SEPClassifier(**options).fit(without_target(table), table["target"].to_numpy())


@pytest.mark.slow
def test_decisions_are_those_of_a_fit_in_memory(stored, home):
    adult = datasets.load("adult")
    order = np.random.default_rng(0).permutation(len(adult.target))[:6000]
    table = adult.features.iloc[order].assign(target=np.asarray(adult.target)[order])
    train, test = table[:4000], table[4000:]
    # All rows, since encodings differ a little, and so would a sample by hashes.
    there, here = SEPClassifier(fit_rows=None).fit(stored(train), "target"), in_memory(train, fit_rows=None)
    assert there.feature_names_in_.tolist() == here.feature_names_in_.tolist()
    assert there.model_.class_counts.tolist() == here.model_.class_counts.tolist()
    found, expected = there.decide(without_target(test)), here.decide(without_target(test))
    assert (found.label == expected.label).mean() >= 0.97
    right = [(decisions.label == test["target"]).mean() for decisions in (found, expected)]
    assert abs(right[0] - right[1]) <= 0.01
    assert abs(found.trust.mean() - expected.trust.mean()) <= 0.01


@pytest.mark.quick_cases("parquet")
def test_dates_categories_and_numbers_are_what_they_are_in_memory(stored):
    table = rows()
    there, here = SEPClassifier().fit(stored(table), "target"), in_memory(table)
    assert there.preparation_.columns == here.preparation_.columns
    assert there.preparation_.seasons == here.preparation_.seasons == ("since",)
    assert {name: own.values for name, own in there.preparation_.categories.items()} == {
        name: own.values for name, own in here.preparation_.categories.items()
    }
    fresh = without_target(rows(seed=1))
    assert (there.predict(fresh) == here.predict(fresh)).mean() >= 0.97


@pytest.mark.slow
def test_all_rows_are_partitioned_in_passes(stored, monkeypatch):
    monkeypatch.setattr(SEPClassifier, "_local_rows", 200)
    options = {"fit_rows": None, "max_ellipsoids": 4}
    table = rows()
    there = SEPClassifier(**options).fit(stored(table), "target")
    fresh = without_target(rows(seed=1))
    assert (there.predict(fresh) == in_memory(table, **options).predict(fresh)).mean() >= 0.9
    unscaled = SEPClassifier(standardize=False, **options).fit(stored(table), "target")
    assert unscaled.model_.class_counts.sum() == len(table)


def test_the_cluster_gives_the_model_of_files_with_the_same_blocks(client, tmp_path, monkeypatch):
    monkeypatch.setattr(on_parquet, "BLOCK_CELLS", 1500)
    monkeypatch.setattr(given_tables, "DRAWN_ROWS", 600)
    table = rows()
    # The workers of a cluster have one thread each, and BLAS rounds differently with more.
    with threadpool_limits(1):
        files, lazy = in_files(table, tmp_path), on_dask(table)
        there, here = (SEPClassifier(max_ellipsoids=4).fit(given, "target") for given in (lazy, files))
    assert_same_model(there, here)


@pytest.mark.slow  # on every change, test_sep_collections.py has frames with labels apart
def test_labels_may_be_apart(client):
    table = rows()
    lazy = on_dask(table)
    apart = SEPClassifier().fit(lazy.drop(columns="target"), lazy["target"])
    assert_same_model(apart, SEPClassifier().fit(lazy, "target"))


@pytest.mark.quick_cases("dask")
def test_models_are_saved_and_decide_lazily(stored, tmp_path):
    table = rows()
    model = SEPClassifier().fit(stored(table), "target")
    fresh = without_target(rows(seed=1, gaps=True))
    sepc.save(model, tmp_path / "model.sepc")
    expected = model.decide(fresh)
    np.testing.assert_array_equal(sepc.load(tmp_path / "model.sepc").decide(fresh).trust, expected.trust)
    lazy = model.decide(dd.from_pandas(fresh, npartitions=2)).compute(scheduler="sync")
    assert lazy["label"].tolist() == expected.label.tolist()


def test_categories_that_the_sample_lacks_are_counted_as_not_seen(stored, monkeypatch):
    monkeypatch.setattr(given_tables, "DRAWN_ROWS", 300)
    table = rows()
    last = table.index[-5:]
    table.loc[last, "ward"] = [f"new {i}" for i in range(5)]
    model = SEPClassifier().fit(stored(table), "target")
    known = model.preparation_.categories["ward"].values
    assert set(known) < set(table["ward"])
    assert model.model_.class_counts.sum() == model.model_.table.counts.sum() == len(table)
    unseen = table.loc[[next(i for i in last if table.loc[i, "ward"] not in known)]]
    assert "was not seen in training" in model.decide(without_target(unseen))[0].why()


@pytest.mark.quick_cases("parquet")
def test_classes_that_the_sample_lacks_are_classes(stored, monkeypatch):
    monkeypatch.setattr(given_tables, "DRAWN_ROWS", 60)
    table = rows()
    table.loc[table.index[-2:], "target"] = "absent"
    model = SEPClassifier().fit(stored(table), "target")
    assert model.classes_.tolist() == ["absent", "ill", "well"]
    assert model.model_.class_counts[0] == 2
    assert set(model.predict(without_target(table))) <= set(model.classes_)


@pytest.mark.parametrize("name", ["dose", "since"])
def test_gaps_in_numbers_and_dates_are_refused_by_name(stored, name):
    table = rows()
    table.loc[table.index[700], name] = None
    with pytest.raises(ValueError, match=rf"[Ff]eature '{name}' .*in row 100.* Fill these cells or leave the rows out"):
        SEPClassifier().fit(stored(table), "target")


def test_gaps_in_categories_are_a_category(stored):
    table = rows()
    table.loc[table.index[::7], "ward"] = None
    model = SEPClassifier().fit(stored(table), "target")
    assert model.preparation_.categories["ward"].values == ("east", "north", "west ü", None)


def test_ids_are_left_out_with_a_warning(stored):
    table = rows(key=True).assign(note="the same")
    with pytest.warns(
        LeftOutWarning, match=r"not usable as features: 'key' \(an id\) and 'note' \(a constant\)"
    ) as told:
        model = SEPClassifier().fit(stored(table), "target")
    assert told[0].filename == __file__
    assert model.n_features_in_ == 7
    assert "key" not in model.model_.feature_names
    assert len(model.predict(without_target(table))) == len(table)


@pytest.mark.quick_cases("parquet")
def test_named_columns_are_kept_or_categories(stored):
    table = rows().assign(room=np.arange(900) % 4, note="the same")
    model = SEPClassifier(categorical_features=["room"], force_features=["note"]).fit(stored(table), "target")
    assert model.preparation_.categories["room"].values == (0, 1, 2, 3)
    assert model.preparation_.categories["note"].values == ("the same",)
    with pytest.raises(ValueError, match="There is no column 'floor'"):
        SEPClassifier(categorical_features=["floor"]).fit(stored(table), "target")


@pytest.mark.slow
def test_numbers_alone_need_no_sample(stored, monkeypatch):
    monkeypatch.setattr(given_tables, "DRAWN_ROWS", None)
    model = SEPClassifier().fit(stored(rows()[["age", "dose", "target"]]), "target")
    assert model.encoding_ is None


@pytest.mark.slow
def test_objects_that_are_numbers_are_numbers(client):
    table = rows()[["age", "dose", "target"]]
    with dask.config.set({"dataframe.convert-string": False}):
        objects = on_dask(table.astype({"age": object}))
        texts = on_dask(rows()[["age", "ward", "target"]])
    assert objects.dtypes["age"].kind == texts.dtypes["ward"].kind == "O"
    assert_same_model(SEPClassifier().fit(objects, "target"), SEPClassifier().fit(on_dask(table), "target"))
    assert list(SEPClassifier().fit(texts, "target").preparation_.categories) == ["ward"]


def test_types_of_arrow(tmp_path):
    table = rows()
    given = pa.table(
        {
            "age": pa.array(table["age"]),
            "ward": pa.array(table["ward"]).dictionary_encode(),
            "day": pa.array(table["since"].dt.date),
            "hour": pa.array(table["since"]).cast(pa.timestamp("ms", "UTC"), safe=False),
            "target": pa.array(table["target"]),
        }
    )
    pq.write_table(given, tmp_path / "x.parquet", row_group_size=200)
    model = SEPClassifier(trust="counts").fit(tmp_path / "x.parquet", "target")
    assert [str(column.kind) for column in model.preparation_.columns] == ["number", "category", "date", "date"]
    here = SEPClassifier(trust="counts").fit(given.drop_columns("target"), table["target"])
    fresh = given.drop_columns("target")
    assert (model.predict(fresh) == here.predict(fresh)).mean() >= 0.97


@pytest.mark.slow
def test_no_row_has_its_own_label_in_its_encoding(stored):
    """Categories of a few rows each tell nothing here, and training must not believe that they do."""
    table = rows(1500)
    codes = np.random.default_rng(0).integers(0, 500, size=len(table))
    table["noise"] = [f"code {code}" for code in codes]
    model = SEPClassifier().fit(stored(table), "target")
    test = rows(1500, seed=1)
    test["noise"] = [f"code {code}" for code in np.random.default_rng(1).integers(0, 500, size=len(test))]
    decisions = model.decide(without_target(test))
    expected = in_memory(table).decide(without_target(test))
    assert (decisions.label == expected.label).mean() >= 0.97
    is_right = decisions.label == test["target"].to_numpy()
    assert decisions.trust.mean() - is_right.mean() < 0.05


def test_empty_blocks_change_nothing(client):
    table = rows(300)
    parts = [table[:0], table[:100], table[100:100], table[100:]]
    lazy = dd.from_delayed([dask.delayed(part) for part in parts], meta=table[:0])
    assert SEPClassifier().fit(lazy, "target").model_.class_counts.sum() == 300
    with pytest.raises(ValueError, match="X has 0 rows"):
        SEPClassifier().fit(lazy[lazy["age"] > 1e9], "target")


def test_what_cannot_be_fitted_is_told(client, stored):
    table = rows(300)
    continuous = table.assign(target=np.linspace(0.1, 0.9, 300))
    with pytest.raises(ValueError, match="Unknown label type: y has 300 different numbers .* amounts, not"):
        SEPClassifier().fit(stored(continuous), "target")
    holes = table.assign(target=[None, *table["target"][1:]])
    with pytest.raises(ValueError, match="has 1 missing label, the first in row 0.*; leave these rows out or give"):
        SEPClassifier().fit(stored(holes), "target")
    array = dask.array.zeros((10, 2), chunks=5)
    with pytest.raises(
        TypeError, match="categorical_features and force_features name columns of a table, but X is not a table"
    ):
        SEPClassifier(force_features=["x"]).fit(array, dask.array.zeros(10, chunks=5))


@pytest.mark.parametrize("columns", [["age", "target"], ["age", "stage", "target"]], ids=["numbers", "a table"])
def test_labels_are_checked_as_in_memory(stored, columns):
    table = rows(600)[columns]
    label = table["target"].mode()[0]
    odd = table.assign(target=[f"{label} ", *table["target"][1:]])
    with pytest.warns(UserWarning, match=rf"Labels that look like others .*: '{label} ' \(like '{label}'\)") as caught:
        SEPClassifier().fit(stored(odd), "target")
    assert [warning.filename for warning in caught] == [__file__]
    ages = table.assign(target=np.random.default_rng(0).normal(40, 14, 600).round().clip(17, 90).astype(int))
    with pytest.raises(ValueError, match="different numbers in 600 rows, from 17 .* amounts, not classes. Bin them"):
        SEPClassifier().fit(stored(ages), "target")


def test_checks_of_labels_read_no_row_again(tmp_path, monkeypatch):
    path, reads = in_files(rows(300), tmp_path), []
    read = on_parquet.ParquetSource._read
    monkeypatch.setattr(on_parquet.ParquetSource, "_read", lambda *given: reads.append(given[1:]) or read(*given))
    SEPClassifier().fit(path, "target")
    n_reads = len(reads)
    for check in ("refuse_numbers", "warn_of_labels"):
        monkeypatch.setattr(given_tables, check, lambda *_: None)
    SEPClassifier().fit(path, "target")
    assert len(reads) == 2 * n_reads


def test_plain_tables_give_no_warning(stored):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SEPClassifier().fit(stored(rows()), "target")
