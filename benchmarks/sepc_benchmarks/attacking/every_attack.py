"""All attacks, in the order of the table."""

from __future__ import annotations

from itertools import chain

from sepc_benchmarks.attacking import (
    audits,
    certificates,
    controls,
    costs,
    groups,
    merges,
    monitors,
    overall,
    overall_labels,
    per_label,
    plans,
    reports,
    reviews,
    shifts,
)
from sepc_benchmarks.attacking.attack import Attack

FILES = (
    overall,
    overall_labels,
    per_label,
    groups,
    costs,
    certificates,
    audits,
    monitors,
    merges,
    reviews,
    reports,
    shifts,
    plans,
    controls,
)


def every_attack() -> list[Attack]:
    """The attacks of every file."""
    return list(chain.from_iterable(file.attacks() for file in FILES))
