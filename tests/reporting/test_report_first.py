"""The top of the report: what is accepted, every class, and whether trust is calibrated."""

import re

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SelectiveClassifier, SEPClassifier, TrustedClassifier, report
from sepc.lifecycle import repair
from sepc.looking.findings import Finding, Findings, Severity

LEVEL = 0.05


def with_wrong(decisions, y, n_wrong):
    """Labels of which exactly `n_wrong` of the accepted rows differ from the predicted ones."""
    labels = np.where(decisions.accepted, decisions.label, y)
    accepted = np.flatnonzero(decisions.accepted)
    labels[accepted[:n_wrong]] = 1 - decisions.label[accepted[:n_wrong]]
    return labels


def test_scores_and_confusion_are_those_of_scikit_learn(moons, decisions, made):
    y, confusion, accepted = moons[3], made.figures.confusion, decisions.accepted
    for rows, name in ((slice(None), "all_rows"), (accepted, "accepted")):
        for score, metric in (("recall", recall_score), ("precision", precision_score)):
            told = [getattr(getattr(own, name), score) for own in made.figures.scores]
            np.testing.assert_allclose(told, metric(y[rows], decisions.label[rows], average=None))
    assert np.array_equal(confusion.counts, confusion_matrix(y, decisions.label))
    assert np.array_equal(confusion.accepted, confusion_matrix(y[accepted], decisions.label[accepted]))
    assert f">{confusion.counts[0][1]}<small>{confusion.accepted[0][1]} accepted</small>" in made.to_html()


def test_the_warning_is_shown_exactly_if_the_binomial_test_says_so(moons, classifier, decisions):
    n = int(decisions.accepted.sum())
    expected = {n_wrong: bool(binom.cdf(n - n_wrong, n, 0.8) <= LEVEL) for n_wrong in range(120)}
    first = min(n_wrong for n_wrong, is_warned in expected.items() if is_warned)
    for n_wrong in (0, first - 1, first):
        made = report(classifier, moons[2], with_wrong(decisions, moons[3], n_wrong))
        (check,) = made.figures.checks
        assert (check.n_accepted, check.claimed, check.seen) == (n, 0.8, (n - n_wrong) / n)
        assert check.is_contradicted == expected[n_wrong]
        for told in (made.to_html(), " ".join(str(made).split())):
            assert ("Do not rely on trust" in told) == expected[n_wrong]
            assert f"{n - n_wrong:,} of {n:,}" in told
        assert ('class="check warning"' in made.to_html()) == expected[n_wrong]
        assert made.to_dict()["checks"][0]["is_contradicted"] == expected[n_wrong]


def test_a_promise_is_contradicted_exactly_if_the_binomial_test_says_so(moons):
    selective = SelectiveClassifier(SEPClassifier(), 0.25, random_state=0).fit(*moons[:2])
    decisions = selective.decide(moons[2])
    n = int(decisions.accepted.sum())
    expected = {n_wrong: bool(binom.sf(n_wrong - 1, n, 0.25) <= LEVEL) for n_wrong in range(n)}
    first = min(n_wrong for n_wrong, is_warned in expected.items() if is_warned)
    for n_wrong in (first - 1, first):
        made = report(selective, moons[2], with_wrong(decisions, moons[3], n_wrong))
        (check,) = made.figures.checks
        assert (check.claim, check.is_contradicted) == ("promise", expected[n_wrong])
        assert ("contradict the promise" in made.to_html()) == expected[n_wrong]
        assert ("agree with the promise" in str(made)) != expected[n_wrong]


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
    (check,) = report(FrozenEstimator(estimator), *moons[2:]).figures.checks
    assert check.claimed == least


def test_without_labels_or_accepted_rows_nothing_is_said_of_trust(moons, classifier):
    assert report(classifier, moons[2]).figures.checks == ()
    (check,) = report(SEPClassifier(min_trust=1.0).fit(*moons[:2]), *moons[2:]).figures.checks
    assert (check.seen, check.is_contradicted) == (None, False)


def test_one_count_of_regions_everywhere(classifier, made):
    inside = {ellipsoids for ellipsoids, _, n in classifier.regions_ if ellipsoids and n.sum()}
    n = len(inside)
    assert made.figures.regions.n_regions == n
    assert dict(made.figures.facts)["regions"] == str(n)
    assert repr(classifier.regions_).startswith(f"{n} regions")
    assert re.search(rf"regions +{n}\b", repr(classifier.model_))
    told = {int(found) for found in re.findall(r"([\d,]+) regions", made.to_html() + str(made))}
    assert told == {n}


def test_with_many_classes_the_pairs_confused_most_are_listed(of_many):
    label, truth, made = of_many
    page, pairs = made.to_html(), made.figures.confusion.pairs
    for pair in pairs:
        assert pair.n_forth == ((truth == pair.first) & (label == pair.second)).sum()
        assert pair.n_back == ((truth == pair.second) & (label == pair.first)).sum()
    assert [pair.n_rows for pair in pairs] == sorted((pair.n_rows for pair in pairs), reverse=True)
    either = {frozenset(pair) for pair in zip(truth[truth != label], label[truth != label], strict=True)}
    assert made.figures.confusion.n_pairs == len(either)
    assert f"{pairs[0].first} and {pairs[0].second}" in page
    listed = re.findall(r'<td data-head="label">(kind \d+)</td>', page[page.index("lowest recall") :])
    weakest = {own.name: own.weakest for own in made.figures.scores}
    assert [weakest[name] for name in listed[:10]] == sorted(weakest.values())[:10]
    assert max(map(len, str(made).splitlines())) <= 100
    assert page.count("</svg>") == 5 + len(made.figures.weights.curves)


def test_rows_accepted_but_wrong_are_listed_with_their_values(moons, decisions, made):
    X, y = moons[2:]
    expected = np.flatnonzero(decisions.accepted & (decisions.label != y))
    rows = made.figures.wrong
    assert len(expected) > 0
    assert {row.position for row in rows} == set(expected.tolist())
    assert [row.trust for row in rows] == sorted((row.trust for row in rows), reverse=True)
    for row in rows:
        assert row.true_label == str(y[row.position]) != row.label
        assert {name for name, _ in row.values} == {"x0", "x1"}
        assert all(float(value) == pytest.approx(X[row.position, int(name[1])], rel=6e-3) for name, value in row.values)
        assert f'id="row-{row.position}"' in made.to_html()


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
    assert not training.is_contradicted
    classifier.out_of_fold_ = found[:, ::-1]
    (contradicted,) = report(classifier, X_new, X_train=X, y_train=y).figures.checks
    assert contradicted.is_contradicted
    with pytest.raises(ValueError, match="299 labels"):
        report(classifier, X_new, y_new, X_train=X[1:], y_train=y[1:])
    assert len(report(classifier, X_new, y_new).figures.checks) == 1


def test_what_a_look_found_comes_before_the_results(classifier, moons):
    seen = Finding("labels", Severity.WRONG, "'sick' beside 'sikc' & <b>", "Each is a class", "Merge them")
    made = report(
        classifier, *moons[2:], findings=Findings.of([seen], 600, 600), held_out_rows="the last 50 % of the rows"
    )
    text, page = str(made), made.to_html()
    for words in ("labels", seen.matters, seen.advice):
        assert text.index(words) < text.index("Results\n")
        assert page.index('id="findings"') < page.index(words, page.index('id="findings"')) < page.index('id="results"')
    assert "last 50 %" in text
    assert "&amp; &lt;b&gt;" in page
    assert "last 50\u00a0%" in page
    assert made.to_dict()["findings"][0]["severity"] == "WRONG"
