"""What a look at a table costs as a part of a fit.

The table has 20 columns, five of them text: prices with a currency, weights with a decimal comma and a unit, dates, and
two of categories. A fit takes its own look at the columns and the labels; it is compared with one that is told what the
columns are, and does not look at the labels. Both read the values of the columns once; the look alone is without that.
All times are CPU time: medians of runs that take turns.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sepc import SEPClassifier
from sepc.columns.kinds import Kind, ReadColumns, kinds_of, read_columns
from sepc.columns.table import column_of
from sepc.estimators.sep import given_tables
from sepc_benchmarks.measure import arguments, save, show

FIT_ROWS = 100_000
ROUNDS = 3
N_NUMBERS = 15


def table(n: int) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Numbers and text, and two labels that four of the numbers help to tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    numbers = {f"n{j}": rng.normal(size=n) + (0.8 * y if j < 4 else 0.0) for j in range(N_NUMBERS)}
    days = np.datetime64("2020-01-01") + rng.integers(1_500, size=n)
    texts = {
        "price": [f"€ {price:,.2f}" for price in rng.lognormal(7.0, 1.0, n)],
        "weight": [f"{weight:.1f} kg".replace(".", ",") for weight in rng.normal(72.0, 10.0, n)],
        "day": [day.strftime("%d/%m/%Y") for day in days.tolist()],
        "city": rng.choice(["Graz", "Bonn", "Steyr", "Wels", "Wien"], n),
        "job": rng.choice([f"job {i}" for i in range(40)], n),
    }
    return pd.DataFrame({**numbers, **texts}), np.array(["no", "yes"])[y]


def cpu_medians(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median CPU seconds of each task, the tasks taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            started = time.process_time()
            task()
            seconds[name].append(time.process_time() - started)
    return {name: median(own) for name, own in seconds.items()}


def fits(n: int, rounds: int) -> list[dict[str, Any]]:
    """A fit with its look and one without."""
    X, y = table(n)
    columns = kinds_of(X, (), ())

    def read() -> ReadColumns:
        used = [own for own in columns if own.kind is not Kind.LEFT_OUT]
        return ReadColumns(columns, {own.name: own.read(column_of(X, own.name)) for own in used})

    told = {
        "read_columns": lambda *_: read(),
        **dict.fromkeys(("refuse_numbers", "warn_of_labels"), lambda *_: None),
    }

    def without() -> None:
        with ExitStack() as stack:
            for name, instead in told.items():
                stack.enter_context(patch.object(given_tables, name, instead))
            SEPClassifier().fit(X, y)

    def steps() -> None:
        read_columns(X, (), ())
        given_tables.refuse_numbers(*given_tables.counted_labels(y))
        given_tables.warn_of_labels(*given_tables.counted_labels(y))

    tasks = {"with": lambda: SEPClassifier().fit(X, y), "without": without, "steps": steps, "read": read}
    seconds = cpu_medians(tasks, rounds)
    alone = seconds["steps"] - seconds["read"]
    return [
        {
            "rows": n,
            "columns": X.shape[1],
            "seconds of a fit": seconds["with"],
            "seconds without a look": seconds["without"],
            "seconds to read the columns": seconds["read"],
            "seconds of the look alone": alone,
            "fit beside fit without, %": 100.0 * (seconds["with"] / seconds["without"] - 1.0),
            "look alone, % of the fit without": 100.0 * alone / seconds["without"],
        }
    ]


def main() -> None:
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    n, rounds = (500, 1) if options.smallest else (FIT_ROWS, ROUNDS)
    results = {"fit": fits(n, rounds)}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
