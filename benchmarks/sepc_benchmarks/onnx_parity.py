"""Whether ONNX Runtime decides as the model in Python does, how fast, and how soon it answers for one row.

Models are fitted on at most 3,000 rows of seven data sets. They decide on a million rows drawn from all of
them: a fifth as they are, most moved by 0.05 to 0.3 standard deviations, 5 % by 3 and 1 % by 1,000. A row is "near a
boundary" if its gauge in some ellipsoid is within 1e-6 of 1, and "near a threshold" if its trust is within 1e-6 of one
that labels are accepted from. Python decides on 65,536 rows at a time, ONNX Runtime on 2,048, both on one thread and in
turns. Latencies are those of single rows; the random forest beside them is scikit-learn's, 100 trees, converted by
skl2onnx and run in ONNX Runtime.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from sepc import SelectiveClassifier, SEPClassifier
from sepc.decisions.kinds import Rule
from sepc.estimators.exported import Exported
from sepc.model.membership import squared_radii
from sepc.onnx import export
from sepc.onnx.stages import TARGET
from sepc_benchmarks import datasets
from sepc_benchmarks.measure import arguments, save, show

SETS = ("banknote_authentication", "phoneme", "glass", "magic_gamma_telescope", "pendigits", "segment", "satimage")
FIT_ROWS = 3000
ROWS, CALLS = 1_000_000, 1000
CHUNK, BATCH = 65_536, 2048
STEPS, SHARES = [0.0, 0.05, 0.1, 0.3, 3.0, 1000.0], [0.2, 0.25, 0.25, 0.24, 0.05, 0.01]
NEAR = 1e-6

Rows = NDArray[np.float64]


MODELS: dict[str, Callable[[], Any]] = {
    "SEPClassifier": SEPClassifier,
    "SelectiveClassifier": lambda: SelectiveClassifier(SEPClassifier(), 0.05, random_state=0),
}


def read(name: str, n_most: int) -> tuple[Rows, NDArray[Any], Rows]:
    """Rows and labels to fit on, and all rows."""
    data = datasets.load(name)
    rows, labels = np.asarray(data.features, dtype=np.float64), np.asarray(data.target)
    chosen = np.random.default_rng(0).permutation(len(rows))[:n_most]
    return rows[chosen], labels[chosen], rows


def drawn(rows: Rows, n: int) -> Iterator[Rows]:
    rng = np.random.default_rng(1)
    for start in range(0, n, CHUNK):
        size = min(CHUNK, n - start)
        moved = rng.choice(STEPS, p=SHARES, size=(size, 1)) * rng.standard_normal((size, rows.shape[1]))
        yield rows[rng.integers(len(rows), size=size)] + moved * rows.std(axis=0)


def session_of(source: str | bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(session: Any, rows: Rows) -> dict[str, NDArray[Any]]:
    parts = [session.run(None, {"X": rows[start : start + BATCH]}) for start in range(0, len(rows), BATCH)]
    names = [output.name for output in session.get_outputs()]
    return {name: np.concatenate(part) for name, part in zip(names, zip(*parts, strict=True), strict=True)}


def near_boundary(exported: Exported, rows: Rows) -> NDArray[np.bool_]:
    """Rows next to the boundary of an ellipsoid."""
    model = exported.decider.model_
    gauges = np.sqrt(squared_radii(model.standardize(rows), model.centers, model.roots))
    return np.asarray((np.abs(gauges - 1.0) <= NEAR).any(axis=1))


def near_threshold(exported: Exported, trust: Rows) -> NDArray[np.bool_]:
    """Rows whose trust is next to one that labels are accepted from."""
    thresholds = np.append(exported.thresholds, exported.decider.min_trust)
    return np.asarray((np.abs(trust[:, np.newaxis] - thresholds) <= NEAR).any(axis=1))


def compare(model: Any, session: Any, rows: Rows, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """How often the two differ, and the rows a second of each."""
    names, exported = ("label", "region", "cause", "accepted"), Exported.of(model, TARGET)
    differ = dict.fromkeys(names, 0)
    n_near = n_thresholds = n_outside = n_elsewhere = 0
    trust = seconds = own_seconds = 0.0
    for chunk in drawn(rows, n):
        started = time.perf_counter()
        decided = model.decide(chunk)
        between = time.perf_counter()
        said = run(session, chunk)
        own_seconds, seconds = own_seconds + between - started, seconds + time.perf_counter() - between
        inner = getattr(decided, "inner", decided)
        wrong = np.zeros(len(chunk), dtype=bool)
        for name in names:
            differs = said[name] != (getattr(decided, name) if hasattr(decided, name) else getattr(inner, name))
            differ[name] += int(differs.sum())
            wrong |= differs
        near, threshold = near_boundary(exported, chunk), near_threshold(exported, decided.trust)
        n_near, n_thresholds = n_near + int(near.sum()), n_thresholds + int(threshold.sum())
        n_elsewhere += int((wrong & ~near & ~threshold).sum())
        n_outside += int(np.sum(inner.rule == Rule.NEAREST))
        trust = max(trust, float(np.abs(said["trust"] - decided.trust)[~wrong].max(initial=0.0)))
    parity: dict[str, Any] = {"rows": n, "near a boundary": n_near, "near a threshold": n_thresholds}
    parity |= {f"{name} differs": count for name, count in differ.items()}
    parity |= {"differ elsewhere": n_elsewhere, "largest difference of trust": trust}
    speed = {"share outside": n_outside / n, "Python, rows/s": n / own_seconds}
    return parity, speed | {"ONNX, rows/s": n / seconds, "ONNX / Python": own_seconds / seconds}


def microseconds(answer: Callable[[Rows], object], rows: Rows) -> NDArray[np.float64]:
    """How long it takes to answer for each row alone, without the first tenth of them."""
    taken = []
    for i in range(len(rows)):
        started = time.perf_counter()
        answer(rows[i : i + 1])
        taken.append(1e6 * (time.perf_counter() - started))
    return np.array(taken[len(taken) // 10 :])


def latency(model: Any, session: Any, forest: Any, rows: Rows, n: int) -> dict[str, Any]:
    alone = next(drawn(rows, n))
    record: dict[str, Any] = {}
    ways: dict[str, Callable[[Rows], object]] = {
        "ONNX": lambda row: session.run(None, {"X": row}),
        "random forest": lambda row: forest.run(None, {"X": row.astype(np.float32)}),
    }
    for name, way in ways.items():
        taken = microseconds(way, alone)
        record |= {f"{name}, p{p} µs": float(np.percentile(taken, p)) for p in (50, 99)}
    return record | {"Python, p50 µs": float(np.median(microseconds(model.decide, alone[: n // 10])))}


def measured(names: tuple[str, ...], smallest: bool, folder: Path) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {"parity": [], "throughput": [], "latency": []}
    n_trees, n_calls, n_rows = (5, 50, 2000) if smallest else (100, CALLS, ROWS)
    for name in names:
        X, y, rows = read(name, 200 if smallest else FIT_ROWS)
        trees = RandomForestClassifier(n_trees, random_state=0).fit(X, y)
        converted = to_onnx(trees, X[:1].astype(np.float32), options={"zipmap": False})
        forest = session_of(converted.SerializeToString())
        for kind, make in MODELS.items():
            model = make().fit(X, y)
            export(model, folder / "model.onnx")
            session = session_of(str(folder / "model.onnx"))
            parity, speed = compare(model, session, rows, n_rows)
            head = {"data": name, "features": rows.shape[1], "classes": len(np.unique(y)), "model": kind}
            size = {"kB": (folder / "model.onnx").stat().st_size / 1e3}
            tables["parity"].append(head | parity)
            tables["throughput"].append(head | size | speed)
            tables["latency"].append(head | latency(model, session, forest, rows, n_calls))
            print(name, kind, file=sys.stderr, flush=True)
    return tables


def main() -> None:
    options = arguments(__doc__)
    names = SETS[:1] if options.smallest else SETS
    warnings.simplefilter("ignore")
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
        results = measured(names, options.smallest, Path(folder))
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
