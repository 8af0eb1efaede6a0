"""The report: figures that are those of the decisions, for every estimator, whatever the rows are."""

import json

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sepc import (
    Landscape,
    RoutedClassifier,
    SelectiveClassifier,
    SEPClassifier,
    TrustedClassifier,
    decide,
    report,
)
from sepc.landscape.landscape import overlaps_in_words
from sepc.metrics import aurc

pd = package_or_skip("pandas")


def test_figures_are_those_of_the_decisions(moons, decisions, made):
    y, summary = moons[3], made.figures
    right, figures = decisions.label == y, summary.held_out
    assert (figures.n_rows, figures.n_accepted) == (300, decisions.accepted.sum())
    assert (figures.n_right, figures.n_right_accepted) == (right.sum(), (right & decisions.accepted).sum())
    assert figures.aurc == aurc(right, decisions.trust)
    assert figures.low < right[decisions.accepted].mean() <= figures.high
    assert sum(summary.histogram.first) == right.sum()
    assert [one.n_rows for one in summary.labels] == [(decisions.label == k).sum() for k in (0, 1)]
    assert sum(one.n_right for one in summary.causes) == right.sum()
    told = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert told["held_out"]["n_rows"] == 300
    assert told["picture"]["charts"][0]["name"] == "partition"


def test_rows_to_review_are_the_least_trusted_with_their_reasons(moons, classifier, decisions, made):
    X, y = moons[2:]
    named = report(classifier, pd.DataFrame(X, index=[f"patient {i}" for i in range(300)]), y)
    waiting = np.flatnonzero(~decisions.accepted)
    assert all(one.row == f"patient {one.position}" for one in named.figures.review)
    review = made.figures.review
    assert len(review) == min(100, len(waiting))
    assert review[0].trust == decisions.trust[waiting].min()
    for one in review:
        assert one.why == decisions[one.position].why()
        assert one.row == str(one.position)
        assert one.right == (decisions.label[one.position] == y[one.position])
        terms = decisions[one.position].terms()
        assert one.runner_up == str(terms.runner_up) != one.label
        assert one.terms == tuple(terms.largest(3)[:3])
        assert one.runner_up_trust == np.sort(decisions.probabilities[one.position])[-2]


def test_without_labels_nothing_is_said_of_right_and_wrong(moons, classifier):
    made = report(classifier, moons[2])
    assert made.figures.curve is made.figures.bins is None
    assert "right label" not in made.figures.verdict
    assert "give y" in str(made)
    assert "weights are right" not in made.to_html()
    assert made.figures.review[0].true_label is None


@pytest.mark.parametrize("kind", ["trusted", "selective", "pipeline", "counts"])
def test_other_estimators_have_a_report(moons, kind):
    model = {
        "trusted": TrustedClassifier(RandomForestClassifier(5, random_state=0), cv=2),
        "selective": SelectiveClassifier(LogisticRegression(), 0.3, random_state=0),
        "pipeline": make_pipeline(StandardScaler(), SEPClassifier()),
        "counts": SEPClassifier(trust="counts"),
    }[kind].fit(*moons[:2])
    made, decisions = report(model, *moons[2:]), decide(model, moons[2])
    assert made.figures.held_out.n_accepted == decisions.accepted.sum()
    assert (made.figures.regions is None) == (kind == "selective")
    assert (made.figures.weights is None) == (kind in ("counts", "selective"))
    assert made.to_html()
    if kind == "selective":
        assert made.figures.promise == (model.summary(),)
    elif kind == "counts":
        assert made.figures.review[0].terms == ()


def test_strata(moons):
    X, y = moons[:2]
    table = pd.DataFrame({"sex": np.where(np.arange(300) % 3, "f", "m"), "a": X[:, 0], "b": X[:, 1]})
    stratified = RoutedClassifier(SEPClassifier(), by="sex", min_rows=50).fit(table, y)
    made = report(stratified, table[:50], y[:50])
    assert "among sex = " in made.figures.review[0].why


@pytest.mark.parametrize("min_trust", [1.0, 0.0])
def test_nothing_or_everything_accepted(moons, min_trust):
    made = report(SEPClassifier(min_trust=min_trust).fit(*moons[:2]), *moons[2:])
    assert made.figures.held_out.n_accepted == (300 if min_trust == 0.0 else 0)
    for told in (str(made), made.to_html()):
        assert ("nothing to review" in told) is (min_trust == 0.0)


