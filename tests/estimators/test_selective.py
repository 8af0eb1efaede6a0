"""Promises about accepted rows: the statistics by hand, the guarantee over many draws, and any estimator inside."""

import pickle

import numpy as np
import pytest
from cases import round_classes as blobs
from monte_carlo import exceeds
from optional import package_or_skip
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import Cause, Costs, Decisions, SelectiveClassifier, SEPClassifier, load, report, save
from sepc.estimators.selective.costs import choose_cheapest
from sepc.estimators.selective.thresholds import choose_threshold
from sepc.statistics.rates import fixed_grid, quantile_grid, upper_bound

pd = package_or_skip("pandas")

N_DRAWS = 1000
# Five per cent, and two standard errors of a share of N_DRAWS.
MOST_VIOLATIONS = 0.05 + 2 * np.sqrt(0.05 * 0.95 / N_DRAWS)


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose label and score are the two columns of its rows; trust is (1 + score) / 2."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, 0].astype(int)

    def predict_proba(self, X):
        chosen = X[:, 0].astype(int)[:, None] == np.arange(2)
        return np.where(chosen, (1.0 + X[:, 1:]) / 2.0, (1.0 - X[:, 1:]) / 2.0)


def test_sequence_starts_where_enough_rows_are_accepted_and_ends_at_the_first_failure():
    # 385 rows are one too few, 386 pass with three errors; then one more among 387 fails, although later ones pass.
    trust = np.concatenate([np.full(385, 0.9), [0.8, 0.7], np.full(5000, 0.6)])
    wrong = np.zeros(len(trust), dtype=bool)
    wrong[[0, 1, 2, 386]] = True
    grid = np.array([0.6, 0.7, 0.8, 0.9])
    control = choose_threshold(trust, wrong, grid, 0.02, 0.95)
    assert (control.threshold, control.n_accepted, control.loss, control.n_needed) == (0.8, 386, 3, 149)
    without_the_last_error = choose_threshold(trust, wrong & (np.arange(len(trust)) < 386), grid, 0.02, 0.95)
    assert (without_the_last_error.threshold, without_the_last_error.n_accepted) == (0.6, len(trust))
    first_fails = choose_threshold(trust[:387], wrong[:387], np.array([0.7, 0.95]), 0.02, 0.95)
    assert (first_fails.threshold, first_fails.n_tried, first_fails.tried_loss) == (np.inf, 387, 4)
    too_few = choose_threshold(trust[:100], wrong[:100], np.array([0.1, 0.7]), 0.02, 0.95)
    assert (too_few.threshold, too_few.n_accepted, too_few.n_tried) == (np.inf, 0, 100)
    assert choose_threshold(trust[:0], wrong[:0], fixed_grid(), 0.02, 0.95).threshold == np.inf
    rng = np.random.default_rng(0)
    for _ in range(30):
        trust = rng.random(800)
        wrong = rng.random(800) < 0.2 * (1 - trust) ** 2
        control = choose_threshold(trust, wrong, fixed_grid(), 0.02, 0.95)
        if np.isfinite(control.threshold):
            accepted = trust >= control.threshold
            assert (control.n_accepted, control.loss) == (accepted.sum(), wrong[accepted].sum())
            assert upper_bound(control.loss, control.n_accepted, 0.95) <= 0.02


def scores(rng, n, error_rate):
    """Uniform trust, and errors of a known rate at each trust."""
    trust = rng.random(n)
    return trust, rng.random(n) < error_rate(trust)


@pytest.mark.parametrize(
    ("error_rate", "risk_at"),
    [
        (lambda trust: 0.3 * (1 - trust) ** 2, lambda threshold: 0.1 * (1 - threshold) ** 2),
        (lambda trust: 0.08 * (1 - trust), lambda threshold: 0.04 * (1 - threshold)),
        # Just beyond the promise everywhere, the worst case: any acceptance at all is a violation.
        (lambda trust: 0.0201 + 0 * trust, lambda threshold: 0.0201 if threshold < np.inf else 0.0),
        # The most trusted tenth is wrong more often than the rest: beyond what the proof of the start covers.
        (lambda trust: np.where(trust > 0.9, 0.03, 0.019), lambda threshold: 0.0201 if threshold < np.inf else 0.0),
    ],
    ids=["square", "linear", "worst", "upside down"],
)
def test_the_promise_is_kept_over_many_draws(error_rate, risk_at):
    rng = np.random.default_rng(1)
    grid = quantile_grid(rng.random(1000))
    draws = (scores(rng, 1000, error_rate) for _ in range(N_DRAWS))
    controls = [choose_threshold(trust, wrong, grid, 0.02, 0.95) for trust, wrong in draws]
    violations = np.mean([np.isfinite(control.threshold) and risk_at(control.threshold) > 0.02 for control in controls])
    assert violations <= MOST_VIOLATIONS


