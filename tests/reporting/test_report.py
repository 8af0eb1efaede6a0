"""The report: figures that are those of the decisions, for every estimator, whatever the rows are."""

import json

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sepc import (
    Landscape,
    SelectiveClassifier,
    SEPClassifier,
    StratifiedClassifier,
    TrustedClassifier,
    model_card,
    report,
)
from sepc.metrics import aurc
from sepc.reporting.card import model_card as card_of_before

pd = package_or_skip("pandas")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(400, noise=0.3, random_state=0)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def classifier(moons):
    return SEPClassifier().fit(*moons[:2])


def test_the_card_is_where_it_was():
    assert model_card is card_of_before


def test_figures_are_those_of_the_decisions(moons, classifier):
    X, y = moons[2:]
    decisions = classifier.decide(X)
    right, summary = decisions.label == y, report(classifier, X, y).figures
    figures = summary.held_out
    assert (figures.n_rows, figures.n_accepted) == (200, decisions.accepted.sum())
    assert (figures.n_right, figures.n_right_accepted) == (right.sum(), (right & decisions.accepted).sum())
    assert figures.aurc == aurc(right, decisions.trust)
    assert figures.low < right[decisions.accepted].mean() <= figures.high
    assert sum(summary.histogram.first) == right.sum()
    assert [one.n_rows for one in summary.labels] == [(decisions.label == k).sum() for k in (0, 1)]
    assert sum(one.n_right for one in summary.causes) == right.sum()
    assert f"{figures.n_accepted:,} of 200 held-out rows" in summary.verdict


def test_regions_hold_every_row_once(moons, classifier):
    X, y = moons[2:]
    decisions, table = classifier.decide(X), report(classifier, X, y).figures.regions
    places = (*table.rows, *table.outside)
    assert sum(row.n_rows for row in places) == 200
    assert sum(row.n_rows for row in table.outside) == table.n_rows_outside
    assert sum(row.n_right for row in places) == (decisions.label == y).sum()
    for row in (*table.rows[:5], *table.outside[:3]):
        inside = decisions.region == row.region
        assert row.n_rows == inside.sum()
        np.testing.assert_allclose(row.trust, decisions.trust[inside].mean())


def test_rows_to_review_are_the_least_trusted_with_their_reasons(moons, classifier):
    X, y = moons[2:]
    decisions, review = classifier.decide(X), report(classifier, X, y).figures.review
    waiting = np.flatnonzero(~decisions.accepted)
    assert len(review) == min(100, len(waiting))
    assert review[0].trust == decisions.trust[waiting].min()
    for one in review:
        assert one.why == decisions[one.position].why()
        assert one.row == str(one.position)
        assert one.right == (decisions.label[one.position] == y[one.position])


def test_rows_are_named_by_the_index_of_their_table(moons, classifier):
    frame = pd.DataFrame(moons[2], index=[f"patient {i}" for i in range(200)])
    labelled = SEPClassifier().fit(moons[0], moons[1])
    review = report(labelled, frame, moons[3]).figures.review
    assert all(one.row == f"patient {one.position}" for one in review)


def test_to_dict_is_json(moons, classifier):
    told = json.loads(json.dumps(report(classifier, moons[2], moons[3]).to_dict(), allow_nan=False))
    assert told["held_out"]["n_rows"] == 200
    assert len(told["picture"]["points"]) == 200


def test_without_labels_it_says_what_is_accepted_and_not_what_is_right(moons, classifier):
    made = report(classifier, moons[2])
    assert "right label" not in made.figures.verdict
    assert made.figures.curves is None
    assert "give y" in str(made)
    assert "give y" in made.to_html()
    assert made.figures.review[0].true_label is None


@pytest.mark.slow_cases("selective")
@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (SEPClassifier(trust="counts"), "trust='counts' has no shape functions"),
        (SEPClassifier.as_published(), "trust='published' has no shape functions"),
        (TrustedClassifier(RandomForestClassifier(5, random_state=0), cv=2), "promises no error rate"),
        (SelectiveClassifier(SEPClassifier(), 0.3, random_state=0), "At most 30 % of accepted rows"),
        (
            SelectiveClassifier(LogisticRegression(), 0.3, random_state=0),
            "does not take its labels from a single partition",
        ),
        (make_pipeline(StandardScaler(), SEPClassifier()), "Regions"),
    ],
    ids=["counts", "published", "trusted", "selective", "selective of another", "pipeline"],
)
def test_every_estimator_has_a_report(moons, estimator, told):
    made = report(estimator.fit(*moons[:2]), *moons[2:])
    assert made.figures.held_out.n_accepted == _accepted(estimator, moons[2])
    assert told in str(made)
    assert told.replace("'", "&#x27;") in made.to_html()


