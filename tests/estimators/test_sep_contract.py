"""The scikit-learn checks, with one expected failure that follows from the paper."""

import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SEPClassifier

OUTVOTED = "the paper labels a row by the owner of its ellipsoid, even where it is outvoted inside"


ONE_CLASS = "where all training rows are of one class, that is the label, however little they weigh"


def expected_failures(estimator):
    """Checks that ask whether `predict` is the argmax of `predict_proba`, and whether weights outdo pure regions."""
    expected = {} if estimator.trust == "weights" else {"check_class_weight_classifiers": ONE_CLASS}
    return expected | ({"check_classifiers_train": OUTVOTED} if estimator.trust == "published" else {})


ESTIMATORS = [
    SEPClassifier(),
    SEPClassifier(trust="counts"),
    SEPClassifier.as_published(),
    SEPClassifier(features_alone=[0]),
    SEPClassifier(monotone={0: "up"}, monotone_for=1),
]


@pytest.mark.slow_cases("*X_dtype=float32*", "SEPClassifier([a-z]*")  # on every change, the first has all checks
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    if estimator.monotone_for is not None and _has_other_labels(check):
        pytest.skip("the labels of this check do not include 1")
    check(estimator)


def _has_other_labels(check):
    """Whether a check of scikit-learn uses labels of its own: texts, or a single class."""
    names = ("classifiers_classes", "one_label", "regression_target", "supervised_y", "class_weight", "string")
    return any(name in str(check) for name in names)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_impure", 1.5, "share"),
        ("n_impure", "auto", "number of rows"),
        ("trust", "blind", "'weights', 'counts', 'published'"),
        ("min_trust", 2, "min_trust is 2"),
        ("fit_rows", 0, "fit_rows is 0"),
    ],
)
def test_explains_wrong_parameters(name, value, message):
    with pytest.raises(ValueError, match=message):
        SEPClassifier(**{name: value}).fit(*load_iris(return_X_y=True))
