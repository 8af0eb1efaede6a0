"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sepc.cli.errors import InputError


def check_writable(path: str, *inputs: str) -> None:
    """Raise if nothing could be written there, before long work and not after it."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InputError(f"--output {path} is a directory; give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"--output {path}: there is no directory {str(folder)!r}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"--output {path}: nothing may be written to the directory {str(folder)!r}.")
    for one in inputs:
        if target.exists() and os.path.exists(one) and target.samefile(one):
            raise InputError(f"--output {path} is what is read from; give another name.")


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """The name of a temporary file beside `path`, which takes its place at the end; on an error it is removed."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, _usual_mode())
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _usual_mode() -> int:
    current = os.umask(0)
    os.umask(current)
    return 0o666 & ~current
