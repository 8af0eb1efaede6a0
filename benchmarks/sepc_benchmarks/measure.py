"""What the benchmark scripts share: interleaved timing, the bare pass all times are compared with, tables and JSON."""

from __future__ import annotations

import argparse
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

TILE_ROWS = 4096
# The smallest run shows that everything runs, and times nothing well.
TURN_SECONDS = 0.001 if "--smallest" in sys.argv else 0.05
LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "cvxpy",
    "clarabel",
    "piqp",
    "nautilus-sampler",
    "mapie",
    "interpret-core",
    "onnx",
    "onnxruntime",
    "pyarrow",
)
BOOSTING = ("lightgbm", "xgboost-cpu", "catboost")  # a dependency group that few install
DATABASES = ("duckdb", "psycopg")
ALTERNATIVES = ("crepes", "shap")  # in no dependency group: alternatives.py leaves out what is not there


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


def solution(variable: Any) -> NDArray[np.float64]:
    """The value of a variable of CVXPY after its problem was solved; an error if the solver found none."""
    if variable.value is None:
        raise RuntimeError("The solver found no solution.")
    return np.asarray(variable.value)


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


def arguments(description: str | None) -> argparse.Namespace:
    """The options every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    return parser.parse_args()


def show(title: str, records: Sequence[Mapping[str, Any]]) -> None:
    """Print records as a Markdown table."""
    print(f"\n**{title}**\n\n{as_markdown(records)}", flush=True)


def as_markdown(records: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table with a column for each key."""
    if not records:
        return "None."
    columns = list(dict.fromkeys(key for record in records for key in record))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(_cell(record.get(column, "")) for column in columns) + " |" for record in records]
    return "\n".join(lines)


def save(path: Path | None, results: Mapping[str, Any]) -> None:
    """Write results with the facts of the machine and the versions they were measured with."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    optional = (*BOOSTING, *DATABASES, *ALTERNATIVES)
    facts = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "blas_threads": 1,
        "versions": {name: version(name) for name in (*LIBRARIES, *filter(_is_installed, optional))},
    }
    path.write_text(json.dumps({"facts": facts, **results}, indent=1) + "\n", encoding="utf-8")


def _is_installed(library: str) -> bool:
    return any(distributions(name=library))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
