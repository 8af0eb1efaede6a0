"""What a look at a table costs: as a part of a fit, and as `sepc look` on a file.

The table has 20 columns, five of them text: prices with a currency, weights with a decimal comma and a unit, dates, and
two of categories. A fit takes its own look at the columns and the labels; it is compared with one that is told what the
columns are, and does not look at the labels. Both read the values of the columns once; the look alone is without that.
`sepc look` reads rows from places in a CSV file. Its start-up is that of the same command on a file of 100 rows. All
times are CPU time: medians of runs that take turns.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sepc import SEPClassifier, look
from sepc.cli.entry import parser
from sepc.cli.labelled_rows import labelled_table, read_sample, read_spread
from sepc.cli.look import MOST_ROWS
from sepc.cli.source import open_table
from sepc.columns.kinds import Kind, ReadColumns, kinds_of, read_columns
from sepc.columns.table import column_of
from sepc.estimators.sep import given_tables
from sepc_benchmarks.measure import arguments, save, show

FIT_ROWS = 100_000
FILE_ROWS = 1_000_000
FEW_ROWS = 100
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


def commands(n: int, rounds: int) -> list[dict[str, Any]]:
    """`sepc look` on a long file, and what its parts take."""
    with tempfile.TemporaryDirectory() as folder:
        long, short = Path(folder) / "long.csv", Path(folder) / "short.csv"
        X, y = table(n)
        X.assign(bought=y).to_csv(long, index=False)
        X.head(FEW_ROWS).assign(bought=y[:FEW_ROWS]).to_csv(short, index=False)
        del X, y
        options = parser().parse_args(["look", str(long), "--target", "bought", "--quiet"])
        sample = sampled(options)
        rows, n_sampled = sample.rows, len(sample.rows.y)
        tasks = {
            "reading": lambda: sampled(options),
            "look": lambda: look(rows.X, rows.y, n_rows=n),
        }
        seconds = cpu_medians(tasks, rounds)
        whole = median(command_seconds(long) for _ in range(rounds))
        started = median(command_seconds(short) for _ in range(rounds))
    return [
        {
            "rows": n,
            "looked at": n_sampled,
            "seconds of the command": whole,
            "seconds of its start-up": started,
            "seconds to read the sample": seconds["reading"],
            "seconds of the look": seconds["look"],
        }
    ]


def sampled(options: argparse.Namespace) -> Any:
    """The rows that the command looks at."""
    opened = open_table(options)
    spread = read_spread(opened, options, MOST_ROWS)
    return read_sample(labelled_table(opened, options), options, MOST_ROWS) if spread is None else spread


def command_seconds(path: Path) -> float:
    """CPU seconds of the command in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "sepc", "look", str(path), "--target", "bought", "--quiet"]
    subprocess.run(words, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    n_fit, n_file, rounds = (500, 1_000, 1) if options.smallest else (FIT_ROWS, FILE_ROWS, ROUNDS)
    results = {"command": commands(n_file, rounds), "fit": fits(n_fit, rounds)}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
