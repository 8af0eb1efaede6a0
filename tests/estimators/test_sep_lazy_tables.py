"""Tables with categories and dates on a Dask cluster and in Parquet files are fitted as they are in memory."""

import warnings

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from same_model import assert_same_model
from threadpoolctl import threadpool_limits

import sepc
from sepc import SEPClassifier
from sepc.errors import LeftOutWarning
from sepc.estimators.sep import given_tables

dask = package_or_skip("dask")
dd = package_or_skip("dask.dataframe")
package_or_skip("pyarrow")


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


@pytest.mark.quick_cases("parquet")
def test_dates_categories_and_numbers_are_what_they_are_in_memory(stored, tmp_path):
    table = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        there, here = SEPClassifier().fit(stored(table), "target"), in_memory(table)
    assert there.preparation_.columns == here.preparation_.columns
    assert there.preparation_.seasons == here.preparation_.seasons == ("since",)
    values = [{name: own.values for name, own in one.preparation_.categories.items()} for one in (there, here)]
    assert values[0] == values[1]
    fresh = without_target(rows(seed=1, gaps=True))
    expected = there.decide(fresh)
    assert (expected.label == here.predict(fresh)).mean() >= 0.97
    sepc.save(there, tmp_path / "model.sepc")
    np.testing.assert_array_equal(sepc.load(tmp_path / "model.sepc").decide(fresh).trust, expected.trust)
    lazy = there.decide(dd.from_pandas(fresh, npartitions=2)).compute(scheduler="sync")
    assert lazy["label"].tolist() == expected.label.tolist()


@pytest.mark.quick_cases("parquet")
def test_all_rows_are_partitioned_only_in_memory(stored):
    with pytest.raises(ValueError, match="fit_rows=None .* set it to 'auto' or to a number"):
        SEPClassifier(fit_rows=None).fit(stored(rows(60)), "target")
    unscaled = SEPClassifier(trust="published", max_ellipsoids=4).fit(stored(rows()), "target")
    assert unscaled.model_.class_counts.sum() == 900


def test_the_cluster_gives_the_model_of_files_with_the_same_blocks(client, tmp_path, monkeypatch):
    monkeypatch.setattr(given_tables, "DRAWN_ROWS", 600)
    table = rows()
    # The workers of a cluster have one thread each, and BLAS rounds differently with more.
    with threadpool_limits(1):
        files, lazy = in_files(table, tmp_path, 1), on_dask(table, 1)
        there, here = (SEPClassifier(max_ellipsoids=4).fit(given, "target") for given in (lazy, files))
        apart = SEPClassifier(max_ellipsoids=4).fit(lazy.drop(columns="target"), lazy["target"])
    assert_same_model(there, here)
    assert_same_model(apart, here)
    parts = [table[:0], table[:300], table[300:300], table[300:]]
    holes = dd.from_delayed([dask.delayed(part) for part in parts], meta=table[:0])
    assert SEPClassifier(max_ellipsoids=2).fit(holes, "target").model_.class_counts.sum() == len(table)
    with pytest.raises(ValueError, match="0 rows"):
        SEPClassifier().fit(holes[holes["age"] > 1e9], "target")


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
    assert "not seen" in model.decide(without_target(unseen))[0].why()


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
    with pytest.raises(ValueError, match=rf"'{name}' .*in row 100"):
        SEPClassifier().fit(stored(table), "target")


@pytest.mark.quick_cases("parquet")
def test_columns_are_kept_or_left_out_and_gaps_in_categories_are_a_category(stored):
    table = rows(key=True).assign(room=np.arange(900) % 4, note="the same")
    table.loc[table.index[::7], "ward"] = None
    options = {"categorical_features": ["room"], "force_features": ["note"]}
    with pytest.warns(LeftOutWarning, match="'key' .an id.$|'key' .an id.[^']*$") as told:
        model = SEPClassifier(**options).fit(stored(table), "target")
    assert told[0].filename == __file__
    assert model.n_features_in_ == 8
    assert "key" not in model.model_.feature_names
    known = {name: own.values for name, own in model.preparation_.categories.items()}
    assert known["room"] == (0, 1, 2, 3)
    assert known["note"] == ("the same",)
    assert known["ward"] == ("east", "north", "west ü", None)
    with pytest.raises(ValueError, match="'floor'"):
        SEPClassifier(categorical_features=["floor"]).fit(stored(table), "target")


@pytest.mark.parametrize("columns", [["age", "target"], ["age", "stage", "target"]], ids=["numbers", "a table"])
def test_labels_are_checked_as_in_memory(stored, columns):
    table = rows(600)[columns]
    label = table["target"].mode()[0]
    odd = table.assign(target=[f"{label} ", *table["target"][1:]])
    with pytest.warns(UserWarning, match=f"'{label} '") as caught:
        SEPClassifier(max_ellipsoids=2).fit(stored(odd), "target")
    assert [warning.filename for warning in caught] == [__file__]
    ages = np.random.default_rng(0).normal(40, 14, 600).round().clip(17, 90).astype(int)
    for labels, said in (
        (ages, "from 17 .*amounts"),
        (np.linspace(0.1, 0.9, 600), "amounts"),
        ([None, *table["target"][1:]], "1 missing label, the first in row 0"),
    ):
        with pytest.raises(ValueError, match=said):
            SEPClassifier().fit(stored(table.assign(target=labels)), "target")


def test_columns_of_arrays_have_no_names(client):
    with pytest.raises(TypeError, match="not a table"):
        SEPClassifier(force_features=["x"]).fit(dask.array.zeros((10, 2), chunks=5), dask.array.zeros(10, chunks=5))
