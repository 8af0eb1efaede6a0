"""Compare SEP-C's trust with that of other models: the whole comparison with one command.

Models that stand alone (`models` on the sets they were compared on before, `unseen` on new ones, `together` with equal
rows on one side of each split, `full size` on all rows, `by time` with the last rows left out), and `layers`, ways to
say how far to trust the labels of a given model. Finished folds are kept in a cache, so a run that was stopped goes on
where it was, and tables are made of what is there. Needs a system that can fork.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

ROOT = Path(__file__).parents[3]
PARTS = ("models", "unseen", "together", "full size", "by time", "layers")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="six small data sets, one seed")
    sizes.add_argument("--smallest", action="store_true", help="one tiny data set, two folds, few learners")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help="only these parts")
    parser.add_argument("--learners", nargs="+", metavar="LEARNER", help="fit only these; tables show all")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these data sets")
    parser.add_argument("--seeds", type=int, choices=(1, 2), help="how often to draw folds")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with one thread")
    parser.add_argument("--again", nargs="+", default=[], metavar="LEARNER", help="forget what these learners did")
    parser.add_argument("--tables-only", action="store_true", help="fit nothing; write tables of what is in the cache")
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench-trust", help="folder of finished folds")
    parser.add_argument("--output", type=Path, help="write the tables to this file as JSON")
    parser.add_argument("--images", type=Path, help="write the critical-difference diagrams to this folder")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    for library in ("OPENBLAS", "OMP", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is imported
    from sepc_benchmarks.measure import save, show
    from sepc_benchmarks.trust.diagrams import draw
    from sepc_benchmarks.trust.folds import Folds, plans
    from sepc_benchmarks.trust.learners import checked_names
    from sepc_benchmarks.trust.schedule import work
    from sepc_benchmarks.trust.tables import all_tables

    folds, planned = Folds(options.cache), plans(options)
    folds.forget(checked_names(options.again))
    if not options.tables_only:
        learners = checked_names(options.learners)
        work([fold for plan in planned.values() for fold in plan.tasks(learners)], folds, options.jobs)
    results, ranks = all_tables(planned, folds)
    for title, records in results.items():
        show(title, records)
    save(options.output, results)
    if options.images is not None:
        draw(ranks, options.images)


if __name__ == "__main__":
    main()
