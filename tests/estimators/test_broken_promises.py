"""Promises that do not hold are not made silently: chosen by a search, none at all, or of a changed model."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import sepc
import sepc.lifecycle
from sepc import Costs, SelectiveClassifier, SEPClassifier
from sepc.errors import BrokenPromiseWarning, NoPromiseWarning
from sepc.sql import export

BROKEN = r"GridSearchCV chose it as the best of 2.*SelectiveClassifier\(GridSearchCV\(\.\.\.\)\)"
TWO = {"estimator__C": [0.1, 1.0]}


@pytest.fixture(scope="module")
def data():
    return make_blobs(900, centers=[[0, 0], [4, 0]], random_state=0)


def promise(estimator=None):
    return SelectiveClassifier(estimator or LogisticRegression(), 0.1, random_state=0)


@pytest.fixture(scope="module")
def around(data):
    return GridSearchCV(promise(), TWO, cv=2).fit(*data)


def test_whatever_shows_or_saves_a_promise_warns_of_a_search_around_it(around, data, tmp_path):
    X, y = data
    words = []
    for use in (
        lambda: sepc.decide(around, X),
        lambda: words.append(str(sepc.report(around, X, y))),
        lambda: words.append(sepc.lifecycle.model_card(around)),
    ):
        with pytest.warns(BrokenPromiseWarning, match=BROKEN) as caught:
            use()
        assert [own.filename for own in caught] == [__file__]
    for said in words:
        said = " ".join(said.split())
        assert said.index("does not hold") < said.index("95 % confidence")
    ours = GridSearchCV(promise(SEPClassifier(max_ellipsoids=3)), {"max_risk": [0.1, 0.2]}, cv=2).fit(X[:200], y[:200])
    with pytest.warns(BrokenPromiseWarning, match=BROKEN):
        sepc.save(ours, tmp_path / "searched.sepc")
    steps = make_pipeline(StandardScaler(), promise())
    for model in (
        make_pipeline(StandardScaler(), GridSearchCV(promise(), TWO, cv=2)).fit(X, y),
        GridSearchCV(steps, {"selectiveclassifier__max_risk": [0.1, 0.2]}, cv=2).fit(X, y),
        FrozenEstimator(around),
    ):
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
    ("max_risk", "by", "says"),
    [
        (0.02, None, "at least 149"),
        ({0: 0.02, 1: 0.02}, None, "predicted as 0 .* predicted as 1 "),
        (Costs(5.0 * (1 - np.eye(2)), review=0.01), None, r"costs at most 0\.01"),
        (0.05, [0], "Too small"),
    ],
    ids=["risk", "labels", "costs", "groups"],
)
def test_a_promise_that_is_none_is_said_when_it_is_asked_for(max_risk, by, says, data):
    X, y = data[0][:100], data[1][:100]
    selective = SelectiveClassifier(LogisticRegression(), max_risk, by=by, random_state=0)
    rows = X if by is None else np.column_stack([np.arange(100) % 3, X])
    with pytest.warns(NoPromiseWarning, match=f"No threshold .*{says}") as caught:
        selective.fit(rows, y)
    assert str(caught[0].message) == " ".join(selective.summary().splitlines())
    assert caught[0].filename == __file__
    assert not selective.decide(rows).accepted.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some = SelectiveClassifier(LogisticRegression(), {0: 0.1, 1: 1e-6}, random_state=0).fit(*data)
    assert np.isinf(some.threshold_[1]) > np.isinf(some.threshold_[0])


CHANGED = "was changed"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(420, 2))
Y = np.where(X[:, 0] + 0.05 * RNG.normal(size=420) > 0.0, "yes", "no")
TURNED = np.where(Y == "yes", "no", "yes")
SMALL = sepc.SEPClassifier(max_ellipsoids=2)


def promised(model):
    """A promise about a model of the first rows."""
    fitted = model.fit(X[:80], Y[:80])
    return sepc.SelectiveClassifier(FrozenEstimator(fitted), max_risk=0.2).fit(X[80:], Y[80:])


def fit(model):
    return model.fit(X[:80], TURNED[:80])


def fit_a_little(model):
    return model.partial_fit(X[:80], TURNED[:80])


def grow(model):
    return fit(model.set_params(n_estimators=12, warm_start=True))


def fit_frozen(model):
    return fit(model.estimator.estimator)


MODELS = {
    "sep": (SMALL, fit),
    "scaler": (make_pipeline(StandardScaler(), LogisticRegression()), lambda model: model[0].fit(100.0 * X)),
    "trusted": (sepc.TrustedClassifier(FrozenEstimator(LogisticRegression().fit(X, Y)), partition=SMALL), fit_frozen),
    "linear": (LogisticRegression(), fit),
    "coefficients": (LogisticRegression(), lambda model: model.coef_.__imul__(-1.0)),
    "partial fit": (SGDClassifier(loss="log_loss", random_state=0), fit_a_little),
    "partial fit in place": (GaussianNB(), fit_a_little),
    "warm start": (RandomForestClassifier(6, random_state=0), grow),
    "parameter": (KNeighborsClassifier(), lambda model: model.set_params(n_neighbors=70)),
    "calibrated": (CalibratedClassifierCV(FrozenEstimator(SVC().fit(X, Y))), fit_frozen),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MODELS)
def test_another_model_is_recognised(name, tmp_path):
    model, change = copy.deepcopy(MODELS[name])
    promise = promised(model)
    before = promise.decide(X).to_frame()
    copies = [copy.deepcopy(promise), pickle.loads(pickle.dumps(promise))]
    for _ in range(2):
        assert promise.decide(X).to_frame().equals(before)
    summary = promise.summary()
    path = tmp_path / "model.sepc"
    if name == "sep":
        sepc.save(promise, path)
        copies.append(sepc.load(path))

    change(model)
    for ask in (promise.decide, lambda rows: sepc.decide(promise, rows), lambda _: sepc.save(promise, path)):
        with pytest.raises(ValueError, match=CHANGED):
            ask(X)
    assert promise.summary().startswith("There is no promise")
    with pytest.raises(ValueError, match=CHANGED):
        pickle.loads(pickle.dumps(promise)).decide(X)
    for each in copies:  # these have a model of their own, which nobody changed
        assert each.decide(X).to_frame().equals(before)
        assert each.summary() == summary
    assert CHANGED not in promise.fit(X[80:], Y[80:]).summary()
    promise.decide(X)


def test_a_model_that_was_fitted_inside_is_recognised_and_not_exported():
    promise = sepc.SelectiveClassifier(SMALL, max_risk=0.2, random_state=0).fit(X, Y)
    export(promise, "duckdb", "rows")
    fit(promise.estimator_)
    for ask in (promise.decide, lambda _: export(promise, "duckdb", "rows")):
        with pytest.raises(ValueError, match=CHANGED):
            ask(X)


def test_what_changes_no_decision_is_no_other_model(tmp_path):
    forest = RandomForestClassifier(6, random_state=0)
    promise = promised(forest)
    forest.set_params(n_jobs=2, verbose=0)
    promise.decide(X)
    own = sepc.SEPClassifier(max_ellipsoids=2)
    promise = promised(own)
    own.set_params(min_trust=0.5)
    joblib.dump(promise, tmp_path / "promise.joblib")
    assert joblib.load(tmp_path / "promise.joblib").decide(X).to_frame().equals(promise.decide(X).to_frame())


class Counting(LogisticRegression):
    """Changes itself when it decides, but not its decisions."""

    n_asked_ = 0

    def predict_proba(self, X):
        self.n_asked_ += 1
        return super().predict_proba(X)


def test_a_model_may_count_its_decisions():
    model = Counting()
    model.n_asked_ = 0
    promise = promised(model)
    for _ in range(2):
        promise.decide(X)
    fit(model)
    with pytest.raises(ValueError, match=CHANGED):
        promise.decide(X)
