"""What the suites share: what a part of a suite is, timing in turns, tables in Markdown, and results as JSON."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import distributions, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

Records = list[dict[str, Any]]
Tables = dict[str, Records]
Parts = dict[str, Callable[[], Tables]]

TILE_ROWS = 4096
# The smallest run shows that everything runs, and times nothing well.
TURN_SECONDS = 0.001 if "--smallest" in sys.argv else 0.05
LIBRARIES = (
    *("sepc", "numpy", "scipy", "scikit-learn", "pyarrow", "onnx", "onnxruntime", "mapie", "interpret-core"),
    *("lightgbm", "catboost", "crepes", "dask", "pyspark", "duckdb"),
)


def medians(tasks: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each task, the tasks taking turns so that a busy machine slows all of them alike.

    A turn runs a short task again and again for `TURN_SECONDS` and takes the mean: caches then are as warm as in a fit
    that asks for it hundreds of times.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            n_runs, started = 0, time.perf_counter()
            while n_runs == 0 or time.perf_counter() - started < TURN_SECONDS:
                task()
                n_runs += 1
            seconds[name].append((time.perf_counter() - started) / n_runs)
    return {name: median(values) for name, values in seconds.items()}


def bare_pass(rows: NDArray[np.float64]) -> Callable[[], object]:
    """One pass that computes the squared radii of all rows and nothing else, in tiles that stay in the cache."""
    n, d = rows.shape
    matrix, offset = np.eye(d) + 0.1, np.ones(d)
    buffer, squared = np.empty((TILE_ROWS, d)), np.empty(n)

    def run() -> object:
        for start in range(0, n, TILE_ROWS):
            mapped = buffer[: min(TILE_ROWS, n - start)]
            np.matmul(rows[start : start + TILE_ROWS], matrix, out=mapped)
            mapped -= offset
            np.einsum("ij,ij->i", mapped, mapped, out=squared[start : start + TILE_ROWS])
        return squared

    return run


def as_markdown(records: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table with a column for each key."""
    if not records:
        return "None."
    columns = list(dict.fromkeys(key for record in records for key in record))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(record.get(column, "")) for column in columns) + " |" for record in records]
    return "\n".join(lines)


def stored(path: Path) -> Tables:
    """The tables of an earlier run; none if there was none."""
    if not path.exists():
        return {}
    results: Tables = json.loads(path.read_text(encoding="utf-8"))
    results.pop("facts", None)
    return results


def save(path: Path, tables: Tables) -> None:
    """Write tables with the facts of the machine and the versions they were measured with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: version(name) for name in LIBRARIES if any(distributions(name=name))},
    }
    path.write_text(json.dumps({"facts": facts, **tables}, indent=1) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
