"""Repair: failing regions get better, and nothing else changes."""

from dataclasses import fields

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import sepc
from sepc import FormatError, SEPClassifier
from sepc.estimators.repaired.estimator import RepairedClassifier
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor, audit, repair
from sepc.lifecycle.repairing.repair import _split_by_region
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
    return SEPClassifier().fit(*two_sides(1500, 0))


@pytest.fixture(scope="module")
def repaired(classifier):
    return repair(classifier, *two_sides(3000, 1, changed=True))


@pytest.fixture(scope="module")
def fresh():
    return two_sides(20_000, 2, changed=True)


def same_decisions(one, two):
    for name in {field.name for field in fields(one)} & {field.name for field in fields(two)} - {
        "model",
        "parts",
        "by",
    }:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)


def test_errors_in_repaired_regions_fall_by_half_and_nothing_else_changes(classifier, repaired, fresh):
    X, y = fresh
    before, after = classifier.decide(X), repaired.decide(X)
    touched = np.isin(before.region, list(repaired.repaired_))
    np.testing.assert_array_equal(after.repaired, touched)
    assert 0.0 < touched.mean() < 0.6
    assert (after.label != y)[touched].mean() < 0.5 * (before.label != y)[touched].mean()
    same_decisions(before[~touched], after[~touched])
    np.testing.assert_array_equal(after.region, before.region)


