"""Audit: regions that are wrong more often than they claim, and planted clusters of wrong rows."""

from dataclasses import replace

import numpy as np
import pytest
from optional import package_or_skip
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sepc import Decisions, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.lifecycle import audit
from sepc.lifecycle.auditing.cluster_scan import scan
from sepc.lifecycle.auditing.feedback import feedback_of
from sepc.lifecycle.auditing.region_tests import check_regions, tail


def two_sides(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    return X, np.where(X[:, 0] > 0.0, "right", "left")


def corner(X):
    return np.abs(X - 0.5).max(axis=1) < 0.2


@pytest.fixture(scope="module")
def classifier():
    return SEPClassifier().fit(*two_sides(1000))


@pytest.fixture(scope="module")
def feedback():
    X, y = two_sides(6000, seed=1)
    y[corner(X)] = "left"
    return X, y


def test_finds_a_planted_disjunct_and_tells_where(classifier, feedback):
    X, y = feedback
    found = audit(classifier, X, y)
    assert len(found.disjuncts) == 1
    disjunct = found.disjuncts[0]
    assert corner(X)[disjunct.rows].mean() > 0.7
    assert np.isin(np.flatnonzero(corner(X)), disjunct.rows).mean() > 0.5
    assert (disjunct.predicted, disjunct.actual) == ("right", "left")
    assert {one.feature for one in disjunct.ranges} == {"x0", "x1", "x2"}
    assert all(0.2 <= one.low < one.high <= 0.8 for one in disjunct.ranges)
    assert disjunct.regions[0] in found.failing
    assert "predicted 'right', mostly 'left'; in region" in str(found)
    assert set(found.failing) <= set(found.to_repair)


def test_says_so_if_nothing_is_wrong(classifier):
    X, y = two_sides(2000, seed=2)
    kept = np.abs(X[:, 0]) > 0.2
    found = audit(classifier, X[kept], y[kept])
    assert len(found.failing) == len(found.to_repair) == 0
    assert str(found).startswith(f"None of {len(found.regions)} regions fails.")
    assert "No cluster of wrong rows was found." in str(found)


def test_counts_clusters_that_lie_in_no_failing_region(classifier, feedback):
    found = audit(classifier, *feedback)
    passing = replace(found.regions, failing=np.zeros_like(found.regions.failing))
    one, two = (replace(found, regions=passing, disjuncts=found.disjuncts[:1] * n) for n in (1, 2))
    assert one.headline().endswith("fails, but 1 cluster of wrong rows was found.")
    assert two.headline().endswith("fails, but 2 clusters of wrong rows were found.")


def test_frames(classifier, feedback):
    package_or_skip("pandas")
    found = audit(classifier, *feedback)
    regions, disjuncts = found.to_frame(), found.disjuncts_to_frame()
    assert regions["n_rows"].sum() == found.n_rows == 6000
    assert regions["n_errors"].sum() == found.n_errors
    assert regions["expected"].sum() == pytest.approx(found.expected)
    assert list(regions["region"][regions["failing"]]) == sorted(found.failing)
    assert disjuncts["x1 from"][0] >= 0.2


@pytest.mark.slow
def test_regions_false_discoveries_are_few_where_claims_are_true():
    """2,000 audits of 40 regions whose claims hold but for two: the share of false alarms stays below the level."""
    rng = np.random.default_rng(0)
    region = np.repeat(np.arange(40), rng.integers(5, 60, size=40))
    claim = rng.uniform(0.01, 0.4, size=40)[region] * rng.uniform(0.5, 1.5, size=len(region))
    true = np.where(region < 2, 0.9, claim)
    shares, found = [], []
    for _ in range(2000):
        failing = np.flatnonzero(check_regions(region, rng.random(len(region)) < true, claim, 0.1).failing)
        shares.append(np.mean(failing >= 2) if len(failing) else 0.0)
        found.append(np.mean(np.isin([0, 1], failing)))
    assert np.mean(shares) < 0.1
    assert np.mean(found) > 0.9


def test_tail_is_exact_for_equal_claims_and_never_too_small_for_others():
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(tail(np.array([4]), np.array([20]), np.array([2.0])), binom.sf(3, 20, 0.1))
    for _ in range(50):
        risks = rng.uniform(0.0, 0.6, size=8)
        exact = np.array([1.0])
        for risk in risks:
            exact = np.convolve(exact, [1.0 - risk, risk])
        above = np.cumsum(exact[::-1])[::-1]
        bound = tail(np.arange(9), np.full(9, 8), np.full(9, risks.sum()))
        assert (bound >= above - 1e-12).all()


def test_published_trust_claims_certainty_so_one_error_is_too_many():
    found = check_regions(np.zeros(5, dtype=int), np.arange(5) == 0, np.zeros(5), 0.1)
    assert found.p_value == [0.0]
    assert found.failing.all()


@pytest.mark.slow
def test_scan_rarely_finds_a_cluster_where_there_is_none():
    """Errors as claimed, and claims that change over the rows: a cluster in at most a tenth of the trials."""
    rng = np.random.default_rng(0)
    false = 0
    for trial in range(60):
        rows = rng.normal(size=(400, 3))
        risk = np.where(rows[:, 0] > 0.5, 0.5, 0.05)
        false += len(scan(rows, rng.random(400) < risk, risk, 0.1, trial)) > 0
    assert false <= 10  # 97 % of binomials of 60 trials at 0.1 are


def test_scan_finds_several_clusters():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1500, 2))
    planted = [np.argsort(((rows - place) ** 2).sum(axis=1))[:25] for place in ([1, 1], [-1, 0])]
    wrong = rng.random(1500) < 0.03
    wrong[np.concatenate(planted)] = True
    found = scan(rows, wrong, np.full(1500, 0.03), 0.1, 0)
    held = [max(np.isin(one, cluster.rows).mean() for cluster in found) for one in planted]
    assert min(held) > 0.7
    assert all(cluster.p_value <= 0.1 for cluster in found)


