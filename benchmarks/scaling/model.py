"""What a pass costs for each row, and what 10^9 rows on 32 workers would cost: calculated, not run."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from measure import medians
from scaling.data import Drawn

from sepc import SEPClassifier
from sepc.estimators.sep.standardization import Standardization
from sepc.estimators.sep.training_set import TrainingSet
from sepc.model.stacked_signatures import StackedSignatures
from sepc.points.band import Band, Frame
from sepc.points.farthest import Farthest
from sepc.points.hash_sample import HashSample
from sepc.points.in_memory import ArrayPoints
from sepc.points.joint_reduction import JointReduction
from sepc.points.pass_log import CountedPoints
from sepc.points.reductions import ColumnRange, CountInside, Moments
from sepc.shapes.ellipsoid import Ellipsoid

# What is worked out: rows, features, workers with so many cores each, and ellipsoids.
ROWS, FEATURES, WORKERS, CORES, ELLIPSOIDS = 10**9, 20, 32, 4, 40
# A pass waits for its slowest worker; so much of the cores' time is then used.
EVENNESS = 0.7


def passes(n: int, widths: tuple[int, ...]) -> list[dict[str, Any]]:
    """Nanoseconds a row of the passes that fits are made of, on one core and rows in memory."""
    found = [nanoseconds(n, d) for d in widths]
    return [
        {"pass": name} | {f"ns a row, {d} features": own[name] for d, own in zip(widths, found, strict=True)}
        for name in found[0]
    ]


def nanoseconds(n: int, d: int) -> dict[str, float]:
    points = ArrayPoints(Drawn(n, d, 1).rows(0))
    centers = np.random.default_rng(0).standard_normal((ELLIPSOIDS, d))
    ellipsoids = tuple(Ellipsoid(center, np.eye(d) / np.sqrt(3.0 * d)) for center in centers)
    standard = Standardization(np.full(d, 0.1), np.full(d, 1.1))
    direction = np.full(d, 1.0 / np.sqrt(d))
    reductions = {
        "range and moments of all rows": JointReduction((ColumnRange(), Moments())),
        "a hashed sample": HashSample(0.001, 0),
        f"signatures of {ELLIPSOIDS} ellipsoids": standard.of_reduction(
            StackedSignatures.of(ellipsoids, d, slack=1e-9)
        ),
        "moments": Moments(),
        "rows inside an ellipsoid": CountInside(ellipsoids[:1]),
        "rows farthest out": Farthest(np.zeros(d), np.eye(d), 4000, above=4.0 * d),
        "a band beside a cut": Band(Frame(np.zeros(d), 1.0), direction, 1.0, 1.0, 0.01, n),
    }
    times = medians({name: lambda one=one: points.reduce(one) for name, one in reductions.items()}, 3)
    return {name: 1e9 * seconds / n for name, seconds in times.items()}


def worked_out(costs: list[dict[str, Any]], empty_pass: float, n_fit: int, most: int) -> list[dict[str, Any]]:
    """Minutes of two plans, from the nanoseconds of `passes`, the time of a sample and the engine's own."""
    ns = [record[f"ns a row, {FEATURES} features"] for record in costs]
    seconds_of_sample, n_passes, n_reads = sample_fit(n_fit, most)
    counting = seconds_of_passes(sum(ns[:3]))
    partitioning = seconds_of_passes(float(np.mean(ns[3:]))) * n_reads
    return [
        plan(f"fit_rows={n_fit:,}", 3.0, 5, counting, seconds_of_sample, empty_pass),
        plan("all rows", n_reads, n_passes, partitioning + counting, 0.0, empty_pass),
    ]


def plan(name: str, n_reads: float, n_passes: int, working: float, alone: float, empty_pass: float) -> dict[str, Any]:
    engine = n_passes * empty_pass
    record = {"plan": name, "reads of all rows": n_reads, "passes": n_passes, "seconds of the workers": working}
    own = {"seconds of the engine": engine, "driver, seconds": alone}
    return record | own | {"minutes": (working + alone + engine) / 60}


def seconds_of_passes(ns_a_row: float) -> float:
    return 1e-9 * ns_a_row * ROWS / (WORKERS * CORES * EVENNESS)


def sample_fit(n: int, most: int) -> tuple[float, int, float]:
    """Seconds to partition a sample in memory, its passes, and how many reads of all its rows these make up."""
    drawn = Drawn(n, FEATURES, 1)
    training = TrainingSet.of_arrays(drawn.rows(0), drawn.labels(0), FEATURES)
    logged = CountedPoints(training.rows)
    classes = tuple(CountedPoints(points, logged.log) for points in training.classes)
    classifier = SEPClassifier(0.05, trust="counts", max_ellipsoids=most, fit_rows=None)
    classifier.n_features_in_ = FEATURES
    started = time.perf_counter()
    classifier._fit_points(TrainingSet(logged, classes, training.labels))
    return time.perf_counter() - started, logged.log.n_passes, logged.log.n_rows / n
