"""Dask collections: fitted where they are, to the model of the same blocks; decided on lazily, as NumPy would."""

import pickle

import joblib
import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from same_model import assert_same_model, draw, fitted_on_blocks
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from zoo import fitted_once

from sepc import SEPClassifier, StratifiedClassifier, TrustedClassifier

dask = package_or_skip("dask")
da = package_or_skip("dask.array")
dd = package_or_skip("dask.dataframe")
pd = package_or_skip("pandas")
N, D = 4000, 3
NAMES = ["width", "height", "depth"]


@pytest.fixture(autouse=True)
def passes(monkeypatch):
    """Fit in passes, as if these few rows were too many for one machine."""
    monkeypatch.setattr(SEPClassifier, "_local_rows", 1800)


@pytest.fixture(scope="module")
def rows():
    return draw(N, D)


@fitted_once
def fitted_on(kind):
    X, y = draw(N, D)
    return SEPClassifier(n_impure=0.05, max_ellipsoids=8).fit(X if kind == "array" else frame(X), y)


@pytest.fixture(scope="module")
def fitted():
    return fitted_on("array")


@pytest.fixture(scope="module")
def fitted_on_names():
    return fitted_on("frame")


def classifier(**options):
    return SEPClassifier(n_impure=0.05, max_ellipsoids=2, **options)


def on_blocks(X, y, sizes, **options):
    cuts = np.cumsum(sizes)[:-1]
    return fitted_on_blocks(classifier(**options), np.split(X, cuts), np.split(y, cuts))


def frame(X, y=None):
    table = pd.DataFrame(X, columns=NAMES)
    return table if y is None else table.assign(target=y)


@pytest.mark.slow
def test_arrays_give_the_model_of_their_blocks(client, rows):
    X, y = rows
    expected = on_blocks(X, y, (1500, 1500, 1000))
    fitted = classifier().fit(da.from_array(X, (1500, D)), da.from_array(y, 1500))
    assert_same_model(fitted, expected)
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.n_features_in_ == D
    assert_same_model(classifier().fit(da.from_array(X, (1500, 2)), y), expected)


def test_labels_in_other_chunks_are_cut_anew(client, rows):
    X, y = rows
    options = {"fit_rows": 500, "random_state": 0}
    fitted = classifier(**options).fit(da.from_array(X, (1500, D)), da.from_array(y, 900))
    assert_same_model(fitted, on_blocks(X, y, (1500, 1500, 1000), **options))


def test_frames_with_labels_apart_or_in_a_column(client, rows):
    X, y = rows
    table = dd.from_pandas(frame(X, y), npartitions=3)
    options = {"fit_rows": 500, "random_state": 0}
    expected = on_blocks(X, y, [len(part) for part in np.array_split(X, 3)], **options)
    by_name = classifier(**options).fit(table, "target")
    assert_same_model(by_name, expected)
    assert by_name.feature_names_in_.tolist() == NAMES
    apart = classifier(**options).fit(table[NAMES], table["target"])
    assert_same_model(apart, expected)
    assert apart.predict(frame(X[:9])).tolist() == expected.predict(X[:9]).tolist()


def test_filtered_collections_whose_sizes_nobody_knows(client, rows):
    X, y = rows
    kept = X[:, 0] > 0
    sizes = [int(kept[start : start + 1000].sum()) for start in range(0, N, 1000)]
    lazy, labels = da.from_array(X, (1000, D)), da.from_array(y, 1000)
    fitted = classifier().fit(lazy[lazy[:, 0] > 0], labels[lazy[:, 0] > 0])
    assert_same_model(fitted, on_blocks(X[kept], y[kept], sizes))
    table = dd.from_pandas(frame(X, y), npartitions=4)
    fitted = classifier().fit(table[table.width > 0], "target")
    assert fitted.model_.class_counts.sum() == kept.sum()


def test_partitions_that_are_empty_or_of_one_class_only(client, rows):
    order = np.argsort(rows[1], kind="stable")
    X, y = rows[0][order], rows[1][order]
    parts = [frame(X, y)[start:stop] for start, stop in ((0, 0), (0, 500), (500, 500), (500, 3000), (3000, N))]
    table = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0][:0])
    assert_same_model(classifier().fit(table, "target"), on_blocks(X, y, [len(part) for part in parts]))


