"""How `SEPClassifier` grows with the training set, what it keeps of it, and how fast it scores.

Two Gaussian classes in ten features that overlap, `n_impure` a share of 5 %, at most 40 ellipsoids. "x bare" is the
time over one bare product of the rows with all roots stacked, (n x d) @ (d x Kd), in tiles of 128 rows, the fastest of
the sizes tried. One BLAS thread.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.decisions.kinds import Rule
from sepc.model.membership import locate
from sepc_benchmarks.measure import arguments, medians, save, show

Rows = NDArray[np.float64]


def two_classes(n: int, d: int, seed: int) -> tuple[Rows, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(np.int64)
    return rng.standard_normal((n, d)) + 0.6 * y[:, None], y


def growth(sizes: list[int], d: int) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for n in sizes:
        X, y = two_classes(n, d, seed=0)
        started = time.perf_counter()
        model = SEPClassifier(0.05, max_ellipsoids=40).fit(X, y)
        seconds = time.perf_counter() - started
        record: dict[str, Any] = {"rows": f"{n:,} x {d}", "seconds": seconds}
        if records:
            before = records[-1]
            record["exponent"] = float(np.log(seconds / before["seconds"]) / np.log(n / before["n"]))
        fitted = model.model_
        record |= {"ellipsoids": fitted.n_ellipsoids, "signatures": len(fitted.table.counts)}
        record |= {"isolated rows": len(fitted.isolated), "bytes of state": fitted.n_bytes, "n": n}
        records.append(record)
    for record in records:
        del record["n"]
    return records


def bare_product(rows: Rows, roots: Rows, n_tile: int) -> None:
    stacked = np.ascontiguousarray(roots.reshape(-1, rows.shape[1]).T)
    buffer = np.empty((n_tile, stacked.shape[1]))
    for start in range(0, len(rows), n_tile):
        tile = rows[start : start + n_tile]
        np.matmul(tile, stacked, out=buffer[: len(tile)])


def scoring(n: int, n_fit: int, d: int) -> list[dict[str, Any]]:
    X, y = two_classes(n_fit, d, seed=1)
    model = SEPClassifier(0.05, max_ellipsoids=38).fit(X, y)
    rows, _ = two_classes(n, d, seed=2)
    # A row in eleven is stretched, so that about a tenth lie outside all ellipsoids.
    rows[::11] *= 2.4
    fitted = model.model_
    standard = fitted.standardize(rows)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    times = medians(
        {
            "bare stacked product": partial(bare_product, standard, fitted.roots, 128),
            "the same in tiles of 512 rows": partial(bare_product, standard, fitted.roots, 512),
            "memberships and gauges": partial(locate, standard, fitted.stack, fitted.slack),
            "decide": partial(model.decide, rows),
            "random forest of 100 trees": partial(forest.predict_proba, rows),
        },
        rounds=3,
    )
    outside = float(np.mean(model.decide(rows).rule == Rule.NEAREST))
    bare = times["bare stacked product"]
    head = {"rows": f"{n:,} x {d}", "ellipsoids": fitted.n_ellipsoids, "share outside": outside}
    return [head | {"what": name, "ms": 1e3 * value, "x bare": value / bare} for name, value in times.items()]


def main() -> None:
    options = arguments(__doc__)
    sizes = [500, 1000] if options.smallest else [10_000, 100_000, 1_000_000]
    with threadpool_limits(1):
        results = {
            "growth": growth(sizes, 3 if options.smallest else 10),
            "scoring": scoring(2000, 500, 3) if options.smallest else scoring(1_000_000, 20_000, 10),
        }
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
