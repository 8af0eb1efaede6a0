"""Controls: known mistakes, made on purpose on the same rows as the attacks, which must be seen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.stats import binom
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier

from sepc import SelectiveClassifier
from sepc.statistics.rates import fewer_p_value
from sepc_benchmarks.attacking.attack import Attack, Kind
from sepc_benchmarks.attacking.audits import REGIONS, audited, labels_of, one_is_false, rows_of
from sepc_benchmarks.attacking.groups import GROUPS, NO_HARM, TEN, TEN_LED
from sepc_benchmarks.attacking.levels import GROUP, LABEL, TRUST, Levels, frozen
from sepc_benchmarks.attacking.merges import N_REFERENCE, N_ROUNDS, PER_ROUND
from sepc_benchmarks.attacking.monitors import FALSE_ALARMS, normal, started
from sepc_benchmarks.attacking.monitors import labels_of as monitor_labels
from sepc_benchmarks.attacking.overall import MANY, OVERALL
from sepc_benchmarks.attacking.overall_labels import NEW_ROWS, groups, with_codes
from sepc_benchmarks.attacking.reviews import ABOVE, CERTIFICATE
from sepc_benchmarks.attacking.shifts import ANOTHER_MIX, THREE, fitted


def threshold_without_a_test(rng: np.random.Generator, levels: Levels, n: int) -> bool:
    """The lowest threshold at which no more calibration rows are wrong than promised."""
    X, y = levels.draw(rng, n)
    order = np.argsort(-X[:, TRUST], kind="stable")
    rate = np.cumsum(y[order] != X[order, LABEL]) / np.arange(1, n + 1)
    kept = np.flatnonzero(rate <= 0.02)
    accepted = levels.rows[:, TRUST] >= (X[order[kept[-1]], TRUST] if len(kept) else np.inf)
    return levels.risk(accepted) > 0.02


def rare_labels_kept_in_training(rng: np.random.Generator) -> bool:
    """The only row of a label always trains the model, so that calibration lacks the errors of rare labels."""
    X, y = groups(rng, 1000)
    y = with_codes(rng, y, 0.04, None)
    trains = (rng.random(len(y)) < 0.5) | (y > 1)
    model = FrozenEstimator(KNeighborsClassifier(5).fit(X[trains], y[trains]))
    selective = SelectiveClassifier(model).fit(X[~trains], y[~trains])
    return bool(selective.decide(groups(rng, NEW_ROWS)[0]).accepted.any())


def regions_without_a_correction(rng: np.random.Generator) -> bool:
    """Each of ten regions is tested at the full level."""
    region = rng.integers(10, size=1000)
    X = rows_of(np.full(1000, 0.8), region, np.zeros(1000))
    tests = audited(X, labels_of(rng, X), with_regions=True).regions
    return one_is_false(rng, tests.region[tests.p_value <= REGIONS.allowed], np.empty(0))


def groups_without_a_correction(rng: np.random.Generator) -> bool:
    """Each of ten groups has a classifier of its own, with the full level."""
    X, y = TEN.draw(rng, 600)
    for group in range(10):
        own = X[:, GROUP] == group
        threshold = SelectiveClassifier(frozen(0, 9), 0.2).fit(X[own], y[own]).threshold_
        assert isinstance(threshold, float)
        if np.isfinite(threshold):
            return True
    return False


def no_harm_without_a_correction(rng: np.random.Generator) -> bool:
    """Ten groups whose accepted rows are wrong as often as their refused ones; each is tested at the full level."""
    selective = SelectiveClassifier(frozen(0, 9), 0.2, by=GROUP, one_threshold=True).fit(*TEN_LED.draw(rng, 6600))
    assert selective.promise_.groups is not None
    harm = [harm for group, harm in selective.promise_.groups.no_harm.items() if group != 0]
    tests = [fewer_p_value(one.n_errors, one.n_accepted, one.n_refused_errors, one.n_refused) for one in harm]
    return min(tests) <= NO_HARM.allowed


def rows_counted_twice(rng: np.random.Generator) -> bool:
    """Whenever workers are merged, all that they have ever seen counts again."""
    monitor, seen = started(rng, n=N_REFERENCE), np.empty((0, 2))
    labels = np.empty(0, dtype=int)
    for _ in range(N_ROUNDS):
        X = normal(rng, 2 * PER_ROUND)
        seen, labels = np.concatenate([seen, X]), np.append(labels, monitor_labels(rng, X))
        if monitor.update(seen, labels):
            return True
    return False


def one_test_after_another(rng: np.random.Generator) -> bool:
    """A monitor that compares the mean of a feature with the reference after every batch, each time at 5 %."""
    total, n, reference = 0.0, 0, normal(rng, 10_000)[:, 0]
    for _ in range(20):
        X = normal(rng, 200)[:, 0]
        total, n = total + X.sum(), n + len(X)
        if abs(total / n - reference.mean()) > 1.96 * np.sqrt(1 / n + 1 / len(reference)):
            return True
    return False


def certified_by_looking_daily(rng: np.random.Generator) -> bool:
    """A binomial test after each day's labels, each time at 5 %."""
    wrong = np.cumsum(rng.random((20, 20)) < ABOVE)[19::20]
    return bool(np.any(binom.cdf(wrong, 20 * np.arange(1, 21), 0.1) <= 0.05))


def promise_for_the_old_mix(rng: np.random.Generator) -> bool:
    """The ordinary promise, which knows of no target, under the target's mix."""
    return fitted(rng, THREE, *THREE.before.draw(rng, 3000), None)


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, kind=Kind.CONTROL)
    without = partial(threshold_without_a_test, levels=MANY, n=2000)
    yield make(OVERALL, "the threshold is chosen without a test", without)
    yield make(OVERALL, "rare labels always train the model", rare_labels_kept_in_training)
    yield make(REGIONS, "every region is tested at the full level", regions_without_a_correction)
    yield make(GROUPS, "every group is tested at the full level", groups_without_a_correction)
    yield make(NO_HARM, "no harm is tested at the full level in every group", no_harm_without_a_correction)
    yield make(FALSE_ALARMS, "merged rows count again and again", rows_counted_twice)
    yield make(FALSE_ALARMS, "a test at 5 % after every batch", one_test_after_another)
    yield make(CERTIFICATE, "a test at 5 % after every day", certified_by_looking_daily)
    yield make(ANOTHER_MIX, "the ordinary promise under another mix", promise_for_the_old_mix)
