"""Whether `sepc score` on a file too large for memory costs more than the same work done in memory.

A Parquet file of ten million rows of ten features, a tenth of them far from the training rows, is scored by a model of
some dozens of ellipsoids. "command" is `sepc score`: it reads, decides and writes a batch at a time. "in memory" is a
Python program that reads the whole file, calls `decide` once and writes the same columns. Both are new processes, timed
from their start to their end, and take turns; the files they write are compared. Memory is the largest resident set.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import make_classification

from sepc import SEPClassifier
from sepc import save as save_model
from sepc_benchmarks.measure import arguments, save, show

ROWS, TRAIN_ROWS, FEATURES = 10_000_000, 100_000, 10
GROUP_ROWS = 2**20
ROUNDS = 3

IN_MEMORY = """
import sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from sepc import load
from sepc.cli.decision_files import arrow_columns
model, data, output = sys.argv[1:]
classifier = load(model)
table = pq.read_table(data, columns=list(classifier.feature_names_in_))
rows = np.empty((table.num_columns, table.num_rows)).T
for j, column in enumerate(table.columns):
    rows[:, j] = column.to_numpy()
del table
import warnings
warnings.simplefilter("ignore")
decisions = classifier.decide(rows)
columns = arrow_columns(decisions)
pq.write_table(pa.table(columns), output, use_dictionary=["label", "rule", "cause"])
"""


def train(n: int) -> tuple[Any, np.ndarray]:
    """A classifier of text labels with names for its features, and the rows it was fitted on."""
    import pandas as pd

    rows, which = make_classification(
        n, FEATURES, n_informative=6, n_redundant=0, n_clusters_per_class=2, class_sep=1.5, flip_y=0.01, random_state=0
    )
    frame = pd.DataFrame(rows, columns=[f"feature {j}" for j in range(FEATURES)])
    labels = np.where(which == 1, "bad", "good")
    model = SEPClassifier(0.02, trust="counts", fit_rows=10_000, max_ellipsoids=30, random_state=0)
    return model.fit(frame, labels), rows


def write_rows(path: Path, rows: np.ndarray, names: list[str], n: int) -> None:
    """Training rows moved a little, a tenth of them far, in row groups."""
    rng = np.random.default_rng(1)
    writer = None
    for start in range(0, n, GROUP_ROWS):
        size = min(GROUP_ROWS, n - start)
        steps = rng.choice([0.1, 3.0], p=[0.9, 0.1], size=(size, 1)) * rows.std(axis=0)
        moved = rows[rng.integers(len(rows), size=size)] + steps * rng.standard_normal((size, FEATURES))
        table = pa.table({name: moved[:, j] for j, name in enumerate(names)})
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds and megabytes of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[:4]} ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024.0


def same(one: Path, other: Path) -> bool:
    """Whether two files hold the same table, compared by row groups of the first."""
    return all(
        pq.read_table(one, columns=[name]).equals(pq.read_table(other, columns=[name]))
        for name in pq.read_schema(one).names
    )


def prepare(model: Path, data: Path, n: int, n_train: int) -> int:
    """Write the model and the rows; the number of its ellipsoids."""
    classifier, rows = train(n_train)
    save_model(classifier, model)
    write_rows(data, rows, list(classifier.feature_names_in_), n)
    return len(classifier.ellipsoids_)


def measured(folder: Path, n: int, n_train: int, rounds: int) -> list[dict[str, Any]]:
    model, data = folder / "model.sepc", folder / "rows.parquet"
    # In a process of its own: Linux counts the memory of this one as that of the processes it starts.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        n_ellipsoids = pool.submit(prepare, model, data, n, n_train).result()
    ways = {
        "in memory": [sys.executable, "-c", IN_MEMORY, str(model), str(data), str(folder / "memory.parquet")],
        "command": [sys.executable, "-m", "sepc", "score", str(model), str(data)]
        + ["--output", str(folder / "command.parquet"), "--quiet"],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, command in ways.items():
            found[name].append(timed(command))
    seconds = {name: median(one[0] for one in times) for name, times in found.items()}
    return [
        {
            "way": name,
            "rows": n,
            "ellipsoids": n_ellipsoids,
            "file, MB": round(data.stat().st_size / 1e6),
            "seconds": seconds[name],
            "of in memory": seconds[name] / seconds["in memory"],
            "largest of one round": max(a[0] / b[0] for a, b in zip(found[name], found["in memory"], strict=True)),
            "most memory, MB": round(max(one[1] for one in found[name])),
            "same answers": same(folder / "memory.parquet", folder / "command.parquet"),
        }
        for name in ways
    ]


def main() -> None:
    options = arguments(__doc__)
    sizes = (20_000, 2_000, 1) if options.smallest else (ROWS, TRAIN_ROWS, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        records = measured(Path(folder), *sizes)
    show("score", records)
    save(options.output, {"score": records})


if __name__ == "__main__":
    main()
