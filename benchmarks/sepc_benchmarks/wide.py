"""Whether accepted rows are right as often as they should be on wide and noisy tables, where little can be learned.

Tables of normal columns: `line` is x0 + x1 + 0.7 noise > 0, `curve` is x0 + x1^2 - 1 + x2 x3 + x4 + 0.7 noise > 0, in
20, 60 and 120 columns. `classes` has ten classes, sectors of the plane of x0 and x1, of which 20 % of the labels are
random. `categories` has a column of 500 categories that each shift the log-odds, beside five numbers; peers see it
through a target encoder that is fitted in folds. All rows of one table and seed are tested on the same 50,000 others.
A layer is a `TrustedClassifier` around a peer, which fits it and our model six times; layers are left out unless named.

Finished cells are kept in a cache, so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SIZES = (1_000, 2_000, 5_000, 10_000, 50_000)
COLUMNS = (20, 60, 120)
MODELS = ("SEP-C", "HGB", "LightGBM", "RF", "LR", "CatBoost")
LAYERS = ("layer on HGB", "layer on RF", "layer on LR")
LEARNERS = (*MODELS, *LAYERS)
N_TEST, N_SEEDS, MIN_TRUST = 50_000, 3, 0.95
N_CLASSES, N_CATEGORIES = 10, 500


@dataclass(frozen=True)
class Cell:
    """One table, its size, one drawing of it, and who learns from it."""

    table: str
    rows: int
    columns: int
    seed: int
    learner: str


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """All cells that are asked for, small ones first."""
    for rows in options.rows:
        for seed in range(options.seeds):
            for table in options.tables:
                for columns in options.columns if table in ("line", "curve") else (6,):
                    for learner in options.learners:
                        yield Cell(table, rows, columns, seed, learner)


def drawn(cell: Cell, n_test: int) -> tuple[Any, Any, Any, Any]:
    """Rows and labels to learn from, and those to test on, which are the same for every number of rows."""
    import numpy as np

    parts = []
    for stream, n in ((0, n_test), (1, cell.rows)):
        random = np.random.default_rng([cell.seed, stream])
        X, noise = random.normal(size=(n, cell.columns)), random.normal(size=n)
        if cell.table == "line":
            y = (X[:, 0] + X[:, 1] + 0.7 * noise > 0).astype(int)
        elif cell.table == "curve":
            y = (X[:, 0] + X[:, 1] ** 2 - 1 + X[:, 2] * X[:, 3] + X[:, 4] + 0.7 * noise > 0).astype(int)
        elif cell.table == "classes":
            sector = np.floor(N_CLASSES * (0.5 + np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi))).astype(int) % N_CLASSES
            y = np.where(random.random(n) < 0.2, random.integers(N_CLASSES, size=n), sector)
        else:
            shifts = np.random.default_rng(cell.seed).normal(size=N_CATEGORIES)
            category = random.integers(N_CATEGORIES, size=n)
            y = (shifts[category] + X[:, 0] + 0.7 * noise > 0).astype(int)
            X[:, 5] = category
        parts += [X, y]
    return parts[2], parts[3], parts[0], parts[1]


def learner_of(cell: Cell) -> Any:
    """The learner, for a column of categories behind a target encoder where it is not ours."""
    from sklearn.base import clone
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import TargetEncoder

    from sepc import SEPClassifier, TrustedClassifier

    if cell.learner == "SEP-C":
        return SEPClassifier()
    from sepc_benchmarks.trust.peers import PEERS

    peer = clone(PEERS[cell.learner.removeprefix("layer on ")])
    if cell.learner in LAYERS:
        return TrustedClassifier(peer)
    if cell.table != "categories":
        return peer
    return make_pipeline(make_column_transformer((TargetEncoder(random_state=0), [5]), remainder="passthrough"), peer)


def tried(cell: Cell, n_test: int) -> dict[str, Any]:
    """How the learner does on rows it has not seen."""
    import pandas as pd

    from sepc.metrics import aurc, ece
    from sepc_benchmarks.trust.learners import label_and_trust

    X, y, X_new, y_new = drawn(cell, n_test)
    if cell.table == "categories" and cell.learner == "SEP-C":
        X, X_new = (pd.DataFrame(rows).astype({5: "int64"}).astype({5: "category"}) for rows in (X, X_new))
        X.columns = X_new.columns = [f"x{j}" for j in range(cell.columns)]
    started = time.process_time()
    model = learner_of(cell).fit(X, y)
    seconds = time.process_time() - started
    label, trust = label_and_trust(model, X_new)
    right = label == y_new
    accepted = trust >= MIN_TRUST
    return {
        "accuracy": float(right.mean()),
        "AURC": float(aurc(right, trust)),
        "ECE": float(ece(right, trust)),
        "accepted": float(accepted.mean()),
        "right among these": float(right[accepted].mean()) if accepted.any() else None,
        "seconds": seconds,
    }


def summary(done: dict[Cell, dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the seeds of each table, size and learner."""
    import numpy as np

    found: dict[tuple[str, int, int, str], list[dict[str, Any]]] = {}
    for cell, figures in done.items():
        found.setdefault((cell.table, cell.columns, cell.rows, cell.learner), []).append(figures)
    order = sorted(found, key=lambda key: (*key[:3], LEARNERS.index(key[3])))
    table = []
    for key in order:
        row: dict[str, Any] = dict(zip(("table", "columns", "rows", "learner"), key, strict=True))
        row["seeds"] = len(found[key])
        for name, digits in (("accuracy", 4), ("AURC", 4), ("ECE", 3), ("accepted", 3), ("right among these", 4)):
            values = [figures[name] for figures in found[key] if figures[name] is not None]
            row[name] = round(float(np.mean(values)), digits) if values else ""
        row["fit, s"] = round(float(np.mean([figures["seconds"] for figures in found[key]])), 2)
        table.append(row)
    return table


