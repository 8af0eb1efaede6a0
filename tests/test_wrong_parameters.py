"""Parameters, labels and cells that are none are refused in one way, in the words of the user."""

import numpy as np
import pytest
from optional import package_or_skip
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from zoo import fitted_once

import sepc
import sepc.metrics
from sepc import Costs, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.lifecycle import Monitor, ReviewQueue, audit, repair
from sepc.lifecycle.sites import certify, count_site
from sepc.metrics import coverage_at_risk, ece, risk_at_coverage

pd = package_or_skip("pandas")

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
    ("max_ellipsoids or None", fit(SEPClassifier)),
    ("fit_rows or None", fit(SEPClassifier)),
    ("max_features or None", fit(SEPClassifier)),
    ("min_trust", fit(TrustedClassifier, OTHER)),
    ("max_risk", fit(SelectiveClassifier, OTHER)),
    ("confidence", fit(SelectiveClassifier, OTHER)),
    ("calibration_size", fit(SelectiveClassifier, OTHER)),
    ("n_erased", call(SelectiveClassifier(OTHER).fit_after_erasure, X, Y)),
    ("min_rows", fit(RoutedClassifier, OTHER, 0)),
    ("min_class_rows", fit(RoutedClassifier, OTHER, 0)),
    ("min_trust or None", call(sepc.decide, model, X)),
    ("min_trust or None", call(sepc.recourse, model, X[:1], to=1)),
    ("n_answers or None", call(sepc.recourse, model, X[:1], to=1)),
    ("n_rows or None", call(sepc.look, X, Y)),
    ("tol", call(sepc.enclose, X)),
    ("max_rounds", call(sepc.enclose, X)),
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
    for estimator, said in (
        (SelectiveClassifier(OTHER, Costs(errors, review=0.5)), "0 instead of 1 is .+ number"),
        (SelectiveClassifier(OTHER, Costs({(0, 1): 5, (1, 0): 1}, review=value)), "review is .+ number"),
        (SelectiveClassifier(OTHER, {1: value}), r"max_risk\[1\] is .+ number"),
        (SEPClassifier(class_weight={1: value}), "class_weight of 1 is .+ number"),
    ):
        with pytest.raises(ValueError, match=said):
            estimator.fit(X, Y)
    SEPClassifier(np.float32(0.2), min_trust=np.float64(0.9), max_ellipsoids=np.int64(5), fit_rows=np.uint8(100)).fit(
        X, Y
    )


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SEPClassifier(keep_rows="no"), "keep_rows is .*True or False"),
        (SEPClassifier(categorical_features="x0"), "categorical_features is .*list"),
        (SEPClassifier(force_features="x0"), "force_features is .*list"),
        (SEPClassifier(force_features=3), "force_features is .*list"),
        *((SelectiveClassifier(OTHER, 0.3, by=by), "by is .*column") for by in (1.5, [1.5], object())),
        (RoutedClassifier(OTHER, 1.5), "by is .*columns"),
        (SelectiveClassifier(OTHER, 0.3, by=0, parents="a"), "parents is 'a'.*mapping"),
    ],
)
def test_text_is_neither_a_switch_nor_a_list_nor_a_mapping(estimator, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        estimator.fit(X, Y)
    for name in ("cost", "bounds", "direction"):
        with pytest.raises(TypeError, match=f"^{name} is 'up'.*mapping"):
            sepc.recourse(model(), X[:1], to=1, **{name: "up"})


MIXED = np.array(["one", 2], dtype=object)[Y]
MASKED = np.ma.masked_greater(X, 1.0)


@pytest.mark.parametrize(
    "kind", [SEPClassifier(), TrustedClassifier(OTHER), SelectiveClassifier(OTHER), RoutedClassifier(OTHER, 0)]
)
@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X, MIXED, "one type"),
        (MASKED, Y, "masked array"),
        ({"a": [1]}, Y, "X is a dict"),
        (X, {"a": 1}, "y is a dict"),
    ],
)
def test_rows_and_labels_that_are_none_are_refused_in_plain_words(kind, rows, labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        clone(kind).fit(rows, labels)


def test_masks_text_and_what_is_no_table_are_refused_afterwards_too():
    for ask in (model().decide, model().predict, lambda rows: model().score(rows, Y)):
        with pytest.raises(TypeError, match="masked array"):
            ask(MASKED)
    with pytest.raises(ValueError, match="text"):
        SEPClassifier().fit(np.column_stack([X.astype(object), np.resize(["a", "b"], len(X))]), Y)
    for rows in ("rows.csv", {"a": [1]}, [{"a": 1}], np.zeros((2, 2, 2)), sparse.csr_array(X)):
        with pytest.raises(TypeError, match="^X is a .+ DataFrame"):
            sepc.look(rows)
    out_of_fold = SEPClassifier(max_ellipsoids=2, out_of_fold=True).fit(X, Y)
    for labels in ("y", 3, X):
        for ask in (lambda labels: sepc.look(X, labels), lambda labels: sepc.metrics.suspects(out_of_fold, labels)):
            with pytest.raises(ValueError, match="^y must hold one label"):
                ask(labels)


ROWS, ALTERNATE = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
GONE = np.isin(np.arange(60), [17, 20, 40])
LABELS = {
    "doubles": lambda: np.where(GONE, np.nan, ALTERNATE),
    "whole numbers": lambda: pd.Series(ALTERNATE, dtype="Int64").mask(GONE),
    "texts": lambda: np.where(GONE, None, np.array(["a", "b"], dtype=object)[ALTERNATE]),
}
ESTIMATORS = [
    SEPClassifier(),
    SelectiveClassifier(LogisticRegression()),
    TrustedClassifier(LogisticRegression()),
    RoutedClassifier(SEPClassifier(), by=[]),
]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_missing_labels_are_counted_and_the_first_is_named(estimator, kind):
    for X in (ROWS, pd.DataFrame(ROWS, columns=["u", "v"]).assign(w="x")):
        with pytest.raises(ValueError, match=r"3 missing labels, the first in row 17"):
            estimator.fit(X, LABELS[kind]())
    with pytest.raises(ValueError, match="1 missing label, the first in row 3"):
        estimator.fit(ROWS, np.where(np.arange(60) == 3, np.nan, ALTERNATE))


@pytest.mark.parametrize(
    ("cell", "kind"), [(["a"], "lists"), ({"a": 1}, "dictionaries"), ({1}, "sets"), (np.arange(2), "lists")]
)
def test_cells_that_hold_several_values_are_refused_by_the_name_of_their_column(cell, kind):
    table = pd.DataFrame(ROWS, columns=["u", "v"])
    table["tags"] = [None, *[cell] * 59]
    with pytest.raises(ValueError, match=f"'tags' holds {kind}"):
        SEPClassifier().fit(table, ALTERNATE)
