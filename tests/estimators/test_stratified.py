"""StratifiedClassifier: which rows have which model, the scikit-learn contract, and reasons with the stratum."""

import pickle

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SEPClassifier, TrustedClassifier
from sepc.decisions.kinds import Cause
from sepc.errors import LeftOutWarning
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.stratified.estimator import StratifiedClassifier

pd, pl = package_or_skip("pandas"), package_or_skip("polars")


@parametrize_with_checks([StratifiedClassifier(LogisticRegression(), by=[])])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # on every change, the checks run on strata around another model and on SEPClassifier alone
@parametrize_with_checks([StratifiedClassifier(SEPClassifier(), by=[])])
def test_scikit_learn_checks_around_our_own(estimator, check):
    check(estimator)


# Rows of the towns together overlap, and partitioning few of them is enough.
SMALL = SEPClassifier(fit_rows=150, random_state=0)


def towns(n, seed):
    """In one of two towns the classes are swapped; a third town has few rows; in some rows it is missing."""
    rng = np.random.default_rng(seed)
    town = rng.choice(np.array(["north", "south", "tiny", None], dtype=object), size=n, p=[0.45, 0.3, 0.02, 0.23])
    y = rng.integers(2, size=n)
    turned = town == "south"
    numbers = rng.normal(size=(n, 2)) + 5.0 * (y ^ turned)[:, None]
    labels = np.where(y == 1, "yes", "no")
    return pd.DataFrame({"a": numbers[:, 0], "town": town, "b": numbers[:, 1]}), labels


@pytest.fixture(scope="module")
def fitted():
    X, y = towns(1000, 0)
    return StratifiedClassifier(SMALL, by="town").fit(X, y), *towns(500, 1)


def test_every_stratum_learns_its_own_rule(fitted):
    classifier, X, y = fitted
    known = (X["town"] != "tiny").to_numpy()
    right = classifier.predict(X) == y
    assert right[known].mean() > 0.97
    alone = clone(SMALL).fit(X[["a", "b"]], y)
    assert alone.score(X[["a", "b"]], y) < 0.8


def test_strata_are_a_table_the_largest_first(fitted):
    strata = fitted[0].strata_
    assert [town for (town,) in strata.values] == ["north", "south", None, "tiny"]
    assert strata.fitted.tolist() == [True, True, True, False]
    assert strata.n_rows.sum() == 1000
    table = strata.to_frame()
    assert table.columns.tolist() == ["town", "n_rows", "n_no", "n_yes", "model"]
    assert table["model"].tolist() == ["own", "own", "own", "pooled"]
    assert (table["n_no"] + table["n_yes"] == table["n_rows"]).all()
    assert sorted(fitted[0].estimators_) == [0, 1, 2]


def test_models_see_the_other_columns_only(fitted):
    classifier, X, _ = fitted
    assert classifier.n_features_in_ == 3
    assert classifier.feature_names_in_.tolist() == ["a", "town", "b"]
    for model in (*classifier.estimators_.values(), classifier.pooled_):
        assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(classifier.pooled_.model_.class_counts.sum(), 1000)


@pytest.mark.parametrize("missing", [lambda: None, lambda: np.nan, lambda: pd.NA, lambda: pd.NaT])
def test_missing_values_are_a_category_however_they_are_spelt(fitted, missing):
    classifier, X, _ = fitted
    some = X[X["town"].isna()].copy()
    expected = classifier.predict_proba(some)
    some["town"] = pd.Series([missing()] * len(some), index=some.index, dtype=object)
    np.testing.assert_array_equal(classifier.predict_proba(some), expected)
    assert (classifier.decide(some).stratum == 2).all()


def test_small_strata_and_unseen_categories_go_to_the_pooled_model(fitted):
    classifier, X, _ = fitted
    some = X.head(10).copy()
    for town in ("tiny", "elsewhere"):
        some["town"] = town
        decisions = classifier.decide(some)
        assert (decisions.stratum == -1).all()
        np.testing.assert_array_equal(decisions.label, classifier.pooled_.predict(some[["a", "b"]]))
        assert decisions[0].why().startswith(f"among all rows, as town = {town} has no model of its own: ")


