"""Which missing cell to fetch next: the advised order beside a random one, until a row is accepted or complete.

Sixty per cent of the cells of the test rows are taken away. Of the rows with at least four gaps that are not accepted
as they are, the first forty are completed cell by cell: the one that `ask_for` names first, or any, in three random
orders. Rows that are not accepted even when complete need nearly all their cells in any order; the last columns leave
them out.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc_benchmarks.holes import Rows, at_random, folds, rows_of
from sepc_benchmarks.measure import arguments, save, show

SETS = ("htru2", "page_blocks", "segment", "wdbc", "magic", "vehicle", "pendigits", "shuttle")
SHARE, FEWEST_GAPS, N_ROWS, N_ORDERS = 0.6, 4, 40, 3


def n_fetched(classifier: SEPClassifier, row: Rows, complete: Rows, choose: Callable[[Any, Rows], int]) -> int:
    """Cells fetched until the row is accepted or complete."""
    row, n = row.copy(), 0
    while np.isnan(row).any():
        decision = classifier.decide(row[None])[0]
        if decision.accepted:
            break
        j = choose(decision, row)
        row[j] = complete[j]
        n += 1
    return n


def asked(name: str, n_rows: int) -> dict[str, Any]:
    X, y = rows_of(name)
    train, test = next(iter(folds(X, y)))
    classifier = SEPClassifier().fit(X[train], y[train])
    gone, rng = at_random(X[test], SHARE, 0), np.random.default_rng(0)
    is_hard = (np.isnan(gone).sum(axis=1) >= FEWEST_GAPS) & ~classifier.decide(gone).accepted
    chosen = np.flatnonzero(is_hard)[:n_rows]
    names = list(classifier.model_.feature_names)

    def cells(choose: Callable[[Any, Rows], int]) -> Rows:
        pairs = zip(gone[chosen], X[test][chosen], strict=True)
        return np.array([float(n_fetched(classifier, row, complete, choose)) for row, complete in pairs])

    advised = cells(lambda decision, row: names.index(decision.ask_for()[0][0]))
    random = np.mean([cells(lambda _, row: int(rng.choice(np.flatnonzero(np.isnan(row))))) for _ in range(N_ORDERS)], 0)
    settles = classifier.decide(X[test][chosen]).accepted
    return {
        "data set": name,
        "features": X.shape[1],
        "rows": len(chosen),
        "advised": float(advised.mean()),
        "random": float(random.mean()),
        "ratio": float(advised.mean() / random.mean()),
        "accepted when complete": int(settles.sum()),
        "advised for these": float(advised[settles].mean()),
        "random for these": float(random[settles].mean()),
        "ratio for these": float(advised[settles].mean() / random[settles].mean()),
    }


def main() -> None:
    options = arguments(__doc__)
    names, n_rows = (("vertebral",), 10) if options.smallest else (SETS, N_ROWS)
    records = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            records.append(asked(name, n_rows))
            print(f"done: {records[-1]}", file=sys.stderr, flush=True)
    show("asked", records)
    save(options.output, {"asked": records})


if __name__ == "__main__":
    main()
