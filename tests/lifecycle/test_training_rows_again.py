"""Feedback that holds training rows is warned of; new rows are not, however often rows repeat."""

import warnings

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import SEPClassifier, TrustedClassifier
from sepc.errors import TrainingRowsWarning
from sepc.lifecycle import audit, repair

pd = package_or_skip("pandas")

X, Y = make_classification(4000, 5, n_informative=5, n_redundant=0, random_state=7)


def is_warned(model, feedback, labels) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        audit(model, feedback, labels)
    return any(one.category is TrainingRowsWarning for one in caught)


@pytest.mark.slow
def test_training_rows_are_recognised_and_others_are_not():
    model = SEPClassifier().fit(X[:2000], Y[:2000])
    assert is_warned(model, X[:2000], Y[:2000])
    assert is_warned(model, X[1900:3000], Y[1900:3000])
    assert not is_warned(model, X[2000:], Y[2000:])


def test_the_warning_says_how_many_and_what_to_do():
    model = SEPClassifier().fit(X[:500], Y[:500])
    for use in (audit, repair):
        with pytest.warns(TrainingRowsWarning, match="500 of the 500"):
            use(model, X[:500], Y[:500])


@pytest.mark.slow
def test_of_many_rows_some_are_remembered():
    model = SEPClassifier(trust="counts").fit(X, Y)
    assert len(model.model_.seen_rows.hashes) <= 1000
    assert is_warned(model, X[::5], Y[::5])


@pytest.mark.slow_cases("20")
@pytest.mark.parametrize("n_values", [2, 4, 20])
def test_new_rows_that_repeat_old_ones_by_chance_are_fine(n_values):
    rng = np.random.default_rng(n_values)
    coarse, labels = rng.integers(0, n_values, (6000, 3)).astype(float), rng.integers(0, 2, 6000)
    model = SEPClassifier().fit(coarse[:3000], labels[:3000])
    assert not any(is_warned(model, coarse[i : i + 600], labels[i : i + 600]) for i in range(3000, 6000, 600))


@pytest.mark.slow
def test_tables_with_categories_and_models_in_files_and_wrappers(tmp_path):
    table = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(X[:, 0] > 0.3, "u", "v"))
    model = SEPClassifier().fit(table[:1000], Y[:1000])
    sepc.save(model, tmp_path / "model.sepc")
    pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X[:1000], Y[:1000])
    trusted = TrustedClassifier(LogisticRegression()).fit(X[:1000], Y[:1000])
    assert is_warned(sepc.load(tmp_path / "model.sepc"), table[:1000], Y[:1000])
    assert not is_warned(model, table[1000:2000], Y[1000:2000])
    for wrapped in (pipeline, trusted):
        assert is_warned(wrapped, X[:1000], Y[:1000])
        assert not is_warned(wrapped, X[1000:2000], Y[1000:2000])
