"""Dask collections: fitted where they are, to the model of the same blocks; decided on lazily, as NumPy would."""

import pickle

import numpy as np
import pytest
from optional import package_or_skip
from same_model import assert_same_model, draw, fitted_on_blocks
from zoo import fitted_once

from sepc import SEPClassifier

dask = package_or_skip("dask")
da = package_or_skip("dask.array")
dd = package_or_skip("dask.dataframe")
pd = package_or_skip("pandas")
N, D = 4000, 3
NAMES = ["width", "height", "depth"]


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


def test_arrays_and_frames_in_any_chunks_give_the_model_of_their_blocks(client, rows):
    X, y = rows
    options = {"fit_rows": 500, "random_state": 0}
    expected = on_blocks(X, y, (1500, 1500, 1000), **options)
    fitted = classifier(**options).fit(da.from_array(X, (1500, 2)), da.from_array(y, 900))
    assert_same_model(fitted, expected)
    assert fitted.model_.table.counts.sum() == N
    assert (fitted.n_features_in_, hasattr(fitted, "feature_names_in_")) == (D, False)
    assert_same_model(classifier(**options).fit(da.from_array(X, (1500, D)), y), expected)
    table = dd.from_pandas(frame(X, y), npartitions=3)
    expected = on_blocks(X, y, [len(part) for part in np.array_split(X, 3)], **options)
    by_name = classifier(**options).fit(table, "target")
    assert_same_model(by_name, expected)
    assert by_name.feature_names_in_.tolist() == NAMES
    apart = classifier(**options).fit(table[NAMES], table["target"])
    assert_same_model(apart, expected)
    assert apart.predict(frame(X[:9])).tolist() == expected.predict(X[:9]).tolist()


def test_blocks_of_unknown_size_or_of_no_rows_or_of_one_class(client, rows):
    X, y = rows
    kept = X[:, 0] > 0
    sizes = [int(kept[start : start + 1000].sum()) for start in range(0, N, 1000)]
    lazy, labels = da.from_array(X, (1000, D)), da.from_array(y, 1000)
    fitted = classifier().fit(lazy[lazy[:, 0] > 0], labels[lazy[:, 0] > 0])
    assert_same_model(fitted, on_blocks(X[kept], y[kept], sizes))
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    parts = [frame(X, y)[start:stop] for start, stop in ((0, 0), (0, 500), (500, 500), (500, 3000), (3000, N))]
    table = dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0][:0])
    assert_same_model(classifier().fit(table, "target"), on_blocks(X, y, [len(part) for part in parts]))


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_a_sample_of_rows_that_repeat_is_not_too_large(rows):
    X, y = rows
    X = np.where(np.arange(N)[:, None] % 4, X[0], X)
    for seed in range(3):
        fitted = classifier(fit_rows=300, random_state=seed).fit(X, y)
        assert np.sum(fitted.history_[0].rows_left[0]) <= 302
        assert fitted.model_.table.counts.sum() == N


def test_checking_a_collection_brings_no_row_here(client, rows, monkeypatch):
    from dask.distributed import Client

    from sepc.points.engines import labelled_blocks

    moved, gather = [], Client.gather

    def watched(self, futures, **options):
        answers = gather(self, futures, **options)
        moved.append(len(pickle.dumps(answers)))
        return answers

    monkeypatch.setattr(Client, "gather", watched)
    X, y = rows
    blocks, _ = labelled_blocks(da.from_array(X, (1000, D)), da.from_array(y, 1000))
    assert sum(blocks.sizes) == N
    assert 0 < sum(moved) < 0.02 * X.nbytes


def broken(X, row, column, value):
    X = X.copy()
    X[row, column] = value
    return X


def test_bad_cells_are_named_with_their_block(client, rows):
    X, y = rows
    labels, numbers = y.astype(object), (X[:, 0] > 0).astype(float)
    labels[1500], numbers[1500] = None, np.nan
    table = dd.from_pandas(frame(broken(X, 3999, 2, np.inf), y), npartitions=4)
    lazy, wrong = da.from_array(X, (1000, D)), da.from_array(broken(X, 2345, 1, np.nan), (1000, D))
    for given, target, said in (
        (wrong, da.from_array(y, 1000), "block 2: .*NaN .*'x1' in row 345"),
        (table, "target", "block 3: .*'depth' in row 999"),
        (lazy, da.from_array(labels, 1000), "block 1: .*1 missing label, the first in row 500"),
        (lazy, da.from_array(numbers, 1000), "block 1: .*1 missing label, the first in row 500"),
    ):
        with pytest.raises(ValueError, match=said) as error:
            classifier().fit(given, target)
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__


def test_without_a_client_one_line_says_how_to_get_one(rows):
    with pytest.raises(ValueError, match="client") as error:
        classifier().fit(da.from_array(rows[0], (1000, D)), da.from_array(rows[1], 1000))
    assert "\n" not in str(error.value)
    assert error.value.__suppress_context__


def test_collections_that_do_not_fit_together_are_told_so(client, rows):
    X, y = rows
    lazy, labels = da.from_array(X, (1000, D)), da.from_array(y, 1000)
    unknown = lazy[lazy[:, 0] > 0]
    for given, target, said in (
        (lazy, y[:-1], "4,000 rows but y has 3,999"),
        (unknown, y, "unknown"),
        (unknown, da.from_array(y, 2000), "4 blocks and y has 2"),
        (unknown, labels, r"Block \d of X has \d+ rows and that of y has 1,000"),
        (dd.from_pandas(frame(X), npartitions=2), "target", "'target'"),
        (da.from_array(X[:, 0], 1000), labels, "DataFrame"),
        (lazy[lazy[:, 0] > 1e9], labels[lazy[:, 0] > 1e9], "0 rows"),
        (lazy, None, "None"),
    ):
        with pytest.raises(ValueError, match=said):
            classifier().fit(given, target)


def test_collections_that_cannot_be_decided_on_are_told_so_at_once(fitted, fitted_on_names, rows):
    table = dd.from_pandas(frame(rows[0]), npartitions=2)
    for ask, given, said in (
        (fitted.predict, da.zeros((10, 2)), "2 features"),
        (fitted_on_names.decide, table.rename(columns={"depth": "deepth"}), "'depth'.*'deepth'"),
        (fitted_on_names.decide, table.assign(depth="red"), "'depth' held numbers"),
        (fitted.predict, da.zeros(10), "DataFrame"),
        (SEPClassifier().decide, da.zeros((10, 2)), "not fitted"),
    ):
        with pytest.raises(ValueError, match=said):
            ask(given)
