"""How much memory this process may still take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GIGABYTE = 10**9

# For both versions of control groups: the folder of a container, its limit, its usage, and the part of that which is
# file cache that the system would drop.
GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


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


def in_gigabytes(n_bytes: int) -> str:
    """A number of bytes as in "2.5 GB"."""
    gigabytes = n_bytes / GIGABYTE
    return f"{gigabytes:,.0f} GB" if gigabytes >= 10 else f"{gigabytes:.2g} GB"
