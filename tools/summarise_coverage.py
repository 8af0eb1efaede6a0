"""Add up what `coverage json` measured, package by package, and keep it as a table of the pages.

python tools/summarise_coverage.py coverage.json
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "coverage.json"
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, help="what `coverage json` wrote")
    measured = json.loads(parser.parse_args().measured.read_text(encoding="utf-8"))
    facts = {"coverage": measured["meta"]["version"], "branches": measured["meta"]["branch_coverage"]}
    table = coverage_by_part(measured["files"])
    RESULT.write_text(json.dumps({"facts": facts, "coverage": table}, indent=1) + "\n", encoding="utf-8")
    for record in table:
        print(record)


def coverage_by_part(files: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A record for each subpackage of `sepc`, one for the modules beside them, and one for all."""
    counts: dict[str, Counter[str]] = {}
    for path, measured in files.items():
        within = Path(path).parts[Path(path).parts.index("sepc") + 1 :]
        part = within[0] if len(within) > 1 else "modules"
        found = Counter({name: measured["summary"][name] for name in COUNTS})
        for key in (part, "all"):
            counts.setdefault(key, Counter()).update(found)
    parts = [*sorted(set(counts) - {"modules", "all"}), "modules", "all"]
    return [{"part": part, **shares(counts[part])} for part in parts]


def shares(count: Mapping[str, int]) -> dict[str, Any]:
    """Lines and branches, and the per cent of either that ran."""
    return {
        "lines": count["num_statements"],
        "lines, %": percent(count["covered_lines"], count["num_statements"]),
        "branches": count["num_branches"],
        "branches, %": percent(count["covered_branches"], count["num_branches"]),
    }


def percent(covered: int, total: int) -> float:
    """Rounded down, so that 100 means all."""
    return covered * 1000 // total / 10 if total else 100.0


if __name__ == "__main__":
    main()
