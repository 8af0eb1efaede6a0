"""The top of the report: what is accepted, every class, and whether trust is calibrated."""

import json
import re

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import make_blobs, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SelectiveClassifier, SEPClassifier, TrustedClassifier, report
from sepc.lifecycle import repair
from sepc.looking.findings import Finding, Findings, Severity
from sepc.reporting.trust_check import LEVEL, min_trust_of


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(600, noise=0.3, random_state=0)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def classifier(moons):
    return SEPClassifier(min_trust=0.8).fit(*moons[:2])


def with_wrong(decisions, y, n_wrong):
    """Labels of which exactly `n_wrong` of the accepted rows differ from the predicted ones."""
    labels = np.where(decisions.accepted, decisions.label, y)
    accepted = np.flatnonzero(decisions.accepted)
    labels[accepted[:n_wrong]] = 1 - decisions.label[accepted[:n_wrong]]
    return labels


def test_recall_and_precision_are_those_of_scikit_learn(moons, classifier):
    X, y = moons[2:]
    decisions, scores = classifier.decide(X), report(classifier, X, y).figures.scores
    for rows, name in ((slice(None), "all_rows"), (decisions.accepted, "accepted")):
        for score, metric in (("recall", recall_score), ("precision", precision_score)):
            told = [getattr(getattr(own, name), score) for own in scores]
            np.testing.assert_allclose(told, metric(y[rows], decisions.label[rows], average=None))


def test_the_confusion_matrix_is_that_of_scikit_learn(moons, classifier):
    X, y = moons[2:]
    decisions, made = classifier.decide(X), report(classifier, X, y)
    confusion = made.figures.confusion
    assert np.array_equal(confusion.counts, confusion_matrix(y, decisions.label))
    accepted = decisions.accepted
    assert np.array_equal(confusion.accepted, confusion_matrix(y[accepted], decisions.label[accepted]))
    assert f">{confusion.counts[0][1]}<small>{confusion.accepted[0][1]} accepted</small>" in made.to_html()


@pytest.mark.quick_cases("0", "24", "36", "48", "60", "114")
@pytest.mark.parametrize("n_wrong", range(0, 120, 6))
def test_the_warning_is_shown_exactly_if_the_binomial_test_says_so(moons, classifier, n_wrong):
    decisions = classifier.decide(moons[2])
    n = int(decisions.accepted.sum())
    made = report(classifier, moons[2], with_wrong(decisions, moons[3], n_wrong))
    expected = binom.cdf(n - n_wrong, n, 0.8) <= LEVEL
    (check,) = made.figures.checks
    assert (check.n_accepted, check.claimed, check.seen) == (n, 0.8, (n - n_wrong) / n)
    assert check.is_contradicted == expected
    for told in (made.to_html(), " ".join(str(made).split())):
        assert ("Do not rely on trust" in told) == expected
        assert ("These rows do not contradict trust" in told) != expected
        assert f"{n - n_wrong:,} of {n:,}" in told
    assert ('class="check warning"' in made.to_html()) == expected
    assert ("\u26a0" in made.to_html()) == expected
    assert json.loads(json.dumps(made.to_dict()))["checks"][0]["is_contradicted"] == expected


def test_both_sides_of_the_test_are_seen(moons, classifier):
    decisions = classifier.decide(moons[2])
    n = int(decisions.accepted.sum())
    told = {bool(binom.cdf(n - n_wrong, n, 0.8) <= LEVEL) for n_wrong in range(0, 120, 6)}
    assert told == {True, False}


@pytest.mark.quick_cases("0", "80")
@pytest.mark.parametrize("n_wrong", [0, 20, 80])
def test_a_promise_is_contradicted_exactly_if_the_binomial_test_says_so(moons, n_wrong):
    selective = SelectiveClassifier(SEPClassifier(), 0.25, random_state=0).fit(*moons[:2])
    decisions = selective.decide(moons[2])
    n = int(decisions.accepted.sum())
    made = report(selective, moons[2], with_wrong(decisions, moons[3], n_wrong))
    expected = binom.sf(n_wrong - 1, n, 0.25) <= LEVEL
    (check,) = made.figures.checks
    assert (check.claim, check.is_contradicted) == ("promise", expected)
    assert ("contradict the promise" in made.to_html()) == expected
    assert ("agree with the promise" in str(made)) != expected