def test_decisions_are_those_of_the_strata_in_the_order_of_the_rows(fitted):
    classifier, X, _ = fitted
    decisions = classifier.decide(X)
    np.testing.assert_array_equal(decisions.label, classifier.predict(X))
    np.testing.assert_array_equal(decisions.probabilities, classifier.predict_proba(X))
    south = (X["town"] == "south").to_numpy()
    own = classifier.estimators_[1].decide(X.loc[south, ["a", "b"]])
    part = decisions[south]
    for name in ("label", "trust", "accepted", "cause", "probabilities"):
        np.testing.assert_array_equal(getattr(part, name), getattr(own, name))
    assert (part.stratum == 1).all()
    assert len(decisions[::2]) == 250
    np.testing.assert_array_equal(decisions[::2].cause, decisions.cause[::2])
    np.testing.assert_array_equal((decisions.cause == Cause.ACCEPTED), decisions.accepted)


def test_reasons_start_with_the_stratum(fitted):
    classifier, X, _ = fitted
    decisions = classifier.decide(X)
    i = int(np.flatnonzero(decisions.stratum == 1)[0])
    decision = decisions[i]
    assert decision.why() == f"among town = south: {decision.inner.why()}"
    assert decision.inner.label == decision.label == decisions.label[i]
    assert isinstance(decision.cause, Cause)
    assert repr(decision).startswith(f"Decision({decision.label!r}, trust ")
    missing = int(np.flatnonzero(decisions.stratum == 2)[0])
    assert decisions[missing].why().startswith("among town missing: ")


def as_polars(X):
    return pl.DataFrame({name: [None if pd.isna(cell) else cell for cell in X[name]] for name in X})


def test_frames_and_arrays_give_the_same():
    (train, labels), (X, _) = towns(1000, 0), towns(500, 1)

    def probabilities(by, give, n_jobs=None):
        classifier = clone(StratifiedClassifier(LogisticRegression(), by=by, n_jobs=n_jobs))
        return classifier.fit(give(train), labels).predict_proba(give(X))

    expected = probabilities("town", pd.DataFrame)
    np.testing.assert_allclose(probabilities(["town"], as_polars), expected)
    np.testing.assert_allclose(probabilities(1, pd.DataFrame.to_numpy), expected)
    np.testing.assert_allclose(probabilities([-2], lambda X: X.to_numpy().tolist()), expected)
    np.testing.assert_allclose(probabilities(make_column_selector(dtype_exclude="number"), pd.DataFrame, 2), expected)


def test_columns_of_arrays_have_numbers_for_names():
    X, y = towns(500, 1)
    classifier = StratifiedClassifier(SMALL, by=1).fit(X.to_numpy(), y)
    assert classifier.decide(X.to_numpy()[:1])[0].why().startswith("among x1 ")


def test_survives_pickling(fitted):
    classifier, X, _ = fitted
    restored = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(restored.predict_proba(X), classifier.predict_proba(X))


def test_several_columns_make_combinations():
    X, y = towns(2000, 2)
    X["day"] = np.random.default_rng(0).integers(2, size=len(X))
    classifier = StratifiedClassifier(SMALL, by=["day", "town"]).fit(X, y)
    assert len(classifier.strata_) == 8
    assert classifier.strata_.by == ("day", "town")
    decision = classifier.decide(X[(X["day"] == 1) & (X["town"] == "north")])[0]
    assert decision.why().startswith("among day = 1, town = north: ")


def test_a_pooled_model_of_its_own_sees_all_columns():
    X, y = towns(1000, 3)
    encoded = make_column_transformer((TargetEncoder(), ["town"]), remainder="passthrough")
    pooled = make_pipeline(encoded, SMALL)
    classifier = StratifiedClassifier(SMALL, by="town", pooled=pooled).fit(X, y)
    assert classifier.pooled_.feature_names_in_.tolist() == ["a", "town", "b"]
    elsewhere = X.assign(town="elsewhere")
    decisions = classifier.decide(elsewhere)
    np.testing.assert_array_equal(decisions.label, classifier.pooled_.predict(elsewhere))
    assert "with trust" in decisions[0].why()