def test_standalone_and_monotone_features(client, rows):
    X, y = rows
    options = {"fit_rows": 500, "random_state": 0, "monotone": {0: "up"}, "features_alone": [2]}
    fitted = classifier(**options).fit(da.from_array(X, (1500, D)), da.from_array(y, 1500))
    assert_same_model(fitted, on_blocks(X, y, (1500, 1500, 1000), **options))
    assert fitted.model_.centers.shape[1] == 1
    lower, higher = (fitted.predict_proba(da.from_array(X + [by, 0, 0], (900, D))) for by in (0.0, 0.7))
    gain = dask.compute(higher[:, 1] - lower[:, 1])[0]
    assert gain.max() > 0.01
    assert gain.min() >= -1e-12
    np.testing.assert_array_equal(lower.compute(), fitted.predict_proba(X))


def test_fit_rows_draws_the_same_sample(client, rows):
    X, y = rows
    options = {"fit_rows": 1200, "random_state": 1}
    fitted = classifier(**options).fit(da.from_array(X, (1000, D)), da.from_array(y, 1000))
    assert_same_model(fitted, on_blocks(X, y, (1000,) * 4, **options))
    assert fitted.model_.table.counts.sum() == N


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_a_sample_of_rows_that_repeat_is_not_too_large(rows):
    X, y = rows
    X = np.where(np.arange(N)[:, None] % 4, X[0], X)
    for seed in range(3):
        fitted = classifier(fit_rows=300, random_state=seed).fit(X, y)
        assert np.sum(fitted.history_[0].rows_left[0]) <= 302
        assert fitted.model_.table.counts.sum() == N


@pytest.mark.slow
def test_more_than_two_classes(client, rows):
    X, _ = rows
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    fitted = classifier(n_jobs=2).fit(da.from_array(X, (2000, D)), da.from_array(y, 2000))
    assert_same_model(fitted, on_blocks(X, y, (2000, 2000)))


def test_checking_a_collection_brings_no_row_here(client, rows, monkeypatch):
    from dask.distributed import Client

    from sepc.points.dask.inputs import labelled_points

    moved, gather = [], Client.gather

    def watched(self, futures, **options):
        answers = gather(self, futures, **options)
        moved.append(len(pickle.dumps(answers)))
        return answers

    monkeypatch.setattr(Client, "gather", watched)
    X, y = rows
    whole, _, _ = labelled_points(da.from_array(X, (1000, D)), da.from_array(y, 1000))
    assert whole.n_points == N
    assert 0 < sum(moved) < 0.02 * X.nbytes