def test_decisions_are_whole(repaired, fresh):
    X, _ = fresh
    decided = repaired.decide(X)
    np.testing.assert_array_equal(decided.label, repaired.predict(X))
    np.testing.assert_array_equal(decided.probabilities, repaired.predict_proba(X))
    np.testing.assert_allclose(decided.probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(decided.label, repaired.classes_[decided.probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(decided.accepted, decided.trust >= 0.95)
    one = decided[int(np.flatnonzero(decided.repaired)[0])]
    other = decided[int(np.flatnonzero(~decided.repaired)[0])]
    assert one.why().startswith(
        f"In repaired region {one.region}: {one.label!r}".replace("np.str_(", "").replace(")", "")
    )
    assert one.inner.trust == one.trust
    assert other.why() == repaired.estimator_.decide(X)[int(np.flatnonzero(~decided.repaired)[0])].why()
    package_or_skip("pandas")
    assert decided[:50].to_frame()["repaired"].tolist() == decided.repaired[:50].tolist()


def test_changes_say_what_was_done(classifier, repaired):
    assert {change.region for change in repaired.changes_ if change.kept} == set(repaired.repaired_)
    kept = [change for change in repaired.changes_ if change.kept]
    assert all(change.n_made > 0 for change in kept)
    assert sum(change.errors_after for change in kept) < sum(change.errors_before for change in kept)
    assert "all other decisions stay as they were" in str(repaired)
    assert "other rows: " in repaired.summary()
    X, y = two_sides(1000, 3)
    far = np.abs(X[:, 0]) > 0.3
    assert "no region fails" in repair(classifier, X[far], y[far]).summary()


def test_rows_that_judge_do_not_make():
    region = np.random.default_rng(0).integers(5, size=100)
    makers, judges = _split_by_region(region, 0.3, np.random.default_rng(1))
    assert sorted([*makers, *judges]) == list(range(100))
    for one in range(5):
        assert np.sum(region[judges] == one) == int(0.3 * np.sum(region == one))


def test_a_model_that_is_no_better_is_not_kept(classifier):
    X, y = two_sides(600, 4)
    regions = np.bincount(classifier.apply(X)[classifier.apply(X) >= 0]).argsort()[-2:]
    noise = np.random.default_rng(0).permutation(y)
    left = repair(classifier, X, y, regions=regions)
    assert left.repaired_ == {}
    assert "left as it was" in left.summary()
    kept = repair(classifier, X, noise, regions=regions, validation_size=0.0)
    assert all("no other rows to judge it" in str(change) for change in kept.changes_ if change.kept)
    assert sum(change.n_made for change in kept.changes_) > 0


def test_old_rows_help_only_where_they_are_still_true(classifier, fresh):
    X, y = fresh
    feedback = two_sides(3000, 1, changed=True)
    old = two_sides(1500, 0)
    with_old = repair(classifier, *feedback, X_train=old[0], y_train=old[1])
    assert (with_old.predict(X) != y).mean() < 0.6 * (classifier.predict(X) != y).mean()


def test_audit_and_regions_choose(classifier):
    X, y = two_sides(3000, 1, changed=True)
    found = audit(classifier, X, y)
    by_audit = repair(classifier, X, y, audit=found)
    assert {change.region for change in by_audit.changes_} == set(found.to_repair)
    one = repair(classifier, X, y, regions=found.to_repair[:1])
    assert [change.region for change in one.changes_] == found.to_repair[:1].tolist()


def test_a_repaired_model_is_audited_and_repaired_again(repaired, fresh):
    X, y = fresh
    y = np.where(np.abs(X[:, :2] + 0.5).max(axis=1) < 0.25, "right", y)
    found = audit(repaired, X[:4000], y[:4000])
    again = repair(repaired, X[:4000], y[:4000], audit=found)
    assert set(again.repaired_) > set(repaired.repaired_)
    assert again.score(X[4000:], y[4000:]) > repaired.score(X[4000:], y[4000:])


def test_fit_is_a_full_refit(repaired):
    X, y = two_sides(500, 6)
    anew = clone(repaired).fit(X, y)
    assert anew.repaired_ == {}
    np.testing.assert_array_equal(anew.predict(X), SEPClassifier().fit(X, y).predict(X))


def test_names_of_features_and_number_labels():
    pd = package_or_skip("pandas")
    X, y = two_sides(1500, 0)
    classifier = SEPClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y == "left")
    X, y = two_sides(3000, 1, changed=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    repaired = repair(classifier, frame, y == "left")
    decided = repaired.decide(frame)
    assert repaired.repaired_
    assert any(f"kept by {name}" in one.why() for one in decided[decided.repaired][:500] for name in "abc")
    again = from_bytes(to_bytes(repaired))
    assert list(again.feature_names_in_) == ["a", "b", "c"]
    same_decisions(again.decide(frame), decided)


@parametrize_with_checks([RepairedClassifier(SEPClassifier())])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_dask_collections_are_decided_block_by_block(repaired, fresh):
    blocks = package_or_skip("dask.array").from_array(fresh[0][:900], chunks=(400, 1))
    decided = repaired.decide(fresh[0][:900])
    assert repaired.decide(blocks).compute()["repaired"].tolist() == decided.repaired.tolist()
    np.testing.assert_array_equal(repaired.predict(blocks).compute(), decided.label)
    np.testing.assert_array_equal(repaired.predict_proba(blocks).compute(), decided.probabilities)
    for use in (lambda: repair(repaired, blocks, fresh[1][:900]), lambda: Monitor(repaired, blocks)):
        with pytest.raises(TypeError, match="needs rows in memory"):
            use()


def test_refusals(classifier):
    X, y = two_sides(200, 1)
    with pytest.raises(NotFittedError):
        repair(SEPClassifier(), X, y)
    with pytest.raises(NotFittedError):
        Monitor(SEPClassifier(), X, y)
    with pytest.raises(ValueError, match="does not know: 'new'"):
        repair(classifier, X, np.where(X[:, 0] > 0, "new", y))
    with pytest.raises(ValueError, match="There is no region 10000"):
        repair(classifier, X, y, regions=[10_000])
    with pytest.raises(ValueError, match="validation_size is 1"):
        repair(classifier, X, y, validation_size=1)
    with pytest.raises(TypeError, match="but got a LogisticRegression"):
        repair(LogisticRegression().fit(X, y), X, y)
    with pytest.raises(TypeError, match="only the regions of an SEPClassifier"):
        RepairedClassifier(LogisticRegression()).fit(X, y)
    few = repair(classifier, X[:12], y[:12], regions=classifier.apply(X[:1]))
    assert "too few rows" in few.summary()


def test_a_file_keeps_everything(repaired, fresh, tmp_path):
    sepc.save(repaired, tmp_path / "repaired.sepc")
    again = sepc.load(tmp_path / "repaired.sepc")
    same_decisions(again.decide(fresh[0]), repaired.decide(fresh[0]))
    assert again.summary() == repaired.summary()
    assert to_bytes(again) == (tmp_path / "repaired.sepc").read_bytes()
    assert "around: SEPClassifier" in str(sepc.inspect(tmp_path / "repaired.sepc"))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("regions", lambda a: a - a - 2),
        ("regions", lambda a: a + 10**6),
        ("regions", lambda a: a[::-1].copy() if len(a) > 1 else a - 10**6),
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
