"""Promises that do not hold are not made silently: chosen by a search, or none at all."""

import warnings

import numpy as np
import pytest
from monte_carlo import exceeds
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import BrokenPromiseWarning, Costs, NoPromiseWarning, SelectiveClassifier, SEPClassifier

BROKEN = (
    r"The promise does not hold: GridSearchCV chose it as the best of 2, and the best is the luckiest\. Search inside "
    r"the promise instead, SelectiveClassifier\(GridSearchCV\(\.\.\.\)\), or calibrate the model that was found on rows"
)
TWO = {"estimator__C": [0.1, 1.0]}


@pytest.fixture(scope="module")
def data():
    return make_blobs(900, centers=[[0, 0], [4, 0]], random_state=0)


def promise(estimator=None):
    return SelectiveClassifier(estimator or LogisticRegression(), 0.1, random_state=0)


@pytest.fixture(scope="module")
def around(data):
    return GridSearchCV(promise(), TWO, cv=2).fit(*data)


def test_decide_report_card_and_save_warn_of_a_search_around_a_promise(around, data, tmp_path):
    X, y = data
    for use in (
        lambda: sepc.decide(around, X),
        lambda: sepc.report(around, X, y),
        lambda: sepc.model_card(around),
    ):
        with pytest.warns(BrokenPromiseWarning, match=BROKEN) as caught:
            use()
        assert [own.filename for own in caught] == [__file__]
    own = GridSearchCV(promise(SEPClassifier()), {"max_risk": [0.1, 0.2]}, cv=2).fit(X[:200], y[:200])
    with pytest.warns(BrokenPromiseWarning, match=BROKEN):
        sepc.save(own, tmp_path / "searched.sepc")


def test_the_words_of_a_promise_begin_with_why_it_is_not_kept(around, data):
    with pytest.warns(BrokenPromiseWarning):
        text, card = str(sepc.report(around, *data)), sepc.model_card(around)
    for words in (" ".join(text.split()), card):
        assert words.index("The promise does not hold") < words.index("of accepted rows are wrong, with 95 %")


@pytest.mark.parametrize("wrapped", ["pipeline around", "pipeline inside", "frozen"])
def test_searches_in_pipelines_and_frozen_estimators_are_seen(wrapped, data):
    X, y = data
    if wrapped == "pipeline around":
        model = make_pipeline(StandardScaler(), GridSearchCV(promise(), TWO, cv=2)).fit(X, y)
    elif wrapped == "pipeline inside":
        steps = make_pipeline(StandardScaler(), promise())
        model = GridSearchCV(steps, {"selectiveclassifier__max_risk": [0.1, 0.2]}, cv=2).fit(X, y)
    else:
        model = FrozenEstimator(GridSearchCV(promise(), TWO, cv=2).fit(X, y))
    with pytest.warns(BrokenPromiseWarning, match=BROKEN):
        sepc.decide(model, X)


def test_a_search_inside_or_of_one_promise_or_around_no_promise_does_no_harm(data, around):
    X, y = data
    inside = SelectiveClassifier(GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2), 0.1, random_state=0)
    for model in (
        inside.fit(X, y),
        GridSearchCV(promise(), {"max_risk": [0.1]}, cv=2).fit(X, y),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, y),
        SelectiveClassifier(FrozenEstimator(around), 0.1).fit(X, y),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sepc.decide(model, X)


@pytest.mark.parametrize(
    ("max_risk", "says"),
    [
        (0.02, "it takes at least 149 accepted calibration rows without an error, or more with few errors, and there"),
        ({0: 0.02, 1: 0.02}, "no row predicted as 0 is accepted.* no row predicted as 1 is accepted"),
        (Costs(5.0 * (1 - np.eye(2)), review=0.01), "an accepted row costs at most 0.01 on average"),
    ],
    ids=["risk", "labels", "costs"],
)
def test_a_promise_that_is_none_is_said_when_it_is_asked_for(max_risk, says, data):
    X, y = data
    selective = SelectiveClassifier(LogisticRegression(), max_risk, random_state=0)
    with pytest.warns(NoPromiseWarning, match=f"No threshold can keep the promise that .*{says}") as caught:
        selective.fit(X[:100], y[:100])
    assert str(caught[0].message) == " ".join(selective.summary().splitlines())
    assert caught[0].filename == __file__
    assert not selective.decide(X).accepted.any()


def test_groups_that_are_all_too_small_are_said_to_be(data):
    X, y = data
    selective = SelectiveClassifier(LogisticRegression(), 0.05, by=[0], random_state=0)
    rows = np.column_stack([np.arange(100) % 3, X[:100]])
    says = (
        r"No threshold can keep the promise that at most 5 % of accepted rows in every group are wrong, .*: it takes a "
        r"group of at least \d+ calibration rows, and .*the largest, has \d+\. .* Too small for a promise: "
    )
    with pytest.warns(NoPromiseWarning, match=says) as caught:
        selective.fit(rows, y[:100])
    assert str(caught[0].message) == " ".join(selective.summary().splitlines())
    assert "It holds" not in selective.summary()
    assert not selective.decide(rows).accepted.any()


def test_a_promise_for_some_is_no_reason_to_warn(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some = SelectiveClassifier(LogisticRegression(), {0: 0.1, 1: 1e-6}, random_state=0).fit(X, y)
    assert np.isinf(some.threshold_[1]) > np.isinf(some.threshold_[0])


class Reads(ClassifierMixin, BaseEstimator):
    """Reads the label from a column, and trusts it always."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, self.column].astype(int)

    def predict_proba(self, X):
        return np.where(self.predict(X)[:, None] == self.classes_, 0.9, 0.1)


ALLOWED, REAL = 0.1, 0.1005


def broken(fitted):
    """Every column is wrong a little more often than allowed, so that any promise is broken."""
    return bool(np.isfinite(fitted.threshold_))


def drawn(seed, n_rows=800, n_columns=10):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    return np.where(rng.random((n_rows, n_columns)) < REAL, 1 - y[:, None], y[:, None]), y


def single(X, y):
    return SelectiveClassifier(Reads(), ALLOWED, random_state=0).fit(X, y)


def searched_inside(X, y):
    search = GridSearchCV(Reads(), {"column": range(10)}, cv=2)
    return SelectiveClassifier(search, ALLOWED, random_state=0).fit(X, y)


def searched_around(X, y):
    one = SelectiveClassifier(Reads(), ALLOWED, random_state=0)
    return GridSearchCV(one, {"estimator__column": range(10)}, cv=2).fit(X, y).best_estimator_


def best_of_ten_seeds(X, y):
    tried = [SelectiveClassifier(Reads(), ALLOWED, random_state=seed).fit(X, y) for seed in range(10)]
    return max(tried, key=lambda fitted: fitted.coverage_)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fit", "is_kept"), [(single, True), (searched_inside, True), (searched_around, False), (best_of_ten_seeds, False)]
)
def test_a_search_inside_keeps_a_promise_and_the_best_of_several_breaks_it(fit, is_kept):
    n_broken = sum(broken(fit(*drawn(seed))) for seed in range(300))
    assert exceeds(n_broken, 300, 0.05) is not is_kept
