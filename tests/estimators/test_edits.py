"""Edits of fitted models: what changes, what stays bit for bit, and how they come off again."""

import copy
import datetime
import pickle
import re

import joblib
import numpy as np
import pytest
from cases import assert_same_decisions
from mixed_tables import patients
from optional import package_or_skip
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.frozen import FrozenEstimator
from zoo import fitted_once

import sepc
import sepc.errors
import sepc.lifecycle
from sepc import Edit, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import repair
from sepc.model_files import from_bytes, to_bytes

pd = package_or_skip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")

SIGNED = {"author": "A. Wu", "reason": "too few patients", "date": "2026-05-04"}


@fitted_once
def of_table():
    return SEPClassifier().fit(*patients(300))


@fitted_once
def of_wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return SEPClassifier().fit(X.iloc[:, :5], y)


def wine():
    return load_wine(as_frame=True).data.iloc[:, :5]


EDITS = {
    "flatten": Edit.flatten("age", 50, 70),
    "flatten to": Edit.flatten("age", high=55, to=-0.5),
    "clip": Edit.clip("dose", least=-0.2, most=0.3),
    "shift": Edit.shift("since", "2022-01-01", "2022-06-30", by=0.5),
    "monotone": Edit.monotone("dose", "increasing"),
    "set_level": Edit.set_level("ward", "north", 0.4),
    "drop_ellipsoid": Edit.drop_ellipsoid(1),
    "drop a number": Edit.drop_feature("age"),
    "drop a category": Edit.drop_feature("ward"),
    "drop a date": Edit.drop_feature("since"),
}
each_edit = pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)


def by_class(model, rows):
    """What each feature and ellipsoid adds to the score of each class, of rows without missing values."""
    weights, model = model.model_.weights, model.model_
    columns = np.ascontiguousarray(model.standardize(rows).T)
    terms = weights.feature_terms(columns)
    terms[:, weights.category_features] += weights.category_terms(rows[:, len(model.shift) :])
    squares = np.abs(np.random.default_rng(0).normal(size=(model.n_ellipsoids, len(rows))))
    return terms, weights.ellipsoid_terms(squares), weights.isolated_terms(columns, model.isolated)


@each_edit
def test_untouched_terms_stay_and_taken_off_the_model_is_the_old_one_bit_for_bit(edit):
    model, (table, _) = of_table(), patients(300)
    data = to_bytes(model)
    edited = model.edited(edit, **SIGNED)
    assert to_bytes(model) == data
    assert to_bytes(edited) != data
    for one in (edited, from_bytes(to_bytes(edited)), pickle.loads(pickle.dumps(edited)), copy.deepcopy(edited)):
        assert one.edits_ == edited.edits_
        assert to_bytes(one) == to_bytes(edited)
        assert to_bytes(one.without_edits()) == data
    rows = model.decide(table).rows
    before, after = by_class(model, rows), by_class(edited, rows)
    names = model.model_.feature_names
    touched = [bool(edit.feature) and name.split(", ")[0] == edit.feature for name in names]
    is_left = ~np.array(touched)
    np.testing.assert_array_equal(after[0][:, is_left], before[0][:, is_left])
    assert not np.array_equal(after[0][:, touched], before[0][:, touched]) or edit.feature is None
    others = np.arange(model.model_.n_ellipsoids) != edit.ellipsoid
    np.testing.assert_array_equal(after[1][:, others], before[1][:, others])
    np.testing.assert_array_equal(after[2], before[2])
    np.testing.assert_array_equal(edited.model_.weights.offsets, model.model_.weights.offsets)


def test_edits_in_the_middle_come_off_and_the_others_are_applied_again(tmp_path):
    model, several = of_table(), list(EDITS.values())[:7]
    every = model.edited(*several, **SIGNED)
    without = every.without_edits(2, -1)
    assert to_bytes(without) == to_bytes(model.edited(*(several[i] for i in (0, 1, 3, 4, 5)), **SIGNED))
    one_by_one = model
    for edit in several:
        one_by_one = one_by_one.edited(edit, **SIGNED)
    assert to_bytes(one_by_one) == to_bytes(every)
    assert to_bytes(every.without_edits(-1).edited(several[-1], **SIGNED)) == to_bytes(every)
    joblib.dump(every, tmp_path / "model.joblib")
    assert to_bytes(joblib.load(tmp_path / "model.joblib")) == to_bytes(every)
    for number in (7, -8):
        with pytest.raises(ValueError, match="no edit"):
            every.without_edits(number)


