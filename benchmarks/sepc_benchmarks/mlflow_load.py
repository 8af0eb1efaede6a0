"""Serve a model with `mlflow models serve` on loopback, and send requests for minutes as fast as it answers.

Two callers send one request after the other, of one row and of 100 rows in turn; every answer is compared with the
model's own decisions. The server has one worker, on the same machine as the callers.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier
from sepc_benchmarks.measure import arguments, save, show

SECONDS = 600
N_CALLERS = 2
SIZES = (1, 100)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def answers_ping(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def serve(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(folder), "-p", str(port)]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command += ["-h", "127.0.0.1", "--env-manager", "local"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
    deadline = time.monotonic() + 180
    while not answers_ping(port):
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("The server did not start.")
        time.sleep(0.5)
    return server


def ask(port: int, body: bytes) -> list[dict[str, Any]]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return list(json.loads(answer.read())["predictions"])


def call(
    port: int, X: Any, expected: Any, until: float, seed: int, found: dict[int, list[float]], bad: list[str]
) -> None:
    rng, n = np.random.default_rng(seed), 0
    while time.monotonic() < until:
        size = SIZES[n % len(SIZES)]
        n += 1
        start = int(rng.integers(len(X) - size))
        rows = X.iloc[start : start + size]
        body = {"dataframe_split": {"columns": list(X.columns), "data": rows.to_numpy().tolist()}}
        started = time.perf_counter()
        try:
            answered = ask(port, json.dumps(body).encode())
        except (OSError, ValueError, KeyError, urllib.error.HTTPError) as error:
            bad.append(str(error))
            continue
        found[size].append(time.perf_counter() - started)
        if [one["label"] for one in answered] != expected[start : start + size].tolist():
            bad.append("another label")


def main() -> None:
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    import sepc.mlflow as door

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = SEPClassifier(2, trust="counts", max_ellipsoids=500).fit(X.iloc[::2, :10], y[::2])
    X = X.iloc[:, :10]
    found: dict[int, list[float]] = {size: [] for size in SIZES}
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        door.save_model(model, Path(folder) / "model", X=X)
        port = free_port()
        server = serve(Path(folder) / "model", port)
        try:
            seconds = 3 if options.smallest else SECONDS
            until = time.monotonic() + seconds
            shared = (port, X, model.predict(X), until)
            callers = [threading.Thread(target=call, args=(*shared, i, found, bad)) for i in range(N_CALLERS)]
            for one in callers:
                one.start()
            for one in callers:
                one.join()
        finally:
            server.terminate()
            server.wait(30)
    n_asked = sum(map(len, found.values()))
    records = [
        {
            "rows a request": size,
            "requests": len(times),
            "a second": round(len(times) / seconds, 1),
            "p50, ms": round(1e3 * float(np.quantile(times, 0.5)), 1),
            "p99, ms": round(1e3 * float(np.quantile(times, 0.99)), 1),
        }
        for size, times in found.items()
    ]
    show("load", records)
    show("errors", [{"seconds": seconds, "requests": n_asked, "errors": len(bad)}])
    save(options.output, {"load": records, "errors": [{"seconds": seconds, "requests": n_asked, "errors": len(bad)}]})


if __name__ == "__main__":
    main()
