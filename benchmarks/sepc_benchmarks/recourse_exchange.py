"""Recourse with categories: what the last step of the search, exchanging some changes for others, saves and takes.

The models, rows and limits are those of `sepc_benchmarks.recourse`, for sets with categories. Every row is asked about
with that step and without it. Times are of the processor, one thread.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from sepc.recourses import finding as improving
from sepc_benchmarks.measure import arguments, save, show
from sepc_benchmarks.recourse import Case, asked, case_of, timed

NAMES = ("adult", "australian_credit", "heart_cleveland")
N_ROWS, MOST_TRAINING = 40, 1_000
# Costs that differ by less than this share are equal.
EQUAL = 5e-3


def costs_of(case: Case, n_rounds: int) -> tuple[np.ndarray, float]:
    """The cost of the answer to each row, NaN where there is none, and the median time in milliseconds."""
    usual = improving.MOST_EXCHANGES
    improving.MOST_EXCHANGES = n_rounds
    try:
        found = [timed(partial(asked, case, i)) for i in range(len(case.asking))]
    finally:
        improving.MOST_EXCHANGES = usual
    costs = [own.answers[0].cost if own.answers else np.nan for own, _ in found]
    return np.array(costs), 1e3 * float(np.median([seconds for _, seconds in found]))


def compared(case: Case) -> dict[str, Any]:
    """One line of the table."""
    (before, ms_before), (after, ms_after) = costs_of(case, 0), costs_of(case, improving.MOST_EXCHANGES)
    ratios = (after / before)[np.isfinite(before) & (before > 0.0)]
    return {
        "set": case.name,
        "rows": len(before),
        "with an answer": len(ratios),
        "cheaper": int((ratios < 1.0 - EQUAL).sum()),
        "dearer": int((ratios > 1.0 + EQUAL).sum()),
        "mean saving": f"{100 * (1.0 - ratios.mean()):.1f} %" if len(ratios) else "–",
        "largest saving": f"{100 * (1.0 - ratios.min()):.0f} %" if len(ratios) else "–",
        "ms without": round(ms_before, 1),
        "ms with": round(ms_after, 1),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    options = arguments(__doc__)
    names, n_rows, most = (NAMES[1:2], 4, 300) if options.smallest else (NAMES, N_ROWS, MOST_TRAINING)
    tables = {"saved": [compared(case_of(name, n_rows, most)) for name in names]}
    for title, records in tables.items():
        show(title, records)
    if options.output:
        save(options.output, tables)


if __name__ == "__main__":
    main()
