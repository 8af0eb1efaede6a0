"""Models of few columns: which are chosen, what is left out, and what is refused."""

import numpy as np
import pytest
from optional import package_or_skip

import sepc

pd = package_or_skip("pandas")


def table(n=400, seed=0, with_gaps=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=["strong", "weak", "noise", "more noise", "named"])
    X["kind"] = rng.choice(["a", "b", "c"], size=n)
    score = 2.0 * X["strong"] + 0.7 * X["weak"] + 1.5 * (X["kind"] == "b")
    y = (score + 0.5 * rng.normal(size=n) > 0.3).astype(int)
    if with_gaps:
        X = X.mask(rng.random(X.shape) < 0.05)
    return X, y


@pytest.mark.parametrize("with_gaps", [False, True])
def test_the_columns_that_matter_are_used(with_gaps):
    X, y = table(with_gaps=with_gaps)
    model = sepc.SEPClassifier(max_features=3).fit(X, y)
    assert set(model.preparation_.summary().partition("left out")[2].split("'")[1::2]) == {
        "noise",
        "more noise",
        "named",
    }
    others = X.assign(noise=1e6, named=-5.0)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(others))
    assert np.abs(model.predict_proba(X) - model.predict_proba(X.assign(strong=-X["strong"]))).max() > 0.5


def test_named_columns_are_always_used():
    X, y = table()
    model = sepc.SEPClassifier(max_features=3, monotone={"named": "up"}).fit(X, y)
    assert "'named'" not in model.preparation_.summary()
    assert "'noise'" in model.preparation_.summary()


def test_enough_columns_change_nothing():
    X, y = table()
    few, all_columns = sepc.SEPClassifier(max_features=6).fit(X, y), sepc.SEPClassifier().fit(X, y)
    np.testing.assert_array_equal(few.predict_proba(X), all_columns.predict_proba(X))


def test_a_saved_model_takes_the_same_columns(tmp_path):
    X, y = table()
    model = sepc.SEPClassifier(max_features=2).fit(X, y)
    sepc.save(model, tmp_path / "few.sepc")
    again = sepc.load(tmp_path / "few.sepc")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_too_many_named_columns_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match="Raise max_features to 2"):
        sepc.SEPClassifier(max_features=1, features_alone=["weak", "named"]).fit(X, y)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "two"])
def test_numbers_of_columns_are_checked(wrong):
    X, y = table(60)
    with pytest.raises((ValueError, TypeError), match="max_features"):
        sepc.SEPClassifier(max_features=wrong).fit(X, y)


def test_arrays_are_refused_in_the_users_words():
    X, y = table(60)
    with pytest.raises((ValueError, TypeError), match="max_features"):
        sepc.SEPClassifier(max_features=2).fit(X[["strong", "weak", "noise"]].to_numpy(), y)


def test_monotone_columns_in_files_and_in_memory_give_the_same_model(tmp_path):
    package_or_skip("pyarrow")
    X, y = table()
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet")
    options = {"monotone": {"strong": "up"}}
    with_file = sepc.SEPClassifier(**options).fit(str(tmp_path / "rows.parquet"), "label")
    in_memory = sepc.SEPClassifier(**options).fit(X, y)
    np.testing.assert_allclose(with_file.predict_proba(X), in_memory.predict_proba(X), atol=1e-8)
    raised = with_file.predict_proba(X.assign(strong=X["strong"] + 0.5))[:, 1]
    assert (raised - with_file.predict_proba(X)[:, 1]).min() >= -1e-12