def test_a_promise_for_each_label_is_checked_for_each(moons):
    selective = SelectiveClassifier(SEPClassifier(), {0: 0.3, 1: 0.3}, random_state=0).fit(*moons[:2])
    X, y = moons[2:]
    decisions, checks = selective.decide(X), report(selective, X, y).figures.checks
    assert [check.about for check in checks] == ["0", "1"]
    for check, label in zip(checks, (0, 1), strict=True):
        rows = decisions.accepted & (decisions.label == label)
        assert check.n_accepted == rows.sum()
        assert check.level == LEVEL / 2
        assert check.seen == np.mean(y[rows] == label)


@pytest.mark.quick_cases("True")
@pytest.mark.parametrize("is_bad", [False, True])
def test_a_promise_about_costs_is_checked(moons, is_bad):
    from sepc import Costs

    costs = Costs({(0, 1): 5.0, (1, 0): 1.0}, review=0.8)
    selective = SelectiveClassifier(SEPClassifier(), costs, random_state=0).fit(*moons[:2])
    decisions = selective.decide(moons[2])
    labels = 1 - decisions.label if is_bad else decisions.label
    (check,) = report(selective, moons[2], labels).figures.checks
    assert check.is_contradicted == is_bad
    assert check.seen == costs.of(labels, decisions.label, selective.classes_)[decisions.accepted].mean()


@pytest.mark.slow_cases("trusted")
@pytest.mark.parametrize(
    ("estimator", "least"),
    [
        (TrustedClassifier(LogisticRegression(), cv=2, min_trust=0.7), 0.7),
        (make_pipeline(StandardScaler(), SEPClassifier(min_trust=0.6)), 0.6),
        (RandomForestClassifier(5, random_state=0), 0.95),
    ],
    ids=["trusted", "pipeline", "another library"],
)
def test_trust_is_checked_against_the_models_own_least_trust(moons, estimator, least):
    (check,) = report(estimator.fit(*moons[:2]), *moons[2:]).figures.checks
    assert check.claimed == least
    assert min_trust_of(FrozenEstimator(estimator)) == least


def test_without_labels_or_accepted_rows_nothing_is_said_of_trust(moons, classifier):
    assert report(classifier, moons[2]).figures.checks == ()
    (check,) = report(SEPClassifier(min_trust=1.0).fit(*moons[:2]), *moons[2:]).figures.checks
    assert (check.seen, check.is_contradicted) == (None, False)
    assert "do not show" in check.text


def test_one_count_of_regions_everywhere(moons, classifier):
    made = report(classifier, *moons[2:])
    inside = {ellipsoids for ellipsoids, _, n in classifier.regions_ if ellipsoids and n.sum()}
    n = len(inside)
    assert made.figures.regions.n_regions == n
    assert dict(made.figures.facts)["regions"] == str(n)
    assert f"The model has {n} regions" in str(made)
    assert f"The model has {n} regions" in made.to_html()
    assert repr(classifier.regions_).startswith(f"{n} regions")
    assert re.search(rf"regions +{n} with training rows", repr(classifier.model_))
    told = {int(found) for found in re.findall(r"([\d,]+) regions", made.to_html() + str(made))}
    assert told == {n}


@pytest.mark.slow
def test_with_many_classes_the_pairs_confused_most_are_listed():
    X, y = make_blobs(1200, centers=12, n_features=3, cluster_std=2.5, random_state=0)
    names = np.array([f"kind {k}" for k in range(12)])[y]
    classifier = SEPClassifier(max_rounds=2).fit(X[::2], names[::2])
    made = report(classifier, X[1::2], names[1::2])
    label, truth = classifier.predict(X[1::2]), names[1::2]
    pairs = made.figures.confusion.pairs
    for pair in pairs:
        assert pair.n_forth == ((truth == pair.first) & (label == pair.second)).sum()
        assert pair.n_back == ((truth == pair.second) & (label == pair.first)).sum()
    assert [pair.n_rows for pair in pairs] == sorted((pair.n_rows for pair in pairs), reverse=True)
    either = {frozenset(pair) for pair in zip(truth[truth != label], label[truth != label], strict=True)}
    assert made.figures.confusion.n_pairs == len(either)
    assert f"{pairs[0].first} and {pairs[0].second}" in made.to_html()
    weakest = min(made.figures.scores, key=lambda own: own.weakest)
    assert made.to_html().index(f"<td>{weakest.name}</td>") == min(
        made.to_html().index(f"<td>{own.name}</td>") for own in made.figures.scores
    )


