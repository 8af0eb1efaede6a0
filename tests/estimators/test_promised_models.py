"""A promise holds for the model that it was made for; any other is recognised."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import sepc
from sepc.sql import export

CHANGED = "was changed after the promise was made"
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
    "sep in a pipeline": (make_pipeline(StandardScaler(), SMALL), fit),
    "scaler": (make_pipeline(StandardScaler(), LogisticRegression()), lambda model: model[0].fit(100.0 * X)),
    "trusted": (sepc.TrustedClassifier(FrozenEstimator(LogisticRegression().fit(X, Y)), partition=SMALL), fit_frozen),
    "stratified": (sepc.StratifiedClassifier(LogisticRegression(), by=[]), fit),
    "linear": (LogisticRegression(), fit),
    "coefficients": (LogisticRegression(), lambda model: model.coef_.__imul__(-1.0)),
    "partial fit": (SGDClassifier(loss="log_loss", random_state=0), fit_a_little),
    "partial fit of a network": (MLPClassifier((40, 40), max_iter=30, random_state=0), fit_a_little),
    "partial fit in place": (GaussianNB(), fit_a_little),
    "warm start": (RandomForestClassifier(6, random_state=0), grow),
    "warm start of boosting": (GradientBoostingClassifier(n_estimators=6), grow),
    "neighbours": (KNeighborsClassifier(), fit),
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
    assert promise.summary().startswith("There is no promise: the model was changed")
    with pytest.raises(ValueError, match=CHANGED):
        pickle.loads(pickle.dumps(promise)).decide(X)
    for each in copies:  # these have a model of their own, which nobody changed
        assert each.decide(X).to_frame().equals(before)
        assert each.summary() == summary
    assert not promise.fit(X[80:], Y[80:]).summary().startswith("There is no promise: the model was changed")
    promise.decide(X)


def test_a_model_that_was_fitted_inside_is_recognised_too():
    promise = sepc.SelectiveClassifier(SMALL, max_risk=0.2, random_state=0).fit(X, Y)
    fit(promise.estimator_)
    with pytest.raises(ValueError, match=CHANGED):
        promise.decide(X)


def test_a_changed_model_is_neither_exported_nor_edited():
    model = sepc.SEPClassifier(max_ellipsoids=2)
    promise = promised(model)
    export(promise, "duckdb", "rows")
    fit(model)
    for ask in (lambda each: export(each, "duckdb", "rows"), lambda each: each.without_edits()):
        with pytest.raises(ValueError, match=CHANGED):
            ask(promise)


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
