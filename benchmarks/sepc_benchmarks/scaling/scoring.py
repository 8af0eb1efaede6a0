"""Scoring on Dask and Spark, beside the same workers running bare `decide` on batches they hold already."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import sepc.spark
from sepc import SEPClassifier
from sepc.model_files import from_bytes, to_bytes
from sepc_benchmarks.measure import medians
from sepc_benchmarks.scaling.data import Drawn

ROUNDS = 7


def on_dask(client: Any, model: SEPClassifier, drawn: Drawn) -> dict[str, Any]:
    """`decide` of a Dask array in the workers' memory, to a Dask DataFrame in their memory."""
    from dask.distributed import futures_of, wait

    X, _ = drawn.on_dask(client)
    there, blocks = client.scatter(model, broadcast=True), futures_of(X)
    times = medians(
        {
            "bare": lambda: wait(client.map(n_decided, blocks, model=there, pure=False)),
            "engine": lambda: wait(model.decide(X).persist()),
        },
        ROUNDS,
    )
    found = model.decide(X)[["label", "trust"]].compute()
    return record(f"Dask, {len(client.nthreads())} workers", drawn, times) | compared(model, drawn, found)


def n_decided(rows: Any, model: SEPClassifier) -> int:
    return len(model.decide(rows).label)


def on_spark(model: SEPClassifier, drawn: Drawn) -> dict[str, Any]:
    """`sepc.spark.decide` of a DataFrame in Spark's memory, to nowhere."""
    import pandas as pd

    spark = session(max(drawn.sizes))
    names = [f"x{j}" for j in range(drawn.d)]
    rows = np.concatenate(drawn.blocks()[0])
    frame = pd.DataFrame(rows, columns=names).assign(row=np.arange(drawn.n))
    table = spark.createDataFrame(frame).repartition(drawn.n_blocks).cache()
    table.count()
    places = spark.range(drawn.n_blocks).repartition(drawn.n_blocks).cache()
    places.count()
    times = medians(
        {
            "bare": lambda: to_nowhere(places.mapInPandas(BareBatches(to_bytes(model), drawn), "n bigint")),
            "by hand": lambda: to_nowhere(table.drop("row").mapInPandas(SentBatches(to_bytes(model)), "n bigint")),
            "nothing": lambda: to_nowhere(table.drop("row").mapInPandas(lengths, "n bigint")),
            "engine": lambda: to_nowhere(sepc.spark.decide(model, table.drop("row"))),
        },
        ROUNDS,
    )
    found = sepc.spark.decide(model, table, keep=["row"]).select("row", "label", "trust").toPandas()
    spark.stop()
    sending = {"sending rows alone": times["nothing"], "seconds by hand": times["by hand"]}
    sending["x by hand"] = times["engine"] / times["by hand"]
    return record("Spark, local[2]", drawn, times) | sending | compared(model, drawn, found.sort_values("row"))


def session(batch: int) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    options: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(batch),
        "spark.log.level": "ERROR",
    }
    return SparkSession.builder.master("local[2]").config(map=options).getOrCreate()


def to_nowhere(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


class BareBatches:
    """Decides on a batch that the process holds, once for each row it is given, and gives how many rows it has."""

    def __init__(self, model: bytes, drawn: Drawn) -> None:
        self.model, self.drawn = model, drawn

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Numbers of rows, a batch for each given."""
        model, rows = held(self.model, self.drawn)
        for batch in batches:
            yield batch.assign(n=[n_decided(rows, model) for _ in range(len(batch))])[["n"]]


class SentBatches:
    """Decides on the batches that Spark sends, and gives how many rows they have."""

    def __init__(self, model: bytes) -> None:
        self.model = model

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Numbers of rows."""
        model = from_bytes(self.model)
        for batch in batches:
            yield batch[:1].assign(n=n_decided(batch.to_numpy(), model))[["n"]]


def lengths(batches: Iterable[Any]) -> Iterator[Any]:
    """Numbers of rows, which nobody looks at."""
    for batch in batches:
        yield batch[:1].assign(n=len(batch))[["n"]]


@lru_cache(1)
def held(model: bytes, drawn: Drawn) -> tuple[Any, Any]:
    return from_bytes(model), drawn.rows(0)


def record(name: str, drawn: Drawn, times: dict[str, float]) -> dict[str, Any]:
    head = {"engine": name, "rows": f"{drawn.n:,} x {drawn.d}", "a batch": max(drawn.sizes)}
    return head | {"seconds": times["engine"], "seconds bare": times["bare"], "x bare": times["engine"] / times["bare"]}


def compared(model: SEPClassifier, drawn: Drawn, found: Any) -> dict[str, Any]:
    """Whether the engine's labels and trust are NumPy's, batch by batch."""
    expected = [model.decide(rows) for rows in drawn.blocks()[0]]
    labels, trust = (np.concatenate([getattr(one, name) for one in expected]) for name in ("label", "trust"))
    apart = np.abs(found["trust"].to_numpy() - trust).max()
    return {"other labels": int(np.sum(found["label"].to_numpy() != labels)), "trust apart by": float(apart)}