def test_a_frozen_estimator_is_looked_into(moons, classifier):
    frozen = report(FrozenEstimator(classifier), *moons[2:], title="same")
    assert frozen.figures.regions == report(classifier, *moons[2:], title="same").figures.regions


def _accepted(estimator, X):
    if hasattr(estimator, "decide"):
        return estimator.decide(X).accepted.sum()
    return estimator[-1].decide(estimator[:-1].transform(X)).accepted.sum()


def test_a_promise_stands_beside_what_was_seen(moons):
    selective = SelectiveClassifier(SEPClassifier(), 0.3, random_state=0).fit(*moons[:2])
    made = report(selective, *moons[2:])
    assert made.figures.promise == (selective.summary(),)
    assert made.figures.regions is not None
    assert "of the accepted rows are wrong" in made.to_html()


def test_strata(moons):
    X, y = moons[:2]
    table = pd.DataFrame({"sex": np.where(np.arange(200) % 3, "f", "m"), "a": X[:, 0], "b": X[:, 1]})
    stratified = StratifiedClassifier(SEPClassifier(), by="sex", min_rows=50).fit(table, y)
    made = report(stratified, table[:50], y[:50])
    assert "among sex = " in made.figures.review[0].why
    assert "2, 2 with a model of their own" in str(made)


@pytest.mark.parametrize(("min_trust", "told"), [(1.0, "None of 200 held-out rows is accepted"), (0.0, "All 200")])
def test_nothing_or_everything_accepted(moons, min_trust, told):
    made = report(SEPClassifier(min_trust=min_trust).fit(*moons[:2]), *moons[2:])
    assert made.figures.verdict.startswith(told)
    assert ("nothing to review" in str(made)) is (min_trust == 0.0)
    assert ("nothing to review" in made.to_html()) is (min_trust == 0.0)


def test_labels_the_model_does_not_know_count_as_wrong_and_are_named():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    classifier = SEPClassifier().fit(X[::2], names[::2])
    strange = np.where(np.arange(75) < 5, "sibirica", names[1::2])
    made = report(classifier, X[1::2], strange)
    assert made.figures.held_out.n_unknown == 5
    for told in (str(made), made.to_html()):
        assert "5 rows have a label that is not a class of the model (sibirica); they count as wrong." in told
    one = report(classifier, X[1::2], np.where(np.arange(75) < 1, "sibirica", names[1::2]))
    assert "1 row has a label that is not a class of the model (sibirica); it counts as wrong." in one.figures.warnings


def test_rows_of_a_single_class(moons, classifier):
    X, y = moons[2:]
    made = report(classifier, X[y == 1], y[y == 1])
    assert made.figures.held_out.n_rows == (y == 1).sum()
    assert "<svg" in made.to_html()


def test_a_single_row_that_is_wrong(moons, classifier):
    X = moons[2][:1]
    made = report(classifier, X, 1 - classifier.predict(X))
    assert made.figures.held_out.n_right == 0
    assert made.figures.held_out.auroc is None
    assert "100 %" in made.to_html()


def test_a_single_feature_has_no_picture(moons):
    X, y = moons[0][:, :1], moons[1]
    made = report(SEPClassifier().fit(X, y), X, y)
    assert made.figures.picture is None
    assert "A picture needs two features" in made.to_html()


@pytest.mark.slow
def test_many_classes():
    X, y = make_blobs(1040, centers=26, n_features=4, random_state=0)
    letters = np.array([chr(65 + k) for k in range(26)])[y]
    classifier = SEPClassifier(max_rounds=2).fit(X[::2], letters[::2])
    made = report(classifier, X[1::2], letters[1::2])
    assert len(made.figures.labels) == 26
    assert max(map(len, str(made).splitlines())) <= 100
    assert made.to_html().count("</svg>") == 5 + len(made.figures.weights.curves)


def test_points_in_the_picture_are_where_the_rows_are(moons, classifier):
    drawn = report(classifier, *moons[2:]).figures.picture
    np.testing.assert_allclose([(one.x, one.y) for one in drawn.points], moons[2])
    assert [one.owner for one in drawn.points] == moons[3].tolist()
    shadow, ellipsoid = drawn.shadows[0], classifier.ellipsoids_[drawn.shadows[0].number].ellipsoid
    turned = np.linspace(0, 6, 7)
    outline = (
        np.array(shadow.center) + np.column_stack([np.cos(turned), np.sin(turned)]) @ np.reshape(shadow.axes, (2, 2)).T
    )
    np.testing.assert_allclose(ellipsoid.gauge(outline), 1.0)


def test_a_large_table_makes_a_small_page():
    X, y = make_moons(31_000, noise=0.4, random_state=0)
    classifier = SEPClassifier().fit(X[:1000], y[:1000])
    made = report(classifier, X[1000:], y[1000:])
    assert len(made.figures.picture.points) == 1500
    assert len(made.to_html().encode()) < 500_000


