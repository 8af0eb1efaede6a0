"""Rows with gaps: decided by ways to fill them in, with what is certain and what to fetch; and in training."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier

from sepc import SEPClassifier
from sepc.decisions.kinds import Cause
from sepc.errors import FlatSetWarning
from sepc.metrics import aurc
from sepc.model.certain import likely_values, sections_of, value_of_information
from sepc.model.completion import draw_completions, imputation_mixture
from sepc.model.mixture import Mixture, Pattern, _points


def wdbc(n_features=6):
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :n_features], y


def with_gaps(X, share, seed=0):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.fixture(scope="module")
def fitted():
    X, y = wdbc()
    return SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2]


def test_a_mixture_given_what_is_known_is_that_of_the_textbook():
    rng = np.random.default_rng(0)
    centers, roots = rng.standard_normal((3, 4)), rng.standard_normal((3, 4, 4)) + 3 * np.eye(4)
    covariances = roots @ roots.transpose(0, 2, 1)
    mixture = Mixture(centers, np.linalg.inv(covariances), np.log([0.2, 0.3, 0.5]))
    missing, row = np.array([False, True, False, True]), rng.standard_normal((1, 4))
    pattern = Pattern.of(mixture, np.where(missing, np.nan, row), missing)
    known = ~missing
    densities = [
        weight * multivariate_normal(center[known], covariance[np.ix_(known, known)]).pdf(row[0, known])
        for weight, center, covariance in zip((0.2, 0.3, 0.5), centers, covariances, strict=True)
    ]
    np.testing.assert_allclose(np.exp(pattern.log_shares[0]), np.array(densities) / sum(densities))
    for k, (center, covariance) in enumerate(zip(centers, covariances, strict=True)):
        across = covariance[np.ix_(missing, known)] @ np.linalg.inv(covariance[np.ix_(known, known)])
        np.testing.assert_allclose(pattern.means[0, k], center[missing] + across @ (row[0, known] - center[known]))
        left = covariance[np.ix_(missing, missing)] - across @ covariance[np.ix_(known, missing)]
        np.testing.assert_allclose(pattern.roots[k] @ pattern.roots[k].T, left)
    drawn = pattern.draws(20_000)[0]
    mean = np.exp(pattern.log_shares[0]) @ pattern.means[0]
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.02)


@pytest.mark.slow
def test_gaps_cost_less_than_in_boosted_trees(fitted):
    model, X, y = fitted
    gaps = with_gaps(X, 0.4)
    decided = model.decide(gaps)
    trees = HistGradientBoostingClassifier(random_state=0).fit(*(part[::2] for part in wdbc()))
    theirs = trees.predict_proba(gaps)
    assert aurc(decided.label == y, decided.trust) < aurc(trees.predict(gaps) == y, theirs.max(axis=1))
    assert (decided.label == y)[decided.accepted].mean() > 0.95
    complete = model.decide(X)
    assert decided.trust.mean() < complete.trust.mean()


def test_rows_without_gaps_are_decided_as_ever_and_each_row_alone_as_in_a_batch(fitted):
    model, X, _ = fitted
    gaps = np.concatenate([with_gaps(X[:40], 0.3), X[40:80]])
    decided, without = model.decide(gaps), model.decide(X[40:80])
    for name in ("label", "trust", "probabilities", "region", "cause", "accepted"):
        np.testing.assert_array_equal(getattr(decided[40:], name), getattr(without, name))
        for i in range(40):
            np.testing.assert_array_equal(getattr(model.decide(gaps[i : i + 1]), name)[0], getattr(decided, name)[i])
    assert not decided.missing[40:].any()
    np.testing.assert_array_equal(decided.missing, np.isnan(gaps))


def test_a_gap_that_decides_is_the_cause(fitted):
    model, X, _ = fitted
    decided = model.decide(with_gaps(X, 0.4))
    left = decided[decided.cause == Cause.MISSING]
    assert len(left) > 0
    assert left.missing.any(axis=1).all()
    assert not left.accepted.any()
    said = left.why(0)
    assert " missing. Fetch " in said
    assert said.endswith("Not accepted (MISSING): the missing values would decide it.")
    assert (decided.cause[~decided.missing.any(axis=1)] != Cause.MISSING).all()


def test_a_row_of_gaps_only_is_decided_by_what_is_usual(fitted):
    model, _, y = fitted
    decided = model.decide(np.full((1, 6), np.nan))
    assert decided.label[0] == 1
    assert abs(decided.probabilities[0, 1] - (y == 1).mean()) < 0.2
    assert not decided.accepted[0]
    assert set(decided[0].possible_ellipsoids) == set(range(model.model_.n_ellipsoids))


def test_what_is_certain_is_never_contradicted_by_rows_of_the_ellipsoids(fitted):
    model, X, _ = fitted
    decided, rng, n_certain, n_tried = model.decide(with_gaps(X, 0.2)), np.random.default_rng(0), 0, 0
    for decision in decided[decided.missing.any(axis=1)]:
        if not decision.is_certain:
            continue
        n_certain += 1
        row = np.where(decision.missing, np.nan, decision.rows)
        for cut in sections_of(model.model_, row).values():
            u = rng.standard_normal((200, len(cut.root)))
            u /= np.linalg.norm(u, axis=1, keepdims=True)
            u[100:] *= rng.random((100, 1)) ** (1 / len(cut.root))
            rows = np.repeat(cut.center[None], 200, axis=0)
            rows[:, cut.missing] += u @ cut.root.T
            found = model.predict(rows * model.model_.scale + model.model_.shift)
            assert (found == decision.label).all()
            n_tried += 200
    assert n_certain > 30
    assert n_tried > 5_000


def test_possible_ellipsoids_are_those_that_some_filling_reaches(fitted):
    model, X, _ = fitted
    decided = model.decide(with_gaps(X[:60], 0.3))
    for decision, complete in zip(decided, X[:60], strict=True):
        inside = [k for k, own in enumerate(model.ellipsoids_) if own.ellipsoid.contains(complete[None])[0]]
        assert set(inside) <= set(decision.possible_ellipsoids)
        if not decision.missing.any():
            assert decision.possible_ellipsoids == inside
    assert any(len(decision.possible_ellipsoids) < model.model_.n_ellipsoids for decision in decided)


def test_what_to_ask_for_is_what_the_label_depends_on():
    X, y = make_blobs(2000, centers=[[0, 0, 0], [6, 0, 0]], random_state=0)
    model = SEPClassifier().fit(X, y)
    decision = model.decide(np.array([[np.nan, 0.0, np.nan]]))[0]
    (first, share), (second, other) = decision.ask_for()
    assert (first, second) == ("x0", "x2")
    assert share > 0.8 > 0.2 > other
    assert model.decide(X[:1])[0].ask_for() == []


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_training_rows_with_gaps_are_used(share):
    """With few gaps the ellipsoids of complete rows fill them in; with many, one normal distribution a class does."""
    X, y = wdbc()
    train = with_gaps(X[::2], share)
    model = SEPClassifier().fit(train, y[::2])
    assert model.model_.class_counts.sum() == len(train)
    complete = ~np.isnan(train).any(axis=1)
    test = with_gaps(X[1::2], share, seed=1)
    score = model.score(test, y[1::2])
    assert score > 0.83
    if complete.sum() > 100:
        alone = SEPClassifier().fit(train[complete], y[::2][complete]).score(test, y[1::2])
        assert score > alone - 0.03
    again = SEPClassifier().fit(train, y[::2])
    np.testing.assert_array_equal(again.decide(test).trust, model.decide(test).trust)


def test_a_feature_without_any_value_is_refused():
    X, y = wdbc()
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="Feature 'x2' has no values at all; leave it out"):
        SEPClassifier().fit(X, y)


def zero_heavy(n=600, seed=0):
    """Counts that are zero in most rows, each more often in one class than in the other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frequent = np.where(y[:, None] == np.arange(12) % 2, 0.5, 0.1)
    X = np.where(rng.random((n, 12)) < frequent, rng.lognormal(0, 1.5, (n, 12)), 0.0)
    return X, y


