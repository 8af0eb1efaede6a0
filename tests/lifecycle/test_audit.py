"""Audit: regions that are wrong more often than they claim, and planted clusters of wrong rows."""

from dataclasses import replace

import numpy as np
import pytest
from monte_carlo import exceeds
from optional import package_or_skip
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sepc import Decisions, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.lifecycle import audit
from sepc.lifecycle.audit import check_all_rows, check_regions, tail, tail_of_sum
from sepc.lifecycle.disjuncts import scan


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


@pytest.fixture(scope="module")
def audited(classifier, feedback):
    return audit(classifier, *feedback)


def test_finds_a_planted_disjunct_and_tells_where(audited, feedback):
    X, _ = feedback
    (disjunct,) = audited.disjuncts
    assert corner(X)[disjunct.rows].mean() > 0.7
    assert np.isin(np.flatnonzero(corner(X)), disjunct.rows).mean() > 0.5
    assert (disjunct.predicted, disjunct.actual) == ("right", "left")
    assert {one.feature for one in disjunct.ranges} == {"x0", "x1", "x2"}
    assert all(0.2 <= one.low < one.high <= 0.8 for one in disjunct.ranges)
    assert disjunct.regions[0] in audited.failing
    assert "predicted 'right', mostly 'left'" in str(audited)
    assert set(audited.failing) <= set(audited.to_repair)
    package_or_skip("pandas")
    regions, disjuncts = audited.to_frame(), audited.disjuncts_to_frame()
    assert regions["n_rows"].sum() == audited.n_rows == 6000
    assert regions["n_errors"].sum() == audited.n_errors
    assert regions["expected"].sum() == pytest.approx(audited.expected)
    assert list(regions["region"][regions["failing"]]) == sorted(audited.failing)
    assert disjuncts["x1 from"][0] >= 0.2


def test_says_so_if_nothing_is_wrong(classifier, audited):
    X, y = two_sides(2000, seed=2)
    kept = np.abs(X[:, 0]) > 0.2
    found = audit(classifier, X[kept], y[kept])
    assert not found.overall.fails
    assert len(found.failing) == len(found.to_repair) == len(found.disjuncts) == 0
    assert str(found).startswith(f"None of {len(found.regions)} regions fails.")
    passing = replace(audited.regions, failing=np.zeros_like(audited.regions.failing))
    for n, told in ((1, "1 cluster"), (2, "2 clusters")):  # that lie in no failing region
        assert told in replace(audited, regions=passing, disjuncts=audited.disjuncts * n).headline()


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


@pytest.mark.parametrize("seed", range(2))
def test_rows_sorted_by_their_label_do_not_cluster(seed):
    """Where rows are equal, their order once chose those that count as nearest, and so the wrong ones."""
    rows, wrong = four_places(400, seed), np.arange(400) < 80
    assert scan(rows, wrong, np.full(400, 0.2), 0.1, 0) == ()


def test_a_place_with_very_many_rows_is_one_ball():
    rows = four_places(400, 0)
    place = (rows == 1.0).all(axis=1)
    (cluster,) = scan(rows, place, np.full(400, 0.1), 0.1, 0)
    assert cluster.rows.tolist() == np.flatnonzero(place).tolist()


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


# All rows together: exact, at its level, and strong enough for three deviations.


def one_by_one(risk):
    """The chances of 0, 1, 2 and more errors, by adding one row after the other: only sums of positive numbers."""
    chances = np.zeros(len(risk) + 1)
    chances[0] = 1.0
    for own in risk:
        chances = chances * (1.0 - own) + np.append(0.0, chances[:-1]) * own
    return chances


DESIGNS = {
    "alike": lambda rng, n: np.full(n, rng.random()),
    "any": lambda rng, n: rng.random(n),
    "mostly small": lambda rng, n: rng.beta(0.05, 5.0, n),
    "tiny": lambda rng, n: np.full(n, 1e-4),
    "a few large": lambda rng, n: np.where(np.arange(n) % 100 == 0, 0.9, 5e-4),
    "some certain": lambda rng, n: np.clip(rng.normal(0.3, 0.5, n), 0.0, 1.0),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 129, 1000, 4000])
