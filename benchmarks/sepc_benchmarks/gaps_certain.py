"""Labels called certain although cells are missing: how often, and whether any way to fill these in contradicts them.

One cell in ten of the test rows is taken away; of the rows with gaps that are decided rightly, the first hundred are
asked whether their label is certain. For the first twenty that are, 100,000 completions each are drawn from the
ellipsoids the row may lie in, half of them from their surfaces, and decided.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.model.gaps import sections_of
from sepc_benchmarks.holes import SETS, Rows, at_random, folds, rows_of
from sepc_benchmarks.measure import arguments, save, show

N_ASKED, N_CERTAIN, N_COMPLETIONS = 100, 20, 100_000


def completions(model: Any, row: Rows, n: int, rng: np.random.Generator) -> Rows:
    """Draw rows from what is known leaves of the ellipsoids, the same number from each."""
    cuts = list(sections_of(model, row).values())
    parts = []
    for i, cut in enumerate(cuts):
        n_own = n // len(cuts) + (i < n % len(cuts))
        u = rng.standard_normal((n_own, cut.root.shape[1]))
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        u[::2] *= rng.random((len(u[::2]), 1)) ** (1 / u.shape[1])
        rows = np.repeat(cut.center[None], n_own, axis=0)
        rows[:, cut.missing] += u @ cut.root.T
        parts.append(rows * model.scale + model.shift)
    return np.concatenate(parts)


def certain(name: str, n_asked: int, n_certain: int, n_completions: int) -> dict[str, Any]:
    X, y = rows_of(name)
    train, test = next(iter(folds(X, y)))
    classifier = SEPClassifier().fit(X[train], y[train])
    decided = classifier.decide(at_random(X[test], 0.1, 0))
    asked = np.flatnonzero((decided.label == y[test]) & decided.missing.any(axis=1))[:n_asked]
    started = time.perf_counter()
    found = [decided[int(i)] for i in asked if decided[int(i)].is_certain]
    seconds = time.perf_counter() - started
    rng, contradicted = np.random.default_rng(0), 0
    for decision in found[:n_certain]:
        row = np.where(decision.missing, np.nan, decision.rows)
        labels = classifier.decide(completions(classifier.model_, row, n_completions, rng)).label
        contradicted += int((labels != decision.label).any())
    return {
        "data set": name,
        "features": X.shape[1],
        "rows": len(asked),
        "certain %": 100 * len(found) / len(asked),
        "labels tried": len(found[:n_certain]),
        "completions of each": n_completions,
        "contradicted": contradicted,
        "ms": 1000 * seconds / len(asked),
    }


def main() -> None:
    options = arguments(__doc__)
    names, *sizes = (("vertebral",), 20, 5, 1_000) if options.smallest else (SETS, N_ASKED, N_CERTAIN, N_COMPLETIONS)
    records = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            records.append(certain(name, *sizes))
            print(f"done: {name}", file=sys.stderr, flush=True)
    show("certain", records)
    save(options.output, {"certain": records})


if __name__ == "__main__":
    main()
