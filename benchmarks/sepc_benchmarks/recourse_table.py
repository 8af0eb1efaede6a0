"""Recourse for many rows: adult, every row that is not accepted with an income above 50,000, by sex and race.

The default model is fitted to 5,000 rows; 10,000 others ask. Age, race, sex and the country of birth are fixed, and the
years of schooling go with the name of the degree and may only grow. Seconds are of the processor, in one process.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import sepc
from sepc import SEPClassifier
from sepc_benchmarks.measure import arguments, save, show
from sepc_benchmarks.recourse import table

N_TRAINING, N_ROWS = 5_000, 10_000
FIXED = ("age", "race", "sex", "native_country", "fnlwgt")


def columns_named(X: Any, wanted: tuple[str, ...]) -> list[str]:
    """The columns of a table with these names, whatever separates their words."""
    plain = {"".join(filter(str.isalnum, str(name))).lower(): name for name in X}
    return [plain[key] for name in wanted if (key := "".join(filter(str.isalnum, name))) in plain]


def outcome(n_training: int, n_rows: int) -> tuple[sepc.RecourseTable, float]:
    """What is found for each row, and the seconds that it takes."""
    X, y = table("adult")
    order = np.random.default_rng(0).permutation(len(X))
    training, asking = order[:n_training], X.iloc[order[n_training : n_training + n_rows]]
    model = SEPClassifier().fit(X.iloc[training], y[training])
    degree, years = columns_named(X, ("education", "education_num"))
    started = time.process_time()
    found = sepc.recourse(
        model,
        asking,
        to=next(label for label in model.classes_ if ">50K" in str(label)),
        fixed=columns_named(X, FIXED),
        direction={years: "up"},
        relations=[X.iloc[training][[degree, years]].drop_duplicates()],
        progress=True,
    )
    return found, time.process_time() - started


def tables_of(found: sepc.RecourseTable, seconds: float) -> dict[str, list[dict[str, Any]]]:
    """The outcomes of all rows together, and by sex and race."""
    frame = found.to_frame()
    counts = frame["outcome"].value_counts()
    rows = [
        {
            "rows": len(found),
            "rows a second": round(len(found) / seconds, 1),
            **{name: int(n) for name, n in counts.items()},
            "median cost": round(float(frame["cost"][frame["outcome"] == "answer found"].median()), 2),
        }
    ]
    groups = columns_named(found.given, ("sex", "race"))
    return {"rows": rows} | {f"by {by}": _shown(found.summary(by=by)) for by in groups}


def _shown(summary: Any) -> list[dict[str, Any]]:
    return [{key: _rounded(value) for key, value in record.items()} for record in summary.to_dict("records")]


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return "–" if np.isnan(value) else round(value, 3)


def main() -> None:
    warnings.simplefilter("ignore")
    options = arguments(__doc__)
    tables = tables_of(*(outcome(400, 12) if options.smallest else outcome(N_TRAINING, N_ROWS)))
    for title, records in tables.items():
        show(title, records)
    if options.output:
        save(options.output, tables)


if __name__ == "__main__":
    main()
