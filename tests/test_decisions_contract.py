"""What every `decide` gives, whatever the model, the table and what stands around it."""

import pickle
from functools import cache
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pytest
from cases import assert_same_decisions
from optional import package_or_skip
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from weekly import weekly_unless
from zoo import fitted_once

import sepc
from sepc import Cause, Decision, Decisions, RoutedClassifier, report
from sepc.lifecycle import model_card
from sepc.wording import percent

da, dd = package_or_skip("dask.array"), package_or_skip("dask.dataframe")
pd, pl = package_or_skip("pandas"), package_or_skip("polars")

NAMES = ["length", "width", "depth", "kind"]
OURS = {
    "weights": sepc.SEPClassifier(),
    "counts": sepc.SEPClassifier(trust="counts"),
    "published": sepc.SEPClassifier.as_published(),
    "trusted": sepc.TrustedClassifier(RandomForestClassifier(10, random_state=0), cv=2),
    "selective": sepc.SelectiveClassifier(sepc.SEPClassifier(), 0.1, random_state=0),
    "selective around another": sepc.SelectiveClassifier(LogisticRegression(), 0.1, random_state=0),
    "stratified": sepc.RoutedClassifier(sepc.SEPClassifier(trust="counts"), by=[3], min_rows=40),
    "stratified around another": sepc.RoutedClassifier(LogisticRegression(), by=[3], min_rows=40),
    "repaired": RoutedClassifier(sepc.SEPClassifier(trust="counts")),
    "repaired trusted": RoutedClassifier(sepc.TrustedClassifier(sepc.SEPClassifier(trust="counts"), cv=2)),
}
OTHERS = {"logistic": LogisticRegression(), "machine without probabilities": SVC()}
MODELS = OURS | OTHERS
AROUND = ["alone", "pipeline", "search"]
TABLES = ["array", "pandas", "polars"]
# Every model alone on every table, and everything around some; the other pairs are for the slow tests.
IN_ALL = ("weights", "logistic", "machine without probabilities")


def is_quick(name, how, kind="array"):
    return how == "alone" or (name in IN_ALL and kind == "array")


PAIRS = weekly_unless(is_quick, product(MODELS, AROUND))
WITH_TABLES = weekly_unless(is_quick, product(MODELS, AROUND, TABLES))
COLUMNS = ["label", "trust", "accepted", "cause", "region"]


@cache
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=320)
    X = np.column_stack([rng.normal(size=(320, 3)) + 1.6 * y[:, None], rng.integers(2, size=320)])
    X[-3:, :3] += 40.0
    return X, np.array(["no", "yes"])[y]


def table(kind, X):
    if kind == "array":
        return X
    index = [f"case {i}" for i in range(len(X))]
    return pd.DataFrame(X, columns=NAMES, index=index) if kind == "pandas" else pl.DataFrame(X, schema=NAMES)


def around(model, how):
    if how == "pipeline":
        return make_pipeline(StandardScaler(), model)
    if how == "search":
        knob = next(
            name for name in ("min_trust", "confidence", "min_rows", "C", "estimator") if name in model.get_params()
        )
        return GridSearchCV(model, {knob: [model.get_params()[knob]]}, cv=2)
    return model


@fitted_once
def fitted(name, how="alone", kind="array"):
    X, y = rows()
    return around(clone(MODELS[name]), how).fit(table(kind, X[:200]), y[:200])


@cache
def decided(name, how="alone", kind="array"):
    return sepc.decide(fitted(name, how, kind), table(kind, rows()[0][200:]))


