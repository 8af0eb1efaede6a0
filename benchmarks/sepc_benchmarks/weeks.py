"""How often a model of a market that drifts is right, before and after a repair with eight weeks of feedback.

Electricity, in order of time, 336 rows a week. From every fourth week on: fit on 13 weeks, leave four for a monitor's
reference, and repair with the eight that follow. Then come the weeks that all models are compared on: the next one, and
the next eight. *refit* is a fit on all weeks up to then, *feedback alone* one on the eight weeks of feedback.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.lifecycle import repair
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

Table = list[dict[str, Any]]

N_A_WEEK = 336
# The features of Victoria are constant in the first year, and the date only grows.
FEATURES = ["day", "period", "nswprice", "nswdemand"]
N_FIT, N_REFERENCE, N_FEEDBACK = 13, 4, 8
AHEAD = {"next week": 1, "next 8 weeks": 8}
WAYS = ("before", "repair", "refit", "feedback alone")


class Market:
    """The market, with its weeks counted from 0; of all rows or of some."""

    def __init__(self, every: int = 1) -> None:
        data = load("electricity")
        self.X, self.y = data.features[FEATURES][::every], data.target[::every]
        self.n_a_week = N_A_WEEK // every
        self.n_weeks = len(self.y) // self.n_a_week

    def weeks(self, first: int, last: int) -> tuple[Any, NDArray[Any]]:
        """Rows and labels of the weeks from `first` to before `last`."""
        rows = slice(first * self.n_a_week, last * self.n_a_week)
        return self.X[rows], self.y[rows]

    def fitted(self, first: int, last: int) -> SEPClassifier:
        """A model of these weeks."""
        return SEPClassifier(random_state=0).fit(*self.weeks(first, last))


def tried(market: Market, start: int) -> dict[str, Any]:
    """How often each way is right after the feedback of one start."""
    begin = start + N_FIT + N_REFERENCE
    end = begin + N_FEEDBACK
    first = market.fitted(start, start + N_FIT)
    models = (
        first,
        repair(first, *market.weeks(begin, end), despite_moved_columns=True),
        market.fitted(start, end),
        market.fitted(begin, end),
    )
    found: dict[str, Any] = {"first week": start + 1}
    for name, n in AHEAD.items():
        X, y = market.weeks(end, end + n)
        found |= {
            f"{way}, {name}": float(np.mean(model.predict(X) == y)) for way, model in zip(WAYS, models, strict=True)
        }
    return found


def summary(records: Table) -> Table:
    """Means over all starts, and how many of them each way is better or worse than no repair."""
    found: Table = []
    for name in AHEAD:
        before = np.array([record[f"before, {name}"] for record in records])
        for way in WAYS:
            own = np.array([record[f"{way}, {name}"] for record in records])
            better, worse = int((own > before).sum()), int((own < before).sum())
            row = {"rows": name, "way": way, "starts": len(records), "right": own.mean(), "least": own.min()}
            found.append(row | ({} if way == "before" else {"better in": better, "worse in": worse}))
    return found


def lives(market: Market, starts: Sequence[int] | None = None) -> Table:
    last = market.n_weeks - N_FIT - N_REFERENCE - N_FEEDBACK - max(AHEAD.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        return [tried(market, start) for start in (range(0, last + 1, 4) if starts is None else starts)]


def main() -> None:
    options = arguments(__doc__)
    records = lives(Market(every=8), [0]) if options.smallest else lives(Market())
    results = {"summary": summary(records), "starts": records}
    for title, table in results.items():
        show(title, table)
    save(options.output, results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
