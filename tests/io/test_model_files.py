"""Model files: decisions survive, bytes are reproducible, and others can read them."""

import pickle
from dataclasses import replace
from pathlib import Path

import independent_reader
import numpy as np
import pytest
from optional import package_or_skip
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from zoo import fitted_once

import sepc
import sepc.errors
from sepc import Costs, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.decisions.kinds import Cause
from sepc.model_files import from_bytes, to_bytes

pd = package_or_skip("pandas")

N_ROWS = 2_000


def moons(n=300, noise=0.25):
    return make_moons(n, noise=noise, random_state=0)


def around(X, n, seed=0):
    """Rows like those of X, and some far from them."""
    rng = np.random.default_rng(seed)
    X = np.asarray(X, dtype=float)
    spread = X.std(axis=0)
    rows = X[rng.integers(len(X), size=n)] + 0.3 * spread * rng.standard_normal((n, X.shape[1]))
    rows[::5] = X.mean(axis=0) + 4 * spread * rng.standard_normal((len(rows[::5]), X.shape[1]))
    return rows


def same(model, again, rows):
    """Check that the decisions of two estimators are equal bit for bit."""
    first, second = model.decide(rows), again.decide(rows)
    more = ("probabilities", "region", "gauge", "counts_label", "support", "base_trust", "agreement")
    for name in ("label", "trust", "accepted", "cause", *(name for name in more if hasattr(first, name))):
        np.testing.assert_array_equal(np.asarray(getattr(first, name)), np.asarray(getattr(second, name)), name)
    return True


def named(X):
    return pd.DataFrame(X, columns=["across", "höhe"])


def stratified_rows(X):
    return np.column_stack([np.arange(len(X)) % 3, X])


X, Y = moons()
TEXT, STRATA, OURS = np.where(Y == 0, "left", "right"), stratified_rows(X), {"random_state": 0}
MODELS = {
    "weights": (SEPClassifier(), named(X), TEXT),
    "counts": (SEPClassifier(2, trust="counts", max_ellipsoids=500), X, Y),
    "published": (SEPClassifier.as_published(), X, Y.astype(bool)),
    "multiclass": (SEPClassifier(), *load_iris(return_X_y=True)),
    "isolated only": (SEPClassifier(), np.array([[0.0, 1.0], [1.0, 0.0]]), ["a", "b"]),
    "one class": (SEPClassifier(), X, np.zeros(len(X))),
    "selective": (SelectiveClassifier(SEPClassifier(), 0.2, **OURS), X, Y),
    "per label": (SelectiveClassifier(SEPClassifier(), {"left": 0.1, "right": 0.3}, **OURS), X, TEXT),
    "costs": (SelectiveClassifier(SEPClassifier(), Costs([[0, 5], [1, 0]], 0.7), **OURS), X, Y),
    "groups": (SelectiveClassifier(SEPClassifier(), 0.2, by=0, parents={2.0: 1.0}, **OURS), STRATA, Y),
    "another mix": (SelectiveClassifier(SEPClassifier(), 0.3, **OURS), X, Y),
    "no promise": (SelectiveClassifier(SEPClassifier(), 0.001, **OURS), X, Y),
    "trust in ours": (TrustedClassifier(SEPClassifier.as_published(), cv=2), X, Y),
    "own partition": (
        TrustedClassifier(SEPClassifier(), partition=SEPClassifier(0.1, trust="counts"), cv=KFold(3)),
        named(X),
        TEXT,
    ),
    "promise on trust": (SelectiveClassifier(TrustedClassifier(SEPClassifier(), cv=2), 0.3, **OURS), X, Y),
    "strata": (RoutedClassifier(SEPClassifier(), by=[0], min_rows=50), STRATA, TEXT),
}


@fitted_once
def fitted(kind):
    model, rows, labels = MODELS[kind]
    model = clone(model).fit(rows, labels, **({"X_target": X[::2]} if kind == "another mix" else {}))
    return model, X if kind == "isolated only" else rows


