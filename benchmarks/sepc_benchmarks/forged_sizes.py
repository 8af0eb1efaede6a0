"""Does a small file that stands for very much take more memory than ten times its size plus 50 MB? Ten minutes.

Each file is read in a new process, which may take 6 GB of address space and no more. Its peak is that of the resident
memory, above what the process had before. If a file is read, the model decides on three rows, and describes itself.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import sepc
from sepc.model_files import to_bytes
from sepc_benchmarks.forging import BOMBS
from sepc_benchmarks.measure import Parts, Records, Tables

TIMES, PLUS = 10, 50_000_000
RESET = Path("/proc/self/clear_refs")  # writing 5 to it forgets the peak
ADDRESS_SPACE = 6 * 2**30
FEW = (
    "20,000 classes, 40,000 isolated rows",
    "100,000 ellipsoids",
    "100,000 signatures",
    "90,000 features, no ellipsoid",
    "50,000 labels, one of 100,000 characters",
    "60 strata of 900 labels, one of 900 characters",
    "100,000 strata of 90,000 columns",
    "1,000,000 cuts",
)


def peak_of(task: Callable[[], Any]) -> tuple[float, Any]:
    """Bytes of memory that a task took at its peak (0 if not on Linux), and its result or the error it raised."""
    if RESET.exists():
        RESET.write_text("5")
    before = _resident("VmRSS")
    try:
        result = task()
    except (ValueError, MemoryError) as error:
        result = error
    return _resident("VmHWM") - before, result


def _resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines() if RESET.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


def described(model: Any) -> str:
    """What a person sees of a model, and what it decides on three rows."""
    rows = np.zeros((3, model.n_features_in_))
    said = [repr(model), repr(model.decide(rows))]
    if hasattr(model, "regions_"):
        said += [repr(getattr(model, name)) for name in ("model_", "regions_", "ellipsoids_")]
    return "\n".join(said)


def measured(path: Path) -> dict[str, Any]:
    """Peaks of load, of inspect and of the first decision, in a process of its own."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    started = time.perf_counter()
    loading, model = peak_of(lambda: sepc.load(path))
    seconds = time.perf_counter() - started
    inspecting, told = peak_of(lambda: str(sepc.inspect(path)))
    is_read = not isinstance(model, Exception)
    deciding, said = peak_of(lambda: described(model)) if is_read else (0, "")
    errors = [type(one).__name__ for one in (model, told, said) if isinstance(one, Exception)]
    size = path.stat().st_size
    return {
        "outcome": ", ".join(errors) or "read",
        "file, MB": round(size / 1e6, 2),
        "may take, MB": round((TIMES * size + PLUS) / 1e6, 1),
        "load, MB": round(loading / 1e6, 1),
        "inspect, MB": round(inspecting / 1e6, 1),
        "first decision, MB": round(deciding / 1e6, 1),
        "load, s": round(seconds, 2),
    }


def warm_up() -> None:
    """Load and decide once, so that what Python imports on the way is not counted."""
    rows = np.random.default_rng(0).random((40, 2))
    model = sepc.SEPClassifier(trust="counts").fit(rows, rows[:, 0] > 0.5)
    with tempfile.TemporaryDirectory() as folder:
        sepc.save(model, Path(folder) / "model.sepc")
        described(sepc.load(Path(folder) / "model.sepc"))
        str(sepc.inspect(Path(folder) / "model.sepc"))


def in_new_process(function: Callable[..., Any], *given: Any) -> Any:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(function, given)


def of_digits() -> bytes:
    """A file that is not forged."""
    return to_bytes(sepc.SEPClassifier().fit(*load_digits(return_X_y=True)))


FILES = {"digits, not forged: 10 classes, 64 features": of_digits, **BOMBS}


def forge(name: str, path: Path) -> None:
    path.write_bytes(FILES[name]())


def parts(smallest: bool) -> Parts:
    return {"sizes": lambda: {"sizes": sizes(FEW if smallest else tuple(FILES))}}


def derived(tables: Tables) -> Tables:
    """How many are refused, and the largest memory beside what it may be."""
    records = tables["sizes"]
    taken = [max(one[name] for name in ("load, MB", "inspect, MB", "first decision, MB")) for one in records]
    shares = [mb / one["may take, MB"] for mb, one in zip(taken, records, strict=True)]
    read = sum(one["outcome"] == "read" for one in records)
    outcomes = {"files": len(records), "read": read, "refused": len(records) - read}
    outcomes["above what they may take"] = sum(share > 1.0 for share in shares)
    return {"summary": [outcomes | {"largest, MB": max(taken), "most of what it may take": f"{max(shares):.0%}"}]}


def sizes(names: tuple[str, ...]) -> Records:
    warm_up()
    records = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "forged.sepc"
            in_new_process(forge, name, path)
            records.append({"it stands for": name, **in_new_process(measured, path)})
    return records
