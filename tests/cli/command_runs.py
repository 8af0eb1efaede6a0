"""What the tests of the command share: running it in this process or in its own."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import NamedTuple

from warm_python import warm_python

from sepc.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def run_here(capsys, *words) -> Ran:
    """Run the command in this process."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    return Ran(code, *capsys.readouterr())


def command(*words) -> list[str]:
    """The command line of a process of its own."""
    return [*warm_python(), "-m", "sepc", *(str(word) for word in words)]


def run_apart(*words, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=120, check=False, **options)


def interrupt(process: subprocess.Popen) -> None:
    """Interrupt a command that waits for rows through a pipe: it says so in a word, and ends with code 130."""
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    process.stdin.close()
    assert process.stderr.read() == "sepc: interrupted\n"
    process.stdout.close()
    process.stderr.close()


def wait_for(is_so, seconds=60.0):
    """Wait until something is so, and fail if it takes too long."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def complaint(ran: Ran, code: int = 2) -> str:
    """The only line on standard error, without a traceback; nothing went to standard output."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert ran.err.startswith("sepc: "), ran.err
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    return ran.err
