"""What the tests of the command share: running it in this process or in its own."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

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
    return [sys.executable, "-m", "sepc.cli", *(str(word) for word in words)]


def run_apart(*words, **options) -> subprocess.CompletedProcess:
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=120, check=False, **options)


def complaint(ran: Ran, code: int = 2) -> str:
    """The only line on standard error, without a traceback; nothing went to standard output."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert ran.err.startswith("sepc: "), ran.err
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    return ran.err
