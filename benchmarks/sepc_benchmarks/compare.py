"""How long `sepc.compare` takes beside two calls of `decide`, and whether it finds exactly the decisions that differ.

Four changes are planted: failing regions are repaired (all that can be, so that decisions change), the curve of a
feature is halved, the threshold is moved, and the model is refitted with other rows. Seconds are of the process, since
the machine may be busy. `decide` looks up causes of abstaining only when they are read, and a comparison needs all of
them; the time of two calls is given without them and with them.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sepc
from sepc.lifecycle import repair
from sepc_benchmarks.measure import arguments, save, show

N_ROWS, N_FEATURES, N_TRAINING, N_FEEDBACK = 1_000_000, 10, 5_000, 4_000


def rows(n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows, and labels that overlap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0.0).astype(np.int64)


def with_half_a_curve(classifier: sepc.SEPClassifier) -> sepc.SEPClassifier:
    """The same classifier with the curve of its first feature halved."""
    weights = classifier.model_.weights
    assert weights is not None
    lines, levels = weights.lines.copy(), weights.levels.copy()
    lines[0] *= 0.5
    levels[: weights.n_knots[0] + 1] *= 0.5
    made = copy.copy(classifier)
    made.model_ = replace(classifier.model_, weights=replace(weights, lines=lines, levels=levels))
    return made


def with_threshold(classifier: sepc.SEPClassifier, min_trust: float) -> sepc.SEPClassifier:
    """The same classifier with another threshold."""
    made = copy.copy(classifier)
    made.min_trust = min_trust
    return made


def planted(n_training: int, n_feedback: int) -> dict[str, tuple[Any, Any]]:
    """Pairs of models, the second with a change."""
    X, y = rows(n_training + n_feedback)
    first = sepc.SEPClassifier().fit(X[:n_training], y[:n_training])
    later, moved = X[n_training:], y[n_training:].copy()
    moved[later[:, 2] > 1.0] = 1 - moved[later[:, 2] > 1.0]
    return {
        "regions repaired": (first, repair(first, later, moved, confidence=0.0, despite_moved_columns=True)),
        "a curve halved": (first, with_half_a_curve(first)),
        "a threshold moved": (first, with_threshold(first, 0.8)),
        "refitted with other rows": (first, sepc.SEPClassifier().fit(later, moved)),
    }


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the process, and what `work` returns."""
    started = time.process_time()
    given = work()
    return time.process_time() - started, given


def decided(model: Any, X: NDArray[np.float64]) -> tuple[float, float, Any]:
    """Seconds of `decide`, seconds of the causes, and the decisions."""
    first, decisions = seconds_of(lambda: sepc.decide(model, X))
    second, _ = seconds_of(lambda: decisions.cause)
    return first, second, decisions


def differing(before: Any, after: Any) -> NDArray[np.int64]:
    """The positions of rows whose label, acceptance or cause differs."""
    same = (before.label == after.label) & (before.accepted == after.accepted) & (before.cause == after.cause)
    return np.flatnonzero(~same)


def timed(n_rows: int, n_training: int, n_feedback: int) -> list[dict[str, Any]]:
    """A record for every change."""
    records = []
    X, y = rows(n_rows)
    for what, (old, new) in planted(n_training, n_feedback).items():
        (first, causes, before), (second, more_causes, after) = decided(old, X), decided(new, X)
        taken, found = seconds_of(lambda old=old, new=new: sepc.compare(old, new, X, y))  # type: ignore[misc]
        expected = differing(before, after)
        records.append(
            {
                "change": what,
                "rows": n_rows,
                "changed": found.n_changed,
                "exactly those that differ": bool(np.array_equal(found.rows.position, expected)),
                "two decides, s": first + second,
                "with causes, s": first + second + causes + more_causes,
                "compare, s": taken,
                "times two decides": taken / (first + second),
            }
        )
    return records


def main() -> None:
    options = arguments(__doc__)
    sizes = (2_000, 400, 400) if options.smallest else (N_ROWS, N_TRAINING, N_FEEDBACK)
    results = {"compare": timed(*sizes)}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
