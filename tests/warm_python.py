"""Processes of their own that need not import everything anew, which takes longer than most of what tests run in them.

`[*warm_python(), "-m", "sepc", "inspect", "model.sepc"]` is a command line as with `sys.executable`. A server, one
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

# Kept, since a server ends when nobody can write to its standard input any more.
_servers: list[subprocess.Popen[bytes]] = []


@cache
def warm_python(*also: str) -> tuple[str, ...]:
    """The words to write in place of `sys.executable`; its server imports these modules as well."""
    address = Path(tempfile.mkdtemp(prefix="warm"), "socket")
    # The server ends with its standard input, so with this process.
    command = [sys.executable, str(HERE / "warm_server.py"), str(address), *also]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    _servers.append(server)
    assert server.stdout.readline() == b"ready\n"
    return sys.executable, "-SE", str(HERE / "warm_client.py"), str(address)
