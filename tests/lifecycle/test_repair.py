"""Repair: failing regions get better, and nothing else changes."""

from dataclasses import fields

import numpy as np
import pytest
from optional import package_or_skip
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor, audit, repair
from sepc.lifecycle.region_models import RowsInRegions
from sepc.lifecycle.repair import Judgement, groups_to_test, judge_models
from sepc.model_files import from_bytes, to_bytes


def corner(X):
    return np.abs(X[:, :2] - 0.5).max(axis=1) < 0.25


def two_sides(n, seed, changed=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    y = np.where(X[:, 0] > 0.0, "right", "left")
    if changed:
        y[corner(X)] = "left"
    return X, y


@pytest.fixture(scope="module")
def classifier():
    return SEPClassifier().fit(*two_sides(1000, 0))


@pytest.fixture(scope="module")
def repaired(classifier):
    return repair(classifier, *two_sides(2000, 1, changed=True))


@pytest.fixture(scope="module")
def fresh():
    return two_sides(8000, 2, changed=True)


def same_decisions(one, two):
    shared = {field.name for field in fields(one)} & {field.name for field in fields(two)}
    for name in shared - {"model", "parts", "by"}:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)


def test_decisions_are_whole(repaired, fresh):
    X, _ = fresh
    decided = repaired.decide(X)
    np.testing.assert_array_equal(decided.label, repaired.predict(X))
    np.testing.assert_array_equal(decided.probabilities, repaired.predict_proba(X))
    np.testing.assert_allclose(decided.probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(decided.label, repaired.classes_[decided.probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(decided.accepted, decided.trust >= 0.95)
    one = decided[int(np.flatnonzero(decided.is_repaired)[0])]
    other = decided[int(np.flatnonzero(~decided.is_repaired)[0])]
    assert one.why().startswith("By the repaired model")
    assert one.inner.trust == one.trust
    assert other.why() == repaired.default_.decide(X)[int(np.flatnonzero(~decided.is_repaired)[0])].why()
    package_or_skip("pandas")
    assert decided[:50].to_frame()["route"].tolist() == decided.route[:50].tolist()


def test_changes_say_what_was_done(classifier, repaired):
    kept = [change for change in repaired.changes_ if change.kept]
    assert {change.region for change in kept} == set(repaired.routes_)
    assert all(change.n_made > 0 for change in kept)
    before, after = sum(change.errors_before for change in kept), sum(change.errors_after for change in kept)
    assert after < before
    head, *lines, _ = str(repaired).split("\n")
    assert head.startswith(f"{len(kept)} of {len(repaired.changes_)} regions")
    assert f"{before} before, {after} after" in head
    assert lines == [f"- {change}" for change in repaired.changes_]
    assert all(f"region {change.region})" in str(change) for change in repaired.changes_)
    X, y = two_sides(1000, 3)
    far = np.abs(X[:, 0]) > 0.3
    assert repair(classifier, X[far], y[far]).summary().startswith("Nothing repaired")
    many = type(repaired.changes_)([kept[0]] * 25).summary()
    assert f"{25 * kept[0].errors_before:,} before, {25 * kept[0].errors_after:,} after." in many
    assert many.count(f"region {kept[0].region})") == 10
    assert "15 more" in many
    package_or_skip("pandas")
    table = repaired.changes_.to_frame()
    assert table["where"].tolist() == [change.where for change in repaired.changes_]
    assert table["p_value"].tolist() == [change.p_value for change in repaired.changes_]


def rows_in_regions(seed=0):
    rng = np.random.default_rng(seed)
    rows, region = rng.normal(size=(200, 2)), rng.integers(5, size=200)
    return RowsInRegions(np.repeat(rows, 2, axis=0), np.arange(400), np.repeat(region, 2))


def test_folds_spread_regions_keep_equal_rows_together_and_ignore_the_order():
    rows = rows_in_regions()
    folds = rows.folds(4, seed=1)
    np.testing.assert_array_equal(folds[::2], folds[1::2])
    for region in range(5):
        counts = np.bincount(folds[rows.region == region], minlength=4)
        assert counts.max() - counts.min() <= 2
    mixed = np.random.default_rng(2).permutation(400)
    np.testing.assert_array_equal(rows.take(mixed).folds(4, seed=1), folds[mixed])
    assert (rows.folds(4, seed=2) != folds).any()


class Remembers:
    """Makes models that know the labels of the rows they were fitted on, and are wrong about all others."""

    def models(self, rows, regions):
        return {region: Remembered(set(rows.labels.tolist())) for region in regions}


class Remembered:
    def __init__(self, known):
        self.known = known

    def labels_of(self, rows):
        return np.where([label in self.known for label in rows.labels], rows.labels, -1)


def test_rows_that_judge_a_model_did_not_make_it():
    rows = rows_in_regions()
    judgement = judge_models(Remembers(), rows, rows.labels % 2 == 0, rows.folds(4, 0), [range(5)] * 4)
    assert len(judgement.region) == 400
    assert judgement.after.all()
    np.testing.assert_array_equal(judgement.before, rows.labels % 2 == 0)


def test_a_fold_judges_only_regions_chosen_without_it():
    rows = rows_in_regions()
    folds = rows.folds(2, 0)
    judgement = judge_models(Remembers(), rows, np.ones(400, dtype=bool), folds, [[0, 1], [1]])
    for region, n in [(0, np.sum((rows.region == 0) & (folds == 0))), (1, np.sum(rows.region == 1)), (2, 0)]:
        assert np.sum(judgement.region == region) == n


def test_the_test_is_mcnemars():
    before = np.array([True] * 9 + [False] * 3 + [True] * 5)
    after = np.array([False] * 9 + [True] * 3 + [True] * 5)
    (alone,) = Judgement(np.full(17, 4), before, after).changes([4], {}, str, 0.1)
    assert alone.p_value == pytest.approx(binomtest(9, 12, alternative="greater").pvalue)
    assert (alone.n_judged, alone.errors_before, alone.errors_after, alone.n_together) == (17, 14, 8, 1)
    together = Judgement(np.repeat([4, 7, 4], [9, 3, 5]), before, after).changes([4, 7], {}, str, 0.1)
    assert [one.p_value for one in together] == [alone.p_value] * 2
    assert [one.errors_after for one in together] == [5, 3]
    assert Judgement(np.array([], dtype=int), before[:0], after[:0]).changes([4], {}, str, 0.1)[0].p_value == 1.0


def test_regions_with_few_rows_are_tested_together():
    rows = RowsInRegions(np.zeros((66, 1)), np.zeros(66), np.repeat([1, 2, 3, 4], [30, 19, 15, 2]))
    assert groups_to_test([3, 1, 2], rows) == [[1], [3, 2]]


@pytest.mark.slow
def test_a_model_that_is_no_better_is_not_kept(classifier):
    X, y = two_sides(600, 4)
    regions = np.bincount(classifier.apply(X)[classifier.apply(X) >= 0]).argsort()[-2:]
    left = repair(classifier, X, y, regions=regions, cv=2)
    assert left.routes_ == {}
    assert left.summary().startswith("0 of 2 regions repaired")
    assert "left as it was" in left.summary()
    noise = np.random.default_rng(0).permutation(y)
    every = repair(classifier, X, noise, regions=regions, confidence=0.0, cv=2)
    assert set(every.routes_) == set(regions)


@pytest.mark.slow
def test_models_of_noise_are_seldom_kept(classifier):
    """Labels that no model can know: what is kept is kept by chance, in a tenth of the regions at most."""
    kept, regions = [], range(len(classifier.regions_))
    for seed in range(3):
        X, _ = two_sides(300, 100 + seed)
        y = np.random.default_rng(seed).choice(["left", "right"], size=300)
        kept += [change.kept for change in repair(classifier, X, y, regions=regions, cv=2).changes_ if change.n_judged]
    assert len(kept) > 20
    assert np.mean(kept) < 0.1 + 3.0 * np.sqrt(0.09 / len(kept))


@pytest.mark.slow
def test_order_old_rows_audits_and_regions(classifier, repaired, fresh):
    """The order of feedback does not matter, old rows help where still true, and audits and regions choose."""
    X, y = two_sides(2000, 1, changed=True)
    mixed = np.random.default_rng(0).permutation(len(X))
    assert repair(classifier, X[mixed], y[mixed]).changes_ == repaired.changes_
    old = two_sides(1000, 0)
    with_old = repair(classifier, X, y, X_train=old[0], y_train=old[1])
    assert (with_old.predict(fresh[0]) != fresh[1]).mean() < 0.6 * (classifier.predict(fresh[0]) != fresh[1]).mean()
    found = audit(classifier, X, y)
    by_audit = repair(classifier, X, y, audit=found)
    assert {change.region for change in by_audit.changes_} == set(found.to_repair)
    one = repair(classifier, X, y, regions=found.to_repair[:1])
    assert [change.region for change in one.changes_] == found.to_repair[:1].tolist()


@pytest.mark.slow
def test_a_repaired_model_is_audited_and_repaired_again(repaired, fresh):
    X, y = fresh
    y = np.where(np.abs(X[:, :2] + 0.5).max(axis=1) < 0.25, "right", y)
    found = audit(repaired, X[:3000], y[:3000])
    again = repair(repaired, X[:3000], y[:3000], audit=found)
    assert set(again.routes_) > set(repaired.routes_)
    assert again.score(X[3000:], y[3000:]) > repaired.score(X[3000:], y[3000:])


def test_fit_is_a_full_refit(repaired):
    X, y = two_sides(500, 6)
    anew = clone(repaired).fit(X, y)
    assert anew.routes_ == {}
    np.testing.assert_array_equal(anew.predict(X), SEPClassifier().fit(X, y).predict(X))


@pytest.mark.slow
def test_names_of_features_and_number_labels():
    pd = package_or_skip("pandas")
    X, y = two_sides(1000, 0)
    classifier = SEPClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y == "left")
    X, y = two_sides(2000, 1, changed=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    repaired = repair(classifier, frame, y == "left")
    decided = repaired.decide(frame)
    assert repaired.routes_
    whys = [one.why() for one in decided[decided.is_repaired][:50]]
    assert any(f"{name} 0." in why for why in whys for name in "abc")
    assert not any("x0" in why for why in whys)
    again = from_bytes(to_bytes(repaired))
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    same_decisions(again.decide(frame), decided)


@pytest.mark.slow_cases("*check_classifiers_train*", "*check_fit_idempotent")
@parametrize_with_checks([RoutedClassifier(SEPClassifier())])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_dask_collections_are_decided_block_by_block(repaired, fresh):
    blocks = package_or_skip("dask.array").from_array(fresh[0][:900], chunks=(400, 1))
    decided = repaired.decide(fresh[0][:900])
    assert repaired.decide(blocks).compute()["route"].tolist() == decided.route.tolist()
    np.testing.assert_array_equal(repaired.predict(blocks).compute(), decided.label)
    np.testing.assert_array_equal(repaired.predict_proba(blocks).compute(), decided.probabilities)
    for use in (lambda: repair(repaired, blocks, fresh[1][:900]), lambda: Monitor(repaired, blocks)):
        with pytest.raises(TypeError, match="memory"):
            use()


def test_refusals(classifier):
    X, y = two_sides(200, 1)
    for use in (repair, Monitor):
        with pytest.raises(NotFittedError):
            use(SEPClassifier(), X, y)
    for labels, options, said in (
        (np.where(X[:, 0] > 0, "new", y), {}, "'new'"),
        (y, {"regions": [10_000]}, "no region 10000"),
        (y, {"confidence": 1}, "confidence is 1"),
        (y, {"cv": 1}, "cv is 1"),
    ):
        with pytest.raises(ValueError, match=said):
            repair(classifier, X, labels, **options)
    other = LogisticRegression()
    for model in (other, SelectiveClassifier(other, 0.3), make_pipeline(other)):
        with pytest.raises(TypeError, match="LogisticRegression has none"):
            repair(model.fit(X, y), X, y)
    with pytest.raises(TypeError, match="TrustedClassifier"):
        RoutedClassifier(LogisticRegression()).fit(X, y)
    few = repair(classifier, X[:12], y[:12], regions=classifier.apply(X[:1]))
    assert "too few rows" in few.summary()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("routes", lambda a: a - a - 2),
        ("routes", lambda a: a + 10**6),
        ("routes", lambda a: a[::-1].copy() if len(a) > 1 else a - 10**6),
        ("asked", lambda a: a + 1),
        ("models/0/model/centers", lambda a: a[:, :1].copy()),
    ],
)
def test_forged_files_are_refused(repaired, name, change):
    arrays, content = decode(to_bytes(repaired))
    arrays = dict(arrays)
    arrays[f"model/{name}"] = change(arrays[f"model/{name}"])
    with pytest.raises(FormatError):
        from_bytes(encode(arrays, content))
