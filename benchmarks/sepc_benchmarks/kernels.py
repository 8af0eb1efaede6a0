"""Has a kernel become slower? Each one beside a bare matrix product in the same run, compared with earlier ratios.

A kernel and the product take turns on one BLAS thread, so that a busy machine slows both; the figure is the median of
the ratios of their times. With `--compare`, the ratios of an earlier run, the script ends with status 1 and names every
kernel that takes more than `--slower` times as long as it did.

    python -m sepc_benchmarks.kernels --output benchmarks/results/kernels.json
    python -m sepc_benchmarks.kernels --compare benchmarks/results/kernels.json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

import sepc
from sepc.geometry import nearest_points
from sepc.model.membership import stack_ellipsoids, tiles_of_squared_radii
from sepc_benchmarks.measure import save, show

SIDE = 256
ROUNDS = 31


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


def slower_than(earlier: dict[str, float], now: dict[str, float], factor: float) -> list[str]:
    """A sentence for every kernel that takes more than `factor` times as long as before."""
    return [
        f"{name}: {now[name]:.3g} products, {now[name] / before:.2f} times the earlier {before:.3g}"
        for name, before in earlier.items()
        if name in now and now[name] > factor * before
    ]


def main() -> None:
    """Print the ratios, save them, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, help="write the ratios to this file as JSON")
    parser.add_argument("--compare", type=Path, help="fail where a kernel is slower than in this file")
    parser.add_argument("--slower", type=float, default=1.5, help="how many times as long is too long; default 1.5")
    given = parser.parse_args()
    with threadpool_limits(1):
        now = ratios(kernels(20 if given.smallest else 1), 3 if given.smallest else ROUNDS)
    records = [{"kernel": name, "products": ratio} for name, ratio in now.items()]
    show("kernels", records)
    save(given.output, {"kernels": records})
    if given.compare is not None:
        stored = json.loads(given.compare.read_text(encoding="utf-8"))["kernels"]
        slower = slower_than({own["kernel"]: own["products"] for own in stored}, now, given.slower)
        sys.exit("\n".join(["Slower than before:", *slower]) if slower else None)


if __name__ == "__main__":
    main()