@pytest.mark.slow
def test_classes_that_a_stratum_lacks_have_probability_0():
    rng = np.random.default_rng(0)
    place, y = np.repeat([0, 1], 300), rng.integers(2, size=600)
    y = y + place
    X = np.column_stack([place, rng.normal(size=600) + 6 * y, rng.normal(size=600)])
    classifier = StratifiedClassifier(TrustedClassifier(LogisticRegression(), cv=2), by=[0]).fit(X, y)
    probabilities = classifier.predict_proba(X)
    assert probabilities.shape == (600, 3)
    assert (probabilities[:300, 2] == 0).all()
    assert (probabilities[300:, 0] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert classifier.score(X, y) > 0.97


@pytest.mark.slow
def test_a_stratum_of_one_class_is_pooled_unless_asked_for():
    X, y = towns(1000, 4)
    y[(X["town"] == "north").to_numpy()] = "no"
    assert StratifiedClassifier(SMALL, by="town").fit(X, y).strata_.fitted.tolist() == [
        False,
        True,
        True,
        False,
    ]
    asked = StratifiedClassifier(SMALL, by="town", min_class_rows=0).fit(X, y)
    assert asked.strata_.fitted.tolist() == [True, True, True, False]
    assert (asked.predict(X[X["town"] == "north"]) == "no").all()


def test_methods_are_those_of_the_estimators():
    X, y = towns(600, 5)
    only_labels = StratifiedClassifier(SVC(), by="town").fit(X, y)
    assert not hasattr(only_labels, "predict_proba")
    assert only_labels.score(X, y) > 0.95
    assert not only_labels.decide(X).accepted.any()
    assert np.isnan(only_labels.decide(X).trust).all()
    piped = StratifiedClassifier(make_pipeline(StandardScaler(), SMALL), by="town").fit(X, y)
    np.testing.assert_array_equal(piped.decide(X).label, piped.predict(X))


@pytest.mark.slow
def test_promises_can_be_made_on_top(fitted):
    X, y = towns(1500, 6)
    promised = SelectiveClassifier(StratifiedClassifier(SMALL, by="town"), random_state=0).fit(X, y)
    assert promised.coverage_ > 0.5
    assert "among town" in promised.decide(X.head(1))[0].inner.why()


def test_columns_that_are_constant_in_a_stratum_are_left_out_there_without_a_word():
    X, y = towns(300, 7)
    X["colour"] = np.where(X["town"] == "north", "red", np.resize(["blue", "green"], 300))
    model = StratifiedClassifier(SMALL, by="town").fit(X, y)
    summaries = [own.preparation_.summary() for own in model.estimators_.values()]
    assert any("left out: 'colour' (a constant)" in summary for summary in summaries)
    assert model.pooled_.preparation_.summary() == "3 features: 2 numbers, 1 category"
    with pytest.warns(LeftOutWarning) as caught:
        StratifiedClassifier(SMALL, by="town").fit(X.assign(colour="red"), y)
    assert len(caught) == 1


def test_names_the_columns_of_text_that_the_models_cannot_take():
    X, y = towns(300, 7)
    X["colour"] = "red"
    with pytest.raises(ValueError, match=r"column 'colour', not in by, holds text or categories. Name them in by"):
        StratifiedClassifier(SVC(), by="town").fit(X, y)
    with pytest.raises(ValueError, match=r"SVC could not be fitted; columns 'x1', 'x3', not in by, hold text"):
        StratifiedClassifier(SVC(), by=[]).fit(X.to_numpy(), y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"by": "city"}, "by names the column 'city'; the columns are 'a', 'town' and 'b'"),
        ({"by": [3]}, "by has position 3, but X has 3 columns"),
        ({"by": ["town", 1]}, "by names a column twice"),
        ({"by": ["a", "b", "town"]}, "by names all 3 columns"),
        ({"by": "town", "min_rows": 0}, "min_rows is 0"),
        ({"by": "town", "min_class_rows": 1.5}, "min_class_rows is 1.5"),
    ],
)
def test_explains_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        StratifiedClassifier(SMALL, **parameters).fit(*towns(50, 8))


def test_explains_wrong_data():
    X, y = towns(50, 9)
    classifier = StratifiedClassifier(SMALL, by="town")
    with pytest.raises(ValueError, match="X is an array"):
        classifier.fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="requires y"):
        classifier.fit(X, None)
    with pytest.raises(ValueError, match="X has no rows"):
        classifier.fit(X.head(0), y[:0])
