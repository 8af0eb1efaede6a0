"""What databases and ONNX Runtime answer with an exported model, and the files that hold one."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import golden_data as data
import onnxruntime
from record import decided, scenario

import sepc
import sepc.onnx
import sepc.sql


def statement(model: Any, dialect: str, **options: Any) -> dict[str, Any]:
    text = sepc.sql.export(model, dialect, "loans", **options)
    return {"begins": text[:1500], "n_lines": text.count("\n")}


@scenario
def sql_of_four_dialects() -> Any:
    return {dialect: statement(data.loan_model(), dialect) for dialect in ("duckdb", "postgres", "sqlite", "spark")}


@scenario
def duckdb_answers() -> Any:
    database = duckdb.connect()
    database.register("loans", data.loans()[2][:40])
    answered = database.execute(sepc.sql.export(data.loan_model(), "duckdb", "loans", terms=True)).df()
    return answered.sort_values("id").filter(like="sepc_").to_dict("list")


@scenario
def duckdb_answers_with_a_promise() -> Any:
    database = duckdb.connect()
    database.register("cube", data.cube()[0][2000:2040].reset_index())
    answered = database.execute(sepc.sql.export(data.frozen_cube(), "duckdb", "cube")).df()
    return answered.sort_values("index").filter(like="sepc_").to_dict("list")


@scenario
def sqlite_answers() -> Any:
    connection = sqlite3.connect(":memory:")
    X = data.rows_of("vehicle", 1500)[2][:20]
    X.to_sql("vehicles", connection, index_label="row")
    text = sepc.sql.export(data.model_of("vehicle"), "sqlite", "vehicles")
    columns = ("sepc_label", "sepc_trust", "sepc_accepted", "sepc_cause", "sepc_region")
    return [list(row) for row in connection.execute(f"SELECT {', '.join(columns)} FROM ({text}) ORDER BY row")]


def onnx_answers(model: Any, X: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        sepc.onnx.export(model, path)
        session = onnxruntime.InferenceSession(path)
        feeds = {}
        for given in session.get_inputs():
            if len(session.get_inputs()) == 1:
                feeds[given.name] = X.to_numpy(dtype="float64" if "double" in given.type else "float32")
            else:
                column = X[given.name].to_numpy().reshape(-1, 1)
                feeds[given.name] = column.astype(object if "string" in given.type else "float64")
        found = session.run(None, feeds)
        return {given.name: array for given, array in zip(session.get_outputs(), found, strict=True)}


@scenario
def onnx_of_two_classes() -> Any:
    return onnx_answers(data.cube_model(), data.cube()[0][2000:2030])


@scenario
def onnx_of_four_classes() -> Any:
    return onnx_answers(data.model_of("vehicle"), data.rows_of("vehicle", 1500)[2][:20])


@scenario
def onnx_of_a_promise() -> Any:
    return onnx_answers(data.frozen_cube(), data.cube()[0][2000:2030])


@scenario
def files() -> Any:
    models = {
        "sep": (data.loan_model(), data.loans()[2][:20]),
        "selective": (data.selective_loans(), data.loans()[2][:20]),
        "trusted": (data.trusted().partition_, data.rows_of("vertebral_column_2c")[2][:20]),
        "repaired": (data.repaired_cube(), data.cube()[0][2500:2520]),
    }
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (model, X) in models.items():
            path, again = Path(folder, f"{name}.sepc"), Path(folder, f"{name}-again.sepc")
            sepc.save(model, path)
            loaded = sepc.load(path)
            sepc.save(loaded, again)
            found[name] = {
                "decisions": decided(loaded.decide(X)),
                "same_bytes_again": path.read_bytes() == again.read_bytes(),
                "inspected": [line for line in str(sepc.inspect(path)).splitlines() if "ytes" not in line],
            }
    return found
