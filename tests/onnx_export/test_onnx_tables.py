"""Tables with categories and dates: the graph takes their columns, and ONNX Runtime says what Python says."""

import numpy as np
import pytest
from export_cases import SIGNED, rows_around
from mixed_tables import complete, orders_in_text, patients
from onnx_runs import assert_same, facts_of, pd, run, session_of
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator

from sepc import Edit, SelectiveClassifier, SEPClassifier
from sepc.decisions.kinds import Cause
from sepc.onnx import export

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")


@pytest.fixture(scope="module")
def fitted():
    return SEPClassifier(min_trust=0.8).fit(*patients())


@pytest.mark.quick_cases("True")
@pytest.mark.parametrize("gaps", [True, False])
def test_rows_of_a_table_are_decided_as_in_python(gaps, tmp_path):
    table, y = patients(gaps=gaps)
    model = SEPClassifier(min_trust=0.8).fit(table, y)
    session = session_of(model, tmp_path)
    assert [(given.name, given.type) for given in session.get_inputs()] == [
        *(("age", "tensor(double)"), ("dose", "tensor(double)"), ("ward", "tensor(string)")),
        *(("stage", "tensor(double)"), ("since", "tensor(double)")),
    ]
    assert_same(model, session, complete(table))
    fresh = complete(patients(seed=1)[0])
    assert fresh[["ward", "stage"]].isna().any(axis=None)
    assert_same(model, session, fresh)
    assert all(len(values) == 0 for values in run(session, fresh[:0]).values())


def test_categories_not_seen_in_training_add_nothing(fitted, tmp_path):
    fresh = complete(patients(seed=1)[0])
    odd = fresh.assign(
        ward=np.resize(["south", "<missing>", "east "], len(fresh)), stage=np.resize([2.5, np.inf, -1.0], len(fresh))
    )
    session = session_of(fitted, tmp_path)
    assert_same(fitted, session, odd)
    assert (run(session, odd)["trust"] != run(session, fresh)["trust"]).mean() > 0.9


def test_gaps_in_numbers_and_dates_are_left_to_python(fitted, tmp_path):
    table, session = patients()[0], session_of(fitted, tmp_path)
    has_gaps = table[["age", "dose", "since"]].isna().any(axis=1).to_numpy()
    said, whole = run(session, table), run(session, complete(table))
    assert 20 < has_gaps.sum() < 200
    assert (said["cause"][has_gaps] == Cause.MISSING).all()
    assert np.isnan(said["trust"][has_gaps]).all()
    assert np.isnan(said["probabilities"][has_gaps]).all()
    assert not said["accepted"][has_gaps].any()
    assert (said["region"][has_gaps] == -1).all()
    assert set(said["label"][has_gaps]) == {fitted.classes_[fitted.model_.class_counts.argmax()]}
    for name, values in whole.items():
        np.testing.assert_array_equal(said[name][~has_gaps], values, err_msg=name)
    assert (run(session, table.assign(dose=np.inf))["cause"][~has_gaps] == Cause.UNSEEN).all()


def test_columns_with_names_of_outputs_and_of_values_inside(tmp_path):
    table, y = patients(key=False)
    table.columns = ["label", "c1", "region", "v7", ""]
    model = SEPClassifier().fit(table, y)
    session = session_of(model, tmp_path)
    assert [given.name for given in session.get_inputs()] == ["in_label", "c1", "in_region", "v7", "in_"]
    assert [fact["column"] for fact in facts_of(session)["inputs"]] == list(table.columns)
    assert_same(model, session, table[table[["label", "c1", ""]].notna().all(axis=1)])


def test_an_empty_text_is_a_gap(tmp_path):
    table, y = patients()
    table["ward"] = table["ward"].replace("north", "")
    model = SEPClassifier().fit(table, y)
    session = session_of(model, tmp_path)
    assert [fact.get("gap") for fact in facts_of(session)["inputs"]] == [None, None, "", None, None]
    assert_same(model, session, complete(table))


@pytest.mark.slow
def test_a_category_that_is_both_text_and_a_number_is_refused(tmp_path):
    table, y = patients()
    table["ward"] = table["ward"].replace({"east": "1", "north": 1}).astype(object)
    with pytest.raises(TypeError, match="'ward'"):
        export(SEPClassifier().fit(table, y), tmp_path / "model.onnx")
    table["ward"] = table["ward"].replace({"1": "one"})
    model = SEPClassifier().fit(table, y)
    assert_same(model, session_of(model, tmp_path), complete(table))


