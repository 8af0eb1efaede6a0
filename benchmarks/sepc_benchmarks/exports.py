"""Does ONNX Runtime decide as the model in Python does? Ten minutes.

Models are fitted on at most 3,000 rows of seven data sets. They decide on a million rows drawn from all of
them: a fifth as they are, most moved by 0.05 to 0.3 standard deviations, 5 % by 3 and 1 % by 1,000. A row is "near a
boundary" if its gauge in some ellipsoid is within 1e-6 of 1, and "near a threshold" if its trust is within 1e-6 of one
that labels are accepted from. Python decides on 65,536 rows at a time, ONNX Runtime on 2,048, in turns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from sepc import SelectiveClassifier, SEPClassifier, datasets
from sepc.estimators.exported import Exported
from sepc.model.membership import squared_radii
from sepc.onnx import export
from sepc.onnx.stages import TARGET
from sepc_benchmarks.measure import Parts, Tables

SETS = ("banknote_authentication", "phoneme", "glass", "magic_gamma_telescope", "pendigits", "segment", "satimage")
FIT_ROWS = 3000
ROWS = 1_000_000
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


def compare(model: Any, session: Any, rows: Rows, n: int) -> dict[str, Any]:
    """How often the two differ."""
    names, exported = ("label", "region", "cause", "accepted"), Exported.of(model, TARGET)
    differ = dict.fromkeys(names, 0)
    n_near = n_thresholds = n_elsewhere = 0
    trust = 0.0
    for chunk in drawn(rows, n):
        decided, said = model.decide(chunk), run(session, chunk)
        inner = getattr(decided, "inner", decided)
        wrong = np.zeros(len(chunk), dtype=bool)
        for name in names:
            differs = said[name] != (getattr(decided, name) if hasattr(decided, name) else getattr(inner, name))
            differ[name] += int(differs.sum())
            wrong |= differs
        near, threshold = near_boundary(exported, chunk), near_threshold(exported, decided.trust)
        n_near, n_thresholds = n_near + int(near.sum()), n_thresholds + int(threshold.sum())
        n_elsewhere += int((wrong & ~near & ~threshold).sum())
        trust = max(trust, float(np.abs(said["trust"] - decided.trust)[~wrong].max(initial=0.0)))
    record: dict[str, Any] = {"rows": n, "near a boundary": n_near, "near a threshold": n_thresholds}
    record |= {f"{name} differs": count for name, count in differ.items()}
    return record | {"differ elsewhere": n_elsewhere, "largest difference of trust": trust}


def parity(names: tuple[str, ...], n_fit: int, n_rows: int) -> Tables:
    records = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        for name in names:
            X, y, rows = read(name, n_fit)
            for kind, make in MODELS.items():
                model = make().fit(X, y)
                export(model, path)
                head = {"data": name, "features": rows.shape[1], "classes": len(np.unique(y)), "model": kind}
                records.append(head | compare(model, session_of(str(path)), rows, n_rows))
    return {"parity": records}


def parts(smallest: bool) -> Parts:
    return {"parity": lambda: parity(SETS[:1], 200, 2_000) if smallest else parity(SETS, FIT_ROWS, ROWS)}
