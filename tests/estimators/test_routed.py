"""RoutedClassifier: which rows have which model, the scikit-learn contract, and reasons with the stratum."""

import joblib
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

from sepc import RoutedClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import LeftOutWarning

pd, pl = package_or_skip("pandas"), package_or_skip("polars")


@pytest.mark.slow_cases("*SEPClassifier*")  # on every change, SEPClassifier is checked alone
@parametrize_with_checks([RoutedClassifier(own, by=[]) for own in (LogisticRegression(), SEPClassifier())])
def test_scikit_learn_checks(estimator, check):
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
    return RoutedClassifier(SMALL, by="town").fit(X, y), *towns(500, 1)


def test_every_stratum_learns_its_own_rule_from_the_other_columns(fitted):
    classifier, X, y = fitted
    known = (X["town"] != "tiny").to_numpy()
    assert (classifier.predict(X) == y)[known].mean() > 0.97
    assert clone(SMALL).fit(X[["a", "b"]], y).score(X[["a", "b"]], y) < 0.8
    strata, table = classifier.strata_, classifier.strata_.to_frame()
    assert [town for (town,) in strata.values] == ["north", "south", None, "tiny"]
    assert strata.fitted.tolist() == [True, True, True, False]
    assert strata.n_rows.sum() == 1000
    assert table.columns.tolist() == ["town", "n_rows", "n_no", "n_yes", "model"]
    assert table["model"].tolist() == ["own", "own", "own", "pooled"]
    assert (table["n_no"] + table["n_yes"] == table["n_rows"]).all()
    assert sorted(classifier.routes_) == [0, 1, 2]
    assert classifier.n_features_in_ == 3
    assert classifier.feature_names_in_.tolist() == ["a", "town", "b"]
    for model in (*classifier.routes_.values(), classifier.default_):
        assert model.feature_names_in_.tolist() == ["a", "b"]
    assert classifier.default_.model_.class_counts.sum() == 1000


def test_each_row_is_decided_by_its_stratum_or_by_the_pooled_model(fitted):
    classifier, X, _ = fitted
    decisions = classifier.decide(X)
    south = (X["town"] == "south").to_numpy()
    own, part = classifier.routes_[1].decide(X.loc[south, ["a", "b"]]), decisions[south]
    for name in ("label", "trust", "accepted", "cause", "probabilities"):
        np.testing.assert_array_equal(getattr(part, name), getattr(own, name))
    assert (part.route == 1).all()
    np.testing.assert_array_equal(decisions[::2].cause, decisions.cause[::2])
    for stratum, named in ((1, "town = south"), (2, "town missing")):
        decision = decisions[int(np.flatnonzero(decisions.route == stratum)[0])]
        assert decision.why() == f"among {named}: {decision.inner.why()}"
        assert decision.inner.label == decision.label
    some = X.head(10)
    for town in ("tiny", "elsewhere"):
        pooled = classifier.decide(some.assign(town=town))
        assert (pooled.route == -2).all()
        np.testing.assert_array_equal(pooled.label, classifier.default_.predict(some[["a", "b"]]))
        assert f"town = {town} has no model" in pooled[0].why()


def test_missing_values_are_a_category_however_they_are_spelt(fitted):
    classifier, X, _ = fitted
    some = X[X["town"].isna()]
    expected = classifier.predict_proba(some)
    for missing in (None, np.nan, pd.NA, pd.NaT):
        spelt = some.assign(town=pd.Series([missing] * len(some), index=some.index, dtype=object))
        np.testing.assert_array_equal(classifier.predict_proba(spelt), expected)
        assert (classifier.decide(spelt).route == 2).all()


def as_polars(X):
    return pl.DataFrame({name: [None if pd.isna(cell) else cell for cell in X[name]] for name in X})