def at(model, column, values, row=0):
    """The decisions on one row with these values in a column."""
    table = patients(300, gaps=False)[0].iloc[[row] * len(values)].reset_index(drop=True)
    return model.decide(table.assign(**{column: values}))


def log_odds(model, column, values):
    """The term of a column for the second class."""
    rows = at(model, column, values).rows
    terms, _, _ = by_class(model, rows)
    names = [name.split(", ")[0].split(" (")[0] for name in model.model_.feature_names]
    own = terms[:, [name == column for name in names]].sum(axis=1)
    return own[:, 1] - own[:, 0]


def test_numbers_categories_and_dates_are_edited_as_said():
    plain = of_table()
    edited = plain.edited(Edit.flatten("age", 50, 70), **SIGNED)
    term = log_odds(edited, "age", [49.9, 50.0, 55.0, 61.3, 70.0, 70.1])
    assert len(set(term[1:5])) == 1
    assert term[0] != term[1]
    wards = ["east", "north", "west ü", None, "south"]
    before = log_odds(plain, "ward", wards)
    for ward, level in (("north", 0.4), (None, -0.7)):
        after = log_odds(plain.edited(Edit.set_level("ward", ward, level), **SIGNED), "ward", wards)
        k = wards.index(ward)
        assert after[k] == pytest.approx(level, abs=1e-12)
        np.testing.assert_array_equal(np.delete(after, k), np.delete(before, k))
    doses = np.linspace(0.0, 20.0, 60)
    before, after = (log_odds(own, "dose", doses) for own in (plain, plain.edited(EDITS["clip"], **SIGNED)))
    assert before.min() < -0.2 < 0.3 < before.max()
    np.testing.assert_allclose(after, np.clip(before, -0.2, 0.3), atol=0.02)
    later = Edit.shift("since", datetime.date(2022, 1, 1), pd.Timestamp("2022-06-30"), by=0.5, label="ill")
    assert (later.low, later.high) == ("2022-01-01", "2022-06-30")
    days = pd.to_datetime(["2021-12-31", "2022-01-01", "2022-06-30 23:59", "2022-07-01"], format="mixed")
    moved = log_odds(plain.edited(later, **SIGNED), "since", days) - log_odds(plain, "since", days)
    np.testing.assert_allclose(moved, [0.0, -0.5, -0.5, 0.0], atol=1e-12)


def test_overlapping_edits_apply_in_order():
    edits = [Edit.flatten("age", 50, 70, to=0.2), Edit.shift("age", 60, 80, by=1.0)]
    for order, wanted in ((edits, [0.2, 1.2]), (edits[::-1], [0.2, 0.2])):
        edited = of_table().edited(*order, **SIGNED)
        np.testing.assert_allclose(log_odds(edited, "age", [55.0, 65.0]), wanted, atol=1e-12)


@pytest.mark.parametrize("column", ["age", "ward", "stage", "since"])
def test_a_dropped_column_has_no_influence_whatever_it_holds(column):
    edited, (table, y) = of_table().edited(Edit.drop_feature(column), **SIGNED), patients(300)
    decided = edited.decide(table)
    shuffled = table.assign(**{column: np.random.default_rng(0).permutation(table[column].to_numpy())})
    for other in (shuffled, table.assign(**{column: table[column].mask(np.ones(len(table), dtype=bool))})):
        again = edited.decide(other)
        assert_same_decisions(again, decided)
        np.testing.assert_array_equal(edited.predict_proba(other), decided.probabilities)
        np.testing.assert_array_equal(edited.predict(other), decided.label)
    named = re.compile(rf"\b{column}\b")
    assert not any(named.search(why) for why in again.why(brief=True))
    assert edited.feature_importances_[list(edited.feature_names_in_).index(column)] == 0.0
    if column == "ward":  # a category that was never seen is not remarked on
        said = [at(model, "ward", ["mars"]).why(0) for model in (edited, of_table())]
        assert ["not seen" in why for why in said] == [False, True]
    if column == "age":
        with pytest.warns(sepc.errors.TrainingRowsWarning):
            sepc.lifecycle.audit(edited, table, y)
        complete = patients(300, gaps=False)[0]
        ill = np.flatnonzero(edited.predict(complete) == "ill")[:1]
        found = sepc.recourse(edited, complete.iloc[ill], to="well", min_trust=0.5)
        assert found.answers
        assert all(change.feature != "age" for answer in found.answers for change in answer.changes)