def test_the_tail_is_that_of_rows_added_one_by_one(n, design):
    risk = DESIGNS[design](np.random.default_rng(n), n)
    exact = np.cumsum(one_by_one(risk)[::-1])[::-1]
    for n_errors in np.unique(np.linspace(0, n, 20).astype(int)):
        assert tail_of_sum(int(n_errors), risk) == pytest.approx(exact[n_errors], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("n", "risk"), [(40, 0.02), (9000, 0.01), (200_000, 1e-4), (200_000, 0.1)])
def test_equal_claims_give_the_binomial_tail(n, risk):
    for z in (1.0, 2.0, 3.0, 5.0):
        n_errors = int(n * risk + z * np.sqrt(n * risk * (1.0 - risk)))
        assert tail_of_sum(n_errors, np.full(n, risk)) == pytest.approx(binom.sf(n_errors - 1, n, risk), rel=1e-4)


def n_failing(z, n_draws, first):
    fails = 0
    for seed in range(first, first + n_draws):
        rng = np.random.default_rng(seed)
        risk = rng.beta(0.6, 5.0, 500)
        variance = risk * (1.0 - risk)
        wrong = rng.random(len(risk)) < risk + z * variance / np.sqrt(variance.sum())
        fails += check_all_rows(wrong, risk, fdr=0.1).fails
    return fails


def test_true_claims_fail_no_more_often_than_the_level():
    assert not exceeds(n_failing(0.0, 100, 0), 100, 0.025)


def test_three_deviations_are_found():
    assert not exceeds(100 - n_failing(3.0, 100, 0), 100, 0.2)


@pytest.mark.slow
def test_a_thousand_draws_keep_the_level_and_the_power():
    assert not exceeds(n_failing(0.0, 1000, 1000), 1000, 0.025)
    assert n_failing(3.0, 1000, 1000) >= 800


def test_errors_spread_over_all_regions_are_found_by_the_whole_and_told_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 2))
    y = np.where(X[:, 0] > 0.0, "right", "left")
    model = SEPClassifier().fit(X[:600], y[:600])
    said = model.decide(X[600:])
    right = rng.random(2000) < said.trust - 0.03
    labels = np.where(right, said.label, np.where(said.label == "right", "left", "right"))
    found = audit(model, X[600:], labels)
    assert found.overall.fails
    assert found.overall.z > 3.0
    assert found.summary().startswith("The model as a whole is wrong")
    assert f"fail (z {found.overall.z:.1f})" in repr(found)
    assert (found.n_rows, found.n_errors) == (2000, int((~right).sum()))


def test_few_rows_unknown_labels_and_refusals(classifier, feedback):
    X, y = two_sides(100, seed=6)
    assert audit(classifier, X[:15], y[:15]).disjuncts == ()
    assert scan(np.zeros((0, 2)), np.zeros(0, dtype=bool), np.zeros(0), 0.1, 0) == ()
    found, decisions = audit(classifier, X, np.full(100, "new")), classifier.decide(X)
    assert (found.n_errors, found.n_rows) == (100, 100)
    assert found.expected == pytest.approx((1.0 - decisions.trust).sum())
    regions, counts = np.unique(decisions.region, return_counts=True)
    assert dict(zip(found.regions.region, found.regions.n_rows, strict=True)) == dict(zip(regions, counts, strict=True))
    X, y = feedback
    with pytest.raises(ValueError, match="fdr is 0"):
        audit(classifier, X, y, fdr=0)
    with pytest.raises(ValueError, match="5 labels"):
        audit(classifier, X, y[:5])
    with pytest.raises(TypeError, match="predict_proba"):
        audit(LinearSVC().fit(X[:200], y[:200]), X, y)


def test_a_chance_too_small_for_a_number_is_not_told_as_none():
    claims = check_regions(np.zeros(200, dtype=np.int64), np.ones(200, dtype=bool), np.full(200, 1e-3), fdr=0.1)
    assert claims.adjusted[0] == 0.0
    assert claims.summary(0).endswith("< 1e-300")