def test_frames_and_arrays_give_the_same_and_several_columns_make_combinations():
    (train, labels), (X, _) = towns(1000, 0), towns(500, 1)

    def fitted_to(by, give, n_jobs=None):
        return RoutedClassifier(LogisticRegression(), by=by, n_jobs=n_jobs).fit(give(train), labels)

    expected = fitted_to("town", pd.DataFrame).predict_proba(X)
    with joblib.parallel_config("threading"):
        np.testing.assert_allclose(fitted_to("town", pd.DataFrame, 2).predict_proba(X), expected)
    for by, give in (
        (["town"], as_polars),
        (1, pd.DataFrame.to_numpy),
        ([-2], lambda X: X.to_numpy().tolist()),
        (make_column_selector(dtype_exclude="number"), pd.DataFrame),
    ):
        np.testing.assert_allclose(fitted_to(by, give).predict_proba(give(X)), expected)
    array = X.to_numpy()
    assert fitted_to(1, pd.DataFrame.to_numpy).decide(array[:1])[0].why().startswith("among x1 ")
    train["day"], X["day"] = np.arange(1000) % 2, 1
    both = fitted_to(["day", "town"], pd.DataFrame)
    assert (len(both.strata_), both.strata_.by) == (8, ("day", "town"))
    assert both.decide(X[X["town"] == "north"])[0].why().startswith("among day = 1, town = north: ")


def test_a_pooled_model_of_its_own_sees_all_columns():
    X, y = towns(1000, 3)
    encoded = make_column_transformer((TargetEncoder(), ["town"]), remainder="passthrough")
    pooled = make_pipeline(encoded, SMALL)
    classifier = RoutedClassifier(SMALL, by="town", default=pooled).fit(X, y)
    assert classifier.default_.feature_names_in_.tolist() == ["a", "town", "b"]
    elsewhere = X.assign(town="elsewhere")
    decisions = classifier.decide(elsewhere)
    np.testing.assert_array_equal(decisions.label, classifier.default_.predict(elsewhere))


@pytest.mark.slow
def test_classes_that_a_stratum_lacks_have_probability_0():
    rng = np.random.default_rng(0)
    place, y = np.repeat([0, 1], 300), rng.integers(2, size=600)
    y = y + place
    X = np.column_stack([place, rng.normal(size=600) + 6 * y, rng.normal(size=600)])
    classifier = RoutedClassifier(TrustedClassifier(LogisticRegression(), cv=2), by=[0]).fit(X, y)
    probabilities = classifier.predict_proba(X)
    assert probabilities.shape == (600, 3)
    assert (probabilities[:300, 2] == 0).all()
    assert (probabilities[300:, 0] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert classifier.score(X, y) > 0.97


def test_methods_are_those_of_the_estimators():
    X, y = towns(600, 5)
    only_labels = RoutedClassifier(SVC(), by="town").fit(X, y)
    assert not hasattr(only_labels, "predict_proba")
    assert only_labels.score(X, y) > 0.95
    assert not only_labels.decide(X).accepted.any()
    assert np.isnan(only_labels.decide(X).trust).all()
    piped = RoutedClassifier(make_pipeline(StandardScaler(), SMALL), by="town").fit(X, y)
    np.testing.assert_array_equal(piped.decide(X).label, piped.predict(X))


def test_columns_that_are_constant_in_a_stratum_are_left_out_there_without_a_word():
    X, y = towns(300, 7)
    X["colour"] = np.where(X["town"] == "north", "red", np.resize(["blue", "green"], 300))
    model = RoutedClassifier(SMALL, by="town").fit(X, y)
    summaries = [own.preparation_.summary() for own in model.routes_.values()]
    assert any("left out: 'colour' (a constant)" in summary for summary in summaries)
    assert model.default_.preparation_.summary() == "3 features: 2 numbers, 1 category"
    with pytest.warns(LeftOutWarning) as caught:
        RoutedClassifier(SMALL, by="town").fit(X.assign(colour="red"), y)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"by": "city"}, "'city'"),
        ({"by": [3]}, "position 3"),
        ({"by": ["town", 1]}, "twice"),
        ({"by": ["a", "b", "town"]}, "all 3"),
        ({"by": "town", "min_rows": 0}, "min_rows"),
        ({"by": "town", "min_class_rows": 1.5}, "min_class_rows"),
    ],
)
def test_explains_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        RoutedClassifier(SMALL, **parameters).fit(*towns(50, 8))


def test_explains_wrong_data():
    X, y = towns(300, 9)
    for model, by, rows, labels, message in (
        (SMALL, "town", X.to_numpy(), y, "names 'town'; the columns are 'x0'"),
        (SMALL, "town", X, None, "requires y"),
        (SMALL, "town", X.head(0), y[:0], "no rows"),
    ):
        with pytest.raises(ValueError, match=message):
            RoutedClassifier(model, by=by).fit(rows, labels)