@pytest.mark.slow_cases("False")
@pytest.mark.parametrize("frozen", [True, False])
def test_a_promise_about_a_table(frozen, fitted, tmp_path):
    table, y = patients(600, seed=2)
    inner = FrozenEstimator(fitted) if frozen else SEPClassifier()
    model = SelectiveClassifier(inner, 0.1, random_state=0).fit(table, y)
    session, fresh = session_of(model, tmp_path), complete(patients(seed=3)[0])
    assert 0 < assert_same(model, session, fresh).accepted.sum() < len(fresh)
    gone = run(session, fresh.assign(age=np.nan))
    assert not gone["accepted"].any()
    assert set(gone["cause"]) == {Cause.MISSING}


def test_edited_and_dropped_columns(fitted, tmp_path):
    edits = (
        Edit.flatten("age", 50, 70),
        Edit.monotone("dose", "increasing"),
        Edit.shift("since", "2022-01-01", by=0.5),
        Edit.set_level("ward", "north", 0.4),
        Edit.drop_ellipsoid(0),
    )
    fresh = complete(patients(seed=1)[0])
    model = fitted.edited(*edits, **SIGNED)
    assert_same(model, session_of(model, tmp_path), fresh)
    model = fitted.edited(*(Edit.drop_feature(name) for name in ("age", "ward", "stage", "since")), **SIGNED)
    session = session_of(model, tmp_path)
    assert_same(model, session, fresh)
    assert_same(model, session, fresh.assign(age=np.nan, since=pd.NaT, ward=None))


def assert_same_terms(model, rows, folder):
    outputs, decisions = run(session_of(model, folder, terms=True), rows), model.decide(rows)
    terms = decisions.terms()
    np.testing.assert_array_equal(outputs["runner_up"], terms.runner_up)
    place = terms.ellipsoids.sum(axis=1) + terms.isolated
    wanted = np.column_stack([terms.features, place, terms.offset])
    np.testing.assert_allclose(outputs["terms"], wanted, atol=1e-9, rtol=0.0)
    np.testing.assert_allclose(outputs["terms"].sum(axis=1), terms.log_odds, atol=1e-9, rtol=0.0)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_terms_of_numbers(n_classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X[y < n_classes], y[y < n_classes])
    assert_same_terms(model, rows_around(X, 300), tmp_path)


def test_terms_of_a_table_and_none_of_gaps(fitted, tmp_path):
    fresh = complete(patients()[0])
    assert_same_terms(fitted, fresh, tmp_path)
    fresh = fresh[:2].assign(age=[np.nan, 60.0])
    outputs = run(session_of(fitted, tmp_path, terms=True), fresh)
    assert np.isnan(outputs["terms"]).all(axis=1).tolist() == [True, False]


def test_what_was_text_in_training_comes_as_numbers_and_the_file_says_so(tmp_path):
    texts, plain, y = orders_in_text(300)
    model = SEPClassifier().fit(texts, y)
    session = session_of(model, tmp_path)
    said = {fact["column"]: fact.get("text", "") for fact in facts_of(session)["inputs"]}
    assert "numbers (€)" in said["amount"]
    assert said["ward"] == ""
    np.testing.assert_allclose(run(session, plain)["trust"], model.decide(texts).trust, atol=1e-9, rtol=0.0)


def test_text_that_is_no_unicode_is_refused_by_name(tmp_path):
    """Half of a surrogate pair comes from files that were decoded with "surrogateescape"."""
    rng, half = np.random.default_rng(0), "\ud800"
    y = rng.integers(2, size=200)
    length, kind = rng.normal(size=200) + 3 * y, pd.Series(rng.choice(["a", "b"], 200), dtype=object)
    table = pd.DataFrame({"length": length, "kind": kind})
    named = table.set_axis(pd.Index([f"length{half}", "kind"], dtype=object), axis=1)
    for X, labels in (
        (table, np.array(["no", half], dtype=object)[y]),
        (table.assign(kind=kind.replace("b", half).astype(object)), y),
        (named, y),
    ):
        with pytest.raises(ValueError, match=r"ud800' is not valid Unicode"):
            export(SEPClassifier(max_ellipsoids=2).fit(X, labels), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
