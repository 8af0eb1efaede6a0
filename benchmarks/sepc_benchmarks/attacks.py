"""Try to break every promise of the documentation that has a probability, and count how often that works.

An attack draws rows, seeds and schedules that are as bad for a promise as we could think of: rare labels, ties, late
labels, restarts, merges, tiny and huge sets. After each draw it is known whether the promise was broken, since the
truth is that of the generator, or of a whole set of which rows are drawn with replacement. P-values are one-sided and
exact; Holm's correction is over all attacks that promises cover. Controls make a known mistake on purpose, to show that
it would be seen.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from joblib import Parallel, delayed

from sepc_benchmarks.attacking.attack import Attack, Kind
from sepc_benchmarks.attacking.every_attack import every_attack
from sepc_benchmarks.attacking.verdict import Outcome, attack_records, other_records, promise_records
from sepc_benchmarks.measure import save, show

N_DRAWS, PER_TASK = 1_000, 25


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--smallest", action="store_true", help="two draws of one attack of each kind on a promise, to see that it runs"
    )
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    parser.add_argument("--draws", type=int, default=N_DRAWS, help="draws an attack")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes, each with one thread")
    parser.add_argument("--progress", type=Path, help="append counts to this file, and skip attacks it already has")
    parser.add_argument("--only", default="", help="only attacks on promises whose name, or what is tried, has this")
    return parser.parse_args()


def outcomes(attacks: Sequence[Attack], n_draws: int, n_jobs: int, progress: Path | None) -> list[Outcome]:
    found, done = [], counts_in(progress)
    with Parallel(n_jobs=n_jobs) as parallel:
        for attack in attacks:
            started, name = time.perf_counter(), f"{attack.kind.value}: {attack.promise.name}, {attack.tried}"
            if name in done:
                found.append(Outcome(attack, *done[name]))
                continue
            parts = [range(i, min(i + PER_TASK, n_draws)) for i in range(0, n_draws, PER_TASK)]
            found.append(Outcome(attack, n_draws, sum(parallel(delayed(attack.count)(part) for part in parts))))
            said = f"{name}: {found[-1].n_broken} of {n_draws} ({time.perf_counter() - started:.1f} s)"
            print(said, file=sys.stderr, flush=True)
            if progress is not None:
                with progress.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([name, n_draws, found[-1].n_broken]) + "\n")
    return found


def counts_in(progress: Path | None) -> dict[str, tuple[int, int]]:
    """Draws, and how many of them were broken, of the attacks in a file that an earlier run has written."""
    lines = progress.read_text(encoding="utf-8").splitlines() if progress is not None and progress.exists() else []
    return {name: (n_draws, n_broken) for name, n_draws, n_broken in map(json.loads, lines)}


def main() -> None:
    options = arguments()
    chosen = [one for one in every_attack() if options.only in f"{one.promise.name}, {one.tried}"]
    if options.smallest:
        chosen = list({(one.promise, one.kind): one for one in chosen}.values())
    n_draws, n_jobs = (2, 1) if options.smallest else (options.draws, options.jobs)
    found = outcomes(chosen, n_draws, n_jobs, options.progress)
    results = {
        "promises": promise_records(found),
        "attacks": attack_records(found),
        "controls": other_records(found, Kind.CONTROL),
        "ruled out": other_records(found, Kind.RULED_OUT),
    }
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