@pytest.mark.slow_cases("unfitted-pipeline")
@pytest.mark.slow_cases("unfitted-sepc")
@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), SEPClassifier(), make_pipeline(StandardScaler(), SEPClassifier(trust="counts"))],
    ids=["logistic", "sepc", "pipeline"],
)
@pytest.mark.parametrize("frozen", [False, True], ids=["unfitted", "frozen"])
def test_any_estimator_frozen_or_not(estimator, frozen):
    X, y = blobs(3000)
    if frozen:
        given = FrozenEstimator(clone(estimator).fit(X[:600], y[:600]))
        fitted = SelectiveClassifier(given, 0.05).fit(X[600:2000], y[600:2000])
        assert (fitted.estimator_, fitted.promise_.n_rows) == (given, 1400)
    else:
        fitted = SelectiveClassifier(estimator, 0.05, calibration_size=0.4, random_state=0).fit(X[:2000], y[:2000])
        assert abs(fitted.promise_.n_rows - 800) <= 2
    decided = fitted.decide(X[2000:])
    np.testing.assert_array_equal(decided.label, fitted.predict(X[2000:]))
    np.testing.assert_array_equal(decided.accepted, decided.trust >= fitted.threshold_)
    np.testing.assert_allclose(decided.trust, fitted.predict_proba(X[2000:]).max(axis=1))
    assert (type(decided.inner) is Decisions) == isinstance(estimator, LogisticRegression)
    assert decided.accepted.mean() == pytest.approx(fitted.coverage_, abs=0.06)
    assert fitted.coverage_ > 0.5
    wrong = (decided.label != y[2000:])[decided.accepted]
    assert not exceeds(wrong.sum(), len(wrong), 0.05)
    assert fitted.promise_.risk_bound <= 0.05
    assert list(fitted.classes_) == [0, 1]


def test_the_benchmark_chooses_the_threshold_of_the_estimator():
    # What draws many samples skips the estimator and hands labels and trust of drawn rows to these functions.
    X, y = blobs(3000)
    model = LogisticRegression().fit(X[:500], y[:500])
    drawn = np.random.default_rng(0).integers(500, 3000, size=2000)
    label, trust = model.predict(X[drawn]), model.predict_proba(X[drawn]).max(axis=1)
    wrong = label != y[drawn]
    overall = SelectiveClassifier(FrozenEstimator(model), 0.04).fit(X[drawn], y[drawn])
    assert overall.threshold_ == choose_threshold(trust, wrong, fixed_grid(), 0.04, 0.95).threshold < 1
    named = SelectiveClassifier(FrozenEstimator(model), {0: 0.04, 1: 0.05}).fit(X[drawn], y[drawn])
    for named_label, risk in {0: 0.04, 1: 0.05}.items():
        own = label == named_label
        expected = choose_threshold(trust[own], wrong[own], fixed_grid(), risk, 0.975).threshold
        assert named.threshold_[named_label] == expected < 1
    costs = Costs([[0, 5], [1, 0]], review=0.2)
    cheapest = SelectiveClassifier(FrozenEstimator(model), costs).fit(X[drawn], y[drawn])
    each = np.array([[0, 5], [1, 0]])[y[drawn], label].astype(float)
    expected = choose_cheapest(trust, each, fixed_grid(), np.array([0.0, 5, 1, 0]), 0.2, 0.95).threshold
    assert cheapest.threshold_ == expected < 1


