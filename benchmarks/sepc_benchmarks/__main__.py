"""Run benchmark suites by name; without a name, list them.

A run prints the tables of a suite, stores them in `benchmarks/results/NAME.json`, and puts them into the pages. Every
library has one thread. `--parts` runs some parts of a suite again and keeps the tables of the others.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from threadpoolctl import threadpool_limits

from sepc_benchmarks import write_tables
from sepc_benchmarks.measure import Parts, Tables, as_markdown, save, stored

RESULTS = Path(__file__).parents[1] / "results"
SUITES = (
    *(
        "comparison",
        "conformal",
        "real_tables",
        "missing_values",
        "speed",
        "shapes",
        "scale",
        "service",
        "kernels",
        "exports",
    ),
    *("attacks", "privacy", "monitor", "review", "recourse", "causes", "raw_tables"),
    "reference",
    *("hostile_files", "forged_sizes", "killed_saves"),
)


def suite_of(name: str) -> ModuleType:
    """The module of a suite. Its `parts(smallest)` gives what to measure, and its first paragraph says what for."""
    return import_module(f"sepc_benchmarks.{name}")


def question_of(name: str) -> str:
    """The first paragraph of a suite, which says what it answers and how long it takes."""
    return str(suite_of(name).__doc__).split("\n\n")[0].replace("\n", " ")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sepc_benchmarks", description=str(__doc__).splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="suites to run; none lists them")
    parser.add_argument("--parts", nargs="+", metavar="PART", help="parts to run; the others keep their tables")
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, default=RESULTS, help="the folder for NAME.json")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(SUITES)):
        parser.error(f"no suite is called {', '.join(unknown)}; there are {', '.join(SUITES)}")
    return given


def chosen(parts: Parts, names: list[str] | None) -> Parts:
    """The parts asked for."""
    if unknown := sorted(set(names or ()) - set(parts)):
        raise SystemExit(f"No part is called {', '.join(unknown)}; there are {', '.join(parts)}.")
    return {name: part for name, part in parts.items() if names is None or name in names}


def run(name: str, parts: list[str] | None, smallest: bool, folder: Path) -> None:
    """Run a suite, or some of its parts, and store the tables; as they come, unless the suite checks them."""
    suite, path = suite_of(name), folder / f"{name}.json"
    before = stored(path)
    tables: Tables = dict(before) if parts else {}
    check: Callable[[Tables, Tables], None] | None = getattr(suite, "check", None)
    for title, measure in chosen(suite.parts(smallest), parts).items():
        started = time.perf_counter()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure()
        show(found)
        tables |= found
        print(f"\n{name}, {title}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        if check is None:
            save(path, before | tables)
    derived: Callable[[Tables], Tables] | None = getattr(suite, "derived", None)
    if derived is not None:
        show(found := derived(tables))
        tables |= found
    if check is not None and before:
        check(before, tables)
    save(path, tables)


def show(tables: Tables) -> None:
    for title, records in tables.items():
        print(f"\n**{title}**\n\n{as_markdown(records)}", flush=True)


def main() -> None:
    given = options()
    for name in () if given.names else SUITES:
        print(f"{name}: {question_of(name)}\n")
    for name in given.names:
        run(name, given.parts, given.smallest, given.output)
    if given.names and given.output == RESULTS:
        write_tables.write()


if __name__ == "__main__":
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"  # for processes that a suite starts
    main()