NOT_COMPARED = ("cv", "estimator", "partition", "max_risk")


@pytest.mark.slow_cases("trust in ours", "costs", "no promise", "promise on trust", "own partition", "another mix")
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.filterwarnings("ignore::sepc.errors.FlatSetWarning")
def test_round_trip(kind, tmp_path):
    model, X = fitted(kind)
    sepc.save(model, tmp_path / "model.sepc")
    again = sepc.load(tmp_path / "model.sepc")
    has_strata = kind in ("strata", "groups")
    rows = stratified_rows(around(X[:, 1:], N_ROWS)) if has_strata else around(X, N_ROWS)
    rows = pd.DataFrame(rows, columns=X.columns) if hasattr(X, "columns") else rows
    assert same(model, again, rows)
    np.testing.assert_array_equal(model.classes_, again.classes_)
    assert model.classes_.dtype == again.classes_.dtype
    assert to_bytes(model) == (tmp_path / "model.sepc").read_bytes()
    assert (to_bytes(again) == to_bytes(model)) is (kind != "own partition")  # its splitter is not kept
    kept = {k: v for k, v in model.get_params(deep=False).items() if k not in NOT_COMPARED}
    assert {name: again.get_params(deep=False)[name] for name in kept} == kept
    if hasattr(model, "feature_names_in_"):
        assert list(again.feature_names_in_) == list(model.feature_names_in_)
    if isinstance(model, SelectiveClassifier):
        assert again.summary() == model.summary()
    if getattr(model, "partition", None) is not None:
        assert again.partition.get_params() == model.partition.get_params()


def test_the_story_of_a_fit_survives(tmp_path):
    model, _ = fitted("weights")
    sepc.save(model, tmp_path / "model.sepc")
    again = sepc.load(tmp_path / "model.sepc")
    assert again.history_ == model.history_
    assert again.rows_used_ == model.rows_used_
    for before, after in zip(model.ellipsoids_, again.ellipsoids_, strict=True):
        assert (before.label, before.n_round, before.is_terminal) == (after.label, after.n_round, after.is_terminal)
        np.testing.assert_array_equal(before.ellipsoid.root, after.ellipsoid.root)
        for cut, other in zip(before.cuts, after.cuts, strict=True):
            np.testing.assert_array_equal(cut.normal, other.normal)
            assert (cut.offset, cut.through_means) == (other.offset, other.through_means)
    assert again.regions_.to_frame().equals(model.regions_.to_frame())
    rows = named(around(X, 500))
    before, after = (some.decide(rows).terms() for some in (model, again))
    for name in ("label", "runner_up", "offset", "features", "ellipsoids", "isolated", "fading", "log_odds"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name), name)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 250], dtype=np.uint8),
        np.array([-1.0, 2.0]),
        np.array([False, True]),
        np.array(["ü", "Ω"]),
        np.array(["a", "b"], dtype=object),
    ],
)
def test_labels_of_any_type(labels):
    model = SEPClassifier(max_ellipsoids=2).fit(X, labels[Y])
    again = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    assert [type(label) for label in again.classes_.tolist()] == [type(label) for label in model.classes_.tolist()]


@pytest.mark.slow
def test_a_foreign_model_is_recognised_when_it_is_given_again(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    base = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    model = TrustedClassifier(FrozenEstimator(base), cv=2).fit(X, y)
    sepc.save(model, tmp_path / "model.sepc")
    assert same(model, sepc.load(tmp_path / "model.sepc", estimator=base), X)
    assert b"LogisticRegression" not in (tmp_path / "model.sepc").read_bytes().replace(b'"base\\":\\"Log', b"")
    with pytest.raises(sepc.errors.ForeignModelError) as refused:
        sepc.load(tmp_path / "model.sepc")
    assert (refused.value.kind, refused.value.argument) == ("sklearn.pipeline.Pipeline", "estimator")
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.kind) == (str(refused.value), "sklearn.pipeline.Pipeline")
    with pytest.raises(sepc.errors.ForeignModelError, match="sklearn.linear_model"):
        sepc.load(tmp_path / "model.sepc", estimator=LogisticRegression())
    other = make_pipeline(StandardScaler(), LogisticRegression(C=2.0)).fit(X, y)
    with pytest.raises(sepc.errors.ForeignModelError, match="fingerprint"):
        sepc.load(tmp_path / "model.sepc", estimator=other)


