"""One case, small batches and a million rows."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd

from sepc import SEPClassifier
from sepc.onnx import export
from sepc_benchmarks.measure import Records, Tables
from sepc_benchmarks.timing.data import TEST_SEED, Rows, noisy
from sepc_benchmarks.timing.learners import EBM, HGB, LIGHTGBM, LR, OURS, RF, made
from sepc_benchmarks.timing.turns import Task, in_turns

# Rows of a tile, as in sepc/model/membership.py.
TILE_ROWS = 512
BARE, BARE_CURVES = "bare product", "bare product, exponentials, logarithms"
PROBABILITIES, DECIDE, CAUSES = f"{OURS}, predict_proba", f"{OURS}, decide", f"{OURS}, decide with causes"
FRAME, WHY, ONNX = f"{OURS}, decide of a DataFrame", f"{OURS}, decide and why()", f"{OURS}, ONNX Runtime"


def decided(model: SEPClassifier, rows: Any) -> Any:
    """Decide, and read what everybody reads."""
    decisions = model.decide(rows)
    return decisions.label, decisions.trust, decisions.accepted


def with_causes(model: SEPClassifier, rows: Any) -> Any:
    decisions = model.decide(rows)
    return decisions.label, decisions.trust, decisions.accepted, decisions.cause, decisions.region


def reason(model: SEPClassifier, row: Any) -> Any:
    return model.decide(row)[0].why()


def session_of(model: SEPClassifier) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export(model, path)
        return onnxruntime.InferenceSession(path.read_bytes(), options)


def onnx_task(session: onnxruntime.InferenceSession, rows: Rows) -> Task:
    return partial(session.run, ["label", "trust", "accepted"], {"X": rows})


def batches(n_fit: int, sizes: tuple[int, ...], peers: tuple[str, ...], rounds: int) -> Tables:
    """Milliseconds of batches of each size."""
    X, y = noisy(n_fit)
    models = {name: model.fit(X, y) for name, model in made(OURS, *peers).items()}
    ours, named = models.pop(OURS), [f"x{j}" for j in range(X.shape[1])]
    of_frame = SEPClassifier().fit(pd.DataFrame(X, columns=named), y)
    session = session_of(ours)
    milliseconds: dict[str, dict[str, float]] = {}
    for n in sizes:
        rows = noisy(n, seed=TEST_SEED)[0]
        frame = pd.DataFrame(rows, columns=named)
        tasks: dict[str, Task] = {
            DECIDE: partial(decided, ours, rows),
            CAUSES: partial(with_causes, ours, rows),
            PROBABILITIES: partial(ours.predict_proba, rows),
            FRAME: partial(decided, of_frame, frame),
            ONNX: onnx_task(session, rows),
        }
        tasks |= {name: partial(model.predict_proba, rows) for name, model in models.items()}
        if n == 1:
            tasks[WHY] = partial(reason, ours, rows)
        for name, taken in in_turns(tasks, rounds).items():
            milliseconds.setdefault(name, {})[_counted(n)] = 1e3 * taken.seconds
    return {"batches": [{"model": name} | own for name, own in milliseconds.items()]}


def _counted(n: int) -> str:
    return f"{n:,} row{'s' if n > 1 else ''}"


def bare_product(n: int, n_ellipsoids: int, d: int, with_curves: bool = False) -> Task:
    """The product of monomials with coefficients, which gives all squared radii of a tile.

    And nothing else, or an exponential and a logarithm of each, as the weights need them.
    """
    n_monomials = (d + 1) * (d + 2) // 2
    rng = np.random.default_rng(0)
    coefficients, monomials = rng.normal(size=(n_ellipsoids, n_monomials)), rng.normal(size=(n_monomials, TILE_ROWS))
    squares, drawn = np.empty((n_ellipsoids, TILE_ROWS)), rng.uniform(1.0, 40.0, size=(n_ellipsoids, TILE_ROWS))
    values = np.empty_like(drawn)

    def run() -> object:
        for _ in range(0, n, TILE_ROWS):
            np.matmul(coefficients, monomials, out=squares)
            if with_curves:
                np.exp(np.negative(drawn, out=values), out=values)
                np.log(drawn, out=values)
        return squares

    return run


def bulk(n: int, n_fit: int, rounds: int) -> Tables:
    """Many rows at once."""
    X, y = noisy(n_fit)
    models = {name: model.fit(X, y) for name, model in made(OURS, HGB, LIGHTGBM, LR).items()}
    ours, rows = models.pop(OURS), noisy(n, seed=TEST_SEED)[0]
    tasks: dict[str, Task] = {
        BARE: bare_product(n, ours.model_.n_ellipsoids, rows.shape[1]),
        BARE_CURVES: bare_product(n, ours.model_.n_ellipsoids, rows.shape[1], with_curves=True),
        PROBABILITIES: partial(ours.predict_proba, rows),
        DECIDE: partial(decided, ours, rows),
        CAUSES: partial(with_causes, ours, rows),
        **{name: partial(model.predict_proba, rows) for name, model in models.items()},
    }
    taken = in_turns(tasks, rounds, once_each=(LIGHTGBM,))
    records: Records = []
    for name, (seconds, n_runs) in taken.items():
        head = {"rows": f"{n:,} x {rows.shape[1]}", "what": name, "seconds": seconds, "x HGB": seconds / taken[HGB][0]}
        records.append(head | {"x bare": seconds / taken[BARE][0], "rows a second": n / seconds, "runs": n_runs})
    return {"bulk": records}


PEERS_OF_BATCHES = (HGB, RF, LIGHTGBM, EBM, LR)
