"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[str]:
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


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file; an old one of that name is replaced at once, or not at all."""
    with replacing(path) as temporary:
        Path(temporary).write_bytes(data)


def _usual_mode() -> int:
    current = os.umask(0)
    os.umask(current)
    return 0o666 & ~current