def finished(cache: Path) -> dict[Cell, dict[str, Any]]:
    """The cells that were finished before."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    lines = cache.read_text(encoding="utf-8").splitlines() if cache.exists() else []
    return {Cell(**record["cell"]): record["figures"] for record in map(json.loads, lines)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="two tiny tables and two learners")
    parser.add_argument("--tables", nargs="+", default=["line", "curve", "classes", "categories"], metavar="TABLE")
    parser.add_argument("--learners", nargs="+", default=MODELS, choices=LEARNERS, metavar="LEARNER")
    parser.add_argument("--rows", nargs="+", type=int, default=SIZES)
    parser.add_argument("--columns", nargs="+", type=int, default=COLUMNS, help="of the normal tables")
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    parser.add_argument("--again", nargs="+", default=[], metavar="LEARNER", help="forget what these learners did")
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench-trust" / "wide.jsonl", help="finished cells")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    options = parser.parse_args()
    if options.smallest:
        options.rows, options.seeds, options.columns = [200], 1, [min(COLUMNS)]
        options.learners = [name for name in options.learners if name in ("SEP-C", "LR")]
        options.cache = None
    return options


def main() -> None:
    options = arguments()
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is imported
    warnings.simplefilter("ignore")
    from sepc_benchmarks.measure import save, show

    done = {} if options.cache is None else finished(options.cache)
    done = {cell: figures for cell, figures in done.items() if cell.learner not in options.again}
    asked = list(cells(options))
    for cell in asked:
        if cell not in done:
            done[cell] = tried(cell, 1_000 if options.smallest else N_TEST)
            if options.cache is not None:
                with options.cache.open("a", encoding="utf-8") as cache:
                    cache.write(json.dumps({"cell": asdict(cell), "figures": done[cell]}) + "\n")
    tables = {"wide": summary({cell: done[cell] for cell in asked})}
    show("wide", tables["wide"])
    save(options.output, tables)


if __name__ == "__main__":
    main()
