"""Erasure: the model is the one without the rows, byte for byte, and its promise assumes the worst of them."""

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from same_model import draw
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

import sepc
import sepc.errors
from sepc.estimators.selective.costs import choose_cheapest
from sepc.estimators.selective.thresholds import choose_threshold
from sepc.lifecycle import forget, repair, verify_receipt
from sepc.model_files import from_bytes, to_bytes
from sepc.statistics.rates import fixed_grid

X, Y = load_iris(return_X_y=True)
ERASED = np.array([7, 60, 61, 149])
LEFT = np.setdiff1d(np.arange(len(X)), ERASED)
STRATA = np.column_stack([X, np.arange(len(X)) % 2])


def selective(**more):
    return sepc.SelectiveClassifier(sepc.SEPClassifier(trust="counts"), max_risk=0.3, random_state=0, **more)


@pytest.mark.parametrize(
    ("unfitted", "rows"),
    [
        (sepc.SEPClassifier(), X),
        (sepc.SEPClassifier(keep_rows=False, trust="counts"), X),
        (sepc.RoutedClassifier(sepc.SEPClassifier(trust="counts"), by=[4]), STRATA),
        (sepc.TrustedClassifier(RandomForestClassifier(5, random_state=0), cv=2), X),
    ],
    ids=["partition", "without rows", "strata", "trust"],
)
def test_the_model_is_the_one_without_the_rows_byte_for_byte(unfitted, rows):
    model = unfitted.fit(rows, Y)
    erasure = forget(model, rows, Y, ERASED)
    without = unfitted.fit(rows[LEFT], Y[LEFT])
    assert to_bytes(erasure.model) == to_bytes(without)
    verify_receipt(erasure.receipt, erasure.model, rows[LEFT], Y[LEFT], erasure.salts, refit_model=False)


def test_a_model_from_a_file_and_a_mask_do_as_well():
    model = from_bytes(to_bytes(sepc.SEPClassifier(n_impure=0.1).fit(X, Y)))
    erasure = forget(model, X, Y, np.isin(np.arange(len(X)), ERASED))
    assert to_bytes(erasure.model) == to_bytes(sepc.SEPClassifier(n_impure=0.1).fit(X[LEFT], Y[LEFT]))
    verify_receipt(erasure.receipt, from_bytes(to_bytes(erasure.model)), X[LEFT], Y[LEFT], erasure.salts)


def test_rows_in_another_order_give_the_same_decisions():
    rows, labels = draw(300)
    model = sepc.SEPClassifier().fit(rows, labels)
    order = np.random.default_rng(1).permutation(300)
    one = forget(model, rows, labels, [3, 5]).model
    other = forget(model, rows[order], labels[order], np.flatnonzero(np.isin(order, [3, 5]))).model
    np.testing.assert_allclose(one.predict_proba(rows), other.predict_proba(rows), atol=1e-8)


def test_categories_that_only_an_erased_row_had_are_gone():
    table, labels = patients(200, key=False)
    table["stage"] = table["stage"].astype(str).mask(np.arange(200) == 4, "zebra").astype("category")
    model = sepc.SEPClassifier(trust="counts").fit(table, labels)
    erasure = forget(model, table, labels, [4])
    assert b"zebra" in to_bytes(model)
    assert b"zebra" not in to_bytes(erasure.model)
    rest = table.drop(index=4).assign(stage=lambda left: left["stage"].astype(str).astype("category"))
    assert to_bytes(erasure.model) == to_bytes(sepc.SEPClassifier(trust="counts").fit(rest, np.delete(labels, 4)))


@pytest.fixture(scope="module")
def blocks():
    pd = package_or_skip("pandas")
    rows, labels = draw(400)
    return pd.DataFrame(rows, columns=list("abc")).assign(label=labels)


def test_parquet_bit_for_bit(blocks, tmp_path):
    package_or_skip("pyarrow")
    blocks.to_parquet(tmp_path / "all.parquet", index=False, row_group_size=150)
    model = sepc.SEPClassifier(trust="counts").fit(tmp_path / "all.parquet", "label")
    with pytest.raises(ValueError, match="rest="):
        forget(model, tmp_path / "all.parquet", "label", [0, 399])
    erasure = forget(model, tmp_path / "all.parquet", "label", [0, 399], rest=tmp_path / "rest.parquet")
    blocks[1:399].to_parquet(tmp_path / "own.parquet", index=False, row_group_size=150)
    for rest in ("rest.parquet", "own.parquet"):
        assert to_bytes(erasure.model) == to_bytes(sepc.SEPClassifier(trust="counts").fit(tmp_path / rest, "label"))
    verify_receipt(erasure.receipt, erasure.model, tmp_path / "own.parquet", "label", erasure.salts)


