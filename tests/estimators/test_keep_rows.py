"""With keep_rows=False, neither the model nor its file holds a training row or a hash of one."""

import warnings

import numpy as np
import pytest
from same_model import draw
from sklearn.datasets import load_iris

import sepc
from sepc.lifecycle import audit
from sepc.model.seen_rows import SEED
from sepc.model_files import from_bytes, to_bytes
from sepc.points.row_hash import row_hashes

ROWS, LABELS = draw(240)


@pytest.fixture(scope="module")
def usual():
    return sepc.SEPClassifier().fit(ROWS, LABELS)


@pytest.fixture(scope="module")
def private():
    return sepc.SEPClassifier(keep_rows=False).fit(ROWS, LABELS)


def rows_held(model):
    """How many training rows the bytes of a model's file hold, as given or standardised."""
    data, standardised = to_bytes(model), model.model_.standardize(ROWS)
    return sum(any(row.tobytes() in data for row in pair) for pair in zip(ROWS, standardised, strict=True))


def hashes_held(model):
    data = to_bytes(model)
    return sum(one.tobytes() in data for one in row_hashes(ROWS, SEED))


def test_a_file_holds_isolated_rows_and_hashes_by_default(usual):
    assert rows_held(usual) == len(usual.model_.isolated) > 0
    assert hashes_held(usual) == len(ROWS)


def test_without_them_a_file_holds_no_row_and_no_hash(usual, private):
    assert (rows_held(private), hashes_held(private)) == (0, 0)
    assert usual.provenance_.rows
    assert not private.provenance_.rows
    assert usual.provenance_.rows.encode() in to_bytes(usual)
    assert b'"rows\\":\\"\\"' in to_bytes(private)


def test_ellipsoids_and_accuracy_stay(usual, private):
    np.testing.assert_array_equal(private.model_.centers, usual.model_.centers)
    rows, labels = draw(2000, seed=0)
    assert private.score(rows[240:], labels[240:]) > usual.score(rows[240:], labels[240:]) - 0.03


def test_the_parameter_is_in_files_only_if_it_was_set(usual, private):
    assert b"keep_rows" not in to_bytes(usual)
    again = from_bytes(to_bytes(private))
    assert again.get_params()["keep_rows"] is False
    np.testing.assert_array_equal(again.predict_proba(ROWS), private.predict_proba(ROWS))
    assert to_bytes(again) == to_bytes(private)


def test_training_rows_are_not_recognised_again(usual, private):
    with pytest.warns(sepc.TrainingRowsWarning):
        audit(usual, ROWS, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", sepc.TrainingRowsWarning)
        audit(private, ROWS, LABELS)


def test_a_class_of_isolated_rows_is_enclosed():
    X, y = load_iris(return_X_y=True)
    few = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:4]])
    rows = np.column_stack([X, X**2, np.sin(X)])
    many = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:8]])
    with_four = sepc.SEPClassifier(keep_rows=False).fit(rows[few], y[few])
    with_eight = sepc.SEPClassifier(keep_rows=False).fit(rows[many], y[many])
    assert not (with_four.model_.owners == 2).any()
    assert (with_eight.model_.owners == 2).sum() == 1
    assert len(with_four.model_.isolated) == len(with_eight.model_.isolated) == 0
    assert set(with_four.predict(rows)) <= {0, 1, 2}


def test_without_any_ellipsoid_there_is_nothing_left_to_keep():
    rows = np.random.default_rng(0).standard_normal((6, 8))
    with pytest.raises(ValueError, match="keep_rows is False"):
        sepc.SEPClassifier(keep_rows=False).fit(rows, [0, 0, 0, 1, 1, 1])


def test_wrappers_keep_no_digest_either():
    inner = sepc.SEPClassifier(keep_rows=False)
    rows = np.column_stack([ROWS, np.arange(len(ROWS)) % 2])
    selective = sepc.SelectiveClassifier(inner, max_risk=0.3, random_state=0).fit(ROWS, LABELS)
    stratified = sepc.StratifiedClassifier(inner, by=[3]).fit(rows, LABELS)
    assert (selective.provenance_.rows, selective.provenance_.n_rows) == ("", 120)
    assert (stratified.provenance_.rows, stratified.provenance_.n_rows) == ("", 240)
