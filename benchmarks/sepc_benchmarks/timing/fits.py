"""Fits of the data sets of the comparison, and of more and more rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.training_set import GivenColumns, TrainingSet
from sepc.points.blocks import ArrayBlocks, Block, BlockLabels, LabelledBlocks
from sepc_benchmarks.measure import Records, Tables, bare_pass
from sepc_benchmarks.timing.data import TEST_SEED, Rows, Split, noisy, noisy_blocks
from sepc_benchmarks.timing.learners import EBM, HGB, LIGHTGBM, LR, OURS, RF, made
from sepc_benchmarks.timing.turns import Taken, in_turns
from sepc_benchmarks.trust.suite import rows_of

CACHE = Path(".bench-trust")
BLOCK_ROWS = 250_000


def timed_fits(
    models: Mapping[str, Any], X: Rows, y: Any, rounds: int, once_each: tuple[str, ...] = ()
) -> dict[str, Taken]:
    """Seconds of each fit, the learners taking turns."""
    tasks = {name: partial(model.fit, X, y) for name, model in models.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        return in_turns(tasks, rounds, once_each)


def sets(names: tuple[str, ...], rounds: int) -> Tables:
    """The fit of four fifths of each data set, and what that is on average."""
    each: Records = []
    peers = list(made(OURS, HGB, RF, LIGHTGBM, LR))
    for name in names:
        rows = rows_of(name, CACHE)
        X, _, y, _ = train_test_split(rows.X, rows.y, train_size=0.8, stratify=rows.y, random_state=0)
        taken = timed_fits(made(*peers), X, y, rounds)
        each.append({one: taken[one].seconds for one in peers})
    return {"sets mean": [_averaged(one, each) for one in peers]}


def _averaged(name: str, each: Records) -> dict[str, Any]:
    seconds, hgb = (np.array([record[one] for record in each]) for one in (name, HGB))
    return {
        "model": name,
        "data sets": len(each),
        "seconds, mean": float(seconds.mean()),
        "seconds, median": float(np.median(seconds)),
        "x HGB, of the means": float(seconds.mean() / hgb.mean()),
        "x HGB, mean": float(np.mean(seconds / hgb)),
        "x HGB, median": float(np.median(seconds / hgb)),
        "quicker than HGB on": "" if name == HGB else int(np.sum(seconds < hgb)),
    }


def rows(sizes: tuple[int, ...], most_rows: Mapping[str, int], n_test: int, rounds: int) -> Tables:
    """Fits of more and more rows in memory, each learner up to its own most, with their accuracy."""
    records: Records = []
    X_test, y_test = noisy(n_test, seed=TEST_SEED)
    for n in sizes:
        X, y = noisy(n)
        split = Split(X, y, X_test, y_test)
        models = made(*(name for name, most in most_rows.items() if n <= most))
        taken = timed_fits(models, X, y, rounds, once_each=(RF, EBM, *((LIGHTGBM,) if n > sizes[0] else ())))
        for name, (seconds, n_runs) in taken.items():
            record = {"rows": n, "model": name, "seconds": seconds, "x HGB": seconds / taken[HGB].seconds}
            records.append(record | {"accuracy": split.accuracy(models[name]), "runs": n_runs})
    return {"rows": records}


def blocks(sizes: tuple[int, ...], n_test: int, rounds: int) -> Tables:
    """Fits of blocks, as out of core and on a cluster, beside one bare pass over them."""
    records: Records = []
    X_test, y_test = noisy(n_test, seed=TEST_SEED)
    for n in sizes:
        drawn, labels = noisy_blocks(n, BLOCK_ROWS)
        model = SEPClassifier()
        taken = in_turns({"fit": partial(_fit_blocks, model, drawn, labels)}, rounds)["fit"]
        bare = in_turns({"bare": partial(_bare_blocks, drawn)}, rounds)["bare"].seconds
        accuracy = float(np.mean(model.predict(X_test) == y_test))
        head = {"rows": n, "blocks": len(drawn), "seconds": taken.seconds, "bare pass, s": bare}
        told = {"x bare": taken.seconds / bare, "microseconds a row": 1e6 * taken.seconds / n}
        records.append(head | told | {"accuracy": accuracy, "runs": taken.n_runs})
    return {"blocks": records}


def _fit_blocks(model: SEPClassifier, drawn: list[Rows], labels: list[Any]) -> object:
    pairs = zip(drawn, map(BlockLabels.of, labels), strict=True)
    found = LabelledBlocks.of(ArrayBlocks([Block(*pair) for pair in pairs]))
    return model._fit_training(
        TrainingSet(found, found, found.labels, GivenColumns(found.n_columns)), model._settings()
    )


def _bare_blocks(drawn: list[Rows]) -> None:
    for block in drawn:
        bare_pass(block)()


MOST_ROWS = {OURS: 10**6, HGB: 10**6, LIGHTGBM: 10**6, LR: 10**6, RF: 10**5, EBM: 10**4}