@pytest.mark.parametrize(("name", "how", "kind"), WITH_TABLES)
def test_the_same_columns_of_the_same_types(name, how, kind):
    decisions, n = decided(name, how, kind), 120
    assert isinstance(decisions, Decisions)
    assert len(decisions) == len(decisions.label) == n
    assert decisions.label.dtype == decisions.classes.dtype
    assert set(decisions.label) <= set(decisions.classes) == {"no", "yes"}
    for column, shape, dtype in (("trust", (n,), float), ("accepted", (n,), bool), ("probabilities", (n, 2), float)):
        assert (getattr(decisions, column).shape, getattr(decisions, column).dtype) == (shape, dtype)
    assert decisions.cause.dtype.kind == decisions.region.dtype.kind == "i"
    assert set(decisions.cause) <= set(Cause)
    assert ((decisions.cause == Cause.ACCEPTED) == decisions.accepted).all()
    assert decisions.region.min() >= -2
    frame = decisions.to_frame()
    assert list(frame.columns[:5]) == COLUMNS
    assert list(frame.columns[-2:]) == ["p_no", "p_yes"]
    assert len(set(frame.columns)) == len(frame.columns)
    assert not name.startswith(("stratified", "repaired")) or "route" in frame.columns
    for column in ("label", "trust", "accepted", "region"):
        np.testing.assert_array_equal(frame[column], getattr(decisions, column))
    assert list(frame["cause"]) == [Cause(cause).name for cause in decisions.cause]
    wanted = [f"case {i}" for i in range(120)] if kind == "pandas" else list(range(120))
    assert list(frame.index) == wanted
    assert list(decisions[3:6].to_frame().index) == (wanted[3:6] if kind == "pandas" else [0, 1, 2])


