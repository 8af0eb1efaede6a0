"""Parameters that are numbers: text, None, NaN, booleans, arrays and numbers out of range are refused in one way."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from zoo import fitted_once

import sepc
from sepc import Costs, SelectiveClassifier, SEPClassifier, StratifiedClassifier, TrustedClassifier
from sepc.lifecycle import Monitor, ReviewQueue, audit, repair
from sepc.metrics import coverage_at_risk, ece, risk_at_coverage
from sepc.sites import certify, count_site

X, Y = make_moons(120, noise=0.2, random_state=0)
WRONG = ["0.5", None, float("nan"), float("inf"), -1, True, [0.5], np.array([0.5, 0.5]), {"a": 0.5}]


@fitted_once
def model():
    return SEPClassifier(max_ellipsoids=4).fit(X, Y)


def fit(kind, *args, **parameters):
    return lambda name: lambda value: kind(*args, **parameters, **{name: value}).fit(X, Y)


def call(function, *args, **parameters):
    """With `model` among the arguments for the fitted model, which is made when a test needs it."""
    return lambda name: (
        lambda value: function(*(one() if one is model else one for one in args), **parameters, **{name: value})
    )


OTHER = LogisticRegression()
PARAMETERS = [
    ("min_trust", fit(SEPClassifier)),
    ("n_impure", fit(SEPClassifier)),
    ("max_rounds", fit(SEPClassifier)),
    ("max_ellipsoids or None", fit(SEPClassifier)),
    ("fit_rows or None", fit(SEPClassifier)),
    ("max_features or None", fit(SEPClassifier)),
    ("min_trust", fit(TrustedClassifier, OTHER)),
    ("max_risk", fit(SelectiveClassifier, OTHER)),
    ("confidence", fit(SelectiveClassifier, OTHER)),
    ("calibration_size", fit(SelectiveClassifier, OTHER)),
    ("n_erased", call(SelectiveClassifier(OTHER).fit_after_erasure, X, Y)),
    ("min_rows", fit(StratifiedClassifier, OTHER, 0)),
    ("min_class_rows", fit(StratifiedClassifier, OTHER, 0)),
    ("min_trust or None", call(sepc.decide, model, X)),
    ("min_trust or None", call(sepc.recourse, model, X[:1], to=1)),
    ("n_answers or None", call(sepc.recourse, model, X[:1], to=1)),
    ("n_rows or None", call(sepc.look, X, Y)),
    ("tol", call(sepc.enclose, X)),
    ("max_rounds", call(sepc.enclose, X)),
    ("small", call(sepc.Landscape, X, Y)),
    ("fit_rows or None", call(sepc.Landscape, X, Y)),
    ("coverage", call(risk_at_coverage, Y, Y)),
    ("risk", call(coverage_at_risk, Y, Y)),
    ("n_bins", call(ece, Y, Y)),
    ("confidence", call(Monitor, model, X)),
    ("budget", call(ReviewQueue, model)),
    ("max_risk", call(ReviewQueue, model, 5)),
    ("coverage or None", call(ReviewQueue, model, 5)),
    ("certify_share", call(ReviewQueue, model, 5)),
    ("fdr", call(audit, model, X, Y)),
    ("confidence", call(repair, model, X, Y)),
    ("cv", call(repair, model, X, Y)),
    ("smallest", call(count_site, model, X, Y, site="here")),
    ("confidence", call(certify, model, [])),
]


@pytest.mark.parametrize(("name", "using"), PARAMETERS, ids=[f"{i} {name}" for i, (name, _) in enumerate(PARAMETERS)])
def test_what_is_not_a_number_in_range_is_refused_by_name(name, using):
    name, _, or_none = name.partition(" or ")
    try_with = using(name)
    for value in WRONG:
        if (value is None and or_none) or (name == "max_risk" and isinstance(value, list | np.ndarray | dict)):
            continue  # a risk for each label, or what looks like a cost matrix, has errors of its own
        with pytest.raises(ValueError, match=rf"^{name} is .+; it must be a (whole )?number"):
            try_with(value)


@pytest.mark.parametrize("value", ["1", -1, None, float("nan")])
def test_costs_and_weights_are_numbers_too(value):
    errors = {(0, 1): 5, (1, 0): value}
    with pytest.raises(ValueError, match="The cost of 0 instead of 1 is .+; it must be a number of at least 0"):
        SelectiveClassifier(OTHER, Costs(errors, review=0.5)).fit(X, Y)
    with pytest.raises(ValueError, match="The cost of a review is .+; it must be a number above 0"):
        SelectiveClassifier(OTHER, Costs({(0, 1): 5, (1, 0): 1}, review=value)).fit(X, Y)
    with pytest.raises(ValueError, match=r"max_risk\[1\] is .+; it must be a number above 0 and below 1"):
        SelectiveClassifier(OTHER, {1: value}).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight of 1 is .+; it must be a number above 0"):
        SEPClassifier(class_weight={1: value}).fit(X, Y)


def test_numbers_of_numpy_are_numbers():
    SEPClassifier(np.float32(0.2), min_trust=np.float64(0.9), max_rounds=np.int64(5), fit_rows=np.uint8(100)).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"standardize": "no"}, "standardize is the text 'no'; it must be True or False"),
        ({"categorical_features": "x0"}, "categorical_features is 'x0'; it must be a list of columns, or 'from_dtype'"),
        ({"force_features": "x0"}, "force_features is 'x0'; it must be a list of columns, or None"),
        ({"force_features": 3}, "force_features is 3; it must be a list of columns, or None"),
    ],
)
def test_text_is_neither_a_switch_nor_a_list(parameters, message):
    with pytest.raises(ValueError, match=message):
        SEPClassifier(**parameters).fit(X, Y)


def test_what_is_no_list_or_mapping_of_columns_is_refused():
    for by in (1.5, [1.5], object()):
        with pytest.raises(ValueError, match=r"^by is .+; it must name one column, or two different ones"):
            SelectiveClassifier(OTHER, 0.3, by=by).fit(X, Y)
    for by in (1.5, None):
        with pytest.raises(ValueError, match=r"^by is .+; it must name columns, or give their positions"):
            StratifiedClassifier(OTHER, by).fit(X, Y)
    with pytest.raises(ValueError, match="^parents is 'a'; it must be a mapping"):
        SelectiveClassifier(OTHER, 0.3, by=0, parents="a").fit(X, Y)
    for name in ("cost", "bounds", "direction"):
        with pytest.raises(TypeError, match=f"^{name} is 'up'; give a mapping of columns"):
            sepc.recourse(model(), X[:1], to=1, **{name: "up"})


MIXED = np.array(["one", 2], dtype=object)[Y]
MASKED = np.ma.masked_greater(X, 1.0)


@pytest.mark.parametrize(
    "kind", [SEPClassifier(), TrustedClassifier(OTHER), SelectiveClassifier(OTHER), StratifiedClassifier(OTHER, 0)]
)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, MIXED, "Labels must be of one type, but y holds .*str"),
        (MASKED, Y, "X is a masked array; mark its missing cells by NaN"),
        ({"a": [1]}, Y, "X is a dict; give a DataFrame"),
        (X, {"a": 1}, "y is a dict; give"),
    ],
)
def test_rows_and_labels_that_are_none_are_refused_in_plain_words(kind, rows, labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        clone(kind).fit(rows, labels)


def test_masks_text_and_what_is_no_table_are_refused_afterwards_too():
    for ask in (model().decide, model().predict, lambda rows: model().score(rows, Y)):
        with pytest.raises(TypeError, match="X is a masked array"):
            ask(MASKED)
    with pytest.raises(ValueError, match=r"X is an array with text in it \(could not convert string to float: 'a'\)"):
        SEPClassifier().fit(np.column_stack([X.astype(object), np.resize(["a", "b"], len(X))]), Y)
    for rows in ("rows.csv", {"a": [1]}, [{"a": 1}], np.zeros((2, 2, 2)), sparse.csr_array(X)):
        with pytest.raises(TypeError, match=r"^X is a .+; look takes a DataFrame, an Arrow table or an array of rows"):
            sepc.look(rows)
    for labels in ("y", 3, X):
        with pytest.raises(ValueError, match="^y must hold one label for each row"):
            sepc.look(X, labels)
        with pytest.raises(ValueError, match="^y must hold one label for each row"):
            sepc.suspects(SEPClassifier(max_ellipsoids=2, out_of_fold=True).fit(X, Y), labels)
