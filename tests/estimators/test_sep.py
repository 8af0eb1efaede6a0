"""SEPClassifier as users meet it: decisions, regions, ellipsoids, importances, and the history of the fit."""

from __future__ import annotations

import cases
import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.feature_selection import SelectFromModel

import sepc
import sepc.errors
from sepc import Cause, SelectiveClassifier, SEPClassifier
from sepc.decisions.decisions import given_fields, rename_features
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.estimator import listen_to_rounds
from sepc.results import FittedEllipsoid, Rule

pd, pl = package_or_skip("pandas"), package_or_skip("polars")
pd = package_or_skip("pandas")

MOONS = make_moons(400, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def moons():
    return SEPClassifier().fit(*MOONS)


def wdbc():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, labels = X.iloc[::2, [1, 20, 23]], np.where(y == 0, "malignant", "benign")[::2]
    return SEPClassifier().fit(X, labels), X.to_numpy(), labels


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


def test_labels_are_the_most_probable_and_causes_partition_what_is_not_accepted(moons):
    away = np.array([[0.5, 1.6], [0.5, 3.0], [0.5, 10.0], [0.5, 1e6]])
    decisions = moons.decide(np.vstack([MOONS[0], MOONS[0] + 30, away]))
    np.testing.assert_array_equal(decisions.label, moons.classes_[decisions.probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(decisions.trust, decisions.probabilities.max(axis=1))
    np.testing.assert_allclose(decisions.probabilities.sum(axis=1), 1)
    assert (decisions[decisions.accepted].trust >= 0.95).all()
    assert (decisions.accepted == (decisions.cause == Cause.ACCEPTED)).all()
    refused = decisions[~decisions.accepted]
    np.testing.assert_array_equal(refused.rule == Rule.NEAREST, refused.cause == Cause.UNSEEN)
    assert (decisions.cause[400:800] == Cause.UNSEEN).all()
    assert (decisions.gauge[400:800] > 1).all()
    fading = decisions.trust[800:]
    assert (np.diff(fading) < 0).all()
    assert fading[-1] == pytest.approx(0.5, abs=0.01)
    frame = decisions[:5].to_frame()
    own = ["rule", "gauge", "counts_label", "n_0", "n_1", "p_0", "p_1"]
    assert list(frame.columns) == ["label", "trust", "accepted", "cause", "region", *own]
    assert list(frame["rule"]) == [Rule(rule).name for rule in decisions[:5].rule]


def test_story_of_the_fit_is_told_in_the_users_features():
    classifier, rows, labels = wdbc()
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


def test_labels_of_any_type_in_any_frame(moons):
    X, y = MOONS
    tables = [X, pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"]), X.tolist()]
    kinds = [np.array(["no", "yes"])[y], y.astype(bool), np.array([-3, 7])[y], np.array(["a", "b"], dtype=object)[y]]
    for table, labels in zip(tables, kinds, strict=True):
        classifier = SEPClassifier().fit(table, labels)
        np.testing.assert_array_equal(classifier.predict(table) == labels, moons.predict(X) == y)
        assert classifier.model_.feature_names == (("a", "b") if hasattr(table, "columns") else ("x0", "x1"))


def test_fit_rows_partitions_a_sample_and_counts_everything():
    X, y = make_moons(5000, noise=0.1, random_state=1)
    classifier = SEPClassifier(fit_rows=500, random_state=0).fit(X, y)
    assert classifier.model_.class_counts.sum() == 5000
    assert classifier.model_.table.counts.sum() == 5000
    assert classifier.score(X, y) > 0.95
    n_partitioned = np.sum(classifier.history_[0].rows_left[0])
    assert n_partitioned <= 502


def test_one_warning_names_constant_and_collinear_features():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.random(80), "gain": np.full(80, 7.3), "pay": rng.random(80)})
    table["total"] = table["age"] + table["pay"]
    y = (table["age"] + 0.1 * rng.random(80) > 0.5).astype(int)
    with pytest.warns(FlatSetWarning) as caught:
        classifier = SEPClassifier(force_features=["gain"]).fit(table, y)
    assert len(caught) == 1
    for words in ("'gain' is constant", "'age', 'pay', 'total' are collinear"):
        assert words in str(caught[0].message)
    assert classifier.score(table, y) > 0.95


@pytest.mark.filterwarnings("ignore::sepc.errors.FlatSetWarning")
@pytest.mark.parametrize("kind", ["gaussian", "integer_grid", "rank_deficient", "near_degenerate", "far_scales"])
def test_awkward_tables_are_classified(kind):
    rng = np.random.default_rng(0)
    X = cases.KINDS[kind](rng, 150, 4)
    y = (X[:, 0] + 0.3 * X[:, 0].std() * rng.standard_normal(150) > X[:, 0].mean()).astype(int)
    assert SEPClassifier().fit(X, y).score(X, y) > 0.85


def test_causes_are_looked_up_later_and_the_caller_may_use_the_array_again(moons):
    rows = MOONS[0] * 1.2
    wanted, decisions = moons.decide(rows), moons.decide(rows)
    assert given_fields(decisions)["cause"] is None
    cause, why = wanted.cause, wanted.why(3)
    rows[:] = 0.0
    np.testing.assert_array_equal(decisions.cause, cause)
    assert decisions.why(3) == why
    renamed = rename_features(moons.decide(MOONS[0] * 1.2), ["u", "v"])
    np.testing.assert_array_equal(renamed.cause, cause)
    assert renamed.model.feature_names == ("u", "v")


def test_it_is_a_sequence_whose_items_have_their_own_cuts_and_rows():
    classifier = SEPClassifier(trust="counts").fit(*make_moons(200, noise=0.3, random_state=0))
    found, model = classifier.ellipsoids_, classifier.model_
    assert len(found) == model.n_ellipsoids > 3
    assert [one.number for one in found] == list(range(len(found)))
    assert [one.number for one in found[-2:]] == [len(found) - 2, len(found) - 1]
    assert isinstance(found[:2], tuple)
    assert isinstance(found[np.int64(0)], FittedEllipsoid)
    for k in (len(found), -len(found) - 1):
        with pytest.raises(IndexError):
            found[k]
    cuts = [cut for one in found for cut in one.cuts]
    assert len(cuts) == len(found.offsets) > 0
    np.testing.assert_array_equal([cut.normal for cut in cuts], found.normals)
    assert [cut.offset for cut in cuts] == found.offsets.tolist()
    assert [cut.through_means for cut in cuts] == found.through_means.tolist()
    for one in found:
        inside = model.table.memberships[:, one.number]
        np.testing.assert_array_equal(one.counts, model.table.counts[inside].sum(axis=0))
        assert one.n_round == found.n_round[one.number]
    assert len(repr(found).splitlines()) <= 15


def sizes(model: SEPClassifier, X) -> dict[str, float]:
    """The mean size of the term of each column, by the terms of decisions on two classes."""
    terms = model.decide(X).terms()
    names, by_column = model.model_.feature_names, np.zeros(terms.features.shape)
    np.add.at(by_column.T, model.model_.column_of, terms.features.T)
    return {names[j]: float(np.abs(by_column[:, j]).mean()) for j in np.unique(model.model_.column_of)}


def test_they_are_the_mean_sizes_of_the_terms_of_training_rows():
    rng = np.random.default_rng(0)
    job = rng.choice(["clerk", "nurse", "driver"], 900, p=[0.6, 0.3, 0.1])
    table = pd.DataFrame({"no": rng.permutation(900), "income": rng.normal(size=900), "job": job})
    y = np.where(table["income"] + 2.0 * (job == "nurse") + rng.normal(size=900) > 0.5, "yes", "no")
    with pytest.warns(match="'no'"):
        model = SEPClassifier().fit(table, y)
    wanted = sizes(model, table)
    assert model.feature_importances_ == pytest.approx([0.0, wanted["income"], wanted["job"]], rel=0.1)
    three = SEPClassifier().fit(table[["income", "job"]], np.where(job == "nurse", "a", np.where(y == "yes", "b", "c")))
    assert len(three.model_.feature_names) == 3  # the category is encoded by two numbers
    assert three.feature_importances_.shape == (2,)
    assert (three.feature_importances_ > 0.3).all()


def test_several_classes_and_selection_by_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    model = SEPClassifier().fit(X, y)
    assert model.feature_importances_[:4].max() > 5.0 * model.feature_importances_[4]
    assert 1 <= SelectFromModel(model, prefit=True).transform(X).shape[1] < 5
    without = SEPClassifier(trust="counts").fit(X, y)
    assert not hasattr(without, "feature_importances_")
    with pytest.raises(AttributeError, match="importances"):
        _ = without.feature_importances_


def rounds_of(classifier):
    return [left for partition in classifier.history_ for left in partition.rows_left]


def test_several_may_listen_and_each_until_its_end():
    for data in (MOONS, load_iris(return_X_y=True)):
        outer, inner = [], []
        with listen_to_rounds(lambda left, heard=outer: heard.append((left.n_pos, left.n_neg))):
            with listen_to_rounds(inner.append):
                classifier = SEPClassifier(trust="counts").fit(*data)
            assert outer == rounds_of(classifier)
            SelectiveClassifier(SEPClassifier(trust="counts"), max_risk=0.1, random_state=0).fit(*data)
        SEPClassifier(trust="counts").fit(*data)
        assert len(inner) == len(rounds_of(classifier))
        assert len(outer) > len(inner) + 1  # partitions inside a wrapper are heard


@pytest.mark.parametrize(("n_features", "n_partitioned"), [(2, 4_000), (15, 6_000), (30, 10_000)])
def test_more_rows_are_partitioned_the_more_features_there_are(n_features, n_partitioned):
    X = np.random.default_rng(0).normal(size=(12_000, n_features))
    used = SEPClassifier(trust="counts", max_ellipsoids=1).fit(X, X[:, 0] > 0).rows_used_
    assert used.n_partitioned == pytest.approx(n_partitioned, rel=0.05)


def table_of_six(n=400, seed=0, with_gaps=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=["strong", "weak", "noise", "more noise", "named"])
    X["kind"] = rng.choice(["a", "b", "c"], size=n)
    score = 2.0 * X["strong"] + 0.7 * X["weak"] + 1.5 * (X["kind"] == "b")
    y = (score + 0.5 * rng.normal(size=n) > 0.3).astype(int)
    if with_gaps:
        X = X.mask(rng.random(X.shape) < 0.05)
    return X, y


@pytest.mark.parametrize("with_gaps", [False, True])
def test_the_columns_that_matter_are_used(with_gaps, tmp_path):
    X, y = table_of_six(with_gaps=with_gaps)
    model = sepc.SEPClassifier(max_features=3).fit(X, y)
    left_out = model.preparation_.summary().partition("left out")[2].split("'")[1::2]
    assert set(left_out) == {"noise", "more noise", "named"}
    others = X.assign(noise=1e6, named=-5.0)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(others))
    assert np.abs(model.predict_proba(X) - model.predict_proba(X.assign(strong=-X["strong"]))).max() > 0.5
    sepc.save(model, tmp_path / "few.sepc")
    np.testing.assert_array_equal(sepc.load(tmp_path / "few.sepc").predict_proba(X), model.predict_proba(X))
    if with_gaps:
        return
    named = sepc.SEPClassifier(max_features=3, monotone={"named": "up"}).fit(X, y).preparation_.summary()
    assert ("'named'" in named, "'noise'" in named) == (False, True)
    few, every = (sepc.SEPClassifier(max_features=most).fit(X, y).predict_proba(X) for most in (6, None))
    np.testing.assert_array_equal(few, every)


def test_what_cannot_be_chosen_is_refused():
    X, y = table_of_six(60)
    with pytest.raises(ValueError, match="max_features to 2"):
        sepc.SEPClassifier(max_features=1, features_alone=["weak", "named"]).fit(X, y)
    for rows, wrong in ((X, 0), (X, 2.5), (X, True), (X, "two"), (X[["strong", "weak", "noise"]].to_numpy(), 2)):
        with pytest.raises((ValueError, TypeError), match="max_features"):
            sepc.SEPClassifier(max_features=wrong).fit(rows, y)