def test_completions_of_columns_that_are_mostly_zero_are_mostly_zero():
    X, y = zero_heavy()
    model = SEPClassifier().fit(X[::2], y[::2]).model_
    gone = with_gaps(X[1::2], 0.4)
    for where, completions in draw_completions(model, gone):
        lacks = np.isnan(gone[where])
        drawn = completions.transpose(0, 2, 1)[lacks]
        # Equal values share one rank, so that the most frequent one comes out a little too often.
        assert abs((drawn == 0).mean() - (X == 0).mean()) < 0.08
        assert drawn.min() >= 0.0
        largest = np.where(lacks, completions.max(axis=1), 0.0).max(axis=0)
        assert (largest <= X[::2].max(axis=0)).all()
        known = completions.transpose(0, 2, 1)[~lacks]
        np.testing.assert_array_equal(known, np.repeat(gone[where][~lacks][:, None], known.shape[1], axis=1))


@pytest.mark.slow
def test_columns_that_are_mostly_zero_cost_no_more_than_in_boosted_trees_with_gaps():
    X, y = zero_heavy(2000)
    gone = with_gaps(X[1::2], 0.4)
    decided = SEPClassifier().fit(X[::2], y[::2]).decide(gone)
    trees = HistGradientBoostingClassifier(random_state=0).fit(with_gaps(X[::2], 0.4, seed=1), y[::2])
    theirs = aurc(trees.predict(gone) == y[1::2], trees.predict_proba(gone).max(axis=1))
    assert aurc(decided.label == y[1::2], decided.trust) < theirs


