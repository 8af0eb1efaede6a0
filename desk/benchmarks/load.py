"""Requests a second of the desk beside a bare echo and MLflow's server, in one run on loopback.

The servers run at once and take turns, once with PostgreSQL and once with SQLite, and each gets the same rows from wrk:
32 clients with one row a request, one client with one row, and 4 clients with 100 rows. The desk checks a key and
commits to its log before each answer. MLflow needs an environment that has it, named by --mlflow-python; without, it is
left out. wrk comes from Debian.
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
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import httpx2 as httpx

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sample_models import model, save_models  # noqa: E402 - found by the line above
from servers import KEYED, Cluster, DeskProcess, free_port  # noqa: E402

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


def resident(processes: list[int]) -> float:
    """Memory of processes, in MB."""
    pages = [int(Path(f"/proc/{own}/statm").read_text().split()[1]) for own in processes]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


Setup = tuple[str, str, dict[int, list[str]], str]  # address, path, bodies by rows a request, key
DeskSetup = tuple[str, str, dict[int, list[str]], str, DeskProcess]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--mlflow-python", help="a Python that has sepc and MLflow")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store, rows = save_models(folder / "models", [MODEL]), model(MODEL)[1]
        cluster = Cluster(shared_buffers="256MB")
        stack.callback(cluster.remove)
        others: dict[str, Setup] = {"echo": stack.enter_context(echo(rows, options.processes))}
        if options.mlflow_python:
            others["MLflow"] = stack.enter_context(mlflow(folder, store, rows, options.mlflow_python))
        records: list[dict[str, object]] = []
        for name, database in (("PostgreSQL", cluster.create("desk")), ("SQLite", f"sqlite:///{folder}/desk.db")):
            with desk(store, database, rows, options.processes) as (*own, _):
                servers = {f"desk, {name}": tuple(own)} | others
                records += measure_in_turns(servers, folder, options.seconds, options.rounds)
    for one in records:
        print(json.dumps(one), flush=True)
    if options.output:
        options.output.write_text(json.dumps({"load": records}, indent=1) + "\n")


def measure_in_turns(servers: dict[str, Setup], folder: Path, seconds: int, rounds: int) -> list[dict[str, object]]:
    """Medians over rounds in which all servers take their turn, so that what else the machine does falls on all."""
    found: dict[tuple[int, int, str], list[dict[str, float]]] = {}
    for _ in range(rounds):
        for clients, size in SETUPS:
            for name, (address, path, bodies, key) in servers.items():
                script = script_of(folder, bodies[size], path, key)
                measure(address, script, clients, 1)
                found.setdefault((clients, size, name), []).append(measure(address, script, clients, seconds))
    records = []
    for (clients, size, name), own in found.items():
        record: dict[str, object] = {"server": name, "clients": clients, "rows a request": size}
        record |= {part: round(median(one[part] for one in own), 2) for part in ("a second", "p50, ms", "p99, ms")}
        record["errors"] = sum(one["errors"] for one in own)
        for other in ("echo", "MLflow"):
            if other in servers and other != name:
                pairs = list(zip(own, found[clients, size, other], strict=True))
                record[f"times {other}"] = round(median(a["a second"] / b["a second"] for a, b in pairs), 3)
                record[f"p99 of {other}"] = round(median(a["p99, ms"] / b["p99, ms"] for a, b in pairs), 2)
        records.append(record)
    return records


@contextmanager
def echo(rows: list, n: int) -> Iterator[Setup]:
    port = free_port()
    arguments = [sys.executable, "-m", "uvicorn", "echo:app", "--app-dir", str(Path(__file__).parent)]
    arguments += ["--port", str(port), "--workers", str(n), "--no-access-log", "--log-level", "error"]
    address = f"http://127.0.0.1:{port}"
    with command(arguments, address, "/echo"):
        yield address, "/echo", decide_bodies(rows), "none"


def decide_bodies(rows: list) -> dict[int, list[str]]:
    return {
        1: [json.dumps({"model": MODEL, "rows": [row]}) for row in rows],
        100: [json.dumps({"model": MODEL, "rows": rows[i : i + 100]}) for i in range(0, 150, 25)],
    }


@contextmanager
def desk(store: Path, database: str, rows: list, n: int) -> Iterator[DeskSetup]:
    engine = engine_of(load_settings(KEYED, database=database))
    migrate(engine)
    key = create_key(engine, "load", [MODEL])
    process = DeskProcess(database, store, processes=n).wait_ready()
    try:
        yield process.address, "/decide", decide_bodies(rows), key, process
        memory = {"memory, MB": round(resident(process.workers())), "others, MB": round(resident(process.others()))}
        print(json.dumps({"database": engine.dialect.name, **memory}), flush=True)
    finally:
        process.kill()
        engine.dispose()


@contextmanager
def mlflow(folder: Path, store: Path, rows: list, python: str) -> Iterator[Setup]:
    target = folder / "mlflow"
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
        yield address, "/invocations", bodies, "none"


def _split(rows: list) -> dict[str, object]:
    return {"columns": list(rows[0]), "data": [list(row.values()) for row in rows]}


if __name__ == "__main__":
    main()
