"""The comparison of trust: its command, its cache and limits, and the peers that were written for it."""

import json
import os
import subprocess

import numpy as np
import pytest
from warm_python import warm_python


def run(*options, cwd):
    """Run the command as a user does and give what it said."""
    command = [*warm_python(), "-m", "sepc_benchmarks.trust.run", "--cache", "cache", "--output", "trust.json"]
    done = subprocess.run([*command, *options], cwd=cwd, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr, json.loads((cwd / "trust.json").read_text())


@pytest.mark.slow
@pytest.mark.bench
def test_smallest_run_writes_tables_and_pictures_and_resumes(tmp_path):
    _, tables = run("--smallest", "--images", "pictures", cwd=tmp_path)
    assert {row["learner"] for row in tables["models"]} >= {"SEP-C", "RF + layer", "RF", "hyperboxes"}
    assert {row["learner"] for row in tables["full size"]} >= {"SEP-C", "RF", "HGB"}
    assert {row["base model"] for row in tables["layers"]} == {"HGB", "RF", "LR"}
    parts = [tables[part] for part in ("models", "unseen", "full size", "layers")]
    assert all(0 <= row["AURC"] <= 1 for part in parts for row in part)
    assert len(list((tmp_path / "pictures").glob("critical_difference_*.png"))) == 2
    said, again = run("--smallest", cwd=tmp_path)
    assert "\n0 folds in" in said
    assert again == tables


@pytest.mark.bench
def test_only_learners_asked_for_are_fitted_and_the_others_are_said_to_be_missing(tmp_path):
    _, tables = run("--smallest", "--parts", "models", "--learners", "RF", cwd=tmp_path)
    assert [row["learner"] for row in tables["models"]] == ["RF"]
    assert {"part": "models", "learner": "SEP-C", "drawing": 1, "without": "all sets", "why": "not run"} in tables[
        "missing"
    ]
    _, tables = run("--smallest", "--parts", "models", "--again", "RF", "--learners", "HGB", cwd=tmp_path)
    assert [row["learner"] for row in tables["models"]] == ["HGB"]


@pytest.mark.slow
def test_quick_run_compares_everything_on_six_sets(home, tmp_path):
    _, tables = run("--quick", "--images", "pictures", cwd=tmp_path)
    assert len(tables["sets"]) == 6
    assert tables["tests"][0]["data sets"] == 6
    assert not any(row["why"] == "too slow" for row in tables["missing"])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")  # Python 3.12 on: pytest-xdist has threads
def test_fold_beyond_its_seconds_is_too_slow_and_the_rest_is_skipped(monkeypatch, tmp_path):
    from sepc_benchmarks.trust import fitting
    from sepc_benchmarks.trust.folds import TOO_SLOW, Folds, Plan
    from sepc_benchmarks.trust.missing import missing
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
    assert [(row["learner"], row["why"]) for row in missing(plan, folds)] == [("Endless", TOO_SLOW)]


def test_learners_are_compared_on_sets_and_drawings_that_both_have():
    from sepc_benchmarks.trust.outcomes import Outcome, comparable
    from sepc_benchmarks.trust.tables import _against

    right, wrong = (np.array([True, True]), np.array([0.9, 0.8])), (np.array([False, False]), np.array([0.9, 0.8]))
    outcomes = {"a": {"SEP-C": Outcome({0: right, 1: wrong}), "slow": Outcome({0: wrong})}, "b": {"slow": Outcome({})}}
    found = _against(outcomes, "SEP-C", "slow")
    assert (found["sets"], found["drawings"], found["AURC, ours"], found["AURC, peer"]) == (1, 1, 0, 1)
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


def test_conformal_score_counts_unseen_rows_with_no_larger_probability():
    from sepc_benchmarks.trust.scores import Unseen, conformal

    unseen = Unseen(np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]), np.array([0, 0, 1, 1]))
    score = conformal(unseen, np.array([[0.95, 0.05], [0.5, 0.5]]))
    # true classes got 0.9, 0.8, 0.7, 0.4: none at most 0.05, one at most 0.5, all at most 0.95
    np.testing.assert_allclose(score, [1 - 1 / 5 + (5 / 5) / 5, 1 - 2 / 5 + (2 / 5) / 5])


def test_temperature_cools_a_model_that_is_too_sure():
    from sepc_benchmarks.trust.scores import Unseen, temperature

    sure = np.tile([0.99, 0.01], (100, 1))
    unseen = Unseen(sure, np.array([0] * 80 + [1] * 20))
    np.testing.assert_allclose(temperature(unseen, sure[:1]), [0.8], atol=1e-3)


def test_cliques_join_ranks_within_the_critical_difference():
    from sepc_benchmarks.trust.diagrams import cliques
    from sepc_benchmarks.trust.judgement import Ranks

    ranks = Ranks(("a", "b", "c"), np.array([1.0, 1.4, 2.9]), n_sets=30)
    assert ranks.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 30)), abs=2e-3)  # Demšar, table 5
    assert cliques(ranks) == [(1.0, 1.4)]