def test_a_sum_of_features_is_completed_exactly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    y = (X[:, 0] > 0).astype(int)
    with pytest.warns(FlatSetWarning):
        model = SEPClassifier().fit(X, y).model_
    gone = X[:50].copy()
    gone[:, 1] = np.nan
    ((where, completions),) = draw_completions(model, gone)
    np.testing.assert_allclose(completions[:, :, 1], np.repeat((X[where, 2] - X[where, 0])[:, None], 20, 1), atol=2e-3)


def test_without_weights_ellipsoids_fill_the_gaps():
    X, y = wdbc()
    model = SEPClassifier(trust="counts").fit(X[::2], y[::2])
    assert model.model_.row_kinds is None
    assert model.score(with_gaps(X[1::2], 0.2), y[1::2]) > 0.8


def test_kinds_of_rows_are_as_frequent_as_the_classes_and_follow_their_weights(fitted):
    kinds = fitted[0].model_.row_kinds
    np.testing.assert_allclose(kinds.class_rows.sum(axis=0), fitted[0].model_.class_counts)
    X, y = wdbc()
    weighted = SEPClassifier(class_weight={0: 3.0}).fit(X[::2], y[::2]).model_.row_kinds
    np.testing.assert_allclose(weighted.class_rows, kinds.class_rows * [3.0, 1.0])
    np.testing.assert_allclose(np.exp(weighted.mixture.log_weights).sum(), 1.0)


def test_what_is_asked_for_first_adds_most_trust_if_nothing_is_enough(fitted):
    model, X, _ = fitted
    strict = SEPClassifier(min_trust=1.0).fit(*(part[::2] for part in wdbc()))
    decision = strict.decide(np.where(np.arange(6) < 1, X[:1], np.nan))[0]
    advised = decision.ask_for()
    assert [share for _, share in advised] == [0.0] * 5
    row = decision._with_gaps()
    known = likely_values(strict.model_, row, [np.array([j]) for j in range(1, 6)])
    settled = value_of_information(strict.model_, row, known, 1.0)
    assert advised[0][0] == f"x{1 + int(np.argmax([trust for _, trust in settled]))}"


@pytest.mark.slow
def test_gaps_of_very_many_features_take_little_memory_and_see_both_classes():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(300, 400)), rng.integers(2, size=300)
    rows[labels == 1] += 0.5
    model = SEPClassifier().fit(rows, labels).model_
    kinds = imputation_mixture(model)
    assert model.row_kinds is None
    assert kinds.covariances.size <= 2**22
    assert (kinds.class_rows.sum(axis=0) > 0).all()
    gaps = np.where(rng.random((20, 400)) < 0.1, np.nan, rows[:20])
    assert (SEPClassifier().fit(rows, labels).decide(gaps).label == labels[:20]).mean() > 0.8


def test_completions_of_many_gaps_lean_to_neither_side():
    points = _points(20, 60)
    assert ((points > 0.0) & (points < 1.0)).all()
    assert np.abs(points.mean(axis=0) - 0.5).max() < 0.12
