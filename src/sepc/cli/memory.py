"""How much memory a command may use, and how much a fit would take, checked before it is allocated."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sepc.cli.messages import InputError
from sepc.wording import counted

GIGABYTE = 10**9

# For both versions of control groups: the folder of a container, its limit, its usage, and the part of that which is
# file cache that the system would drop.
GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)

# Bytes that fits were measured to need: for each cell and each row of the table, for each pair of features, and for
# each weight of each row that weights are fitted to. Measured from 2,000 rows of 1,500
# features to a million rows of three.
PER_CELL, PER_ROW, PER_PAIR, PER_WEIGHT = 50, 100, 320, 28
# Weights of a partition, besides those of the features.
OTHER_WEIGHTS = 200


def add_memory_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option of commands that hold a table in memory."""
    parser.add_argument(
        "--max-memory",
        type=_gigabytes,
        metavar="GB",
        help="refuse a table that would take more than this many gigabytes of memory; by default, all that is free",
    )


def _gigabytes(text: str) -> float:
    value = float(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of gigabytes")
    return value


def needed_bytes(n_rows: int, n_features: int) -> int:
    """About how much memory a fit takes."""
    from sepc.estimators.sep.weighed_columns import most_knots
    from sepc.estimators.sep.weighing import WEIGHED_ROWS

    weighed = min(n_rows, WEIGHED_ROWS)
    n_weights = n_features * (1 + most_knots(weighed)) + OTHER_WEIGHTS
    held = n_rows * (PER_CELL * n_features + PER_ROW)
    return held + PER_PAIR * n_features**2 + PER_WEIGHT * weighed * n_weights


def free_bytes() -> int | None:
    """The memory that this process may still take; None if the system does not say."""
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        yield 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    for folder, limit, used, droppable in GROUPS:
        with suppress(OSError, ValueError, KeyError):
            files = dict(line.split() for line in Path(folder, "memory.stat").read_text(encoding="ascii").splitlines())
            taken = int(Path(folder, used).read_text(encoding="ascii")) - int(files[droppable])
            yield max(0, int(Path(folder, limit).read_text(encoding="ascii")) - taken)
    with suppress(AttributeError, OSError, ValueError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class MemoryLimit:
    """The memory that a fit may take: `n_bytes`, or any amount if None; `reason` says what sets the limit."""

    n_bytes: int | None
    reason: str

    @classmethod
    def of(cls, max_memory: float | None) -> MemoryLimit:
        """The given number of gigabytes, or what is free now."""
        if max_memory is None:
            return cls(free_bytes(), "are free")
        return cls(int(max_memory * GIGABYTE), "are allowed by --max-memory")

    def refuse(self, table: str, n_rows: int, n_features: int, share: float | None = None) -> None:
        """Raise if a fit on these rows would take more.

        If they are only a `share` of the table, the estimate for the whole table may reach twice the
        limit, because later rows may have more bytes, so that there are fewer of them.
        """
        if self.n_bytes is None:
            return
        likely = int(n_rows / share) if share else n_rows
        for n, tolerance in ((n_rows, 1), (likely, 2)):
            needed = needed_bytes(n, n_features)
            if needed > tolerance * self.n_bytes:
                about = "" if n == n_rows else "about "
                raise InputError(
                    f"{table}: {about}{n:,} rows of {counted(n_features, 'feature')} would take about "
                    f"{in_gigabytes(needed)} of memory, and {in_gigabytes(self.n_bytes)} {self.reason}. "
                    "Choose columns with --features or --drop, or give fewer rows."
                )


def in_gigabytes(n_bytes: int) -> str:
    """A number of bytes as in "2.5 GB"."""
    gigabytes = n_bytes / GIGABYTE
    return f"{gigabytes:,.0f} GB" if gigabytes >= 10 else f"{gigabytes:.2g} GB"