def test_a_dropped_ellipsoid_adds_nothing_but_keeps_its_regions():
    model, (table, _) = of_table(), patients(300, gaps=False)
    edited = model.edited(Edit.drop_ellipsoid(0), **SIGNED)
    assert not edited.decide(table).terms().ellipsoids[:, 0].any()
    np.testing.assert_array_equal(edited.apply(table), model.apply(table))
    assert len(edited.ellipsoids_) == len(model.ellipsoids_)


def test_several_classes_and_rows_with_missing_values():
    model, X = of_wine(), wine()
    edited = model.edited(Edit.shift("alcohol", 13, by=2.0, label=1), **SIGNED)
    before, after = (by_class(one, model.decide(X).rows)[0][:, 0] for one in (model, edited))
    np.testing.assert_array_equal(after[:, [0, 2]], before[:, [0, 2]])
    np.testing.assert_allclose(after[:, 1] - before[:, 1], np.where(X["alcohol"] >= 13, 2.0, 0.0), atol=1e-12)
    flat = model.edited(Edit.flatten("alcohol"), **SIGNED)
    assert np.ptp(by_class(flat, model.decide(X).rows)[0][:, 0], axis=0).max() == 0.0
    model, (table, _) = of_table(), patients(300)
    lacking = table[table["age"].isna()]
    assert len(lacking) > 5
    shifted = model.edited(Edit.shift("age", by=1.5), **SIGNED)
    assert (shifted.predict_proba(lacking)[:, 1] > model.predict_proba(lacking)[:, 1]).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Edit.flatten("age", 70, 50), "empty range"),
        (lambda: Edit.flatten("age", float("nan")), "numbers"),
        (lambda: Edit.flatten("age", "2022-01-01", 50), "empty range"),
        (lambda: Edit.flatten("age", to=float("inf")), "not a number"),
        (lambda: Edit.clip("age"), "least, most"),
        (lambda: Edit.clip("age", least=1, most=0), "nothing is"),
        (lambda: Edit.monotone("age", "up"), "'increasing'"),
        (lambda: Edit.shift("age", by=None), "log-odds"),
        (lambda: Edit.drop_ellipsoid(-1), "from 0"),
        (lambda: Edit.drop_feature(3), "column"),
    ],
)
def test_edits_that_make_no_sense_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("edits", "signed", "words"),
    [
        ([], {}, "nothing to edit"),
        ([Edit.flatten("aeg")], {}, "'aeg'"),
        ([Edit.flatten("ward")], {}, "set_level"),
        ([Edit.shift("age", "2022-01-01", by=1)], {}, "numbers"),
        ([Edit.shift("since", 3, by=1)], {}, "dates"),
        ([Edit.set_level("age", 3, 1)], {}, "no categories"),
        ([Edit.set_level("ward", "mars", 1)], {}, "'mars'"),
        ([Edit.drop_ellipsoid(10_000)], {}, "no ellipsoid 10000"),
        ([Edit.flatten("age", label="dead")], {}, "'dead'"),
        ([Edit.drop_feature("age"), Edit.flatten("age")], {}, "dropped"),
        ([Edit.drop_feature("age"), Edit.drop_feature("age")], {}, "dropped"),
        *(([Edit.flatten("age")], {what: no}, what) for what in SIGNED for no in ("", "  ", None)),
        ([Edit.flatten("age")], {"date": "yesterday"}, "year"),
    ],
)
def test_edits_that_do_not_fit_the_model_or_are_not_signed_are_refused(edits, signed, words):
    with pytest.raises(ValueError, match=words):
        of_table().edited(*edits, **{**SIGNED, **signed})


