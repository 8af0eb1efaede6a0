"""Upload a release to an index server on this machine, and install it from there as a user would.

    python tools/try_index.py dist

The server is pypiserver, in an environment of its own, with an empty folder: what `twine upload` brings is all it has.
Dependencies come from wherever pip finds them otherwise. The installed package runs the smoke test of the core.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from try_wheel import run

ROOT = Path(__file__).parents[1]
# A server that does not answer after so many seconds will not.
LONGEST_START = 30.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="the folder with the source archive and the wheel")
    with tempfile.TemporaryDirectory(prefix="sepc-index-") as folder:
        print(installed_from_index(parser.parse_args().dist, Path(folder)))


def installed_from_index(dist: Path, folder: Path) -> str:
    """What the smoke test prints after an installation from the index server."""
    server, user = folder / "server", folder / "user"
    for home in (server, user):
        run(sys.executable, "-m", "venv", home)
    limits = ("--constraint", ROOT / "constraints.txt")
    run(server / "bin" / "python", "-m", "pip", "install", "--quiet", *limits, "pypiserver", "twine")
    (wheel,) = dist.glob("*.whl")
    version = wheel.name.split("-")[1]
    python = user / "bin" / "python"
    with serving(server / "bin" / "python", folder / "packages") as address:
        run(server / "bin" / "python", "-m", "twine", "upload", "--repository-url", address, "--username", "anyone",
            "--password", "anything", "--disable-progress-bar", *sorted(dist.glob("sepc-*")))  # fmt: skip
        run(python, "-m", "pip", "install", "--quiet", *limits, "--extra-index-url", f"{address}/simple/",
            f"sepc=={version}")  # fmt: skip
        uploaded = {path.name: path.read_bytes() for path in (folder / "packages").iterdir()}
    if uploaded != {path.name: path.read_bytes() for path in dist.glob("sepc-*")}:
        sys.exit("the server does not hold what was uploaded")
    command = [str(python), str(ROOT / "tools" / "smoke_extras.py"), "core"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def serving(python: Path, packages: Path) -> Iterator[str]:
    """The address of a server on a free port of this machine that takes uploads from anyone."""
    packages.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [str(python), "-m", "pypiserver", "run", "--interface", "127.0.0.1", "--port", str(port),
               "--passwords", ".", "--authenticate", ".", "--disable-fallback", str(packages)]  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(address, server)
        yield address
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    """Return when the server answers."""
    deadline = time.monotonic() + LONGEST_START
    while server.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(address, timeout=1.0).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit("the index server did not start")


if __name__ == "__main__":
    main()