def test_a_single_class_row_or_feature(moons, classifier):
    X, y = moons[2:]
    made = report(classifier, X[y == 1], y[y == 1])
    assert made.figures.held_out.n_rows == (y == 1).sum()
    assert "<svg" in made.to_html()
    made = report(classifier, X[:1], 1 - classifier.predict(X[:1]))
    assert (made.figures.held_out.n_right, made.figures.held_out.auroc) == (0, None)
    assert "100\u00a0%" in made.to_html()
    made = report(SEPClassifier().fit(X[:, :1], y), X[:, :1], y)
    assert made.figures.picture is None
    assert made.to_html()


def test_labels_the_model_does_not_know_count_as_wrong_and_are_named():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = SEPClassifier().fit(X[::2], names[::2])
    strange = np.where(np.arange(75) < 5, "sibirica", names[1::2])
    made = report(classifier, X[1::2], strange)
    assert made.figures.held_out.n_unknown == 5
    for told in (str(made), made.to_html()):
        assert "(sibirica); they count as wrong" in told


def test_points_in_the_picture_are_where_the_rows_are(moons, classifier, made, rows_drawn):
    (chart,), X = made.figures.picture.charts, moons[2]
    low, high = np.array([(axis.low, axis.high) for axis in (chart.x, chart.y)]).T
    is_inside = ((low < X) & (high > X)).all(axis=1)
    assert sorted(rows_drawn(made.figures.picture)) == sorted(map(tuple, X[is_inside].tolist()))
    shadow, ellipsoid = chart.marks[0], classifier.ellipsoids_[0].ellipsoid
    turned = np.linspace(0, 6, 7)
    circle = np.column_stack([np.cos(turned), np.sin(turned)])
    np.testing.assert_allclose(ellipsoid.gauge(shadow.center + circle @ np.reshape(shadow.axes, (2, 2)).T), 1.0)


def test_the_landscape_is_that_of_the_training_rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :5], y.map({0: "malignant", 1: "benign"})
    made = report(SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], X_train=X[::2], y_train=y[::2])
    landscape = made.figures.landscape
    (pair,), (overlap,) = landscape.overlaps, Landscape(X[::2], y[::2]).figures.overlaps
    assert pair == overlap
    assert landscape.inside[0, 1] == overlap.n_first / (y[::2] == landscape.classes[0]).sum()
    assert overlaps_in_words(landscape) in made.to_html().replace("&#x27;", "'").replace("\u00a0", " ")


def test_a_report_on_a_table_with_text_dates_and_gaps(moons):
    X, y = moons[:2]
    table = pd.DataFrame(X, columns=["a", "b"]).assign(ward=np.array(["north", "south"])[(X[:, 0] > 0).astype(int)])
    table["seen"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)) % 50, "D")
    table.loc[[3, 8], "a"] = np.nan
    made = report(SEPClassifier().fit(table, y), table, y, X_train=table, y_train=y)
    assert made.figures.picture is not None
    assert "landscape" not in made.figures.left_out
    (pair,) = made.figures.landscape.overlaps
    n_first = (y[~table["a"].isna()] == 0).sum()
    assert made.figures.landscape.inside[0, 1] == pair.n_first / n_first
    assert made.to_html()


def test_what_cannot_be_reported_is_refused(moons, classifier):
    X, y = moons[2:]
    machine = LinearSVC().fit(X, y)
    for model, labels, given, message in (
        (classifier, y, {"X_train": X}, "together"),
        (machine, y, {}, "predict_proba"),
        (classifier, y[:10], {}, "inconsistent"),
        (classifier, y.astype(str), {}, "label type"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            report(model, X, labels, **given)
    odd = moons[0].copy()
    odd[0, 0] = np.inf
    assert "inf" in report(classifier, X, X_train=odd, y_train=moons[1]).figures.left_out["landscape"]


def test_what_counts_is_told_of_the_held_out_rows(made):
    told = made.figures.weights
    assert (told.label, told.against, told.positions) == ("1", "0", (1, 0))
    assert {curve.name for curve in told.curves} == {"x0", "x1"}
    assert told.gives_labels
    page = made.to_html()
    assert page.count('id="curve-') == 2 * 3


@pytest.mark.slow
def test_of_many_classes_that_is_told_which_is_reviewed_most():
    X, y = make_blobs(400, centers=4, cluster_std=3.0, random_state=0)
    classifier = SEPClassifier().fit(X[::2], np.array(list("abcd"))[y[::2]])
    made, decisions = report(classifier, X[1::2]), classifier.decide(X[1::2])
    names, counts = np.unique(decisions.label[~decisions.accepted], return_counts=True)
    assert made.figures.weights.label == names[counts.argmax()]
    assert made.figures.weights.against is None
    assert [name for name, _ in made.figures.weights.by_class] == list("abcd")