def test_rows_accepted_but_wrong_are_listed_with_their_values(moons, classifier):
    X, y = moons[2:]
    decisions = classifier.decide(X)
    expected = np.flatnonzero(decisions.accepted & (decisions.label != y))
    made = report(classifier, X, y)
    rows = made.figures.wrong
    assert len(expected) > 0
    assert {row.position for row in rows} == set(expected.tolist())
    assert [row.trust for row in rows] == sorted((row.trust for row in rows), reverse=True)
    for row in rows:
        assert row.true_label == str(y[row.position]) != row.label
        assert {name for name, _ in row.values} == {"x0", "x1"}
        assert all(float(value) == pytest.approx(X[row.position, int(name[1])], rel=6e-3) for name, value in row.values)
        assert f'id="row-{row.position}"' in made.to_html()


def test_a_report_on_a_repaired_model(moons, classifier):
    X, y = moons[:2]
    repaired = repair(classifier, X + 0.001, y)
    made = report(repaired, *moons[2:])
    assert made.figures.regions.n_regions == report(classifier, *moons[2:]).figures.regions.n_regions
    assert (
        sum(row.n_right for row in (*made.figures.regions.rows, *made.figures.regions.outside))
        == (repaired.predict(moons[2]) == moons[3]).sum()
    )
    assert made.to_html()


@pytest.mark.slow  # on every change, test_report.py has a report on every estimator
def test_a_report_on_a_repaired_model_around_another(moons):
    trusted = TrustedClassifier(LogisticRegression(), cv=2, min_trust=0.8).fit(*moons[:2])
    repaired = repair(trusted, moons[0] + 0.001, moons[1])
    made, decisions = report(repaired, *moons[2:]), repaired.decide(moons[2])
    places = (*made.figures.regions.rows, *made.figures.regions.outside)
    assert made.figures.regions.n_regions == trusted.partition_.model_.table.n_regions
    assert sum(place.n_accepted for place in places) == decisions.accepted.sum()
    assert made.figures.checks[0].claimed == 0.8


@pytest.mark.slow
def test_training_rows_say_whether_trust_is_calibrated(moons):
    X, y, X_new, y_new = moons
    classifier = SEPClassifier(min_trust=0.8, out_of_fold=True).fit(X, y)
    held_out, training = report(classifier, X_new, y_new, X_train=X, y_train=y).figures.checks
    found = classifier.out_of_fold_
    accepted = found.max(axis=1) >= 0.8
    n_right = int((found.argmax(axis=1) == y)[accepted].sum())
    assert (held_out.about, training.about) == (None, "training rows")
    assert (training.n_accepted, training.seen) == (accepted.sum(), n_right / accepted.sum())
    assert training.text.startswith(
        f"Of 300 training rows, each decided by a model fitted on other rows, {accepted.sum()} are "
    )
    assert not training.is_contradicted
    classifier.out_of_fold_ = found[:, ::-1]
    (contradicted,) = report(classifier, X_new, X_train=X, y_train=y).figures.checks
    assert contradicted.is_contradicted
    assert contradicted.head == "Do not rely on trust: training rows contradict it."
    with pytest.raises(ValueError, match="y_train has 299 labels, but the model was fitted to 300 rows"):
        report(classifier, X_new, y_new, X_train=X[1:], y_train=y[1:])
    assert len(report(classifier, X_new, y_new).figures.checks) == 1


def test_what_a_look_found_comes_before_the_results(classifier, moons):
    seen = Finding("labels", Severity.WRONG, "'sick' beside 'sikc' & <b>", "Each is a class", "Merge them")
    made = report(
        classifier, *moons[2:], findings=Findings.of([seen], 600, 600), held_out_rows="the last 50 % of the rows"
    )
    text, page = str(made), made.to_html()
    assert text.index("labels: 'sick' beside 'sikc'") < text.index("Results\n")
    assert "Held out: the last 50 % of the rows." in text
    assert page.index('id="findings"') < page.index('id="results"')
    assert "&amp; &lt;b&gt;" in page
    for words in (seen.matters, seen.advice):
        assert text.index(words) < text.index("Results\n")
        assert page.index('id="findings"') < page.index(words) < page.index('id="results"')
    assert "Held out: the last 50\u00a0% of the rows." in page
    assert made.to_dict()["findings"][0]["severity"] == "WRONG"
    plain = report(classifier, *moons[2:])
    assert "What stands out" not in str(plain) + plain.to_html()
    assert "Held out:" not in str(plain) + plain.to_html()
