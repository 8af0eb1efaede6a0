"""The comparison with other models: its cache and limits, and the scores that were written for it."""

import json

import numpy as np
import pytest
from benchmark_runs import run_smallest, smallest_tables


@pytest.mark.slow
@pytest.mark.bench
def test_smallest_run_writes_tables_and_resumes(tmp_path):
    tables = smallest_tables("comparison", tmp_path)
    assert {row["learner"] for row in tables["models"]} == {"SEP-C", "RF", "HGB"}
    assert {row["labels of"] for row in tables["layers"]} == {"HGB"}
    parts = [tables[part] for part in ("models", "unseen", "together", "full size", "by time", "layers")]
    assert all(0 <= row["AURC"] <= 1 for part in parts for row in part)
    again = run_smallest("comparison", tmp_path, "--parts", "models")
    assert "\n0 folds in" in again.stderr
    stored = json.loads((tmp_path / "comparison.json").read_text())
    assert {title: stored[title] for title in tables} == tables


def test_parts_that_do_not_exist_are_named(tmp_path):
    done = run_smallest("comparison", tmp_path, "--parts", "nonsense")
    assert done.returncode == 1
    assert "No part is called nonsense; there are models," in done.stderr


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")  # Python 3.12 on: pytest-xdist has threads
def test_fold_beyond_its_seconds_is_too_slow_and_the_rest_is_skipped(monkeypatch, tmp_path):
    from sepc_benchmarks.trust import fitting
    from sepc_benchmarks.trust.folds import TOO_SLOW, Folds, Plan
    from sepc_benchmarks.trust.outcomes import models
    from sepc_benchmarks.trust.schedule import work

    class Endless:
        def get_params(self, deep=True):
            return {}

        def __sklearn_clone__(self):
            return self

        def fit(self, X, y):
            while True:
                np.linalg.svd(np.ones((300, 300)))

    monkeypatch.setattr(fitting, "LIMIT_SECONDS", 0.3)
    monkeypatch.setitem(fitting.KNOWN, "Endless", Endless())
    folds, plan = Folds(tmp_path), Plan("models", ("iris",), ("Endless",), n_seeds=1, n_folds=5)
    work(plan.tasks(["Endless"]), folds, n_jobs=1)
    assert [record["status"] for record in folds.ended().values()] == [TOO_SLOW]
    assert models(plan, folds) == {}


def test_learners_are_compared_on_sets_and_drawings_that_both_have():
    from sepc_benchmarks.trust.outcomes import Outcome, comparable
    from sepc_benchmarks.trust.tables import in_pair

    right, wrong = (np.array([True, True]), np.array([0.9, 0.8])), (np.array([False, False]), np.array([0.9, 0.8]))
    outcomes = {"a": {"SEP-C": Outcome({0: right, 1: wrong}), "slow": Outcome({0: wrong})}, "b": {"slow": Outcome({})}}
    found = in_pair(outcomes, "SEP-C", "slow")
    assert (found["sets"], found["AURC, ours"], found["AURC, peer"]) == (1, 0, 1)
    assert comparable(outcomes, "SEP-C").keys() == {"a"}


def test_base_model_is_fitted_once_for_the_same_question(tmp_path):
    from sepc_benchmarks.trust.remembered import Remembered
    from sklearn.tree import DecisionTreeClassifier

    X, y = np.arange(8.0).reshape(-1, 1), np.repeat([0, 1], 4)
    first = Remembered(DecisionTreeClassifier(random_state=0), tmp_path).fit(X, y)
    again = Remembered(DecisionTreeClassifier(random_state=0), tmp_path).fit(X, y)
    np.testing.assert_array_equal(first.predict(X), y)
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))
    assert not hasattr(again, "fitted_")
    again.predict(X + 0.1)
    assert hasattr(again, "fitted_")


def test_jiang_score_is_the_ratio_of_distances_without_sparse_rows():
    from sepc_benchmarks.trust.jiang import JiangScore

    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    score = JiangScore(k=1, alpha=0).fit(X, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(score.score(np.array([[3.0], [3.0], [9.0]]), np.array([0, 1, 1])), [7 / 2, 2 / 7, 8])
    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [10.0], [10.1], [10.2], [10.3]])
    y, new, label = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1]), np.array([[5.3]]), np.array([0])
    all_rows, dense_rows = (JiangScore(k=2, alpha=alpha).fit(X, y).score(new, label) for alpha in (0, 0.2))
    assert dense_rows < 1 < all_rows


def test_temperature_cools_a_model_that_is_too_sure():
    from sepc_benchmarks.trust.scores import Unseen, temperature

    sure = np.tile([0.99, 0.01], (100, 1))
    unseen = Unseen(sure, np.array([0] * 80 + [1] * 20))
    np.testing.assert_allclose(temperature(unseen, sure[:1]), [0.8], atol=1e-3)