def test_a_large_area_is_one_cluster():
    """Of 2,000 rows 300 fail: more than a ball holds, and in a shape that no ball has."""
    rng = np.random.default_rng(2)
    rows = rng.uniform(-1.0, 1.0, size=(2000, 2))
    area = np.argsort(np.abs(rows).max(axis=1))[:300]
    wrong = rng.random(2000) < 0.02
    wrong[area] = rng.random(300) < 0.9
    (cluster,) = scan(rows, wrong, np.full(2000, 0.02), 0.1, 0)
    assert np.isin(area, cluster.rows).mean() > 0.9
    assert np.isin(cluster.rows, area).mean() > 0.9
    assert len(np.unique(cluster.rows)) == len(cluster.rows)
    assert cluster.p_value == 1 / 200


def four_places(n, seed):
    return np.random.default_rng(seed).integers(2, size=(n, 2)).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_rows_sorted_by_their_label_do_not_cluster(seed):
    """Where rows are equal, their order once chose those that count as nearest, and so the wrong ones."""
    rows, wrong = four_places(400, seed), np.arange(400) < 80
    assert scan(rows, wrong, np.full(400, 0.2), 0.1, 0) == ()


def test_a_place_with_very_many_rows_is_one_ball():
    rows = four_places(400, 0)
    place = (rows == 1.0).all(axis=1)
    (cluster,) = scan(rows, place, np.full(400, 0.1), 0.1, 0)
    assert cluster.rows.tolist() == np.flatnonzero(place).tolist()


def test_few_rows_or_errors_give_no_cluster(classifier):
    X, y = two_sides(15, seed=3)
    assert audit(classifier, X, y).disjuncts == ()
    assert scan(np.zeros((0, 2)), np.zeros(0, dtype=bool), np.zeros(0), 0.1, 0) == ()


@pytest.mark.slow
def test_other_estimators(feedback):
    X, y = feedback
    X_train, y_train = two_sides(1200, seed=4)
    forest = RandomForestClassifier(20, random_state=0).fit(*two_sides(600, seed=5))
    found = audit(SelectiveClassifier(FrozenEstimator(forest), 0.1).fit(X_train, y_train), X, y)
    assert len(found.regions) == 0
    assert "no regions" in str(found)
    assert corner(X)[found.disjuncts[0].rows].mean() > 0.7
    trusted = TrustedClassifier(FrozenEstimator(forest)).fit(X_train, y_train)
    selective = SelectiveClassifier(SEPClassifier(), 0.1, random_state=0).fit(X_train, y_train)
    pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X_train, y_train)
    for model in (trusted, selective, pipeline):
        found = audit(model, X, y)
        assert len(found.failing) > 0
        assert len(found.disjuncts) > 0


def test_frames_with_text_and_gaps_are_scanned_by_their_numbers(feedback):
    pd = package_or_skip("pandas")
    X, y = feedback
    frame = pd.DataFrame(X, columns=["a", "b", "c"])

    class Rule:
        def decide(self, rows):
            label = np.where(rows["a"] > 0.0, "right", "left")
            return Decisions(
                classes=np.array(["left", "right"]),
                label=label,
                trust=np.full(len(rows), 0.99),
                accepted=np.ones(len(rows), dtype=bool),
                cause=np.zeros(len(rows), dtype=int),
                probabilities=np.full((len(rows), 2), 0.5),
                region=np.full(len(rows), -2),
            )

    frame["text"] = "same"
    frame["gaps"] = np.where(np.arange(len(X)) % 2, np.nan, 1.0)
    found = audit(Rule(), frame, y)
    assert found.disjuncts[0].ranges[0].feature in "abc"


def test_refusals(classifier, feedback):
    X, y = feedback
    with pytest.raises(ValueError, match="fdr is 0"):
        audit(classifier, X, y, fdr=0)
    with pytest.raises(ValueError, match="6,000 rows and 5 labels"):
        feedback_of(classifier, X, y[:5])
    with pytest.raises(TypeError, match="neither decide nor predict_proba"):
        audit(LinearSVC().fit(X, y), X, y)


def test_labels_that_the_model_does_not_know_are_wrong(classifier):
    X, y = two_sides(100, seed=6)
    given = feedback_of(classifier, X, np.full(100, "new"))
    assert not given.right.any()
    np.testing.assert_array_equal(given.region, classifier.apply(X))
    np.testing.assert_allclose(given.claimed_risk, 1.0 - given.decisions.trust)


def test_a_chance_too_small_for_a_number_is_not_told_as_none():
    claims = check_regions(np.zeros(200, dtype=np.int64), np.ones(200, dtype=bool), np.full(200, 1e-3), fdr=0.1)
    assert claims.adjusted[0] == 0.0
    assert claims.summary(0).endswith("adjusted p < 1e-300")
