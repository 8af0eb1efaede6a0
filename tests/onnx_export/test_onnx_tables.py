"""Tables with categories and dates: the graph takes their columns, and ONNX Runtime says what Python says."""

import json

import numpy as np
import pytest
from mixed_tables import complete, orders_in_text, patients
from optional import package_or_skip
from sklearn.frozen import FrozenEstimator

from sepc import SelectiveClassifier, SEPClassifier
from sepc.decisions.kinds import Cause
from sepc.onnx import export

onnx, ort, pd = package_or_skip("onnx"), package_or_skip("onnxruntime"), package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")


def session_of(model, folder):
    export(model, folder / "model.onnx")
    onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)
    return ort.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])


def facts_of(session):
    return json.loads(session.get_modelmeta().custom_metadata_map["inputs"])


def feeds(session, table):
    """The columns as the page on ONNX tells users to give them."""
    given = {}
    for fact in facts_of(session):
        column = table[fact["column"]]
        if "gap" in fact:
            texts = column.astype(object)
            given[fact["input"]] = texts.where(texts.notna(), fact["gap"]).astype(str).to_numpy(dtype=object)
        elif fact["kind"] == "date":
            given[fact["input"]] = ((column - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy()
        else:
            given[fact["input"]] = column.to_numpy(dtype=np.float64)
    return given


def run(session, table):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds(session, table)), strict=True))


def assert_same(model, session, table):
    said, decided = run(session, table), model.decide(table)
    for name, values in said.items():
        if name in ("probabilities", "trust"):
            np.testing.assert_allclose(values, getattr(decided, name), atol=1e-9, rtol=0.0, err_msg=name)
        else:
            np.testing.assert_array_equal(values, getattr(decided, name), err_msg=name)


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
    assert [fact["column"] for fact in facts_of(session)] == list(table.columns)
    assert_same(model, session, table[table[["label", "c1", ""]].notna().all(axis=1)])


def test_an_empty_text_is_a_gap(tmp_path):
    table, y = patients()
    table["ward"] = table["ward"].replace("north", "")
    model = SEPClassifier().fit(table, y)
    session = session_of(model, tmp_path)
    assert [fact.get("gap") for fact in facts_of(session)] == [None, None, "", None, None]
    assert_same(model, session, complete(table))


@pytest.mark.slow
def test_a_category_that_is_both_text_and_a_number_is_refused(tmp_path):
    table, y = patients()
    table["ward"] = table["ward"].replace({"east": "1", "north": 1}).astype(object)
    with pytest.raises(TypeError, match="Column 'ward' has '1' both as text and as a number; in ONNX"):
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
    said, decided = run(session, fresh), model.decide(fresh)
    assert 0 < decided.accepted.sum() < len(fresh)
    for name in ("label", "accepted", "cause"):
        np.testing.assert_array_equal(said[name], getattr(decided, name), err_msg=name)
    np.testing.assert_allclose(said["trust"], decided.trust, atol=1e-9)
    gone = run(session, fresh.assign(age=np.nan))
    assert not gone["accepted"].any()
    assert set(gone["cause"]) == {Cause.MISSING}


def test_what_was_text_in_training_comes_as_numbers_and_the_file_says_so(tmp_path):
    texts, plain, y = orders_in_text(300)
    model = SEPClassifier().fit(texts, y)
    session = session_of(model, tmp_path)
    said = {fact["column"]: fact.get("text", "") for fact in facts_of(session)}
    assert said["amount"] == "In training the column was text, read as numbers (€): give numbers here."
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
        with pytest.raises(ValueError, match=r"ud800' is not valid Unicode, which ONNX cannot hold; rename it\.$"):
            export(SEPClassifier(max_ellipsoids=2).fit(X, labels), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
