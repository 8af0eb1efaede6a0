"""A smoke test of one extra, by an interpreter that has nothing but the wheel and that extra.

    python tools/smoke_extras.py onnx

`tools/rehearse_release.py` runs it in fresh environments. Each test does what the extra is for, once.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import sepc
import sepc.errors
import sepc.lifecycle

# What an extra brings that the core must do without.
BROUGHT = {
    "core": (),
    "onnx": ("onnx",),
    "plot": ("matplotlib",),
    "mlflow": ("mlflow",),
    "excel": ("openpyxl",),
    "table": ("pyarrow", "pandas", "shtab", "tqdm"),
    "dask": ("dask", "distributed"),
    "spark": ("pyspark",),
    "recourse": ("clarabel",),
    "sign": ("model_signing", "OpenSSL"),
}


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Two classes that overlap a little."""
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 150)
    return rng.normal(size=(300, 3)) + 2.0 * (y == "yes")[:, None], y


def core(folder: Path) -> str:
    """Fit, decide, explain, promise, save and load."""
    X, y = rows()
    classifier = sepc.SEPClassifier().fit(X, y)
    sepc.save(classifier, folder / "model.sepc")
    again = sepc.load(folder / "model.sepc").decide(X)
    decisions = classifier.decide(X)
    assert (again.label == decisions.label).all()
    assert (again.trust == decisions.trust).all()
    return decisions.why(0)


def onnx(folder: Path) -> str:
    """Export, and let ONNX check the graph."""
    import onnx as package

    from sepc.onnx import export

    export(sepc.SEPClassifier().fit(*rows()), folder / "model.onnx")
    package.checker.check_model(package.load(folder / "model.onnx"), full_check=True)
    return f"{(folder / 'model.onnx').stat().st_size:,} bytes"


def plot(folder: Path) -> str:
    """Draw a partition."""
    import matplotlib as mpl

    mpl.use("Agg")
    from sepc.plot import PartitionDisplay

    X, y = rows()
    display = PartitionDisplay.from_estimator(sepc.SEPClassifier().fit(X, y), X, y)
    display.figure_.savefig(folder / "partition.png")
    return f"{(folder / 'partition.png').stat().st_size:,} bytes"


def mlflow(folder: Path) -> str:
    """Save as MLflow does, load as its server does, and score."""
    import mlflow as package
    import pandas as pd

    from sepc.mlflow import save_model

    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    save_model(sepc.SEPClassifier().fit(frame, y), folder / "model", X=frame)
    scored = package.pyfunc.load_model(str(folder / "model")).predict(frame)
    return f"columns {', '.join(scored.columns[:3])}"


def table(folder: Path) -> str:
    """Fit and score a CSV file by the command."""
    X, y = rows()
    lines = ["a,b,c,label", *(",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True))]
    (folder / "cases.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return fitted_by_command(folder, "cases.csv")


def excel(folder: Path) -> str:
    """Fit and score an Excel file by the command."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["a", "b", "c", "label"])
    for row, label in zip(*rows(), strict=True):
        book.active.append([*row.tolist(), str(label)])
    book.save(folder / "cases.xlsx")
    return fitted_by_command(folder, "cases.xlsx")


def fitted_by_command(folder: Path, name: str) -> str:
    """The command's own summary line is printed by it."""
    from sepc.cli import main

    model, scored = folder / "model.sepc", folder / "scored.csv"
    assert main(["fit", str(folder / name), "--target", "label", "--output", str(model)]) == 0
    assert main(["score", str(model), str(folder / name), "--output", str(scored)]) == 0
    return f"{len(scored.read_text(encoding='utf-8').splitlines()) - 1} rows scored"


def dask(folder: Path) -> str:
    """Fit and decide on two worker processes."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    X, y = rows()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers, Client(workers):
        given = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100)
        model = sepc.SEPClassifier().fit(*given)
        return f"{len(model.decide(given[0]).compute())} rows decided on"


def spark(folder: Path) -> str:
    """Decide in a Spark session."""
    import os

    from pyspark.sql import SparkSession

    import sepc.spark

    X, y = rows()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    given = session.createDataFrame([tuple(row) for row in X.tolist()], ["a", "b", "c"])
    import pandas as pd

    model = sepc.SEPClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    n_decided = sepc.spark.decide(model, given).count()
    session.stop()
    return f"{n_decided} rows decided on"


def recourse(folder: Path) -> str:
    """Ask what would have to change, and prove what it costs at least."""
    X, y = rows()
    model = sepc.SEPClassifier().fit(X, y)
    found = sepc.recourse(model, X[:1], to="yes")
    assert found.answers[0].decision.accepted
    assert 0.0 < found.bound <= found.answers[0].cost
    return found.why()


def sign(folder: Path) -> str:
    """Sign a model, verify it, and see it refused with another key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    for name in ("own", "other"):
        key = ec.generate_private_key(ec.SECP256R1())
        (folder / f"{name}.pem").write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain))
        public = key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        (folder / f"{name}.pub").write_bytes(public)
    sepc.save(sepc.SEPClassifier().fit(*rows()), folder / "model.sepc")
    sepc.lifecycle.sign(folder / "model.sepc", folder / "own.pem")
    sepc.load(folder / "model.sepc", key=folder / "own.pub")
    try:
        sepc.lifecycle.verify(folder / "model.sepc", folder / "other.pub")
    except sepc.errors.SignatureError as error:
        return str(error)
    raise AssertionError("another key was accepted")


TESTS: dict[str, Callable[[Path], str]] = {
    test.__name__: test for test in (core, onnx, plot, mlflow, table, excel, dask, spark, recourse, sign)
}


def main() -> None:
    asked = sys.argv[1]
    names = list(TESTS) if asked == "all" else asked.split(",")
    for name in names:
        for package in BROUGHT[name]:
            assert find_spec(package), f"the extra {name} did not bring {package}"
    if asked == "core":
        brought = [package for packages in BROUGHT.values() for package in packages if find_spec(package)]
        assert not brought, f"the core brought {brought}"
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: {TESTS[name](Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