def test_promises_by_label_in_a_table_and_labels_without_one():
    X, y = blobs(2000)
    table, names = pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(np.where(y, "right", "left"))
    fitted = SelectiveClassifier(LogisticRegression(), {"right": 0.05}, random_state=0).fit(table, names)
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    assert set(fitted.threshold_) == set(fitted.promise_.risk_bound) == {"right"}
    assert fitted.score(table, names) > 0.9
    decided = fitted.decide(table)
    assert set(decided.label[decided.accepted]) == {"right"}
    is_covered = (decided.label == "right") & (decided.trust >= fitted.threshold_["right"])
    np.testing.assert_array_equal(decided.accepted, is_covered)
    assert "never accepted" in fitted.summary()


def test_labels_the_classifier_does_not_know_have_probability_zero(tmp_path):
    X, y = blobs(2000)
    names = np.array(["left", "right"])
    for base in (LogisticRegression(), SEPClassifier()):
        frozen = FrozenEstimator(base.fit(X[:1000], names[y[:1000]]))
        truth = np.where(np.arange(1000) % 50, names[y[1000:]], "middle")
        fitted = SelectiveClassifier(frozen, 0.2).fit(X[1000:], truth)
        assert fitted.classes_.tolist() == ["left", "middle", "right"]
        decided, probabilities = fitted.decide(X), fitted.predict_proba(X)
        np.testing.assert_array_equal(decided.probabilities, probabilities)
        np.testing.assert_array_equal(probabilities[:, [0, 2]], base.predict_proba(X))
        assert (probabilities[:, 1] == 0).all()
        assert decided.to_frame()["p_middle"].sum() == 0
        assert fitted.empty_decisions().probabilities.shape == (0, 3)
        # One row in fifty is in the middle, and an error.
        accepted = decided.accepted[1000:]
        assert fitted.promise_.controls[None].loss == (decided.label[1000:] != truth)[accepted].sum()
        assert (truth[accepted] == "middle").any()
    save(fitted, tmp_path / "model.sepc")
    again = load(tmp_path / "model.sepc")
    assert again.classes_.tolist() == fitted.classes_.tolist()
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)


@pytest.mark.slow
def test_a_rare_class_of_two_does_not_keep_the_classifier_from_fitting():
    X, y = blobs(60)
    y[:] = 0
    y[7] = 1
    sizes = {
        SelectiveClassifier(LogisticRegression(), 0.2, random_state=seed).fit(X, y).promise_.n_rows
        for seed in range(30)
    }
    assert max(sizes) == 30
    assert min(sizes) < 20


def test_causes_filters_and_frames():
    X, y = blobs(2000)
    fitted = SelectiveClassifier(SEPClassifier(min_trust=0.5), 0.05, random_state=0).fit(X[:1000], y[:1000])
    decided = fitted.decide(X[1000:])
    left = ~decided.accepted
    assert (decided.cause[decided.accepted] == Cause.ACCEPTED).all()
    assert (decided.cause[left & decided.inner.accepted] == Cause.THIN).all()
    assert (left & decided.inner.accepted).any()
    kept_causes = left & ~decided.inner.accepted
    np.testing.assert_array_equal(decided.cause[kept_causes], decided.inner.cause[kept_causes])
    position = int(np.flatnonzero(left)[0])
    assert decided[position].cause is Cause(decided.cause[position])
    assert (decided.to_frame()["cause"] == "ACCEPTED").to_numpy().tolist() == decided.accepted.tolist()
    kept = decided[decided.accepted]
    assert len(kept) == len(kept.inner) == decided.accepted.sum()
    for decision in decided[:50]:
        assert f"The promise {'covers' if decision.accepted else 'does not cover'}" in decision.why()
    with pytest.raises(AttributeError):
        decided.trust = None
    plain = SelectiveClassifier(LogisticRegression(), 0.05, random_state=0).fit(X, y).decide(X[:5])
    assert set(plain.cause) <= {Cause.ACCEPTED, Cause.UNEXPLAINED}
    assert list(plain.to_frame().columns) == ["label", "trust", "accepted", "cause", "region", "p_0", "p_1"]