class Balanced(HTMLParser):
    """Complains about tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_html(html):
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []


@pytest.mark.parametrize(("name", "how"), PAIRS)
def test_what_is_decided_is_predicted_filtered_told_and_pickled(name, how):
    model, decisions, X = fitted(name, how), decided(name, how), rows()[0][200:]
    np.testing.assert_array_equal(decisions.label, model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(decisions.probabilities, model.predict_proba(X))
    else:
        assert np.isnan(decisions.probabilities).all()
        assert not decisions.accepted.any()
    some = decisions[decisions.accepted]
    assert len(some) == decisions.accepted.sum()
    assert some.accepted.all()
    np.testing.assert_array_equal(decisions[[5, 1]].trust, decisions.trust[[5, 1]])
    assert len(decisions[[]]) == len(decisions[:0]) == 0
    assert [one.label for one in decisions[:4]] == decisions.label[:4].tolist()
    last = decisions[-1]
    assert isinstance(last, Decision)
    types = [type(value) for value in (last.label, last.accepted, last.trust, last.cause, last.region)]
    assert types == [str, bool, float, Cause, int]
    np.testing.assert_array_equal(last.probabilities, decisions.probabilities[-1])
    with pytest.raises(IndexError):
        decisions[len(decisions)]
    check_reasons(decisions)
    check_shown(decisions)
    again = pickle.loads(pickle.dumps(model))
    assert_same_decisions(decisions, sepc.decide(again, X))
    assert_same_decisions(decisions, pickle.loads(pickle.dumps(decisions)))


def check_reasons(decisions):
    for i in (*range(0, 117, 3), 117, 118, 119):  # the last three lie far away
        decision = decisions[i]
        why = decision.why()
        assert why == decisions.why(i)
        assert repr(decision.label) in why
        assert "np." not in why
        assert why.count("Not accepted") == (not decision.accepted)
        assert decision.accepted or f"({decision.cause.name})" in why


def check_shown(decisions):
    text = repr(decisions)
    assert text == str(decisions)
    assert len(text.splitlines()) <= 15
    assert max(map(len, text.splitlines())) <= 80
    assert "120 rows" in text
    assert f"{decisions.accepted.sum()} (" in text
    assert "np." not in text
    assert "array(" not in text
    assert all(cause.name in text for cause in map(Cause, set(decisions.cause) - {0}))
    check_html(decisions._repr_html_())
    one = decisions[0]
    assert len(repr(one).splitlines()) == 1
    assert "np." not in repr(one)
    assert one.why().split()[0] in one._repr_html_().replace("&#x27;", "'")
    check_html(one._repr_html_())
    assert len(repr(decisions[:0]).splitlines()) <= 15


@pytest.mark.parametrize(("name", "how"), weekly_unless(is_quick, product(OURS, ["alone", "search"])))
def test_the_same_after_save_and_load(name, how, tmp_path):
    model = fitted(name, how)
    inner = getattr(model, "best_estimator_", model)
    foreign = {"trusted": "estimator", "selective around another": "estimator"}.get(name)
    if name == "stratified around another":
        with pytest.raises(TypeError, match="LogisticRegression"):
            sepc.save(model, tmp_path / "model.sepc")
        return
    sepc.save(model, tmp_path / "model.sepc")
    given = {} if foreign is None else {"estimator": inner.estimator_}
    again = sepc.load(tmp_path / "model.sepc", **given)
    assert_same_decisions(decided(name, how), sepc.decide(again, rows()[0][200:]))


@pytest.mark.parametrize(("name", "how"), PAIRS)
def test_dask_answers_are_lazy_and_the_same(name, how):
    X = rows()[0][200:]
    lazy = sepc.decide(fitted(name, how), da.from_array(X, chunks=(50, 2)))
    assert isinstance(lazy, dd.DataFrame)
    here = decided(name, how).to_frame()
    pd.testing.assert_frame_equal(
        lazy.compute().reset_index(drop=True), here, check_dtype=False, check_index_type=False
    )
    assert list(lazy.columns) == list(here.columns)
    model, blocks = fitted(name, how, "pandas"), dd.from_pandas(table("pandas", X), npartitions=3, sort=False)
    on_names = sepc.decide(model, blocks).compute()
    pd.testing.assert_frame_equal(
        on_names, decided(name, how, "pandas").to_frame(), check_dtype=False, check_index_type=False
    )
    if how == "alone" and name in OURS:
        assert_same_decisions(model.decide(table("pandas", X)), decided(name, how, "pandas"))
        few = blocks[blocks["length"] > 1e9]
        assert len(model.decide(few).compute()) == len(model.predict(few).compute()) == 0
        check_laziness(fitted(name), X)


def check_laziness(model, X):
    def explode(block):
        raise AssertionError("this was computed")

    never = da.from_array(X, chunks=(60, 4)).map_blocks(explode, meta=np.empty((0, 0)))
    lazy = model.decide(never)
    assert isinstance(lazy, dd.DataFrame)
    with pytest.raises(AssertionError, match="computed"):
        lazy.compute()
    blocks = da.from_array(X, chunks=(60, 4))
    np.testing.assert_array_equal(model.predict(blocks).compute(), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(blocks).compute(), model.predict_proba(X))
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.decide(blocks[:, :3])


def test_frozen_searched_and_calibrated_classifiers():
    X, y = rows()
    assert_same_decisions(sepc.decide(FrozenEstimator(fitted("weights")), X[200:]), decided("weights"))
    grid = {"sepclassifier__n_impure": [0.1, 0.3]}
    search = RandomizedSearchCV(make_pipeline(StandardScaler(), sepc.SEPClassifier()), grid, n_iter=2, cv=2)
    assert len(sepc.decide(search.fit(X[:200], y[:200]), X[200:])) == 120
    decisions = sepc.decide(CalibratedClassifierCV(sepc.SEPClassifier(), cv=2).fit(X[:200], y[:200]), X[200:])
    assert decisions.by == "CalibratedClassifierCV"
    assert (decisions.region == -2).all()


def test_reasons_follow_names_through_pipelines_and_give_up_where_there_are_none():
    X, y = rows()
    frame = table("pandas", X).assign(kind=np.where(X[:, 3] > 0, "round", "flat"))
    encoder = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), ["kind"]), remainder="passthrough"
    )
    pipeline = make_pipeline(encoder, StandardScaler(), sepc.SEPClassifier()).fit(frame[:200], y[:200])
    decisions = sepc.decide(pipeline, frame[200:])
    assert decisions.model.feature_names[:2] == ("onehotencoder__kind_round", "remainder__length")
    lazy = sepc.decide(pipeline, dd.from_pandas(frame[200:], npartitions=2, sort=False))
    pd.testing.assert_frame_equal(lazy.compute(), decisions.to_frame(), check_dtype=False, check_index_type=False)
    turned = make_pipeline(PCA(), sepc.SEPClassifier()).fit(X[:200], y[:200])
    assert sepc.decide(turned, X[200:]).model.feature_names == ("pca0", "pca1", "pca2", "pca3")
    inside = make_pipeline(StandardScaler(), sepc.SEPClassifier())
    promised = sepc.SelectiveClassifier(inside, 0.1, random_state=0).fit(table("pandas", X[:200]), y[:200])
    decisions = promised.decide(table("pandas", X[200:]))
    assert decisions.region.min() >= -1
    assert any("length" in decision.why() for decision in decisions)
    assert not any("x0" in decision.why() for decision in decisions)


def test_what_is_accepted_of_a_model_that_is_not_ours():
    X = rows()[0][200:]
    model = fitted("logistic")
    np.testing.assert_array_equal(decided("logistic").trust, model.predict_proba(X).max(axis=1))
    np.testing.assert_array_equal(decided("logistic").accepted, decided("logistic").trust >= 0.95)
    loose = sepc.decide(model, X, min_trust=0.6)
    assert loose.accepted.sum() > decided("logistic").accepted.sum()
    assert set(loose.cause) == {Cause.ACCEPTED, Cause.UNEXPLAINED}
    assert (loose.region == -2).all()
    assert (
        sepc.decide(model, da.from_array(X, chunks=(40, 4)), min_trust=0.6)["accepted"].sum().compute()
        == loose.accepted.sum()
    )
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="min_trust"):
            sepc.decide(model, X, min_trust=wrong)
    with pytest.raises(ValueError, match="min_trust"):
        sepc.decide(fitted("weights"), X, min_trust=0.9)


def test_what_cannot_be_decided_is_said_in_a_sentence():
    X, y = rows()
    for model, word in (
        (LinearRegression().fit(X, X[:, 0]), "not a classifier"),
        (StandardScaler().fit(X), "not a classifier"),
        (MultiOutputClassifier(LogisticRegression()).fit(X, np.column_stack([y, y])), "several labels"),
    ):
        with pytest.raises(TypeError, match=word):
            sepc.decide(model, X)
    for model in (LogisticRegression(), sepc.SEPClassifier(), make_pipeline(StandardScaler(), sepc.SEPClassifier())):
        with pytest.raises(NotFittedError):
            sepc.decide(model, X)


class NoProbabilities(LogisticRegression):
    """What networks give whose training has diverged, and what gives one column for two classes."""

    def predict_proba(self, X):
        p = super().predict_proba(X)
        return p[:, 1:] if self.C == 2 else np.where(np.arange(len(p))[:, None] >= 3, np.nan, p)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X, y: sepc.decide(model.fit(X, y), X),
        lambda model, X, y: sepc.report(model.fit(X, y), X, y),
        lambda model, X, y: sepc.SelectiveClassifier(model, 0.3).fit(X, y),
        lambda model, X, y: sepc.SelectiveClassifier(FrozenEstimator(model.fit(X, y)), 0.3).fit(X, y),
        lambda model, X, y: sepc.TrustedClassifier(model, cv=2).fit(X, y),
    ],
)
def test_probabilities_that_are_none_are_told_of(ask):
    X, y = make_moons(60, random_state=0)
    for model, said in ((NoProbabilities(), r"NoProbabilities .*row 3"), (NoProbabilities(C=2), r"shape \(\d+, 1\)")):
        with pytest.raises(ValueError, match=said):
            ask(model, X, y)


@pytest.mark.slow_cases("weights-search", "repaired trusted-alone")
@pytest.mark.parametrize(("name", "how"), PAIRS)
def test_cards_and_reports_take_whatever_classifies(name, how):
    X, y = rows()
    model = fitted(name, how)
    if name == "machine without probabilities":
        for ask in (model_card, report):
            with pytest.raises(TypeError, match="predict_proba"):
                ask(model, X[200:], y[200:])
        return
    accepted = decided(name, how).accepted
    card = model_card(model, X[200:], y[200:])
    assert f"| accepted | {percent(accepted.mean())} |" in card
    assert name != "selective around another" or "not accepted: UNEXPLAINED" in card
    assert report(model, X[200:], y[200:]).to_dict()["held_out"]["n_accepted"] == accepted.sum()
