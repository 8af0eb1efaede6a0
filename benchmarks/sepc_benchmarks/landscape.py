"""How long a landscape takes, part by part, and how much of what it says depends on the rows that were partitioned.

"seconds" is wall time on a machine that others use too, "CPU seconds" what the process itself used, with one BLAS
thread. The parts are those of the CPU seconds: reading the table, the ellipsoids of the classes and their overlaps (all
rows), and the partition of a sample with the counts of all rows in it.

The second table repeats the landscape with other samples of rows to partition. "new rows" are rows of the other half of
the table, placed in the landscape of the first half: the share of them in its mixed regions, and in no ellipsoid.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from threadpoolctl import threadpool_limits

from sepc import Landscape
from sepc.landscape import landscape as steps
from sepc.model.membership import locate
from sepc_benchmarks import datasets
from sepc_benchmarks.measure import arguments, save, show

Table = tuple[NDArray[np.float64], NDArray[Any]]
PARTS = {"_checked": "table", "_overlaps_of": "overlaps", "_fit": "partition"}


def mixture(n: int, d: int = 10) -> Table:
    """Two classes of two Gaussian clumps each."""
    rng = np.random.default_rng(0)
    clump = rng.integers(4, size=n)
    return rng.standard_normal((n, d)) + 1.5 * np.random.default_rng(1).standard_normal((4, d))[clump], clump % 2


def covertype() -> Table:
    """Its ten quantitative features."""
    data = datasets.load("covertype")
    return data.features.iloc[:, :10].to_numpy(dtype=np.float64), data.target


def numbers_of(name: str) -> Table:
    data = datasets.load(name)
    return data.numeric.to_numpy(dtype=np.float64), data.target


@contextmanager
def timed_parts() -> Iterator[dict[str, float]]:
    """CPU seconds of every part of the landscapes made meanwhile."""
    spent: dict[str, float] = defaultdict(float)
    kept = {name: getattr(steps, name) for name in PARTS}

    def timed(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            answer = run(*args, **options)
            spent[PARTS[name]] += time.process_time() - started
            return answer

        return step

    for name, run in kept.items():
        setattr(steps, name, timed(name, run))
    try:
        yield spent
    finally:
        for name, run in kept.items():
            setattr(steps, name, run)


def times(tables: Sequence[tuple[str, Callable[[], Table]]]) -> list[dict[str, Any]]:
    records = []
    for name, make in tables:
        X, y = make()
        with timed_parts() as spent:
            started, cpu = time.perf_counter(), time.process_time()
            told = Landscape(X, y).figures
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        record: dict[str, Any] = {"data": name, "rows": f"{len(X):,} x {X.shape[1]}", "classes": len(told.classes)}
        record |= {"partitioned": told.n_partitioned, "seconds": seconds}
        record |= {"CPU seconds": cpu} | {part: spent[part] for part in PARTS.values()}
        records.append(record)
        show(name, [record])
    return records


def spread(tables: Sequence[tuple[str, Callable[[], Table]]], n_seeds: int, fit_rows: int) -> list[dict[str, Any]]:
    records = []
    for name, make in tables:
        X, y = make()
        order = np.random.default_rng(0).permutation(len(X))
        half, rest = order[: len(X) // 2], order[len(X) // 2 :]
        found = [Landscape(X[half], y[half], fit_rows=fit_rows, random_state=seed) for seed in range(n_seeds)]
        told = [one.figures for one in found]
        mixed, outside = zip(*[_of_new_rows(one, X[half], y[half], X[rest]) for one in found], strict=True)
        record: dict[str, Any] = {"data": name, "rows": len(half), "partitioned": told[0].n_partitioned}
        record |= {"mixed": told[0].mixed_share}
        record |= {f"mixed in {n_seeds} samples": _ends([one.mixed_share for one in told])}
        record |= {f"outvoted in {n_seeds} samples": _ends([one.outvoted_share for one in told])}
        record |= {"new rows mixed": float(np.mean(mixed)), "outside": float(np.mean([t.outside_share for t in told]))}
        records.append(record | {"new rows outside": float(np.mean(outside))})
    return records


def _of_new_rows(landscape: Landscape, X: Any, y: Any, X_new: Any) -> tuple[float, float]:
    """Share of new rows in regions where the rows of the landscape have several labels, and outside all ellipsoids."""
    model = landscape.partition.model_
    seen, new = (locate(model.standardize(rows), model.stack, model.slack) for rows in (X, X_new))
    labels = defaultdict(set)
    for key, label in zip(map(tuple, seen.keys), y.tolist(), strict=True):
        labels[key].add(label)
    is_mixed = np.array([len(labels.get(key, ())) > 1 for key in map(tuple, new.keys)])
    is_mixed[new.outside] = False
    return float(is_mixed.mean()), len(new.outside) / len(X_new)


def _ends(values: Sequence[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"


def main() -> None:
    options = arguments(__doc__)
    small: list[tuple[str, Callable[[], Table]]] = [
        ("iris", lambda: load_iris(return_X_y=True)),
        ("moons", lambda: make_moons(400, noise=0.2, random_state=0)),
    ]
    large: list[tuple[str, Callable[[], Table]]] = [
        *small,
        ("WDBC", lambda: load_breast_cancer(return_X_y=True)),
        ("phoneme", lambda: numbers_of("phoneme")),
        ("magic_gamma_telescope", lambda: numbers_of("magic_gamma_telescope")),
        ("letter", lambda: numbers_of("letter")),
        ("covertype, ten features", covertype),
        ("Gaussian mixture", lambda: mixture(1_000_000)),
    ]
    several: list[tuple[str, Callable[[], Table]]] = [
        ("phoneme", lambda: numbers_of("phoneme")),
        ("magic_gamma_telescope", lambda: numbers_of("magic_gamma_telescope")),
        ("Gaussian mixture", lambda: mixture(20_000)),
    ]
    with threadpool_limits(1):
        results = {
            "times": times(small if options.smallest else large),
            "samples": spread(small[1:] if options.smallest else several, 2 if options.smallest else 5, 1_000),
        }
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
