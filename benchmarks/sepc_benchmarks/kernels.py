"""Has a kernel become slower? Each beside a bare matrix product, compared with its stored ratio. Half a minute.

A kernel and the product take turns on one BLAS thread, so that a busy machine slows both; the figure is the median of
the ratios of their times. If a kernel takes 1.5 times as long as it did, the run ends with status 1, names it, and
keeps the stored ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np

import sepc
from sepc.geometry import nearest_points
from sepc.model.membership import stack_ellipsoids, tiles_of_squared_radii
from sepc_benchmarks.measure import Parts, Tables

SIDE = 256
ROUNDS = 31
# So many times as long is too long.
SLOWER = 1.5


def parts(smallest: bool) -> Parts:
    return {"kernels": lambda: measured(20 if smallest else 1, 3 if smallest else ROUNDS)}


def measured(scale: int, rounds: int) -> Tables:
    return {"kernels": [{"kernel": name, "products": ratio} for name, ratio in ratios(kernels(scale), rounds).items()]}


def check(before: Tables, now: Tables) -> None:
    """End the run if a kernel has become slower."""
    found = {one["kernel"]: one["products"] for one in now["kernels"]}
    slower = [
        f"{name}: {found[name]:.3g} products, {found[name] / earlier:.2f} times the earlier {earlier:.3g}"
        for name, earlier in ((one["kernel"], one["products"]) for one in before["kernels"])
        if name in found and found[name] > SLOWER * earlier
    ]
    if slower:
        raise SystemExit("\n".join(["Slower than before:", *slower]))


def kernels(scale: int) -> dict[str, Callable[[], object]]:
    """Tasks of tens of milliseconds; `scale` is 1, or more for a run that only shows that it works."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000 // scale, 6))
    other = rows[: 2_000 // scale] + 8.0
    centers = rng.standard_normal((40, 6))
    stack = stack_ellipsoids(centers, np.repeat(np.eye(6)[None], 40, axis=0))
    y = rows[:, 0] + 0.3 * rng.standard_normal(len(rows)) > 0.0
    few = slice(0, 1_000 // scale)
    model = sepc.SEPClassifier().fit(rows[few], y[few])
    decided = model.decide(rows[few])
    return {
        "enclose": lambda: sepc.enclose(rows),
        "nearest points": lambda: [nearest_points(rows, other) for _ in range(20)],
        "squared radii": lambda: [squares.sum() for _, squares in tiles_of_squared_radii(rows, stack)],
        "fit": lambda: sepc.SEPClassifier().fit(rows[few], y[few]),
        "decide": lambda: sepc.decide(model, rows),
        "decide one row": lambda: [sepc.decide(model, rows[i : i + 1]) for i in range(10)],
        "terms": decided.terms,
        "reasons": lambda: decided[:200].why(),
    }


def ratios(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """For each task, the median ratio of its time to that of matrix products right before and after it."""
    left, right = np.random.default_rng(1).standard_normal((2, SIDE, SIDE))

    def product() -> float:
        started = time.perf_counter()
        for _ in range(8):
            left @ right
        return time.perf_counter() - started

    found: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            before, started = product(), time.perf_counter()
            task()
            seconds = time.perf_counter() - started
            found[name].append(2.0 * seconds / (before + product()))
    return {name: median(values) for name, values in found.items()}
