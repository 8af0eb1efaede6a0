"""Break the service in mid-load, again and again, and look for decisions that were answered and are not in the log.

Clients send decisions with a key each and retry what failed with the same key, as long as it takes. After every fault
the service must come back by itself; a supervisor starts it or PostgreSQL again when all processes are gone, as
systemd or a container would. At the end each answer must be in the log once, at its place and with its hash, and the
chain must verify.

    python tests/faults/faults.py --fault kill-one --times 50
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2 as httpx

sys.path.insert(0, str(Path(__file__).parent.parent))

from sample_models import model, save_models  # noqa: E402 - found by the line above
from servers import KEYED, Cluster, DeskProcess, free_port  # noqa: E402
from sqlalchemy import select  # noqa: E402
from sqlalchemy.engine import make_url  # noqa: E402

from sepc_desk.database import KEEPALIVE, engine_of  # noqa: E402
from sepc_desk.heads import Head  # noqa: E402
from sepc_desk.keys import create_key  # noqa: E402
from sepc_desk.migrations.running import migrate  # noqa: E402
from sepc_desk.schema import entries  # noqa: E402
from sepc_desk.settings import load_settings  # noqa: E402
from sepc_desk.verifying import verify  # noqa: E402

N_CLIENTS = 12
N_PROCESSES = 2
BACK_SECONDS = 300
AS_ROOT = [] if os.geteuid() == 0 else ["sudo"]


class Load:
    """Clients that send decisions until they are stopped."""

    def __init__(self, address: str, key: str) -> None:
        self.address, self.key = address, key
        self.rows = model("loans")[1]
        self.answers: list[dict] = []
        self.failures: Counter[str] = Counter()
        self.is_over = False
        self._lock = threading.Lock()
        self.threads = [threading.Thread(target=self._run, args=(i,)) for i in range(N_CLIENTS)]
        for one in self.threads:
            one.start()

    def _run(self, seed: int) -> None:
        rng = random.Random(seed)
        with httpx.Client(base_url=self.address, headers={"Authorization": f"Bearer {self.key}"}, timeout=40) as client:
            while not self.is_over:
                headers = {"Idempotency-Key": str(uuid.uuid4())}
                if rng.random() < 0.05:
                    # A new connection now and then, so that processes that were started anew get their share.
                    headers["Connection"] = "close"
                self._one(client, {"model": "loans", "rows": [rng.choice(self.rows)]}, headers)

    def _one(self, client: httpx.Client, body: dict, headers: dict[str, str]) -> None:
        """One request, sent again with its key until it is answered."""
        until = time.monotonic() + 2 * BACK_SECONDS
        while time.monotonic() < until:
            try:
                answer = client.post("/decide", json=body, headers=headers)
            except httpx.HTTPError as error:
                self._failed(type(error).__name__)
                time.sleep(0.2)
                continue
            if answer.status_code == 200:
                with self._lock:
                    self.answers.append(answer.json()["decisions"][0])
                return
            self._failed(str(answer.status_code))
            time.sleep(float(answer.headers.get("retry-after", 0.2)) / 4)

    def _failed(self, what: str) -> None:
        with self._lock:
            self.failures[what] += 1

    def wait_for(self, n: int) -> float:
        """Wait for `n` more answers; returns how long that took."""
        started, goal = time.monotonic(), len(self.answers) + n
        while len(self.answers) < goal:
            if time.monotonic() > started + BACK_SECONDS:
                raise RuntimeError("The service did not come back.")
            time.sleep(0.01)
        return time.monotonic() - started

    def stop(self) -> None:
        self.is_over = True
        for one in self.threads:
            one.join()


class Supervisor:
    """Starts the service again when it has ended, as systemd does."""

    def __init__(self, process: DeskProcess) -> None:
        self.process, self.is_over = process, False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        while not self.is_over:
            if self.process.process.poll() is not None:
                self.process.start()
            time.sleep(0.1)

    def stop(self) -> None:
        self.is_over = True
        self.thread.join()
        self.process.kill()


class HangingProxy:
    """Passes bytes on to PostgreSQL; connections that hang pass nothing on, and new ones work.

    A connection that hangs is closed when TCP would give it up, by the keepalive that the service asks for.
    """

    def __init__(self, target: int) -> None:
        self.target, self.port, self.generation, self.hung = target, free_port(), 0, -1
        self.server = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            one, _ = self.server.accept()
            other = socket.create_connection(("127.0.0.1", self.target))
            for source, sink in ((one, other), (other, one)):
                threading.Thread(target=self._pass, args=(source, sink, self.generation), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, generation: int) -> None:
        try:
            while data := source.recv(65536):
                if generation <= self.hung:
                    time.sleep(KEEPALIVE["idle"] + KEEPALIVE["interval"] * KEEPALIVE["count"])
                    return
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for own in (source, sink):
                # Closing alone would not wake the other thread, which waits for bytes of the same connection.
                with suppress(OSError):
                    own.shutdown(socket.SHUT_RDWR)
                own.close()

    def hang(self) -> None:
        """All connections that are open now hang for good."""
        self.hung = self.generation
        self.generation += 1


def check(database: str, load: Load) -> dict[str, object]:
    """What is wrong with the log after all that."""
    engine = engine_of(load_settings(KEYED, database=database))
    heads = [Head(one["receipt"]["place"], bytes.fromhex(one["receipt"]["hash"])) for one in load.answers]
    with engine.connect() as connection:
        found = connection.execute(select(entries.c.id, entries.c.place, entries.c.hash, entries.c.request_key)).all()
    by_id = {own.id: (own.place, bytes(own.hash).hex()) for own in found}
    missing = [one for one in load.answers if by_id.get(one["id"]) != (one["receipt"]["place"], one["receipt"]["hash"])]
    n_keys = len({bytes(own.request_key) for own in found if own.request_key is not None})
    newest = max(heads, key=lambda head: head.place)
    verdict, alone = verify(engine, [newest]), verify(engine)
    engine.dispose()
    return {
        "answered": len(load.answers),
        "missing": len(missing),
        "twice": len(found) - n_keys,
        "whole": alone.is_whole,
        "whole against the newest receipt": verdict.is_whole,
        "retried": sum(load.failures.values()),
        "repeated": sum(bool(one.get("repeated")) for one in load.answers),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    faults = ["kill-one", "kill-all", "stop-postgresql", "full-disk", "hang", "control"]
    parser.add_argument("--fault", choices=faults, required=True)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--database", choices=["postgresql", "sqlite"], default="postgresql")
    options = parser.parse_args()
    if options.database == "sqlite" and options.fault in ("stop-postgresql", "hang", "control"):
        parser.error(f"{options.fault} is a fault of PostgreSQL; SQLite has no server.")
    found = run(options.fault, options.times, options.database)
    print(json.dumps(found))
    lost = int(str(found["missing"])) + int(str(found["twice"]))
    if options.fault == "control":
        return 0 if found["missing"] else 1
    return 0 if lost == 0 and found["whole"] and found["whole against the newest receipt"] else 1


def run(fault: str, times: int, kind: str) -> dict[str, object]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        store = save_models(folder / "models", ["loans"])
        disk = folder / "disk"
        disk.mkdir()
        if fault == "full-disk":
            mount = ["mount", "-t", "tmpfs", "-o", "size=160m,mode=1777", "tmpfs", str(disk)]
            subprocess.run([*AS_ROOT, *mount], check=True)
            stack.callback(subprocess.run, [*AS_ROOT, "umount", "-l", str(disk)], check=True)
        cluster = None
        database = f"sqlite:///{disk}/desk.db"
        if kind == "postgresql":
            (disk / "pg").mkdir()
            cluster = Cluster(disk / "pg", max_wal_size="64MB", min_wal_size="32MB", wal_recycle="on")
            stack.callback(cluster.remove)
            database = cluster.create("desk")
        engine = engine_of(load_settings(KEYED, database=database))
        migrate(engine)
        key = create_key(engine, "faults", ["loans"])
        engine.dispose()
        proxy = HangingProxy(cluster.port) if fault == "hang" and cluster is not None else None
        through = make_url(database).set(port=proxy.port).render_as_string() if proxy else database
        level = {"synchronous_commit": "off"} if fault == "control" else {}
        process = DeskProcess(through, store, processes=N_PROCESSES, write_seconds=2, **level).wait_ready()
        stack.callback(process.log.unlink)
        supervisor = Supervisor(process)
        stack.callback(supervisor.stop)
        load = Load(process.address, key)
        stack.callback(load.stop)
        act: dict[str, Callable[[], None]] = {
            "kill-one": lambda: os.kill(random.choice(process.workers()), signal.SIGKILL),
            "kill-all": process.kill,
            "hang": lambda: proxy.hang() if proxy else None,
            "full-disk": lambda: fill_disk(disk, load, cluster),
            "stop-postgresql": lambda: restart(cluster),
            "control": lambda: restart(cluster),
        }
        told = {"fault": fault, "database": kind, "times": times}
        told |= break_again_and_again(act[fault], times, process, load, is_replaced=fault == "kill-one")
        load.stop()
        return told | check(database, load)


def break_again_and_again(
    act: Callable[[], None], times: int, process: DeskProcess, load: Load, *, is_replaced: bool
) -> dict[str, object]:
    """Cause the fault in mid-load, and wait each time until the service is back."""
    back = []
    n_noticed = 0
    rng = random.Random(0)
    wait_until_started(process, N_PROCESSES)
    load.wait_for(50)
    for _ in range(times):
        time.sleep(rng.random() * 0.5)
        n_failed, n_started = sum(load.failures.values()), process.n_started()
        act()
        struck = time.monotonic()
        if is_replaced:
            wait_until_started(process, n_started + 1)
        load.wait_for(30)
        back.append(time.monotonic() - struck)
        n_noticed += sum(load.failures.values()) > n_failed
    seconds = {"back after, median s": round(sorted(back)[len(back) // 2], 2), "longest s": round(max(back), 2)}
    return {"noticed by clients": n_noticed, **seconds, "failures": dict(load.failures)}


def wait_until_started(process: DeskProcess, n: int) -> None:
    """Wait until processes have begun to serve `n` times; the service itself replaces one that was killed."""
    until = time.monotonic() + BACK_SECONDS
    while process.n_started() < n:
        if time.monotonic() > until:
            raise RuntimeError("The process that was killed was not replaced.")
        time.sleep(0.01)


def restart(cluster: Cluster | None) -> None:
    """Stop PostgreSQL as a crash would, and start it again."""
    assert cluster is not None
    cluster.stop("immediate")
    cluster.start()


def fill_disk(disk: Path, load: Load, cluster: Cluster | None) -> None:
    """Use up all space under the database until writes fail, and give it back after a second.

    Writes go on for a while: SQLite writes into space that its WAL has already, and PostgreSQL into old segments.
    """
    before = sum(load.failures.values())
    file = disk / "filler"
    until = time.monotonic() + BACK_SECONDS
    with file.open("wb", buffering=0) as own:
        while time.monotonic() < until and sum(load.failures.values()) == before:
            try:
                own.write(bytes(65536))
            except OSError:
                time.sleep(0.05)
    time.sleep(1)
    file.unlink()
    if cluster is not None and not cluster.is_running():
        cluster.start()


if __name__ == "__main__":
    sys.exit(main())
