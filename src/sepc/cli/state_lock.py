"""One run at a time: a lock beside a state file, which the system releases even if the process is killed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sepc.cli.messages import complain
from sepc.io.atomic_files import resolve_links

# Seconds between attempts, before telling the user, and before giving up.
EVERY, TOLD, PATIENCE = 0.05, 2.0, 600.0


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Context manager: other runs that use this state file wait until it exits.

    Raises
    ------
    TimeoutError
        If another run holds the lock for ten minutes.
    """
    lock = _lock_of(path)
    handle = _acquired(path, lock)
    try:
        yield
    finally:
        # Removed before it is released, so that no run can hold a lock that others no longer see.
        with suppress(OSError):
            os.unlink(lock)
        os.close(handle)


def _lock_of(path: str) -> str:
    target = Path(resolve_links(path))
    return str(target.with_name(f".{target.name}.lock"))


def _acquired(path: str, lock: str) -> int:
    started, told = time.monotonic(), False
    while (handle := _attempt(lock)) is None:
        waited = time.monotonic() - started
        if waited > PATIENCE:
            raise TimeoutError(f"another run of sepc has been using {path} for ten minutes; run this again later.")
        if waited > TOLD and not told:
            told = True
            complain(f"waiting for another run of sepc that uses {path}")
        time.sleep(EVERY)
    return handle


def _attempt(lock: str) -> int | None:
    """An open file that holds the lock, or None if another process does."""
    handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if _take(handle) and _is_same(handle, lock):
            return handle
    except BaseException:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _is_same(handle: int, lock: str) -> bool:
    """Whether the lock that was taken is the one that others see."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(lock))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
