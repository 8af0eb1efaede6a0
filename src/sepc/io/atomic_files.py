"""Atomic writes: a file is written completely or not at all, even if the process is killed or the power fails."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# The most symbolic links to follow, as on Linux.
MOST_LINKS = 40

# Errors of folders that cannot be synced: not readable, or on a file system that does not support it.
NOT_OFFERED = (errno.EACCES, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


@contextmanager
def replacing(path: str | bytes | os.PathLike[str]) -> Iterator[str]:
    """Context manager: the name of a temporary file that replaces `path` on success, or is removed on an error."""
    target = resolve_links(os.fsdecode(path))
    kept_mode = _mode_of(target)
    temporary, usual_mode = _create_beside(target)
    try:
        yield temporary
        _synchronise(temporary, os.O_RDWR)
        os.chmod(temporary, usual_mode if kept_mode is None else kept_mode)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _synchronise_folder(os.path.dirname(target) or os.curdir)


def write_whole(path: str | bytes | os.PathLike[str], data: bytes) -> None:
    """Write a file; an existing one is replaced in one step, or not at all."""
    with replacing(path) as temporary:
        Path(temporary).write_bytes(data)


def resolve_links(path: str) -> str:
    """The file that a symbolic link leads to; it need not exist."""
    target = path
    for _ in range(MOST_LINKS):
        if not os.path.islink(target):
            return target
        target = os.path.join(os.path.dirname(target), os.readlink(target))
    raise OSError(errno.ELOOP, "The symbolic links form a loop; remove them or give another name", path)


def _mode_of(target: str) -> int | None:
    """The permissions of an existing file, None if there is none; raises if this is not a regular file."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "This is a folder; give the name of a file in it", target)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "This is a device, a pipe or a socket; give the name of a file", target)
    return stat.S_IMODE(mode) & 0o777


def _create_beside(target: str) -> tuple[str, int]:
    """Create an empty private file in the same folder; return its name and the permissions of a new file there."""
    temporary = os.path.join(os.path.dirname(target), f".sepc-{secrets.token_hex(8)}")
    try:
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, target) from error
    usual_mode = stat.S_IMODE(os.fstat(handle).st_mode)
    os.close(handle)
    os.chmod(temporary, 0o600)
    return temporary, usual_mode


def _synchronise(path: str, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _synchronise_folder(folder: str) -> None:
    """Sync the new name to disk; Windows has no call for this, and does it by itself."""
    if os.name == "nt":
        return
    try:
        _synchronise(folder, os.O_RDONLY)
    except OSError as error:
        if error.errno not in NOT_OFFERED:
            raise
