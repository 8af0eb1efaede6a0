"""What a fitted estimator says about how it was made; with keep_rows=False it holds no row and no hash of one."""

import warnings

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from same_model import draw
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from zoo import fitted_once

import sepc
import sepc.errors
from sepc.lifecycle import audit, repair, rows_digest
from sepc.model_files import from_bytes, model_digest, to_bytes

dd, pd = package_or_skip("dask.dataframe"), package_or_skip("pandas")

X, Y = load_iris(return_X_y=True)
ODD = slice(1, None, 2)


@fitted_once
def iris():
    return sepc.SEPClassifier().fit(X[::2], Y[::2])


def test_a_fit_says_which_rows_labels_and_versions_it_had():
    made = iris().provenance_
    assert made.n_rows == 75
    assert made.rows == rows_digest(iris(), X[::2], Y[::2])
    assert [text.split()[0] for text in made.versions] == ["Python", "sepc", "numpy", "scipy", "scikit-learn"]
    assert f"numpy {np.__version__}" in made.versions
    assert made.parent == ""
    wrong = np.where(np.arange(75) == 0, 2, Y[::2])
    assert (
        len(
            {
                made.rows,
                rows_digest(iris(), X[ODD], Y[ODD]),
                rows_digest(iris(), X[::2], wrong),
            }
        )
        == 3
    )
    order = np.random.default_rng(0).permutation(75)
    other = sepc.SEPClassifier(trust="counts", fit_rows=30).fit(X[::2][order], Y[::2][order])
    assert other.provenance_.rows == made.rows
    heavier = sepc.SEPClassifier().fit(X[::2], Y[::2], sample_weight=np.where(np.arange(75) < 5, 2.0, 1.0))
    assert heavier.provenance_.n_rows == 80
    twice = np.concatenate([X[::2], X[:10:2]]), np.concatenate([Y[::2], Y[:10:2]])
    assert heavier.provenance_.rows == rows_digest(iris(), *twice)


def test_digests_of_gaps_of_wrappers_and_of_what_is_no_number():
    table, labels = patients(300, key=False)
    model = sepc.SEPClassifier(max_ellipsoids=2).fit(table, labels)
    assert table["dose"].isna().any()
    assert model.provenance_.rows == rows_digest(model, table, labels)
    filled = table.assign(dose=table["dose"].fillna(table["dose"].median()))
    assert model.provenance_.rows != rows_digest(model, filled, labels)
    strata = np.column_stack([X, np.arange(len(X)) % 2])
    for wrapper in (
        sepc.TrustedClassifier(LogisticRegression(max_iter=1000), cv=2),
        sepc.RoutedClassifier(sepc.SEPClassifier(), by=[4]),
    ):
        assert wrapper.fit(strata, Y).provenance_.rows == rows_digest(wrapper, strata, Y)
    constant = DummyClassifier().fit(np.array([["x"], ["y"], ["z"]], dtype=object), [0, 1, 0])
    assert rows_digest(constant, package_or_skip("pandas").DataFrame({"a": ["x", "y", "z"]}), [0, 1, 0]) == ""
    assert rows_digest(constant, np.ones((3, 1)), [0, 1, 0]) != ""


@pytest.mark.quick_cases("*parquet*")
@pytest.mark.parametrize("kind", ["numbers", "categories"])
@pytest.mark.parametrize("where", ["parquet", "dask"])
def test_files_and_dask_give_the_digest_of_memory(where, kind, request, tmp_path):
    package_or_skip("pyarrow")
    if kind == "numbers":
        table, labels = pd.DataFrame(X, columns=list("abcd")), Y
    else:
        table, labels = patients(900, gaps=False, key=False)
        table = table.assign(stage=table["stage"].astype(str).astype("category"))
    expected = sepc.SEPClassifier().fit(table.to_numpy() if kind == "numbers" else table, labels).provenance_
    whole = table.assign(target=labels)
    if where == "parquet":
        for i, part in enumerate(np.array_split(np.random.default_rng(0).permutation(len(whole)), 3)):
            whole.iloc[part].to_parquet(tmp_path / f"{i}.parquet", index=False)
        given = tmp_path
    else:
        request.getfixturevalue("client")
        given = dd.from_pandas(whole, npartitions=3, sort=False)
    assert sepc.SEPClassifier().fit(given, "target").provenance_ == expected


