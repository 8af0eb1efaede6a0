"""State files of `monitor` and `review`: the library's own file, with a record of the rows that each run read."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sepc.cli.messages import InputError
from sepc.cli.model_rows import RowDigest, beside, rows_in_batches

if TYPE_CHECKING:
    from sepc.io.reader import Reader

# Runs to remember. Each takes about a hundred bytes of the file, which is read on every run.
MOST_RUNS = 10_000
ENTRY = "command"


@dataclass(frozen=True)
class Run:
    """A run of the command: the rows that it read, and the alarms or the review that they led to.

    Attributes
    ----------
    digest : str
        The digest of the rows.
    kind : str
        What was read: "rows" or "labels".
    first, last : int
        The number of alarms before and after the run; for a review, its number twice.
    """

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
    from sepc.io.container import decode, read_bytes
    from sepc.io.reader import Reader

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
        file.write(encode(arrays, content | {ENTRY: _node_of(record)}))


def check_reference(options: argparse.Namespace, estimator: Any, record: Record, target: str | None = None) -> None:
    """Raise if the given reference is not the one that the state started with; a scheduler may repeat the option."""
    if options.reference is None:
        return
    digest = RowDigest()
    for _ in rows_in_batches(beside(options, options.reference), estimator, target, digest):
        pass
    if digest.of_rows() != record.reference:
        raise InputError(
            f"{options.state} was started with a reference other than {options.reference}; leave --reference out "
            "to continue, or start a new --state file."
        )


def _node_of(record: Record) -> dict[str, Any]:
    runs = [[run.digest, run.kind, run.first, run.last] for run in record.runs]
    return {"reference": record.reference, "runs": runs}


def _record_from(reader: Reader) -> Record:
    return Record(reader.text("reference"), tuple(_run_from(reader, node) for node in reader.value("runs", list)))


def _run_from(reader: Reader, node: Any) -> Run:
    match node:
        case [str(digest), str(kind), int(first), int(last)] if 0 <= first <= last:
            return Run(digest, kind, first, last)
    raise reader.wrong("has a run that the command did not write")
