"""Promises of `SelectiveClassifier` about rows with gaps: 1,000 calibration samples for each rate of gaps.

An `SEPClassifier` is fitted once, to 2,000 complete rows or half of the set; up to 8,000 others, of which cells were
taken away at random, are the population. A calibration sample is 1,000 rows of it, drawn with replacement, from which
the threshold is chosen as `SelectiveClassifier` does for a frozen estimator. A promise is broken if more of the
accepted rows of the whole population are wrong than was promised: half of the error rate, in whole per cent, with a
confidence of 95 %. Of 1,000 draws, 64 or fewer are broken with a probability of 97.5 % if each is with one of 5 %.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits

from sepc import SelectiveClassifier, SEPClassifier
from sepc.estimators.selective.thresholds import choose_threshold
from sepc.statistics.rates import fixed_grid
from sepc_benchmarks.holes import at_random, rows_of
from sepc_benchmarks.measure import arguments, save, show

SETS = ("magic", "phoneme", "htru2", "page_blocks", "segment")
SHARES = (0.0, 0.1, 0.2, 0.4)
N_TRAINING, N_POPULATION, N_CALIBRATION, N_DRAWS = 2_000, 8_000, 1_000, 1_000
CONFIDENCE = 0.95


def promises(name: str, n_training: int, n_draws: int) -> list[dict[str, Any]]:
    X, y = rows_of(name, N_TRAINING + N_POPULATION)
    n_training = min(n_training, len(X) // 2)
    classifier = SEPClassifier().fit(X[:n_training], y[:n_training])
    return [
        draw(name, classifier, at_random(X[n_training:], share, 0), y[n_training:], share, n_draws) for share in SHARES
    ]


def draw(
    name: str, classifier: SEPClassifier, rows: NDArray[Any], truth: NDArray[Any], share: float, n_draws: int
) -> dict[str, Any]:
    decided, rng = classifier.decide(rows), np.random.default_rng(1)
    wrong, trust = decided.label != truth, decided.trust
    most = max(0.01, round(float(wrong.mean()) / 2, 2))
    broken, coverage = 0, 0.0
    for i in range(n_draws):
        sample = rng.integers(len(truth), size=N_CALIBRATION)
        threshold = choose_threshold(trust[sample], wrong[sample], fixed_grid(), most, CONFIDENCE).threshold
        if i == 0:
            selective = SelectiveClassifier(FrozenEstimator(classifier), max_risk=most, confidence=CONFIDENCE)
            assert selective.fit(rows[sample], truth[sample]).threshold_ == threshold
        accepted = trust >= threshold
        broken += bool(accepted.any() and wrong[accepted].mean() > most)
        coverage += float(accepted.mean()) / n_draws
    return {
        "data set": name,
        "gaps %": round(100 * share),
        "population": len(truth),
        "error %": 100 * float(wrong.mean()),
        "promised %": 100 * most,
        "draws": n_draws,
        "broken": broken,
        "coverage": coverage,
    }


def main() -> None:
    options = arguments(__doc__)
    names, *sizes = (("vertebral",), 200, 20) if options.smallest else (SETS, N_TRAINING, N_DRAWS)
    records = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            records += promises(name, *sizes)
            print(f"done: {name}", file=sys.stderr, flush=True)
    show("promises", records)
    save(options.output, {"promises": records})


if __name__ == "__main__":
    main()