def test_a_promise_says_which_rows_it_was_calibrated_on():
    selective = sepc.SelectiveClassifier(FrozenEstimator(iris()), max_risk=0.2).fit(X[ODD], Y[ODD])
    assert selective.provenance_.rows == rows_digest(iris(), X[ODD], Y[ODD])
    forest = RandomForestClassifier(random_state=0).fit(X[::2], Y[::2])
    around = sepc.SelectiveClassifier(FrozenEstimator(forest), max_risk=0.2).fit(X[ODD], Y[ODD])
    assert around.provenance_.rows == selective.provenance_.rows == rows_digest(around, X[ODD], Y[ODD])


def test_a_repair_names_its_rows_and_the_model_that_was_repaired():
    repaired = repair(iris(), X[ODD], Y[ODD], regions=[0], confidence=0.0)
    assert repaired.provenance_.rows == rows_digest(repaired, X[ODD], Y[ODD])
    assert repaired.provenance_.parent == model_digest(iris())
    again = repair(repaired, X[ODD], Y[ODD], regions=[1], confidence=0.0)
    assert again.provenance_.parent == model_digest(repaired) != model_digest(iris())
    assert sepc.RoutedClassifier(iris()).fit(X[::2], Y[::2]).provenance_ == iris().provenance_


ROWS, LABELS = draw(240)


@pytest.fixture(scope="module")
def usual():
    return sepc.SEPClassifier(max_ellipsoids=40).fit(ROWS, LABELS)


@pytest.fixture(scope="module")
def private():
    return sepc.SEPClassifier(keep_rows=False, max_ellipsoids=40).fit(ROWS, LABELS)


def rows_held(model):
    """How many training rows the bytes of a model's file hold, as given or standardised."""
    data, standardised = to_bytes(model), model.model_.standardize(ROWS)
    return sum(any(row.tobytes() in data for row in pair) for pair in zip(ROWS, standardised, strict=True))


def test_a_file_holds_isolated_rows_and_hashes_only_by_default(usual, private):
    assert rows_held(usual) == len(usual.model_.isolated) > 0
    assert rows_held(private) == 0
    hashes = [len(from_bytes(to_bytes(own)).model_.seen_rows.hashes) for own in (usual, private)]
    assert hashes == [len(ROWS), 0]
    assert (bool(usual.provenance_.rows), bool(private.provenance_.rows)) == (True, False)
    assert usual.provenance_.rows.encode() in to_bytes(usual)
    assert b"keep_rows" not in to_bytes(usual)
    again = from_bytes(to_bytes(private))
    assert again.get_params()["keep_rows"] is False
    np.testing.assert_array_equal(again.predict_proba(ROWS), private.predict_proba(ROWS))
    assert to_bytes(again) == to_bytes(private)
    with pytest.warns(sepc.errors.TrainingRowsWarning):
        audit(usual, ROWS, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sepc.errors.TrainingRowsWarning)
        audit(private, ROWS, LABELS)
    np.testing.assert_array_equal(private.model_.centers, usual.model_.centers)
    rows, labels = draw(2000, seed=0)
    assert private.score(rows[240:], labels[240:]) > usual.score(rows[240:], labels[240:]) - 0.03


def test_a_class_of_isolated_rows_is_enclosed():
    X, y = load_iris(return_X_y=True)
    few = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:4]])
    rows = np.column_stack([X, X**2, np.sin(X)])
    many = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:8]])
    with_four = sepc.SEPClassifier(keep_rows=False).fit(rows[few], y[few])
    with_eight = sepc.SEPClassifier(keep_rows=False).fit(rows[many], y[many])
    assert not (with_four.model_.owners == 2).any()
    assert (with_eight.model_.owners == 2).sum() == 1
    assert len(with_four.model_.isolated) == len(with_eight.model_.isolated) == 0
    assert set(with_four.predict(rows)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="keep_rows"):
        sepc.SEPClassifier(keep_rows=False).fit(np.random.default_rng(0).normal(size=(6, 8)), [0, 0, 0, 1, 1, 1])
