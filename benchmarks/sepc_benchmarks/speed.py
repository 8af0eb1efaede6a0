"""How long `SEPClassifier` takes beside other models, for one case and for many rows, features and classes.

Noisy rows have normal features, and the label is x0^2 + x1^2 + x2^2 + x3^2 - 4 + 2 x4 x5 + noise > 0. Every library has
one thread, and nothing is tuned. Seconds are those of the processor, medians of five runs in turns; of three if one
takes more than 6 s, and one run if it takes more than 15 s or if the tables say so.

A finished section is kept in the output file, so `--sections` runs some of them again. Without it all of them run, in
about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from threadpoolctl import threadpool_limits

from sepc_benchmarks.measure import save, show
from sepc_benchmarks.timing import fits, pictures, scoring, width
from sepc_benchmarks.timing.exponents import exponents
from sepc_benchmarks.timing.learners import HGB, LIGHTGBM, LR, OURS, RF
from sepc_benchmarks.timing.stages import stages
from sepc_benchmarks.timing.summary import aims, summary
from sepc_benchmarks.timing.turns import ROUNDS, Records, Tables
from sepc_benchmarks.trust.suite import SETS

Sections = dict[str, Callable[[], Tables]]


def smallest() -> Sections:
    few = {OURS: 10**6, HGB: 10**6, LR: 10**6}
    return {
        "batches": lambda: scoring.batches(200, (1, 10), (HGB, LR), 1),
        "bulk": lambda: scoring.bulk(2_000, 200, 1),
        "sets": lambda: fits.sets(("iris",), 1),
        "rows": lambda: fits.rows((200, 400), few, 500, 1),
        "blocks": lambda: fits.blocks((200, 400), 500, 1),
        "features": lambda: width.features((5, 6), 200, 500, 1),
        "classes": lambda: width.classes((2, 3), 100, 1),
        "letter": lambda: width.large("vertebral_column_2c", 200, 100, 1, (HGB, RF)),
        "max_ellipsoids": lambda: width.settings("max_ellipsoids", (2, 4), 300, 500, 1),
        "stages": lambda: stages((300,), 300),
    }


def full() -> Sections:
    return {
        "batches": lambda: scoring.batches(10_000, (1, 10, 100, 1_000, 10_000), scoring.PEERS_OF_BATCHES, ROUNDS),
        "bulk": lambda: scoring.bulk(10**6, 10_000, ROUNDS),
        "sets": lambda: fits.sets(SETS, ROUNDS),
        "rows": lambda: fits.rows((10**4, 10**5, 10**6), fits.MOST_ROWS, 20_000, ROUNDS),
        "blocks": lambda: fits.blocks((10**4, 10**5, 10**6, 10**7), 20_000, 3),
        "features": lambda: width.features((5, 10, 20, 35, 50), 20_000, 100_000, 3),
        "classes": lambda: width.classes((2, 4, 8, 13, 26), 1_400, 3),
        "letter": lambda: width.large("letter", 14_000, 6_000, 3, (HGB, RF, LIGHTGBM, LR)),
        "covertype": lambda: width.large("covertype", 100_000, 20_000, 1, (HGB, RF)),
        "max_ellipsoids": lambda: width.settings("max_ellipsoids", (5, 10, 20, 40, 60), 10_000, 100_000, 3),
        "fit_rows": lambda: width.settings("fit_rows", (1_000, 3_000, 10_000, 30_000), 100_000, 100_000, 1),
        "stages": lambda: stages((10**4, 10**6), 14_000),
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    parser.add_argument("--images", type=Path, help="draw the curves in this folder")
    parser.add_argument("--sections", nargs="+", help="run these alone, and keep the others as they are in the output")
    return parser.parse_args()


def kept(path: Path | None) -> dict[str, Records]:
    """The tables of earlier runs."""
    if path is None or not path.exists():
        return {}
    results: dict[str, Records] = json.loads(path.read_text(encoding="utf-8"))
    results.pop("facts", None)
    return results


def main() -> None:
    chosen = options()
    runs, results = smallest() if chosen.smallest else full(), kept(chosen.output)
    asked = chosen.sections or list(runs)
    if unknown := sorted(set(asked) - set(runs)):
        raise SystemExit(f"No section is called {', '.join(unknown)}; there are {', '.join(runs)}.")
    for title in asked:
        started, busy = time.perf_counter(), time.process_time()
        with threadpool_limits(1):
            tables = runs[title]()
        for name, records in tables.items():
            show(name, records)
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        print(f"\n{title} took {seconds:.0f} s, {busy:.0f} s of the processor", flush=True)
        results |= tables
        save(chosen.output, results)
    for name, table in (("exponents", exponents), ("summary", summary), ("aims", aims)):
        if found := table(results):
            results[name] = found
            show(name, found)
    save(chosen.output, results)
    if chosen.images is not None:
        pictures.draw(results, chosen.images)


if __name__ == "__main__":
    main()
