"""Can any promise with a probability be broken more often than it says? Half an hour on two cores.

An attack draws rows, seeds and schedules that are as bad for a promise as we could think of: rare labels, ties, late
labels, restarts, merges, tiny and huge sets. After each draw it is known whether the promise was broken, since the
truth is that of the generator, or of a whole set of which rows are drawn with replacement. P-values are one-sided and
exact; Holm's correction is over all attacks that promises cover. Controls make a known mistake on purpose, to show that
it would be seen.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from joblib import Parallel, delayed

from sepc_benchmarks.attacking.attack import Attack, Kind
from sepc_benchmarks.attacking.every_attack import every_attack
from sepc_benchmarks.attacking.verdict import Outcome, other_records, promise_records
from sepc_benchmarks.measure import Parts, Tables

N_DRAWS, PER_TASK = 1_000, 25


def parts(smallest: bool) -> Parts:
    """All attacks in one part, since the correction is over all of them."""
    every = every_attack()
    if smallest:
        every = list({(one.promise, one.kind): one for one in every}.values())
    n_draws, n_jobs = (2, 1) if smallest else (N_DRAWS, os.cpu_count() or 1)
    return {"attacks": lambda: attacked(every, n_draws, n_jobs)}


def attacked(attacks: Sequence[Attack], n_draws: int, n_jobs: int) -> Tables:
    found = outcomes(attacks, n_draws, n_jobs)
    return {
        "promises": promise_records(found),
        "controls": other_records(found, Kind.CONTROL),
        "ruled out": other_records(found, Kind.RULED_OUT),
    }


def outcomes(attacks: Sequence[Attack], n_draws: int, n_jobs: int) -> list[Outcome]:
    """How often each attack broke its promise, said as soon as it is known."""
    found = []
    with Parallel(n_jobs=n_jobs) as parallel:
        for attack in attacks:
            started, name = time.perf_counter(), f"{attack.kind.value}: {attack.promise.name}, {attack.tried}"
            tasks = [range(i, min(i + PER_TASK, n_draws)) for i in range(0, n_draws, PER_TASK)]
            found.append(Outcome(attack, n_draws, sum(parallel(delayed(attack.count)(task) for task in tasks))))
            said = f"{name}: {found[-1].n_broken} of {n_draws} ({time.perf_counter() - started:.1f} s)"
            print(said, file=sys.stderr, flush=True)
    return found
