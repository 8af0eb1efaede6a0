"""Processes of their own that need not import everything anew, which takes longer than most of what tests run in them.

A server has imported what commands and benchmarks need, and forks for each of them. Memory, output, exit code and
whatever else a process has are those of a process of its own.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired

FORKING = multiprocessing.get_context("forkserver")
# Packages that are not installed are left out.
FORKING.set_forkserver_preload(["sepc.cli", "sepc.model_files", "sepc.lifecycle", "pyarrow.parquet", "pandas"])


def run_warm(work, *given, cwd=".", timeout=120.0, **environment) -> CompletedProcess[str]:
    """Call a function in a process of its own, as `subprocess.run` calls a command; `environment` is added to ours."""
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder, name) for name in ("out", "err")]
        around = (said, str(cwd), os.environ | environment)
        process = FORKING.Process(target=_in_its_own_place, args=(*around, work, given))
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            raise TimeoutExpired([work.__name__, *map(str, given)], timeout)
        return CompletedProcess(given, process.exitcode, *(path.read_text() for path in said))


def script(path, *words) -> None:
    """What `python path words` runs."""
    sys.argv = [str(path), *map(str, words)]
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(str(path), run_name="__main__")


def module(name, *words) -> None:
    """What `python -m name words` runs."""
    sys.argv = [name, *map(str, words)]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _in_its_own_place(said, cwd, environment, work, given):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    work(*given)
