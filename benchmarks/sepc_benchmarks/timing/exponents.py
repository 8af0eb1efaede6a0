"""Exponents of growth, from the tables that have been measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sepc_benchmarks.measure import Records
from sepc_benchmarks.timing.learners import HGB, OURS, RF
from sepc_benchmarks.timing.turns import slope

# Table, what grows, what is timed, and whose.
CURVES = (
    ("blocks", "rows", "seconds", None),
    ("rows", "rows", "seconds", OURS),
    ("rows", "rows", "seconds", HGB),
    ("rows", "rows", "seconds", RF),
    ("features", "features", "seconds to fit", OURS),
    ("features", "features", "seconds to fit", HGB),
    ("features", "features", "seconds to score", OURS),
    ("features", "features", "seconds to score", HGB),
    ("classes", "classes", "seconds to fit", OURS),
    ("classes", "classes", "seconds to fit", HGB),
    ("classes", "classes", "seconds to fit", RF),
    ("classes", "classes", "seconds to score", OURS),
)
WORDS = {"seconds": "fit", "seconds to fit": "fit", "seconds to score": "score"}


def exponents(results: Mapping[str, Records]) -> Records:
    """For each curve its exponent over all sizes, and between the last two."""
    found: Records = []
    for table, grows, timed, name in CURVES:
        curve = [one for one in results.get(table, []) if name is None or one["model"] == name]
        if len(curve) > 1:
            found.append(_record(table, grows, timed, name or OURS, curve))
    return found


def _record(table: str, grows: str, timed: str, name: str, curve: Records) -> dict[str, Any]:
    sizes, times = [one[grows] for one in curve], [one[timed] for one in curve]
    what = f"{WORDS[timed]}{', blocks' if table == 'blocks' else ''}"
    return {
        "what": what,
        "in": grows,
        "model": name,
        "from": min(sizes),
        "to": max(sizes),
        "exponent": slope(sizes, times),
        "of the last two": slope(sizes[-2:], times[-2:]),
    }