@pytest.mark.filterwarnings("ignore::sepc.errors.FlatSetWarning")
def test_models_without_log_odds_are_not_edited():
    X, y = patients(100, gaps=False)
    with pytest.raises(ValueError, match="label"):
        of_wine().edited(Edit.shift("alcohol", by=1.0), **SIGNED)
    with pytest.raises(ValueError, match="no weights"):
        SEPClassifier(trust="counts").fit(X, y).edited(Edit.flatten("age"), **SIGNED)
    with pytest.raises(ValueError, match="one class"):
        SEPClassifier().fit(X, np.zeros(100)).edited(Edit.flatten("age"), **SIGNED)


@pytest.mark.parametrize("forged", ["date", "kind", "nothing made", "fixed", "code", "sizes"])
def test_forged_edits_are_refused(forged):
    edited = of_table().edited(EDITS["flatten"], EDITS["drop a category"], **SIGNED)
    selective = SelectiveClassifier(FrozenEstimator(edited), max_risk=0.4).fit(*patients(200, seed=1))
    arrays, content = decode(to_bytes(selective))
    arrays, own = dict(arrays), content["model"]["estimator"]["ours"]
    edits, where = own["edits"], "model/estimator/ours/edits/"
    match forged:
        case "date":
            edits["made"][0]["date"] = " "
        case "kind":
            edits["made"][0]["kind"] = "explode"
        case "nothing made":
            edits["made"] = []
        case "fixed":
            arrays[f"{where}fixed"] = arrays[f"{where}fixed"] + 100
        case "code":
            arrays[f"{where}typical"] = arrays[f"{where}typical"] + 100.5
        case "sizes":
            arrays[f"{where}original/lines"] = arrays[f"{where}original/lines"][:-1]
    with pytest.raises(FormatError):
        from_bytes(encode(arrays, content))


def test_a_clone_and_a_refit_have_no_edits_and_can_take_them_again():
    edited = of_table().edited(EDITS["flatten"], EDITS["set_level"], **SIGNED)
    assert not hasattr(clone(edited), "model_")
    again = clone(edited).fit(*patients(300))
    assert again.edits_ == ()
    assert to_bytes(again) == to_bytes(of_table())
    assert to_bytes(again.with_edits(edited.edits_)) == to_bytes(edited)
    assert copy.copy(edited).fit(*patients(300)).edits_ == ()
    model = SEPClassifier(out_of_fold=True, max_ellipsoids=4).fit(*patients(200, gaps=False))
    assert not hasattr(model.edited(Edit.drop_ellipsoid(0), **SIGNED), "out_of_fold_")
    assert hasattr(model, "out_of_fold_")


def test_trusted_labels_stay_and_trust_follows():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :4]
    trusted = TrustedClassifier(SEPClassifier(trust="counts"), cv=2).fit(X, y)
    edited = trusted.edited(Edit.shift("alcohol", by=3.0, label=0), **SIGNED)
    np.testing.assert_array_equal(edited.predict(X), trusted.predict(X))
    assert (edited.decide(X).trust != trusted.decide(X).trust).any()
    assert "edited" in edited.decide(X).why(0)
    assert to_bytes(from_bytes(to_bytes(edited)).without_edits()) == to_bytes(trusted)


@pytest.mark.slow
@pytest.mark.parametrize("edits_first", [False, True])
def test_edits_hold_in_repaired_regions_too_before_and_after_a_repair(edits_first):
    rng = np.random.default_rng(3)
    X, y = patients(1200, seed=5, gaps=False)
    wrong = (X["ward"] == "east").to_numpy() & (rng.random(len(X)) < 0.95)
    options = {"confidence": 0.0, "despite_moved_columns": True}
    edits, model = (Edit.drop_feature("age"), Edit.drop_ellipsoid(0)), of_table()
    model = model.edited(*edits, **SIGNED) if edits_first else model
    repaired = repair(model, X, np.where(wrong, "well", y), **options)
    assert repaired.routes_
    edited = repaired if edits_first else repaired.edited(*edits, **SIGNED)
    decided, again = edited.decide(X), edited.decide(X.assign(age=np.nan))
    assert decided.is_repaired.any()
    np.testing.assert_array_equal(decided.trust, again.trust)
    if edits_first:
        assert repaired.edits_ == model.edits_
    else:
        assert to_bytes(from_bytes(to_bytes(edited)).without_edits()) == to_bytes(repaired)
        assert {model.edits_ for model in edited.routes_.values()} == {edited.edits_[:1]}
