"""How long do decisions and fits take beside other models, and how do both grow? A quarter of an hour.

Noisy rows have normal features, and the label is x0^2 + x1^2 + x2^2 + x3^2 - 4 + 2 x4 x5 + noise > 0. Every library has
one thread, and nothing is tuned. Seconds are those of the processor, medians of five runs in turns; of three if one
takes more than 6 s, and one run if it takes more than 15 s or if the tables say so.
"""

from __future__ import annotations

from sepc_benchmarks.measure import Parts, Tables
from sepc_benchmarks.timing import fits, scoring, width
from sepc_benchmarks.timing.exponents import exponents
from sepc_benchmarks.timing.learners import HGB, LIGHTGBM, LR, OURS, RF
from sepc_benchmarks.timing.summary import summary
from sepc_benchmarks.timing.turns import ROUNDS
from sepc_benchmarks.trust.suite import SETS


def parts(smallest: bool) -> Parts:
    return _smallest() if smallest else _full()


def derived(tables: Tables) -> Tables:
    """What the tables come to."""
    return {"exponents": exponents(tables), "summary": summary(tables)}


def _smallest() -> Parts:
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
    }


def _full() -> Parts:
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
    }
