"""Real servers for tests and benchmarks: a cluster of PostgreSQL and processes of the desk, all on loopback."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2 as httpx
import psycopg

from sepc_desk.commands.main import main

POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]
START_SECONDS = 300
# The key of the log, as the environment has it.
KEYED = {"SEPC_DESK_LOG_KEY": "0123456789abcdef" * 4}
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "min_wal_size": "32MB",
    "wal_recycle": "off",
    "wal_init_zero": "off",
    "log_min_messages": "fatal",
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Cluster:
    """A cluster of PostgreSQL of its own, owned by the user postgres if the tests run as root."""

    def __init__(self, folder: Path | None = None, **settings: str) -> None:
        self.bin = POSTGRES[0] if POSTGRES else Path(shutil.which("initdb") or "/initdb").parent
        self.folder = Path(tempfile.mkdtemp(prefix="desk-pg-")) if folder is None else folder
        self.port = free_port()
        self.folder.chmod(0o700)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.data = self.folder / "data"
        self._run(
            "initdb", "-D", str(self.data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"
        )
        given = SETTINGS | settings | {"port": str(self.port)}
        lines = "".join(f"{name} = '{value}'\n" for name, value in given.items())
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(lines)
        self.start()

    def _run(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.bin / name), *arguments]
        as_other = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return subprocess.run([*as_other, *command], check=True, text=True, capture_output=True, cwd="/tmp")

    def start(self) -> None:
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", str(START_SECONDS), "-l", log, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", mode, "stop")

    def is_running(self) -> bool:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", str(self.data), "status")
            return True
        return False

    def remove(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)

    def create(self, name: str, template: str = "template1") -> str:
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["sepc_desk.service.app", "sepc_desk.commands.serve", "servers"])


class WarmProcess:
    """A process that need not import everything anew, with the methods of `Popen` that are used here."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._own = FORKS.Process(target=_serve, args=(environment, log))
        self._own.start()
        self.pid = self._own.pid

    def poll(self) -> int | None:
        return self._own.exitcode

    def wait(self, seconds: float | None = None) -> int:
        self._own.join(seconds)
        if self._own.exitcode is None:
            raise subprocess.TimeoutExpired("serve", seconds or 0.0)
        return self._own.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def _serve(environment: dict[str, str], log: Path) -> None:
    os.setsid()
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    sys.exit(main(["serve"]))


class DeskProcess:
    """A running service, in a process group of its own; `is_warm` starts it sooner, as a copy of a process."""

    def __init__(
        self,
        database: str,
        models: Path,
        *,
        processes: int = 1,
        port: int | None = None,
        is_warm: bool = False,
        **settings: object,
    ):
        self.is_warm = is_warm and processes == 1  # more processes start with an interpreter of their own each
        self.port = port or free_port()
        self.log = Path(tempfile.mkstemp(prefix="desk-log-")[1])
        given = {"database": database, "models": models, "port": self.port, "processes": processes, **settings}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SEPC_DESK_")}
        self.environment |= KEYED
        self.environment |= {f"SEPC_DESK_{name.upper()}": str(value) for name, value in given.items()}
        self.start()

    def start(self) -> None:
        self.process: subprocess.Popen[bytes] | WarmProcess
        if self.is_warm:
            self.process = WarmProcess(self.environment, self.log)
            return
        command = [sys.executable, "-m", "sepc_desk.commands.main", "serve"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def wait_ready(self, seconds: float = START_SECONDS, path: str = "/health/ready") -> DeskProcess:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"The service ended: {self.log.read_text()[-2000:]}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(self.address + path, timeout=5).status_code == 200:
                    return self
            time.sleep(0.05)
        self.kill()
        raise RuntimeError(f"The service did not start: {self.log.read_text()[-2000:]}")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def workers(self) -> list[int]:
        """Processes that answer requests; the only one if there is no supervisor."""
        found = subprocess.run(
            ["pgrep", "-P", str(self.process.pid), "-f", "multiprocessing.spawn"], text=True, capture_output=True
        ).stdout.split()
        return [int(one) for one in found] or [self.process.pid]

    def others(self) -> list[int]:
        """Its other processes: the one that keeps reviews up to date, and a supervisor if there is one."""
        found = subprocess.run(
            ["pgrep", "-a", "-g", str(self.process.pid)], text=True, capture_output=True
        ).stdout.splitlines()
        # Python has a process of its own that removes the semaphores of others.
        ids = [int(own.split()[0]) for own in found if "resource_tracker" not in own]
        return [own for own in ids if own not in self.workers()]

    def n_started(self) -> int:
        """How many times one of its processes has begun to serve, by its log."""
        return self.log.read_text().count('"event": "started"')

    def client(self, key: str | None = None, **options: object) -> httpx.Client:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=60, **options)

    def stop(self) -> int:
        """Ask it to stop, and wait until it has; returns its exit code."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        """End all of its processes at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)
