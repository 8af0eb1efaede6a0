"""What a model file says about how its model was made."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from zoo import fitted_once

import sepc
from sepc import Edit
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import repair
from sepc.model_files import from_bytes, model_digest, to_bytes

X, Y = load_iris(return_X_y=True)
ODD = slice(1, None, 2)


@fitted_once
def iris():
    return sepc.SEPClassifier().fit(X[::2], Y[::2])


def saved(model, tmp_path):
    sepc.save(model, tmp_path / "model.sepc")
    return tmp_path / "model.sepc"


def history(model, tmp_path):
    return sepc.inspect(saved(model, tmp_path)).history


def test_the_provenance_is_kept_in_the_file(tmp_path):
    again = sepc.load(saved(iris(), tmp_path))
    assert again.provenance_ == iris().provenance_
    assert to_bytes(again) == to_bytes(iris()) == to_bytes(sepc.SEPClassifier().fit(X[::2], Y[::2]))


def test_steps_come_in_order_with_the_digests_of_their_models(tmp_path):
    selective = sepc.SelectiveClassifier(FrozenEstimator(iris()), max_risk=0.2).fit(X[ODD], Y[ODD])
    first, second = history(selective, tmp_path).steps
    assert (first.kind, first.done, first.n_rows, first.rows) == (
        "SEPClassifier",
        "fitted to",
        75,
        iris().provenance_.rows,
    )
    assert first.parameters["n_impure"] == 0.2
    assert first.model == model_digest(iris()) == history(iris(), tmp_path).steps[0].model
    assert (second.kind, second.done) == ("SelectiveClassifier", "calibrated on")
    assert second.parent == first.model
    assert second.model == model_digest(selective)


def test_a_repair_names_its_parent_although_the_file_does_not_hold_it(tmp_path):
    selective = sepc.SelectiveClassifier(FrozenEstimator(iris()), max_risk=0.2).fit(X[ODD], Y[ODD])
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.0, 1.0, size=(1500, 2))
    labels = np.where(rows[:, 0] > 0.0, "right", "left")
    model = sepc.SEPClassifier().fit(rows[:500], labels[:500])
    labels[np.abs(rows - 0.5).max(axis=1) < 0.2] = "left"
    repaired = repair(model, rows[500:], labels[500:], cv=2)
    kept = [str(change.region) for change in repaired.changes_ if change.kept]
    assert kept
    text = str(history(repaired, tmp_path))
    assert f"made from model {model_digest(model)}" in text
    assert f": {', '.join(kept)}" in text
    repaired_again = repair(selective, X[ODD], Y[ODD], regions=[0], confidence=0.0)
    last = history(repaired_again, tmp_path).steps[-1]
    assert last.parent == model_digest(selective)


def test_models_of_another_library_are_named(tmp_path):
    forest = RandomForestClassifier(5, random_state=0).fit(X[::2], Y[::2])
    around = sepc.TrustedClassifier(FrozenEstimator(forest), cv=2).fit(X[::2], Y[::2])
    kinds = [(step.kind, step.part) for step in history(around, tmp_path).steps]
    assert [kind for kind, _ in kinds] == [
        "sklearn.ensemble._forest.RandomForestClassifier",
        "SEPClassifier",
        "TrustedClassifier",
    ]
    assert kinds[1][1] == "partition"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", "zz"),
        ("rows", "0" * 33),
        ("parent", "0" * 32),
        ("n_rows", -1),
        ("versions", ["numpy"]),
        ("versions", ["numpy 1\n2. forged"]),
        ("versions", ["numpy 1"] * 21),
    ],
)
def test_forged_provenance_is_refused_and_cannot_forge_lines(name, value, tmp_path):
    arrays, content = decode(to_bytes(iris()))
    content["model"]["provenance"][name] = value
    data = encode(arrays, content)
    with pytest.raises(FormatError, match="provenance"):
        from_bytes(data)
    (tmp_path / "forged.sepc").write_bytes(data)
    assert len(str(sepc.inspect(tmp_path / "forged.sepc").history).splitlines()) <= 5


def test_edits_are_part_of_the_history(tmp_path):
    edited = iris().edited(Edit.flatten("x2", 5.0, label=1), author="A. Wu", reason="few rows", date="2026-05-04")
    assert f"edited: {edited.edits_[0]}" in str(history(edited, tmp_path))
    assert "edited" not in str(history(edited.without_edits(), tmp_path))
