"""SEPClassifier as users meet it: decisions, reasons, regions, and the history of the fit."""

import cases
import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

from sepc import SEPClassifier
from sepc.decisions.kinds import Cause, Rule
from sepc.errors import FlatSetWarning

pd, pl = package_or_skip("pandas"), package_or_skip("polars")

MOONS = make_moons(400, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def moons():
    return SEPClassifier().fit(*MOONS)


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, labels = X.iloc[:, [1, 20, 23]], np.where(y == 0, "malignant", "benign")
    return SEPClassifier().fit(X[::2], labels[::2]), X[1::2], labels[1::2]


def test_decisions_index_filter_and_become_a_frame(moons):
    decisions = moons.decide(MOONS[0])
    assert len(decisions) == 400
    accepted = decisions[decisions.accepted]
    assert len(accepted) == decisions.accepted.sum()
    assert (accepted.trust >= 0.95).all()
    frame = decisions[:5].to_frame()
    names = [
        "label",
        "trust",
        "accepted",
        "cause",
        "region",
        "rule",
        "gauge",
        "counts_label",
        "n_0",
        "n_1",
        "p_0",
        "p_1",
    ]
    assert list(frame.columns) == names
    assert frame["rule"][0] == decisions[0].rule.name
    assert [decision.label for decision in decisions[:3]] == decisions.label[:3].tolist()


def test_label_is_the_most_probable_class_and_trust_its_probability(moons):
    decisions = moons.decide(MOONS[0] * 1.1)
    np.testing.assert_array_equal(decisions.label, moons.classes_[decisions.probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(decisions.trust, decisions.probabilities.max(axis=1))
    np.testing.assert_allclose(decisions.probabilities.sum(axis=1), 1)


def test_regions_lead_back_to_the_training_rows(moons):
    X, y = MOONS
    region = moons.apply(X)
    for i in np.unique(region):
        if moons.regions_.near[i] is None:
            expected = [np.sum(y[region == i] == label) for label in moons.classes_]
            np.testing.assert_array_equal(moons.regions_.counts[i], expected)
    low, high = moons.regions_.interval(0.9)
    chance = moons.regions_.probabilities.max(axis=1)
    assert ((low < chance) & (chance < high)).all()
    widest, narrowest = np.argmax(high - low), np.argmin(high - low)
    assert moons.regions_.counts[widest].sum() < moons.regions_.counts[narrowest].sum()
    frame = moons.regions_.to_frame()
    assert frame.index.name == "region"
    assert len(frame) == len(moons.regions_) == sum(1 for _ in moons.regions_)


def test_causes_partition_what_is_not_accepted(moons):
    decisions = moons.decide(np.vstack([MOONS[0], MOONS[0] + 30]))
    assert (decisions.accepted == (decisions.cause == Cause.ACCEPTED)).all()
    refused = decisions[~decisions.accepted]
    np.testing.assert_array_equal(refused.rule == Rule.NEAREST, refused.cause == Cause.UNSEEN)
    assert (decisions.cause[400:] == Cause.UNSEEN).all()
    assert (decisions.gauge[400:] > 1).all()


def test_trust_fades_with_the_distance_from_all_ellipsoids(moons):
    away = np.array([[0.5, 1.6], [0.5, 3.0], [0.5, 10.0], [0.5, 1e6]])
    decisions = moons.decide(away)
    assert (np.diff(decisions.trust) < 0).all()
    assert decisions.trust[-1] == pytest.approx(0.5, abs=0.01)


def test_why_names_counts_and_features(wdbc):
    classifier, X, _ = wdbc
    decisions = classifier.decide(X)
    inside = decisions[int(np.flatnonzero(decisions.rule == Rule.SINGLE)[0])].why()
    assert " training cases" in inside
    assert "malignant" in inside
    assert any(name in inside for name in X.columns)
    outside = decisions[int(np.flatnonzero(decisions.cause == Cause.UNSEEN)[0])].why()
    assert "far from all training cases" in outside
    assert "Not accepted (UNSEEN)" in outside


def test_story_of_the_fit_is_told_in_the_users_features(wdbc):
    classifier, _, _ = wdbc
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rows, labels = X.iloc[::2, [1, 20, 23]].to_numpy(), np.where(y == 0, "malignant", "benign")[::2]
    for fitted in classifier.ellipsoids_:
        inside = fitted.ellipsoid.contains(rows)
        np.testing.assert_array_equal([np.sum(labels[inside] == label) for label in classifier.classes_], fitted.counts)
        for cut in fitted.cuts:
            kept = rows @ cut.normal >= cut.offset
            assert 0 < (kept & (labels == fitted.label)).sum() < (labels == fitted.label).sum()
    history = classifier.history_[0]
    assert history.stopped_because
    left = np.array(history.rows_left).sum(axis=1)
    assert (np.diff(left) < 0).all()


@pytest.mark.parametrize("make", [lambda table: pd.DataFrame(table), lambda table: pl.DataFrame(dict(table))])
def test_frames_keep_their_names(make):
    X, y = load_iris(return_X_y=True, as_frame=True)
    classifier = SEPClassifier().fit(make(X), y)
    assert classifier.model_.feature_names == tuple(X.columns)
    np.testing.assert_array_equal(classifier.predict(make(X)), classifier.predict(make(X)))


def test_labels_of_any_type():
    X, y = MOONS
    for labels in (
        np.array(["no", "yes"])[y],
        y.astype(bool),
        np.array([-3, 7])[y],
        np.array(["a", "b"], dtype=object)[y],
    ):
        classifier = SEPClassifier().fit(X, labels)
        assert (classifier.predict(X) == labels).mean() > 0.95


def test_sample_draws_rows_that_get_the_label(moons):
    rows = moons.sample(200, 1, random_state=0)
    assert rows.shape == (200, 2)
    assert (moons.predict(rows) == 1).mean() > 0.9
    np.testing.assert_array_equal(rows, moons.sample(200, 1, random_state=0))
    with pytest.raises(ValueError, match="No ellipsoid was found for label 'x'"):
        moons.sample(3, "x")


def test_fit_rows_partitions_a_sample_and_counts_everything():
    X, y = make_moons(5000, noise=0.1, random_state=1)
    classifier = SEPClassifier(fit_rows=500, random_state=0).fit(X, y)
    assert classifier.model_.class_counts.sum() == 5000
    assert classifier.model_.table.counts.sum() == 5000
    assert classifier.score(X, y) > 0.95
    n_partitioned = np.sum(classifier.history_[0].rows_left[0])
    assert n_partitioned <= 502


def test_verbose_prints_a_line_for_every_round_and_one_for_the_rows_used(capsys):
    classifier = SEPClassifier(verbose=True).fit(*MOONS)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(classifier.history_[0].rows_left) + 1
    assert lines[0].startswith("[SEPClassifier] round 1: ")


def test_callbacks_of_scikit_learn_are_told_of_every_round():
    callback = pytest.importorskip("sklearn.callback")

    class Counting:
        n_ended = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            Counting.n_ended += 1

    assert isinstance(Counting(), callback.FitCallback)
    classifier = SEPClassifier().set_callbacks(Counting()).fit(*MOONS)
    assert Counting.n_ended == len(classifier.history_[0].rows_left) + 1


def test_one_warning_names_constant_and_collinear_features():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.random(80), "gain": np.full(80, 7.3), "pay": rng.random(80)})
    table["total"] = table["age"] + table["pay"]
    y = (table["age"] + 0.1 * rng.random(80) > 0.5).astype(int)
    with pytest.warns(FlatSetWarning) as caught:
        classifier = SEPClassifier(force_features=["gain"]).fit(table, y)
    assert len(caught) == 1
    assert "Feature 'gain' is constant; Features 'age', 'pay', 'total' are collinear" in str(caught[0].message)
    assert classifier.score(table, y) > 0.95


@pytest.mark.filterwarnings("ignore::sepc.errors.FlatSetWarning")
@pytest.mark.parametrize("kind", ["gaussian", "integer_grid", "rank_deficient", "near_degenerate", "far_scales"])
def test_awkward_tables_are_classified(kind):
    rng = np.random.default_rng(0)
    X = cases.KINDS[kind](rng, 150, 4)
    y = (X[:, 0] + 0.3 * X[:, 0].std() * rng.standard_normal(150) > X[:, 0].mean()).astype(int)
    assert SEPClassifier().fit(X, y).score(X, y) > 0.85