def test_a_view_is_given_again_too(tmp_path):
    X, y = load_iris(return_X_y=True)
    base = RandomForestClassifier(5, random_state=0)
    model = TrustedClassifier(base, transformer=StandardScaler(), cv=2).fit(X, y)
    sepc.save(model, tmp_path / "model.sepc")
    with pytest.raises(sepc.errors.ForeignModelError, match="transformer=") as refused:
        sepc.load(tmp_path / "model.sepc", estimator=model.estimator_)
    assert refused.value.argument == "transformer"
    assert same(
        model, sepc.load(tmp_path / "model.sepc", estimator=model.estimator_, transformer=model.transformer_), X
    )


def test_what_cannot_be_saved_is_refused_in_plain_words(tmp_path):
    with pytest.raises(TypeError, match="last step"):
        sepc.save(make_pipeline(StandardScaler(), SEPClassifier()).fit(X, Y), tmp_path / "model.sepc")
    with pytest.raises(ValueError, match="not fitted"):
        sepc.save(SEPClassifier(), tmp_path / "model.sepc")
    strata = RoutedClassifier(LogisticRegression(), by=[0], min_rows=50).fit(STRATA, Y)
    with pytest.raises(TypeError, match="LogisticRegression"):
        sepc.save(strata, tmp_path / "model.sepc")
    dated = SEPClassifier().fit(X, Y)
    dated.model_ = replace(dated.model_, classes=np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"))
    with pytest.raises(TypeError, match="2020, 1, 1"):
        sepc.save(dated, tmp_path / "model.sepc")
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_stays_if_saving_fails(tmp_path, monkeypatch):
    path = tmp_path / "model.sepc"
    path.write_bytes(b"old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        sepc.save(fitted("isolated only")[0], path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


@pytest.mark.slow_cases("counts", "published")
@pytest.mark.parametrize("kind", ["weights", "counts", "published", "multiclass", "isolated only", "one class"])
def test_a_script_without_sepc_comes_to_the_same_decisions(kind, tmp_path):
    model, X = fitted(kind)
    sepc.save(model, tmp_path / "model.sepc")
    rows = around(X, 200)
    decisions = model.decide(pd.DataFrame(rows, columns=X.columns) if hasattr(X, "columns") else rows)
    answers = independent_reader.decide(tmp_path / "model.sepc", rows)
    assert [answer[0] for answer in answers] == decisions.label.tolist()
    np.testing.assert_allclose([answer[1] for answer in answers], decisions.trust, atol=1e-9)
    assert [answer[2] for answer in answers] == decisions.accepted.tolist()
    assert [answer[3] for answer in answers] == [Cause(cause).name for cause in decisions.cause]
    assert "import sepc" not in Path(independent_reader.__file__).read_text(encoding="utf-8")


def test_an_independent_reader_decides_by_an_edited_model(tmp_path):
    X, y = load_iris(return_X_y=True)
    signed = {"author": "A. Wu", "reason": "a reason", "date": "2026-05-04"}
    drop, shift = sepc.Edit.drop_feature("x1"), sepc.Edit.shift("x2", 3.0, 5.0, by=1.5, label=1)
    model = SEPClassifier(min_trust=0.8).fit(X, y).edited(drop, shift, sepc.Edit.drop_ellipsoid(0), **signed)
    sepc.save(model, tmp_path / "model.sepc")
    answers, decisions = independent_reader.decide(tmp_path / "model.sepc", X), model.decide(X)
    assert [answer[0] for answer in answers] == decisions.label.tolist()
    np.testing.assert_allclose([answer[1] for answer in answers], decisions.trust, atol=1e-9)
