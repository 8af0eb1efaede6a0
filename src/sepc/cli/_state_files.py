"""State files of `monitor` and `review`, with a record of the rows that each run read, and one run at a time."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import InputError, complain
from sepc.cli._model_rows import RowDigest, rows_in_batches
from sepc.cli._options import beside
from sepc.io.atomic_files import resolve_links

if TYPE_CHECKING:
    from sepc.io.codec import Reader


# Runs to remember. Each takes about a hundred bytes of the file, which is read on every run.
MOST_RUNS = 10_000
ENTRY = "command"


@dataclass(frozen=True)
class Run:
    """A run of the command: the rows that it read, and the alarms or the review that they led to."""

    digest: str
    kind: str
    first: int
    last: int


@dataclass(frozen=True)
class Record:
    """The runs that used a state file, latest last; `reference` is the digest of the rows that it started with."""

    reference: str = ""
    runs: tuple[Run, ...] = ()

    def with_run(self, run: Run) -> Record:
        """The record after another run."""
        return replace(self, runs=(*self.runs, run)[-MOST_RUNS:])

    def of(self, digest: str, kind: str) -> Run | None:
        """The first run that read this kind of data from these rows."""
        return next((run for run in self.runs if (run.digest, run.kind) == (digest, kind)), None)


def read_state(path: str) -> tuple[bytes, Record]:
    """The bytes of a state file, for the library to read, and its record (empty if the command did not write it)."""
    from sepc.errors import FormatError
    from sepc.io.codec import Reader
    from sepc.io.container import decode, read_bytes

    try:
        data = read_bytes(path)
        arrays, content = decode(data)
        record = _record_from(Reader(content, arrays).part(ENTRY)) if ENTRY in content else Record()
    except FormatError as error:
        raise InputError(f"{path}: {error}") from error
    return data, record


def write_state(path: str, data: bytes, record: Record) -> None:
    """Write the library's bytes with the record to a file, which need not exist."""
    from sepc.io.container import decode, encode

    arrays, content = decode(data)
    with open(path, "wb") as file:
        runs = [list(astuple(run)) for run in record.runs]
        file.write(encode(arrays, content | {ENTRY: {"reference": record.reference, "runs": runs}}))


def check_reference(options: argparse.Namespace, estimator: Any, record: Record, target: str | None = None) -> None:
    """Raise if the given reference is not the one that the state started with; a scheduler may repeat the option."""
    if options.reference is None:
        return
    digest = RowDigest()
    for rows in rows_in_batches(beside(options, options.reference), estimator, target):
        digest.add(rows)
    if digest.of_rows() != record.reference:
        raise InputError(
            f"{options.state} was started with a reference other than {options.reference}; leave --reference out "
            "to continue, or start a new --state file."
        )


def _record_from(reader: Reader) -> Record:
    runs = []
    for node in reader.value("runs", list):
        match node:
            case [str(digest), str(kind), int(first), int(last)] if 0 <= first <= last:
                runs.append(Run(digest, kind, first, last))
            case _:
                raise reader.wrong("has a run that the command did not write")
    return Record(reader.text("reference"), tuple(runs))


# Seconds between attempts, before telling the user, and before giving up.
EVERY, TOLD, PATIENCE = 0.05, 2.0, 600.0


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Context manager: other runs that use this state file wait until it exits."""
    target = Path(resolve_links(path))
    lock = str(target.with_name(f".{target.name}.lock"))
    handle = _acquired(path, lock)
    try:
        yield
    finally:
        # Removed before it is released, so that no run can hold a lock that others no longer see.
        with suppress(OSError):
            os.unlink(lock)
        os.close(handle)


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
