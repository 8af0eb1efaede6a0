"""Findings about the order of rows: none in shuffled tables, and how often drift is found that was put in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.looking.look import LOOKED_AT
from sepc.looking.row_order import row_findings
from sepc_benchmarks import datasets
from sepc_benchmarks.measure import arguments, save, show

Table = tuple[NDArray[np.float64], NDArray[Any]]

N_COLUMNS = 10
# From the first row to the last, in standard deviations.
DRIFTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


def columns_of(name: str) -> tuple[dict[str, NDArray[np.float64]], NDArray[Any]]:
    """The numbers of a public set by column, and its labels; at most as many rows as a look takes."""
    data = datasets.load(name)
    drawn = np.sort(np.random.default_rng(0).permutation(len(data.target))[:LOOKED_AT])
    table = data.features.iloc[drawn].select_dtypes("number")
    return {str(c): table[c].to_numpy(dtype=float) for c in table}, np.asarray(data.target)[drawn]


def shuffled(names: list[str], n_shuffles: int) -> Iterator[dict[str, Any]]:
    """For each public set, what is found as it is, and how often in shuffled rows."""
    for name in names:
        values, y = columns_of(name)
        n_found = 0
        for seed in range(n_shuffles):
            order = np.random.default_rng(seed).permutation(len(y))
            n_found += bool(row_findings({c: own[order] for c, own in values.items()}, y[order]))
        as_it_is = len(row_findings(values, y))
        yield {"set": name, "rows": len(y), "findings as it is": as_it_is, "shuffles with a finding": n_found}


def drifting(n: int, drift: float, rng: np.random.Generator) -> Table:
    """A column of ten drifts."""
    X = rng.normal(size=(n, N_COLUMNS))
    X[:, 0] += np.linspace(0.0, drift, n)
    return X, rng.integers(2, size=n)


def drifting_labels(n: int, drift: float, rng: np.random.Generator) -> Table:
    """The share of a label grows from a half by a fifth of the drift, and shrinks by as much before the middle."""
    share = 0.5 + 0.2 * drift * np.linspace(-1.0, 1.0, n)
    return rng.normal(size=(n, N_COLUMNS)), rng.random(n) < share


def in_blocks(n: int, drift: float, rng: np.random.Generator) -> Table:
    """Rows are sorted by label, and the labels differ by the drift in one column."""
    X, y = rng.normal(size=(n, N_COLUMNS)), np.sort(rng.integers(2, size=n))
    X[:, 0] += drift * y
    return X, y


def dependent(n: int, drift: float, rng: np.random.Generator) -> Table:
    """All columns depend on the row before, up to a correlation of 0.95; there is no trend."""
    X, y = rng.normal(size=(n, N_COLUMNS)), rng.integers(2, size=n)
    phi = 0.95 * drift / max(DRIFTS)
    for i in range(1, n):
        X[i] = phi * X[i - 1] + np.sqrt(1.0 - phi**2) * X[i]
    return X, y


MADE: dict[str, Callable[[int, float, np.random.Generator], Table]] = {
    "one of ten columns drifts": drifting,
    "labels drift": drifting_labels,
    "sorted by label, which shifts a column": in_blocks,
    "rows depend on the row before": dependent,
}


def planted(sizes: tuple[int, ...], n_draws: int) -> Iterator[dict[str, Any]]:
    """How often something is found in tables with a drift, by its size."""
    for what, make in MADE.items():
        for n in sizes:
            found = {
                f"{drift:g}": f"{np.mean([_is_found(make, n, drift, seed) for seed in range(n_draws)]):.0%}"
                for drift in DRIFTS
            }
            yield {"table": what, "rows": n, **found}


def _is_found(make: Callable[..., Table], n: int, drift: float, seed: int) -> bool:
    X, y = make(n, drift, np.random.default_rng(seed))
    return bool(row_findings({f"x{j}": own for j, own in enumerate(X.T)}, y))


def main() -> None:
    options = arguments(__doc__)
    names = list(datasets.names()) if "SEPC_DATA_HOME" in os.environ else []
    small = options.smallest
    tables = {
        "shuffled": list(shuffled(names[:2] if small else names, 2 if small else 20)),
        "planted": list(planted((200,) if small else (200, 1_000, 5_000), 3 if small else 200)),
    }
    for title, rows in tables.items():
        show(title, rows)
    save(options.output, tables)


if __name__ == "__main__":
    main()