def broken(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


def test_bad_cells_are_named_with_their_block(client, rows):
    X, y = rows
    labels = da.from_array(y, 1000)
    with pytest.raises(ValueError, match=r"In block 2: X contains NaN .* feature 'x1' in row 345") as error:
        classifier().fit(da.from_array(broken(X, 2345, 1, np.nan), (1000, D)), labels)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__
    table = dd.from_pandas(frame(broken(X, 3999, 2, np.inf), y), npartitions=4)
    with pytest.raises(ValueError, match=r"In block 3: .* feature 'depth' in row 999"):
        classifier().fit(table, "target")
    holes = y.astype(object)
    holes[1500] = None
    with pytest.raises(ValueError, match=r"In block 1: y has 1 missing label, the first in row 500; leave"):
        classifier().fit(da.from_array(X, (1000, D)), da.from_array(holes, 1000))
    numbers = (X[:, 0] > 0).astype(float)
    numbers[1500] = np.nan
    with pytest.raises(ValueError, match=r"In block 1: y has 1 missing label, the first in row 500"):
        classifier().fit(da.from_array(X, (1000, D)), da.from_array(numbers, 1000))


def test_a_table_is_fitted_on_a_sample_and_decided_on_everywhere(client):
    """What to do with gaps in numbers: the page on scaling says so."""
    table, y = patients(1200, key=False)
    lazy = dd.from_pandas(table.assign(target=y), npartitions=3)
    drawn = lazy.sample(frac=0.4, random_state=0).compute()
    model = SEPClassifier().fit(drawn.drop(columns="target"), drawn["target"])
    decided = model.decide(lazy.drop(columns="target")).compute()
    expected = model.decide(table)
    pd.testing.assert_frame_equal(decided, expected.to_frame())
    assert expected.missing.any()
    np.testing.assert_array_equal(model.predict(lazy.drop(columns="target")).compute(), expected.label)


def test_collections_that_do_not_fit_together_are_told_so(client, rows):
    X, y = rows
    lazy = da.from_array(X, (1000, D))
    unknown = lazy[lazy[:, 0] > 0]
    with pytest.raises(ValueError, match="X has 4,000 rows but y has 3,999 labels; give one for each row"):
        classifier().fit(lazy, y[:-1])
    with pytest.raises(ValueError, match=r"y is in memory, but the block sizes of X are unknown"):
        classifier().fit(unknown, y)
    with pytest.raises(ValueError, match="X has 4 blocks and y has 2; give both the same blocks"):
        classifier().fit(unknown, da.from_array(y, 2000))
    with pytest.raises(ValueError, match=r"Block \d of X has \d+ rows and that of y has 1,000"):
        classifier().fit(unknown, da.from_array(y, 1000))
    with pytest.raises(ValueError, match="y is 'target', which is not a column of X"):
        classifier().fit(dd.from_pandas(frame(X), npartitions=2), "target")
    with pytest.raises(ValueError, match="expected a DataFrame, or an array with rows and columns"):
        classifier().fit(da.from_array(X[:, 0], 1000), da.from_array(y, 1000))
    with pytest.raises(ValueError, match="X has 0 rows"):
        classifier().fit(lazy[lazy[:, 0] > 1e9], da.from_array(y, 1000)[lazy[:, 0] > 1e9])
    with pytest.raises(ValueError, match="target y is None"):
        classifier().fit(lazy, None)


def test_without_a_client_one_line_says_how_to_get_one(rows):
    X, y = rows
    with pytest.raises(ValueError, match=r"there is none\. Create a client first: from dask\.distributed") as error:
        classifier().fit(da.from_array(X, (1000, D)), da.from_array(y, 1000))
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__


def never():
    raise AssertionError("this was computed")


@pytest.fixture(scope="module")
def untouchable():
    """An array whose blocks cannot be computed."""
    return da.concatenate([da.from_delayed(dask.delayed(never)(), (5, D), np.float64) for _ in range(2)])


def test_decisions_on_collections_are_lazy(fitted, fitted_on_names, untouchable):
    table = dd.from_delayed([dask.delayed(never)() for _ in range(2)], meta=frame(np.zeros((0, D))))
    for model, lazy in ((fitted, untouchable), (fitted_on_names, table)):
        for method in (model.decide, model.predict, model.predict_proba):
            later = method(lazy)
            assert hasattr(later, "__dask_graph__")
            with pytest.raises(AssertionError, match="this was computed"):
                later.compute(scheduler="sync")


def test_decisions_on_arrays_are_those_of_numpy(fitted, rows):
    X = rows[0]
    lazy, expected = da.from_array(X, (1500, 2)), fitted.decide(X)
    decided = fitted.decide(lazy)
    computed = decided.compute(scheduler="sync")
    assert computed.dtypes.tolist() == decided.dtypes.tolist()
    assert decided.columns.tolist() == expected.to_frame().columns.tolist()
    pd.testing.assert_frame_equal(computed.reset_index(drop=True), expected.to_frame(), rtol=0, atol=1e-12)
    trust = decided["trust"].to_dask_array().compute(scheduler="sync")
    np.testing.assert_allclose(trust, expected.trust, rtol=0, atol=1e-12)
    labels, shares = fitted.predict(lazy), fitted.predict_proba(lazy)
    assert (labels.dtype, labels.chunks) == (expected.label.dtype, ((1500, 1500, 1000),))
    assert (shares.dtype, shares.chunks) == (np.float64, ((1500, 1500, 1000), (2,)))
    assert labels.compute(scheduler="sync").tolist() == expected.label.tolist()
    np.testing.assert_allclose(shares.compute(scheduler="sync"), expected.probabilities, rtol=0, atol=1e-12)


def test_decisions_on_frames_keep_index_and_divisions(fitted_on_names, rows):
    X = rows[0]
    here = frame(X).set_index(np.arange(N) * 2 + 7)
    table, expected = dd.from_pandas(here, npartitions=3), fitted_on_names.decide(here)
    decided = fitted_on_names.decide(table)
    assert decided.divisions == table.divisions
    computed = decided.compute(scheduler="sync")
    assert computed.index.tolist() == here.index.tolist()
    assert computed.dtypes.tolist() == decided.dtypes.tolist()
    wanted = expected.to_frame().set_index(here.index)
    pd.testing.assert_frame_equal(computed, wanted, rtol=0, atol=1e-12, check_index_type=False)
    labels, shares = fitted_on_names.predict(table), fitted_on_names.predict_proba(table)
    assert labels.dtype == expected.label.dtype
    assert labels.compute(scheduler="sync").tolist() == expected.label.tolist()
    np.testing.assert_allclose(shares.compute(scheduler="sync"), expected.probabilities, rtol=0, atol=1e-12)


def test_empty_partitions_decide_to_nothing(fitted, fitted_on_names, rows):
    X = rows[0][:40]
    here, expected = frame(X), fitted.decide(X)
    parts = [here[:0], here[:15], here[15:15], here[15:]]
    table = dd.from_delayed([dask.delayed(part) for part in parts], meta=here[:0])
    lazy = da.from_array(X, (10, D))
    kept = lazy[lazy[:, 0] > X[:10, 0].max()]
    some = X[X[:, 0] > X[:10, 0].max()]
    assert len(some) > 0
    for model, given, wanted in ((fitted_on_names, table, expected), (fitted, kept, fitted.decide(some))):
        assert model.decide(given).compute(scheduler="sync")["label"].tolist() == wanted.label.tolist()
        assert model.predict(given).compute(scheduler="sync").tolist() == wanted.label.tolist()
        shares = model.predict_proba(given).compute(scheduler="sync")
        np.testing.assert_allclose(shares, wanted.probabilities, rtol=0, atol=1e-12)


def test_decisions_on_the_cluster_are_those_here(client, fitted, rows):
    X = rows[0]
    lazy = da.from_array(X, (1000, D)).persist()
    expected = fitted.decide(X)
    computed = fitted.decide(lazy).compute()
    assert computed["label"].tolist() == expected.label.tolist()
    np.testing.assert_allclose(computed["trust"], expected.trust, rtol=0, atol=1e-12)


def test_collections_that_cannot_be_decided_on_are_told_so_at_once(fitted, fitted_on_names, rows):
    table = dd.from_pandas(frame(rows[0]), npartitions=2)
    with pytest.raises(ValueError, match="X has 2 features, but SEPClassifier is expecting 3 features"):
        fitted.predict(da.zeros((10, 2)))
    with pytest.raises(ValueError, match=r"There is no column 'depth', .* Did you mean 'deepth'\?"):
        fitted_on_names.decide(table.rename(columns={"depth": "deepth"}))
    with pytest.raises(ValueError, match="Column 'depth' held numbers in training, but now holds"):
        fitted_on_names.decide(table.assign(depth="red"))
    with pytest.raises(ValueError, match="expected a DataFrame, or an array with rows and columns"):
        fitted.predict(da.zeros(10))
    with pytest.raises(Exception, match="not fitted"):
        SEPClassifier().decide(da.zeros((10, 2)))


@pytest.fixture(scope="module")
def strata():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :3].assign(group=np.where(X.iloc[:, 3] > 550, "large", "small")), y


@pytest.mark.slow_cases("folds")
@pytest.mark.parametrize("kind", ["folds", "strata"])
def test_folds_and_strata_are_spread_over_the_cluster(kind, client, strata):
    from dask.distributed import get_task_stream

    X, y = strata
    if kind == "folds":
        X, model = X.iloc[:, :3], TrustedClassifier(SEPClassifier(), cv=4)
    else:
        model = StratifiedClassifier(SEPClassifier(), by=["group"], min_class_rows=2)
    here = clone(model).fit(X, y)
    with get_task_stream(client) as done, joblib.parallel_config(backend="dask"):
        there = clone(model).set_params(n_jobs=-1).fit(X, y)
    assert len({task["worker"] for task in done.data}) == 2
    np.testing.assert_array_equal(here.predict_proba(X), there.predict_proba(X))
    np.testing.assert_array_equal(here.decide(X).trust, there.decide(X).trust)