def test_a_summary_tells_what_fit_promised_or_that_nothing_can_be():
    trust = np.concatenate([np.full(757, 0.99), np.full(483, 0.5)])
    X = np.column_stack([np.zeros(1240), 2 * trust - 1])
    fitted = SelectiveClassifier(FrozenEstimator(Scores().fit(X, [0, 1]))).fit(X, np.where(trust > 0.9, 0, 1))
    assert 0.5 < fitted.threshold_ < 0.99
    before = fitted.summary()
    assert f"trust >= {fitted.threshold_:.3f}, 61 %" in before
    assert str(fitted.set_params(max_risk=0.5, confidence=0.5)) == before
    assert str(clone(fitted)).startswith("SelectiveClassifier(")
    X, y = blobs(200)
    few = SelectiveClassifier(LogisticRegression(), random_state=0).fit(X, y)
    assert (few.threshold_, few.coverage_, few.promise_.risk_bound) == (np.inf, 0.0, 1.0)
    assert not few.decide(X).accepted.any()
    assert "at least 149" in few.summary()
    noise = np.random.default_rng(1).integers(2, size=4000)
    hopeless = SelectiveClassifier(LogisticRegression(), random_state=0).fit(blobs()[0], noise)
    assert hopeless.threshold_ == np.inf
    assert "most trusted" in str(hopeless)


def test_certificates_hold_together():
    X, y = blobs(3000)
    inside = FrozenEstimator(SEPClassifier(max_ellipsoids=8).fit(X[:1000], y[:1000]))
    fitted = SelectiveClassifier(inside, 0.05).fit(X[1000:2000], y[1000:2000])
    certificates = fitted.certificates(X[2000:], y[2000:])
    n_rows, n_errors = certificates.n_rows, certificates.n_errors
    assert n_rows.sum() == 1000
    assert n_errors.sum() == (fitted.predict(X[2000:]) != y[2000:]).sum()
    by_hand = beta.ppf(0.05 / len(certificates), n_rows - n_errors, n_errors + 1)
    assert certificates.accuracy_at_least == pytest.approx(np.where(n_errors == n_rows, 0.0, by_hand))
    assert list(certificates.to_frame()["region"]) == certificates.region.tolist()
    lines = str(certificates).splitlines()
    assert len(lines) == len(certificates) + 1
    assert f"{n_rows.max()} rows" in lines[0]


CREDIT = {("bad", "good"): 5, ("good", "bad"): 1}
TARGET = np.zeros((5, 4))


@pytest.mark.parametrize(
    ("max_risk", "options", "given", "message"),
    [
        (0.0, {}, {}, "max_risk"),
        ({}, {}, {}, "names no label"),
        ({"good": 2.0}, {}, {}, r"max_risk\['good'\]"),
        ({"x": 0.1}, {}, {}, "'x'"),
        (0.1, {"confidence": 1.0}, {}, "confidence"),
        (0.1, {"calibration_size": 1}, {}, "calibration_size"),
        (Costs(CREDIT, review=0), {}, {}, "review is 0"),
        (Costs(CREDIT, review=np.nan), {}, {}, "review is nan"),
        (Costs({**CREDIT, ("bad", "good"): -5}, 0.5), {}, {}, "'good' instead of 'bad' is -5"),
        (Costs([[0, np.nan], [1, 0]], 0.5), {}, {}, "is nan"),
        (Costs([[0, 5, 1], [1, 0, 1]], 0.5), {}, {}, r"shape \(2, 3\)"),
        (Costs({("bad", "good"): 5}, 0.5), {}, {}, r"lack .*\('good', 'bad'\)"),
        (Costs({**CREDIT, ("bad", "fine"): 5}, 0.5), {}, {}, r"lack .*\('fine', 'bad'\)"),
        (Costs({**CREDIT, ("bad", 7): 5}, 0.5), {}, {}, r"\('bad', 7\)"),
        (Costs({**CREDIT, "bad": 5}, 0.5), {}, {}, "name 'bad'"),
        (Costs(CREDIT, review=5), {}, {}, "No error costs more"),
        (0.1, {"by": ["a", "b", "c"]}, {}, "one column, or two"),
        (0.1, {"by": ["a", "a"]}, {}, "one column, or two"),
        (0.1, {"by": []}, {}, "one column, or two"),
        ({"good": 0.1}, {"by": "group"}, {}, "one number"),
        (Costs(CREDIT, 0.5), {"by": "group"}, {}, "one number"),
        (0.1, {"one_threshold": True}, {}, "in by"),
        (0.1, {"parents": {"a": "b"}}, {}, "in by"),
        (0.1, {"by": "nowhere"}, {}, "'nowhere'"),
        (0.1, {"by": ["group", "nowhere"]}, {}, "'nowhere'"),
        (0.1, {"by": ["u", "v"]}, {"groups": {"u": np.zeros(200)}}, "lacks 'v'"),
        (0.1, {"by": ["u", "v"]}, {"groups": np.zeros(200)}, "a column for each"),
        (0.1, {}, {"groups": np.zeros(200)}, "groups"),
        (0.1, {"by": "group"}, {"X_target": TARGET}, "no by"),
        ({"good": 0.1}, {}, {"X_target": TARGET}, "no mapping"),
        (Costs(CREDIT, 0.5), {}, {"X_target": TARGET}, "Costs"),
        (0.1, {}, {"X_target": TARGET[:0]}, "no rows"),
        (0.1, {}, {"X_target": 5.0}, "no rows"),
    ],
)
def test_errors_say_what_is_wrong(max_risk, options, given, message):
    X, y = blobs(200)
    X, y = pd.DataFrame(X, columns=["a", "b", "c"]).assign(group=y), np.where(y, "good", "bad")
    with pytest.raises(ValueError, match=message):
        SelectiveClassifier(LogisticRegression(), max_risk, **options).fit(X, y, **given)


