"""Requests a second of the desk beside a bare echo and MLflow's server, in one run on loopback.

Every server gets the same rows from wrk: 32 clients with one row a request, one client with one row, and 4 clients with
100 rows. The desk checks a key and commits to its log before each answer. MLflow needs an environment that has it,
named by --mlflow-python; without, it is left out. wrk comes from Debian's packages.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sample_models import model, save_models  # noqa: E402 - found by the line above
from servers import Cluster, DeskProcess, free_port  # noqa: E402

from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.keys import create_key  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.settings import load_settings  # noqa: E402

MODEL = "wdbc"
SETUPS = ((32, 1), (1, 1), (4, 100))
SAVE_FOR_MLFLOW = """
import sys, warnings
warnings.simplefilter("ignore")
import pandas as pd, sepc, sepc.mlflow
rows = pd.read_json(sys.argv[2], dtype=False).astype(float)
sepc.mlflow.save_model(sepc.load(sys.argv[1]), sys.argv[3], X=rows)
"""


def script_of(folder: Path, bodies: list[str], path: str, key: str) -> Path:
    """A script for wrk that sends these bodies in turn."""
    file = folder / f"{abs(hash((path, len(bodies[0]))))}.lua"
    listed = ",\n".join(f"[==[{body}]==]" for body in bodies)
    file.write_text(
        f"local bodies = {{{listed}}}\nlocal n = 0\n"
        f'wrk.headers["Content-Type"] = "application/json"\nwrk.headers["Authorization"] = "Bearer {key}"\n'
        f'request = function() n = n + 1; return wrk.format("POST", "{path}", nil, bodies[n % #bodies + 1]) end\n'
    )
    return file


def milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[unit]


def measure(address: str, script: Path, clients: int, seconds: int) -> dict[str, float]:
    threads = min(2, clients)
    command = ["wrk", f"-t{threads}", f"-c{clients}", f"-d{seconds}s", "--latency", "--timeout", "30s"]
    out = subprocess.run([*command, "-s", str(script), address], text=True, capture_output=True, check=True).stdout
    found = dict(re.findall(r"^\s+(50|99)%\s+(\S+)", out, re.M))
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    return {
        "a second": float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]),  # type: ignore[index]
        "p50, ms": milliseconds(found["50"]),
        "p99, ms": milliseconds(found["99"]),
        "errors": int(bad[1]) if bad else 0,
    }


@contextmanager
def command(arguments: list[str], address: str, path: str) -> Iterator[None]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    environment["PATH"] = f"{Path(arguments[0]).parent}:{environment['PATH']}"
    process = subprocess.Popen(arguments, env=environment, start_new_session=True, **quiet)
    try:
        until = time.monotonic() + 180
        while time.monotonic() < until:
            try:
                httpx.get(address + path, timeout=5)
                break
            except httpx.HTTPError:
                time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait(30)


def resident(process: DeskProcess) -> float:
    """Memory of all processes that answer, in MB."""
    pages = [int(Path(f"/proc/{own}/statm").read_text().split()[1]) for own in process.workers()]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--mlflow-python", help="a Python that has sepc and MLflow")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    records: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = save_models(folder / "models", [MODEL])
        rows = model(MODEL)[1]
        cluster = Cluster(shared_buffers="256MB")
        try:
            for _ in range(options.rounds):
                for n in options.processes:
                    records += echo(folder, rows, n, options.seconds)
                    records += desk(
                        folder, store, cluster.create(f"d{time.time_ns()}"), "PostgreSQL", rows, n, options.seconds
                    )
                    records += desk(
                        folder, store, f"sqlite:///{folder}/d{time.time_ns()}.db", "SQLite", rows, n, options.seconds
                    )
                if options.mlflow_python:
                    records += mlflow(folder, store, rows, options.mlflow_python, options.seconds)
        finally:
            cluster.remove()
    if options.output:
        options.output.write_text(json.dumps({"load": records}, indent=1) + "\n")


def run(name: str, n: int, address: str, path: str, bodies: dict[int, list[str]], key: str, folder: Path, seconds: int):
    for clients, size in SETUPS:
        script = script_of(folder, bodies[size], path, key)
        measure(address, script, clients, 1)
        found = {"server": name, "processes": n, "clients": clients, "rows a request": size}
        found |= measure(address, script, clients, seconds)
        found["rows a second"] = round(found["a second"] * size)
        print(json.dumps(found), flush=True)
        yield found


def echo(folder: Path, rows: list, n: int, seconds: int) -> list[dict[str, object]]:
    port = free_port()
    arguments = [
        sys.executable,
        "-m",
        "uvicorn",
        "echo:app",
        "--app-dir",
        str(Path(__file__).parent),
        "--port",
        str(port),
    ]
    arguments += ["--workers", str(n), "--no-access-log", "--log-level", "error"]
    address = f"http://127.0.0.1:{port}"
    with command(arguments, address, "/echo"):
        return list(run("echo", n, address, "/echo", decide_bodies(rows), "none", folder, seconds))


def decide_bodies(rows: list) -> dict[int, list[str]]:
    return {
        1: [json.dumps({"model": MODEL, "rows": [row]}) for row in rows],
        100: [json.dumps({"model": MODEL, "rows": rows[i : i + 100]}) for i in range(0, 150, 25)],
    }


def desk(
    folder: Path, store: Path, database: str, name: str, rows: list, n: int, seconds: int
) -> list[dict[str, object]]:
    engine = engine_of(load_settings({}, database=database))
    migrate(engine)
    key = create_key(engine, "load", [MODEL])
    process = DeskProcess(database, store, processes=n).wait_ready()
    try:
        time.sleep(1)
        found = list(run(f"desk, {name}", n, process.address, "/decide", decide_bodies(rows), key, folder, seconds))
        print(
            json.dumps({"server": f"desk, {name}", "processes": n, "memory, MB": round(resident(process))}), flush=True
        )
        return found
    finally:
        process.kill()
        engine.dispose()


def mlflow(folder: Path, store: Path, rows: list, python: str, seconds: int) -> list[dict[str, object]]:
    target = folder / "mlflow"
    if not target.exists():
        (folder / "rows.json").write_text(json.dumps(rows))
        file = next((store / MODEL).glob("*.sepc"))
        subprocess.run([python, "-c", SAVE_FOR_MLFLOW, str(file), str(folder / "rows.json"), str(target)], check=True)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    arguments = [python, "-m", "mlflow", "models", "serve", "-m", str(target), "-p", str(port), "-h", "127.0.0.1"]
    bodies = {
        size: [json.dumps({"dataframe_split": _split(json.loads(body)["rows"])}) for body in some]
        for size, some in decide_bodies(rows).items()
    }
    with command([*arguments, "--env-manager", "local"], address, "/ping"):
        return list(run("MLflow", 1, address, "/invocations", bodies, "none", folder, seconds))


def _split(rows: list) -> dict[str, object]:
    return {"columns": list(rows[0]), "data": [list(row.values()) for row in rows]}


if __name__ == "__main__":
    main()
