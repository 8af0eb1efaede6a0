"""Processes of their own that need not import everything anew, which takes longer than most of what tests run in them.

`[*warm_python(), "-m", "sepc.cli", "inspect", "model.sepc"]` is a command line as with `sys.executable`. A server, one
for all tests of a process, has imported what commands and benchmarks need, and forks. Memory, files, output, exit code
and whatever else a process has are those of a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


@cache
def warm_python() -> tuple[str, ...]:
    """The words to write in place of `sys.executable`."""
    address = Path(tempfile.mkdtemp(prefix="warm"), "socket")
    # The server ends with its standard input, so with this process.
    command = [sys.executable, str(HERE / "warm_server.py"), str(address)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"ready\n"
    warm_python.server = server  # type: ignore[attr-defined]
    return sys.executable, "-SE", str(HERE / "warm_client.py"), str(address)