def test_the_landscape_is_that_of_the_training_rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :5], y.map({0: "malignant", 1: "benign"})
    made = report(SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], X_train=X[::2], y_train=y[::2])
    landscape = made.figures.landscape
    (pair,), (overlap,) = landscape.pairs, Landscape(X[::2], y[::2]).figures.overlaps
    assert (pair.n_first, pair.n_second) == (overlap.n_first, overlap.n_second)
    assert pair.share_first == overlap.n_first / (y[::2] == pair.first).sum()
    assert landscape.words in made.to_html().replace("&#x27;", "'")
    assert "landscape" not in made.figures.left_out


def test_a_landscape_that_cannot_be_made_is_left_out_with_the_reason(moons):
    X = moons[0].copy()
    classifier = SEPClassifier().fit(*moons[:2])
    X[0, 0] = np.inf
    made = report(classifier, moons[2], X_train=X, y_train=moons[1])
    assert "inf" in made.figures.left_out["landscape"]


def test_a_report_on_a_table_with_text_dates_and_gaps(moons):
    X, y = moons[:2]
    table = pd.DataFrame(X, columns=["a", "b"]).assign(ward=np.array(["north", "south"])[(X[:, 0] > 0).astype(int)])
    table["seen"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)) % 50, "D")
    table.loc[[3, 8], "a"] = np.nan
    made = report(SEPClassifier().fit(table, y), table, y, X_train=table, y_train=y)
    assert made.figures.picture.n_rows == len(X)
    assert "landscape" not in made.figures.left_out
    (pair,) = made.figures.landscape.pairs
    n_first = (y[~table["a"].isna()] == 0).sum()
    assert pair.share_first == pair.n_first / n_first
    assert made.to_html()


def test_what_cannot_be_reported_is_refused(moons, classifier):
    X, y = moons[2:]
    with pytest.raises(ValueError, match="belong together"):
        report(classifier, X, y, X_train=X)
    with pytest.raises(TypeError, match="LinearSVC has neither decide nor predict_proba"):
        report(LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        report(classifier, X, y[:10])
    with pytest.raises(ValueError, match="use the label type passed to fit"):
        report(classifier, X, y.astype(str))


def test_what_counts_is_told_of_the_held_out_rows(moons, classifier):
    X, y = moons[2:]
    decisions, made = classifier.decide(X), report(classifier, X, y)
    told = made.figures.weights
    assert (told.label, told.against, told.positions) == ("1", "0", (1, 0))
    assert {curve.name for curve in told.curves} == {"x0", "x1"}
    assert len(told.ellipsoids) == min(len(classifier.ellipsoids_), 12)
    differ = decisions.label != decisions.counts_label
    assert differ.any()
    assert (told.disagreement.n_rows, told.disagreement.n_others) == (differ.sum(), (~differ).sum())
    assert told.disagreement.weights_right == ((decisions.label == y) & differ).sum()
    assert told.disagreement.counts_right == ((decisions.counts_label == y) & differ).sum()
    assert told.disagreement.n_accepted == (decisions.accepted & differ).sum()
    page = made.to_html()
    assert told.disagreement.summary() in page
    assert told.disagreement.summary() in " ".join(str(made).split())
    assert page.count('id="curve-') == 2 * (2 + 2)
    assert "weights are right" not in report(classifier, X).to_html()


def test_rows_to_review_have_the_terms_that_count_most(moons, classifier):
    X, y = moons[2:]
    decisions, made = classifier.decide(X), report(classifier, X, y)
    for one in made.figures.review:
        terms = decisions[one.position].terms()
        assert one.runner_up == str(terms.runner_up) != one.label
        assert one.terms == tuple(terms.largest(3)[:3])
        assert one.runner_up_trust == np.sort(decisions.probabilities[one.position])[-2]
    counted = report(SEPClassifier(trust="counts").fit(*moons[:2]), X, y)
    assert counted.figures.review[0].terms == ()


@pytest.mark.slow
def test_of_many_classes_that_is_told_which_is_reviewed_most():
    X, y = make_blobs(400, centers=4, cluster_std=3.0, random_state=0)
    classifier = SEPClassifier().fit(X[::2], np.array(list("abcd"))[y[::2]])
    made, decisions = report(classifier, X[1::2]), classifier.decide(X[1::2])
    names, counts = np.unique(decisions.label[~decisions.accepted], return_counts=True)
    assert made.figures.weights.label == names[counts.argmax()]
    assert made.figures.weights.against is None
    assert [name for name, _ in made.figures.weights.by_class] == list("abcd")
    assert "the average of the others" in made.to_html()
