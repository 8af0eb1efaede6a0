"""Atomic writes: a file is written completely or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[str]:
    """Context manager: the name of a temporary file that replaces `path` at the end, or is removed on an error."""
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


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file; an existing one is replaced in one step, or not at all."""
    with replacing(path) as temporary:
        Path(temporary).write_bytes(data)


def _usual_mode() -> int:
    current = os.umask(0)
    os.umask(current)
    return 0o666 & ~current