def test_what_cannot_be_promised_of_a_model_is_refused():
    X, y = blobs(200)
    plain = SelectiveClassifier(LogisticRegression(), 0.3, random_state=0)
    frozen = FrozenEstimator(LogisticRegression().fit(X, np.where(y, "good", "bad")))
    for model, given, message in (
        (SelectiveClassifier(RidgeClassifier()), {}, "RidgeClassifier"),
        (plain, {"X_target": X}, "regions"),
        (SelectiveClassifier(frozen, np.eye(2)), {}, "Costs"),
    ):
        with pytest.raises(TypeError, match=message):
            model.fit(X, y, **given)
    assert not hasattr(SelectiveClassifier(RidgeClassifier()), "predict_proba")
    plain.fit(X, y)
    for ask in (lambda: plain.decide(X, groups=y), lambda: report(plain, X, y, groups=y)):
        with pytest.raises(ValueError, match="groups"):
            ask()
    with pytest.raises(TypeError, match="regions"):
        plain.certificates(X, y)
    with pytest.raises(ValueError, match=r"lack .*\('bad', 'ugly'\)"):
        SelectiveClassifier(frozen, Costs(CREDIT, 0.5)).fit(X, np.array(["bad", "good", "ugly"])[np.arange(200) % 3])


def test_errors_by_true_label_come_first_where_a_promise_about_all_rows_hides_them(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 2)), np.where(rng.random(2000) < 0.01, "fraud", "usual")
    inside = FrozenEstimator(LogisticRegression().fit(X, y))
    fitted = SelectiveClassifier(inside, 0.05).fit(X, y)
    decisions = fitted.decide(X)
    fraud, usual = ((decisions.accepted & (y == label)) for label in ("fraud", "usual"))
    counts = {own.label: (own.n_accepted, own.n_errors) for own in fitted.promise_.by_label}
    assert counts == {"fraud": (fraud.sum(), fraud.sum()), "usual": (usual.sum(), 0)}
    words = f"by true label: {fraud.sum()} of {fraud.sum()} of 'fraud' (100 %)"
    save(fitted, tmp_path / "m.sepc")
    for model in (fitted, load(tmp_path / "m.sepc", estimator=inside), pickle.loads(pickle.dumps(fitted))):
        first = model.summary().splitlines()[0]
        assert words in first
        assert "Costs" in first
        assert words in model.decide(X[:1])[0].why().partition(". ")[0]
        assert model.promise_.by_label == fitted.promise_.by_label
    X, y = blobs(2000)
    fair = SelectiveClassifier(FrozenEstimator(LogisticRegression().fit(X[:500], y[:500])), 0.2).fit(X[500:], y[500:])
    assert all(own.share <= 0.2 for own in fair.promise_.by_label)
    assert "true label" not in fair.summary() + fair.decide(X[:1])[0].why()


@pytest.mark.slow_cases(
    "*check_estimators_dtypes",
    "*check_estimator_sparse_matrix",
    "*check_classifier_data_not_an_array",
    "*readonly_memmap=True*",
    "*check_fit_idempotent",
)
@parametrize_with_checks([SelectiveClassifier(LogisticRegression())])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
