"""Put the tables of `benchmarks/results/*.json` into the pages that show them.

A page marks the place with ``<!-- table: speed.summary -->`` and ``<!-- end -->``; what stands between is replaced.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from sepc_benchmarks.measure import as_markdown

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"(<!-- table: (\w+)\.([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """The text of a page with every marked table as the results have it."""

    def table(place: re.Match[str]) -> str:
        results = json.loads((ROOT / "benchmarks" / "results" / f"{place[2]}.json").read_text(encoding="utf-8"))
        return f"{place[1]}\n{as_markdown(results[place[3]])}\n\n{place[4]}"

    return PLACE.sub(table, text)


def pages() -> list[Path]:
    """The pages that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def write() -> None:
    for page in pages():
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
