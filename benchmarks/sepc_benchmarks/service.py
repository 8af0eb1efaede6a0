"""How many rows a second does one core serve over HTTP and in a database, and how soon does it answer? Five minutes.

ONNX Runtime on one core behind uvicorn with a bare application, asked over loopback by the other core, and DuckDB on a
Parquet file beside it. Rows come as raw doubles, and labels, trust and acceptance go back as raw arrays, so that what
is measured is the model and HTTP, not JSON.
"""

from __future__ import annotations

import asyncio
import math
import socket
import tempfile
import time
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from sepc.onnx import export as to_onnx
from sepc.sql import export as to_sql
from sepc_benchmarks.measure import Parts, Records, Tables, medians
from sepc_benchmarks.scaling.data import Drawn
from sepc_benchmarks.scaling.fits import classifier

# What a service is asked for, and the share of a core that may be used, so that queues stay short.
TARGET, BUSY = 100_000, 0.6
CONNECTIONS = 4


def parts(smallest: bool) -> Parts:
    return {"service": lambda: service(smallest)}


def service(smallest: bool) -> Tables:
    """A model of 20 features and at most 40 ellipsoids, asked in each way."""
    d, most, n_fit = (3, 3, 2_000) if smallest else (20, 40, 200_000)
    drawn = Drawn(n_fit, d, 1)
    model = classifier(most).fit(drawn.rows(0), drawn.labels(0))
    batches, seconds = ((1, 10), 0.3) if smallest else ((1, 10, 100, 1_000, 10_000), 8.0)
    return {
        "service": [
            *in_process(model, d, batches, 3 if smallest else 7),
            *over_http(model, d, batches, seconds),
            *in_database(model, d, 2_000 if smallest else 1_000_000, (1, 2)),
        ]
    }


def in_process(model: Any, d: int, batches: tuple[int, ...], rounds: int) -> Records:
    """Rows a second of one thread without HTTP."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        to_onnx(model, path)
        session = session_of(path)
        rows = {n: Drawn(n, d, 1).rows(0) for n in batches}
        tasks = {f"{n}": lambda n=n: session.run(OUTPUTS, {"X": rows[n]}) for n in batches}
        found = medians(tasks, rounds)
    return [{"way": "ONNX Runtime, no HTTP", "rows a call": n} | pace(n / found[f"{n}"]) for n in batches]


def in_database(model: Any, d: int, n: int, threads: tuple[int, ...]) -> Records:
    """Rows a second of DuckDB on a Parquet file, all columns of the decision computed and kept as a table."""
    import duckdb

    names = [f"x{j}" for j in range(d)]
    with tempfile.TemporaryDirectory() as folder:
        Drawn(n, d, max(1, n // 500_000)).write_parquet(Path(folder, "rows"))
        statement = to_sql(named(model, names), "duckdb", "given")
        records = []
        for count in threads:
            with duckdb.connect(config={"threads": count}) as connection:
                connection.execute(f"CREATE VIEW given AS SELECT * FROM '{folder}/rows/*.parquet'")
                started = time.perf_counter()
                connection.execute(f"CREATE TEMP TABLE answer AS {statement}")
                seconds = time.perf_counter() - started
            records.append({"way": f"DuckDB, {count} threads", "rows a call": n} | pace(n / seconds, count))
    return records


def named(model: Any, names: list[str]) -> Any:
    """The model, fitted to a table with these columns."""
    import pandas as pd

    from sepc import SEPClassifier

    drawn = Drawn(20_000, len(names), 1)
    return SEPClassifier(**model.get_params()).fit(pd.DataFrame(drawn.rows(0), columns=names), drawn.labels(0))


def over_http(model: Any, d: int, batches: tuple[int, ...], seconds: float) -> Records:
    """What one process serves while another asks, `CONNECTIONS` questions at a time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        to_onnx(model, path)
        with served(path, d) as (port, process):
            return [asked(port, process, Drawn(n, d, 1).rows(0), seconds) for n in batches]


def asked(port: int, process: Any, rows: Any, seconds: float) -> dict[str, Any]:
    """Questions of this size for so many seconds."""
    body = rows.tobytes()
    busy, started = processor_seconds(process.pid), time.perf_counter()
    times = np.array(asyncio.run(ask_for(port, body, seconds)))
    passed = time.perf_counter() - started
    busy = processor_seconds(process.pid) - busy
    record = {"way": "ONNX Runtime over HTTP", "rows a call": len(rows)} | pace(len(rows) * len(times) / busy)
    quantiles = {"ms, median": 1e3 * np.median(times), "ms, 99 %": 1e3 * np.quantile(times, 0.99)}
    return record | quantiles | {"share of a core": busy / passed, "MB": resident_megabytes(process.pid)}


async def ask_for(port: int, body: bytes, seconds: float) -> list[float]:
    """Seconds of every answer; each connection asks again as soon as it has one."""
    end = time.perf_counter() + seconds
    found = await asyncio.gather(*(ask_again(port, body, end) for _ in range(CONNECTIONS)))
    return [one for times in found for one in times]


async def ask_again(port: int, body: bytes, end: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    times = []
    while (started := time.perf_counter()) < end:
        writer.write(head + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200")
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - started)
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return times


@contextmanager
def served(path: Path, d: int) -> Any:
    """The port of a service in a process of its own, and the process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = get_context("spawn").Process(target=serve, args=(path, d, port), daemon=True)
    process.start()
    try:
        wait_for(port)
        yield port, process
    finally:
        process.terminate()
        process.join()


def wait_for(port: int) -> None:
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError("the service did not start")


OUTPUTS = ["label", "trust", "accepted"]


def serve(path: Path, d: int, port: int) -> None:
    """Answer until the process is ended."""
    import uvicorn

    session = session_of(path)

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        answers = session.run(OUTPUTS, {"X": np.frombuffer(body).reshape(-1, d)})
        shown = b"".join(np.ascontiguousarray(answer).tobytes() for answer in answers)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(shown))]})
        await send({"type": "http.response.body", "body": shown})

    uvicorn.run(application, host="127.0.0.1", port=port, log_level="critical", access_log=False, lifespan="off")


def session_of(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path.read_bytes(), options)


def pace(rows_a_second: float, cores: int = 1) -> dict[str, Any]:
    """Rows a second of these cores, and how many cores the target needs."""
    own = rows_a_second / cores
    return {"rows a second of a core": own, f"cores for {TARGET:,} a second": math.ceil(TARGET / (BUSY * own))}


def processor_seconds(pid: int) -> float:
    """Processor time of a process so far."""
    import psutil

    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def resident_megabytes(pid: int) -> float:
    import psutil

    return psutil.Process(pid).memory_info().rss / 1e6
