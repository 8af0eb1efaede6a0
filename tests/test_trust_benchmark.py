"""The comparison of trust: its command, its cache and limits, and the peers that were written for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks" / "trust"


@pytest.fixture
def benchmark(monkeypatch):
    """Lets a test import the benchmark's modules."""
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    monkeypatch.syspath_prepend(str(FOLDER))


def run(*options, cwd):
    """Run the command as a user does and give what it said."""
    command = [sys.executable, str(FOLDER / "run.py"), "--cache", "cache", "--output", "trust.json", *options]
    done = subprocess.run(command, cwd=cwd, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr, json.loads((cwd / "trust.json").read_text())


def test_smallest_run_writes_tables_and_pictures_and_resumes(tmp_path):
    _, tables = run("--smallest", "--images", "pictures", cwd=tmp_path)
    assert {row["learner"] for row in tables["models"]} >= {"SEP forest", "RF", "hyperboxes"}
    assert {row["base model"] for row in tables["layers"]} == {"HGB", "RF", "LR"}
    assert all(0 <= row["mean AURC"] <= 1 for row in tables["models"] + tables["layers"])
    assert len(list((tmp_path / "pictures").glob("critical_difference_*.png"))) == 2
    said, again = run("--smallest", cwd=tmp_path)
    assert "\n0 folds in" in said
    assert again == tables


@pytest.mark.slow
def test_quick_run_compares_everything_on_six_sets(home, tmp_path):
    _, tables = run("--quick", "--images", "pictures", cwd=tmp_path)
    assert len(tables["sets"]) == 6
    assert tables["tests"][0]["data sets"] == 6
    assert not any(row["too slow on"] for row in tables["models"])


def test_fold_beyond_its_seconds_is_too_slow_and_the_rest_is_skipped(benchmark, monkeypatch, tmp_path):
    import fitting
    from folds import TOO_SLOW, Folds, Plan
    from schedule import work

    class Endless:
        def get_params(self, deep=True):
            return {}

        def __sklearn_clone__(self):
            return self

        def fit(self, X, y):
            while True:
                np.linalg.svd(np.ones((300, 300)))

    monkeypatch.setattr(fitting, "LIMIT_SECONDS", 0.3)
    monkeypatch.setitem(fitting.LEARNERS, "Endless", Endless())
    folds, plan = Folds(tmp_path), Plan(("iris",), ("Endless",), layers=False, n_seeds=1, n_folds=5)
    work(plan, folds, n_jobs=1)
    assert [record["status"] for record in folds.ended().values()] == [TOO_SLOW]


def test_jiang_score_is_the_ratio_of_distances(benchmark):
    from jiang import JiangScore

    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    score = JiangScore(k=1, alpha=0).fit(X, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(score.score(np.array([[3.0], [3.0], [9.0]]), np.array([0, 1, 1])), [7 / 2, 2 / 7, 8])


def test_jiang_score_leaves_sparse_rows_out(benchmark):
    from jiang import JiangScore

    X = np.array([[0.0], [0.1], [0.2], [0.3], [5.0], [10.0], [10.1], [10.2], [10.3]])
    y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    new, label = np.array([[5.3]]), np.array([0])
    assert JiangScore(k=2, alpha=0.2).fit(X, y).score(new, label) < 1
    assert JiangScore(k=2, alpha=0).fit(X, y).score(new, label) > 1


def test_conformal_score_counts_unseen_rows_with_no_larger_probability(benchmark):
    from scores import Unseen, conformal

    unseen = Unseen(np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]), np.array([0, 0, 1, 1]))
    score = conformal(unseen, np.array([[0.95, 0.05], [0.5, 0.5]]))
    # true classes got 0.9, 0.8, 0.7, 0.4: none at most 0.05, one at most 0.5, all at most 0.95
    np.testing.assert_allclose(score, [1 - 1 / 5 + (5 / 5) / 5, 1 - 2 / 5 + (2 / 5) / 5])


def test_temperature_cools_a_model_that_is_too_sure(benchmark):
    from scores import Unseen, temperature

    sure = np.tile([0.99, 0.01], (100, 1))
    unseen = Unseen(sure, np.array([0] * 80 + [1] * 20))
    np.testing.assert_allclose(temperature(unseen, sure[:1]), [0.8], atol=1e-3)


def test_cliques_join_ranks_within_the_critical_difference(benchmark):
    from diagrams import cliques
    from judgement import Ranks

    ranks = Ranks(("a", "b", "c"), np.array([1.0, 1.4, 2.9]), n_sets=30)
    assert ranks.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 30)), abs=2e-3)  # Demšar, table 5
    assert cliques(ranks) == [(1.0, 1.4)]