def test_a_promise_counts_erased_rows_as_wrong():
    rows, labels = draw(800)
    model = selective().fit(rows, labels)
    erasure = forget(model, rows, labels, [1, 2, 3])
    assert erasure.receipt.n_counted_wrong == erasure.model.promise_.n_erased == 3
    assert "3 erased rows" in erasure.model.summary()
    rest = np.delete(rows, [1, 2, 3], axis=0), np.delete(labels, [1, 2, 3])
    assert to_bytes(erasure.model) == to_bytes(selective().fit_after_erasure(*rest, 3))
    plain = selective().fit(*rest)
    assert plain.promise_.n_rows == erasure.model.promise_.n_rows
    assert plain.coverage_ >= erasure.model.coverage_ > 0
    verify_receipt(erasure.receipt, from_bytes(to_bytes(erasure.model)), *rest, erasure.salts)
    again = forget(erasure.model, *rest, [0, 5], salts=erasure.salts)
    assert again.model.promise_.n_erased == 5
    assert again.receipt.rows_before == erasure.receipt.rows_after
    assert again.receipt.model_before == erasure.receipt.model_after


def test_whoever_is_erased_the_promise_holds_for_all_rows():
    """A threshold that passes with the worst of the erased rows passes with what they were."""
    random, grid = np.random.default_rng(0), fixed_grid()
    n_made = 0
    for _ in range(300):
        trust = random.uniform(0.5, 1.0, 400)
        wrong = random.random(400) < (1.0 - trust) / 2.0
        erased = random.choice(np.flatnonzero(wrong) if random.random() < 0.5 else 400, 3, replace=False)
        rest = np.delete(np.arange(400), erased)
        assumed = choose_threshold(trust[rest], wrong[rest], grid, 0.1, 0.95, 3)
        assert assumed.n_rows == 400
        n_wrong, n_accepted = wrong[trust >= assumed.threshold].sum(), (trust >= assumed.threshold).sum()
        assert n_wrong <= assumed.loss
        assert n_accepted - n_wrong >= assumed.n_accepted - assumed.loss
        n_made += np.isfinite(assumed.threshold)
    assert n_made > 100


def test_costs_count_erased_rows_at_the_largest():
    trust = np.linspace(0.5, 1.0, 500)
    cost = np.where(trust < 0.7, 1.0, 0.0)
    usual = choose_cheapest(trust, cost, fixed_grid(), np.array([0.0, 1.0, 5.0]), 0.5, 0.95)
    assumed = choose_cheapest(trust, cost, fixed_grid(), np.array([0.0, 1.0, 5.0]), 0.5, 0.95, 4)
    assert (usual.n_rows, assumed.n_rows) == (500, 504)
    assert assumed.n_accepted > 0
    expected = (np.sum(cost[trust >= assumed.threshold]) + 20.0 + 0.5 * (504 - assumed.n_accepted)) / 504
    assert assumed.mean_cost == pytest.approx(expected)


def test_groups_count_erased_rows_in_each():
    rows, labels = draw(500)
    groups = np.where(np.arange(500) % 2, "north", "south")
    model = selective(by="site").fit(rows, labels, groups={"site": groups})
    erasure = forget(model, rows, labels, [0], groups={"site": groups})
    n_rows = [control.n_rows for control in erasure.model.promise_.controls.values()]
    assert sum(n_rows) == erasure.model.promise_.n_rows + 2
    verify_receipt(erasure.receipt, erasure.model, rows[1:], labels[1:], erasure.salts, groups={"site": groups[1:]})


def test_calibration_rows_of_a_frozen_model():
    rows, labels = draw(700)
    frozen = FrozenEstimator(sepc.SEPClassifier(trust="counts").fit(rows[:300], labels[:300]))
    model = sepc.SelectiveClassifier(frozen, max_risk=0.3).fit(rows[300:], labels[300:])
    erasure = forget(model, rows[300:], labels[300:], [0])
    assert erasure.model.promise_.n_rows == 399
    assert to_bytes(erasure.model.estimator_.estimator) == to_bytes(frozen.estimator)


def test_what_cannot_be_done_says_what_to_do():
    model = sepc.SEPClassifier().fit(X, Y)
    edited = model.edited(sepc.Edit.flatten("x0", 6.0), author="A", reason="B", date="2026-01-01")
    private = sepc.SEPClassifier(keep_rows=False, trust="counts").fit(X, Y)
    for fitted, rows, labels, erased, said in (
        (model, X, np.roll(Y, 1), [0], "digest"),
        (model, X[1:], Y[1:], [0], "150 rows"),
        (model, X, Y, [150], "0 to 149"),
        (model, X, Y, [], "at least one"),
        (model, X, Y, np.arange(150), "delete the model"),
        (edited, X, Y, [0], "without_edits"),
        (private, X, np.roll(Y, 1), [0], "another model"),
    ):
        with pytest.raises(ValueError, match=said):
            forget(fitted, rows, labels, erased)
    with pytest.warns(sepc.errors.TrainingRowsWarning):
        repaired = repair(model, X, Y, regions=[0], confidence=0.0)
    for fitted, said in ((repaired, "repaired"), (RandomForestClassifier(2).fit(X, Y), "RandomForestClassifier")):
        with pytest.raises(TypeError, match=said):
            forget(fitted, X, Y, [0])
