"""Memory of a process above idle under hostile requests: 1 GB in one request, a million columns, 5,000 connections."""

from __future__ import annotations

import argparse
import json
import resource
import socket
import sys
import tempfile
import time
from pathlib import Path

import httpx2 as httpx

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sample_models import save_models  # noqa: E402 - found by the line above
from servers import KEYED, DeskProcess  # noqa: E402

from sepc_desk.database import engine_of  # noqa: E402
from sepc_desk.keys import create_key  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.settings import load_settings  # noqa: E402

LINE = b"POST /decide HTTP/1.1\r\nHost: x\r\n"
LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}


def peak(process: DeskProcess) -> float:
    """The most memory that the process has had since the last reset, in MB."""
    for line in Path(f"/proc/{process.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1e3
    return 0.0


def reset(process: DeskProcess) -> None:
    Path(f"/proc/{process.process.pid}/clear_refs").write_text("5")


def large_body(client: httpx.Client, n: int) -> int:
    def chunks():
        for _ in range(n // 2**20):
            yield bytes(2**20)

    try:
        return client.post("/decide", content=chunks()).status_code
    except httpx.HTTPError:
        return 0


def endless_header(process: DeskProcess, n: int) -> int:
    """Send a header until the service closes the connection; returns how many bytes it took."""
    sent = 0
    with socket.create_connection(("127.0.0.1", process.port), timeout=60) as own:
        try:
            own.sendall(LINE + b"X-Long: ")
            while sent < n:
                own.sendall(b"a" * 2**20)
                sent += 2**20
        except ConnectionError:
            pass
    return sent


def columns(client: httpx.Client, n: int) -> int:
    row = {f"c{i}": 1 for i in range(n)}
    return client.post("/decide", content=json.dumps({"model": "loans", "rows": [row]})).status_code


def connections(process: DeskProcess, n: int, start: bytes, seconds: float = 3.0) -> int:
    """Open connections that begin a request and send no more; returns how many could be opened."""
    opened = []
    for _ in range(n):
        try:
            own = socket.create_connection(("127.0.0.1", process.port), timeout=5)
            opened.append(own)
            own.sendall(start)
        except ConnectionError:
            continue  # closed at once, since there are too many
        except OSError:
            break
    time.sleep(seconds)
    for own in opened:
        own.close()
    return len(opened)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=5_000)
    parser.add_argument("--bytes", type=int, default=2**30)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = save_models(folder / "models", ["loans"])
        database = f"sqlite:///{folder}/desk.db"
        engine = engine_of(load_settings(KEYED, database=database))
        migrate(engine)
        key = create_key(engine, "memory", ["loans"])
        process = DeskProcess(database, store).wait_ready()
        length = f"Authorization: Bearer {key}\r\nContent-Length: 1000000\r\n\r\n".encode()
        worst = 0.0
        try:
            with process.client(key) as client:
                for _ in range(50):
                    client.post("/decide", json={"model": "loans", "rows": [LOAN]})
                reset(process)
                idle = peak(process)
                attacks = {
                    "a body of bytes": lambda: large_body(client, options.bytes),
                    "a million columns": lambda: columns(client, 1_000_000),
                    "200,000 columns": lambda: columns(client, 200_000),
                    "a header that does not end": lambda: endless_header(process, options.bytes),
                    "idle connections": lambda: connections(process, options.connections, b""),
                    "slow headers": lambda: connections(
                        process, options.connections, LINE + b"X-Long: " + b"a" * 30_000
                    ),
                    "slow bodies": lambda: connections(process, options.connections, LINE + length + bytes(60_000)),
                }
                for what, attack in attacks.items():
                    reset(process)
                    got = attack()
                    above = peak(process) - idle
                    worst = max(worst, above)
                    print(json.dumps({"attack": what, "answer": got, "MB above idle": round(above, 1)}), flush=True)
                    time.sleep(1)
                answer = client.post("/decide", json={"model": "loans", "rows": [LOAN]})
                print(
                    json.dumps({"idle, MB": round(idle), "worst above, MB": round(worst), "after": answer.status_code})
                )
        finally:
            process.kill()
            engine.dispose()
    return 0 if worst <= 200 and answer.status_code == 200 else 1


if __name__ == "__main__":
    sys.exit(main())
