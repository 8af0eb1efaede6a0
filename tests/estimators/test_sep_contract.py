"""The scikit-learn checks, with one expected failure that follows from the paper."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SEPClassifier

OUTVOTED = "the paper labels a row by the owner of its ellipsoid, even where it is outvoted inside"


ONE_CLASS = "where all training rows are of one class, that is the label, however little they weigh"


def expected_failures(estimator):
    """Checks that ask whether `predict` is the argmax of `predict_proba`, and whether weights outdo pure regions."""
    expected = {} if estimator.trust == "weights" else {"check_class_weight_classifiers": ONE_CLASS}
    return expected | ({"check_classifiers_train": OUTVOTED} if estimator.published else {})


@pytest.mark.slow_cases("*X_dtype=float32*")
@parametrize_with_checks([SEPClassifier()], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # on every change, test_decisions_contract.py fits both, decides, pickles, saves and loads
@parametrize_with_checks(
    [SEPClassifier(trust="counts"), SEPClassifier.as_published()], expected_failed_checks=expected_failures
)
def test_scikit_learn_checks_of_other_kinds_of_trust(estimator, check):
    check(estimator)


@pytest.mark.slow  # test_monotone.py fits, decides, saves and exports on every change
@parametrize_with_checks([SEPClassifier(features_alone=[0]), SEPClassifier(monotone={0: "up"}, monotone_for=1)])
def test_scikit_learn_checks_with_standalone_features(estimator, check):
    if estimator.monotone_for is not None and _has_other_labels(check):
        pytest.skip("the labels of this check do not include 1")
    check(estimator)


def _has_other_labels(check):
    """Whether a check of scikit-learn uses labels of its own: texts, or a single class."""
    names = ("classifiers_classes", "one_label", "regression_target", "supervised_y", "class_weight", "string")
    return any(name in str(check) for name in names)


@pytest.mark.slow
def test_works_in_pipeline_search_and_cross_validation():
    X, y = make_moons(200, noise=0.1, random_state=0)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SEPClassifier()), {"sepclassifier__n_impure": [0, 2, 5]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.9
    assert (cross_val_predict(SEPClassifier(), X, y) == y).mean() > 0.9
    assert BaggingClassifier(SEPClassifier(), n_estimators=3, random_state=0).fit(X, y).score(X, y) > 0.9


def test_clone_and_pickle_give_the_same_decisions():
    X, y = load_iris(return_X_y=True)
    fitted = SEPClassifier(n_impure=1).fit(X, y)
    again = clone(fitted).fit(X, y)
    restored = pickle.loads(pickle.dumps(fitted))
    for other in (again, restored):
        np.testing.assert_array_equal(other.predict_proba(X), fitted.predict_proba(X))
        np.testing.assert_array_equal(other.apply(X), fitted.apply(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_impure": -1}, "n_impure is -1"),
        ({"n_impure": 1.5}, "as a float it is a share"),
        ({"n_impure": "auto"}, "number of rows"),
        ({"trust": "blind"}, "must be one of 'weights', 'counts', 'published'"),
        ({"min_trust": 2}, "min_trust is 2"),
        ({"max_rounds": 0}, "max_rounds is 0"),
        ({"max_ellipsoids": 0}, "max_ellipsoids is 0"),
        ({"fit_rows": 0}, "fit_rows is 0"),
        ({"fit_rows": "all"}, "fit_rows is the text 'all'"),
    ],
)
def test_explains_wrong_parameters(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        SEPClassifier(**parameters).fit(X, y)
