"""A smoke test of one extra, by an interpreter that has nothing but the wheel and that extra.

    python tools/smoke_extras.py onnx

`tools/rehearse_release.py` runs it in fresh environments. Each test does what the extra is for, once.
"""

from __future__ import annotations

import os
import sys
import tempfile
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
RNG = np.random.default_rng(0)
Y = np.repeat(["no", "yes"], 150)
X = RNG.normal(size=(300, 3)) + 2.0 * (Y == "yes")[:, None]


def core(model: sepc.SEPClassifier) -> None:
    sepc.save(model, "model.sepc")
    again, decisions = sepc.load("model.sepc").decide(X), model.decide(X)
    assert (again.trust == decisions.trust).all()
    assert decisions.why(0)


def onnx(model: sepc.SEPClassifier) -> None:
    import onnx as package

    from sepc.onnx import export

    export(model, "model.onnx")
    package.checker.check_model(package.load("model.onnx"), full_check=True)


def plot(model: sepc.SEPClassifier) -> None:
    os.environ["MPLBACKEND"] = "Agg"
    from sepc.plot import PartitionDisplay

    PartitionDisplay.from_estimator(model, X, Y).figure_.savefig("partition.png")


def mlflow(model: sepc.SEPClassifier) -> None:
    import mlflow as package
    import pandas as pd

    from sepc.mlflow import save_model

    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    save_model(model, "folder", X=frame)
    assert len(package.pyfunc.load_model("folder").predict(frame)) == len(Y)


def table(_: sepc.SEPClassifier) -> None:
    lines = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), Y, strict=True)]
    Path("cases.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n", encoding="utf-8")
    use_the_command("cases.csv")


def excel(_: sepc.SEPClassifier) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in [["a", "b", "c", "label"], *([*row, str(label)] for row, label in zip(X.tolist(), Y, strict=True))]:
        book.active.append(row)
    book.save("cases.xlsx")
    use_the_command("cases.xlsx")


def use_the_command(cases: str) -> None:
    from sepc.cli import main

    assert main(["fit", cases, "--target", "label", "--output", "model.sepc"]) == 0
    assert main(["score", "model.sepc", cases, "--output", "scored.csv"]) == 0
    assert len(Path("scored.csv").read_text(encoding="utf-8").splitlines()) == len(Y) + 1


def dask(_: sepc.SEPClassifier) -> None:
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers, Client(workers):
        rows, labels = da.from_array(X, chunks=(100, 3)), da.from_array(Y, chunks=100)
        assert len(sepc.SEPClassifier().fit(rows, labels).decide(rows).compute()) == len(Y)


def spark(model: sepc.SEPClassifier) -> None:
    from pyspark.sql import SparkSession

    import sepc.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    rows = session.createDataFrame([tuple(row) for row in X.tolist()], ["x0", "x1", "x2"])
    assert sepc.spark.decide(model, rows).count() == len(Y)
    session.stop()


def recourse(model: sepc.SEPClassifier) -> None:
    found = sepc.recourse(model, X[:1], to="yes")
    assert found.answers[0].decision.accepted
    assert 0.0 < found.bound <= found.answers[0].cost


def sign(model: sepc.SEPClassifier) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec

    for name in ("own", "other"):
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        Path(f"{name}.pem").write_bytes(private)
        Path(f"{name}.pub").write_bytes(public)
    sepc.save(model, "model.sepc")
    sepc.lifecycle.sign("model.sepc", "own.pem")
    sepc.load("model.sepc", key="own.pub")
    try:
        sepc.lifecycle.verify("model.sepc", "other.pub")
    except sepc.errors.SignatureError:
        return
    raise AssertionError("another key was accepted")


TESTS = {test.__name__: test for test in (core, onnx, plot, mlflow, table, excel, dask, spark, recourse, sign)}


def main() -> None:
    asked = sys.argv[1]
    names = list(TESTS) if asked == "all" else asked.split(",")
    missing = [package for name in names for package in BROUGHT[name] if not find_spec(package)]
    assert not missing, f"{asked} did not bring {missing}"
    if asked == "core":
        brought = [package for packages in BROUGHT.values() for package in packages if find_spec(package)]
        assert not brought, f"the core brought {brought}"
    model = sepc.SEPClassifier().fit(X, Y)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            TESTS[name](model)
            os.chdir("/")
        print(f"{name} works", flush=True)


if __name__ == "__main__":
    main()
