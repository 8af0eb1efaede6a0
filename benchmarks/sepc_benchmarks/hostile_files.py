"""Does each of 20,000 damaged and forged files give a `FormatError`, or something that works? An hour.

Half of the files are damaged anyhow: bits flipped, cut short, bytes moved, the header forged. The other half are forged
with care and signed anew, so that the checks of meaning are what is tested: arrays swapped, dropped, renamed, of other
types, shapes and sizes, with extreme numbers; values replaced, exchanged, renamed, lengthened and nested.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, make_moons
from sklearn.frozen import FrozenEstimator

import sepc
import sepc.errors
from sepc import Costs, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import FormatError, LeftOutWarning
from sepc.io.container import decode
from sepc.lifecycle import Monitor, ReviewQueue, repair
from sepc.model_files import from_bytes, to_bytes
from sepc_benchmarks.forged_sizes import PLUS, TIMES, peak_of
from sepc_benchmarks.measure import Parts, Records
from sepc_benchmarks.mutations import DAMAGES, forged

N_ROWS = 20
# Changes to a forged file; the first that is found is the last that is seen.
N_CHANGES = (1, 1, 2, 3)


@dataclass(frozen=True)
class Target:
    """What is attacked: the bytes of a file, how it is read, and what is then done with what was read."""

    data: bytes
    read: Callable[[bytes], Any]
    use: Callable[[Any], list[Any]]


def of_model(model: Any, rows: Any) -> Target:
    """A model decides on some rows and describes itself."""

    def use(loaded: Any) -> list[Any]:
        # A forged model may give its columns other names, or none, of which scikit-learn warns.
        is_table = isinstance(rows, pd.DataFrame)
        named = rows.set_axis([own.name for own in loaded.preparation_.columns], axis=1) if is_table else rows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            decided = loaded.decide(named)
        said = [repr(loaded), str(loaded), repr(decided), decided[0].why()]
        said += [
            repr(getattr(loaded, name)) for name in ("regions_", "ellipsoids_", "strata_") if hasattr(loaded, name)
        ]
        return [decided.label.tolist(), decided.trust.tolist(), decided.accepted.tolist(), len(said)]

    return Target(to_bytes(model), from_bytes, use)


def of_monitor(model: Any, rows: np.ndarray, labels: np.ndarray) -> Target:
    """A monitor takes more rows, says what it has seen, and is saved again."""
    monitor = Monitor(model, rows[:200], labels[:200])
    monitor.update(rows[200:] + [0.0, 1.0], labels[200:])

    def use(loaded: Monitor) -> list[Any]:
        alarms = loaded.update(rows[:100], labels[:100])
        return [loaded.summary(), repr(loaded), [str(alarm) for alarm in alarms], len(loaded.to_bytes())]

    return Target(monitor.to_bytes(), lambda data: Monitor.from_bytes(data, model), use)


def of_queue(model: Any, rows: np.ndarray, labels: np.ndarray) -> Target:
    """A queue chooses rows, learns their labels, and is saved again."""
    queue = ReviewQueue(model, 20, coverage=0.8, certify_share=0.8, random_state=0)
    for some in (slice(0, 300), slice(300, 600)):
        review = queue.choose(rows[some])
        queue.learn(review, labels[some][review.positions[:8]], review.positions[:8], complete=False)

    def use(loaded: ReviewQueue) -> list[Any]:
        review = loaded.choose(rows[:100])
        learnt = loaded.learn(review, labels[:100][review.positions])
        return [repr(loaded), review.summary(), review.positions.tolist(), repr(learnt), loaded.to_bytes()]

    return Target(queue.to_bytes(), lambda data: ReviewQueue.from_bytes(data, model), use)


def _of_table(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Target:
    """A model of numbers, a category, a date and an id decides on rows with gaps."""

    def table(numbers: np.ndarray) -> pd.DataFrame:
        n = np.arange(len(numbers))
        days = pd.Timestamp("2024-01-01") + pd.to_timedelta(n * 7, unit="D")
        named = pd.DataFrame(numbers, columns=["width", "height"]).mask(np.column_stack([n % 7 == 0, n % 11 == 0]))
        return named.assign(ward=np.array(["east", "north", None])[n % 3], day=days, key=[f"p{i}" for i in n])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        return of_model(SEPClassifier().fit(table(X), y), table(rows[:, :2]))


def targets() -> dict[str, Target]:
    """A file of every kind."""
    X, y = make_moons(150, noise=0.3, random_state=0)
    many, truth = make_moons(600, noise=0.3, random_state=1)
    rows = np.random.default_rng(0).standard_normal((N_ROWS, 4)) * 2.0
    plain, counts = SEPClassifier().fit(X, y), SEPClassifier(trust="counts")
    costs = Costs([[0.0, 5.0], [3.0, 0.0]], review=1.0)
    trusted = TrustedClassifier(counts, cv=2).fit(X, y)
    stratified = RoutedClassifier(counts, by=[0], min_rows=30).fit(np.column_stack([np.arange(150) % 3, X]), y)
    in_strata = np.column_stack([np.arange(N_ROWS) % 4, rows[:, :2]])
    repaired = repair(plain, many, np.where(many[:, 0] > 0.0, 1 - truth, truth))
    return {
        "SEPClassifier": of_model(SEPClassifier().fit(X, np.where(y, "one", "other")), rows[:, :2]),
        "SEPClassifier, three classes": of_model(SEPClassifier().fit(*load_iris(return_X_y=True)), rows),
        "SEPClassifier, a table with gaps": _of_table(X, y, rows),
        "SEPClassifier, counts": of_model(counts.fit(X, y), rows[:, :2]),
        "SEPClassifier, published": of_model(SEPClassifier.as_published().fit(X, y), rows[:, :2]),
        "SelectiveClassifier": of_model(
            SelectiveClassifier(SEPClassifier(), {0: 0.3, 1: 0.4}, random_state=0).fit(X, y), rows[:, :2]
        ),
        "SelectiveClassifier, costs": of_model(
            SelectiveClassifier(FrozenEstimator(trusted), costs).fit(many, truth), rows[:, :2]
        ),
        "TrustedClassifier": of_model(trusted, rows[:, :2]),
        "RoutedClassifier, groups": of_model(stratified, in_strata),
        "RoutedClassifier, regions": of_model(repaired, rows[:, :2]),
        "Monitor": of_monitor(plain, many, truth),
        "ReviewQueue": of_queue(plain, many, truth),
    }


def outcome(target: Target, data: bytes, expected: list[Any]) -> tuple[str, float]:
    """What came of a file (refused, equal to the original, or something else that works), and memory for reading it."""
    peak, loaded = peak_of(lambda: target.read(data))
    if isinstance(loaded, FormatError | sepc.errors.ForeignModelError):
        return "refused", peak
    if isinstance(loaded, BaseException):
        raise loaded
    return ("equal" if target.use(loaded) == expected else "another"), peak


def inspected(data: bytes, path: Path) -> None:
    """Describe the file, too."""
    path.write_bytes(data)
    try:
        str(sepc.inspect(path))
    except FormatError:
        return


def spoilt(target: Target, how: str, i: int, rng: np.random.Generator) -> bytes:
    """The i-th bad file of a kind."""
    if how == "damaged":
        return DAMAGES[i % len(DAMAGES)](bytearray(target.data), rng)
    arrays, content = decode(target.data)
    arrays = dict(sorted(arrays.items()))  # they come in any order, and the same files are wanted in every run
    while (data := forged(arrays, content, rng, int(rng.choice(N_CHANGES)))) is None:
        pass
    return data


def attack(name: str, target: Target, how: str, n_files: int, seed: int) -> dict[str, Any]:
    """Outcomes for bad files of one kind; a file that crashes is kept beside, as `crash.sepc`."""
    rng, found = np.random.default_rng(seed), Counter[str]()
    expected = target.use(target.read(target.data))
    slowest = most = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(n_files):
            data = spoilt(target, how, i, rng)
            started = time.perf_counter()
            try:
                said, peak = outcome(target, data, expected)
                inspected(data, Path(folder) / "bad.sepc")
            except BaseException:
                Path("crash.sepc").write_bytes(data)
                raise
            found[said] += 1
            slowest = max(slowest, time.perf_counter() - started)
            most = max(most, peak)
            assert peak <= TIMES * len(data) + PLUS, f"{peak:,} bytes of memory for a file of {len(data):,}"
    outcomes = {one: found[one] for one in ("refused", "equal", "another")}
    figures = {"slowest, s": round(slowest, 3), "peak, MB": round(most / 1e6, 1)}
    return {"kind": name, "files": how, "n": n_files, **outcomes, **figures}


def parts(smallest: bool) -> Parts:
    return {"outcomes": lambda: {"outcomes": attacked(60 if smallest else 10_000)}}


def attacked(n_files: int) -> Records:
    """So many damaged files, and as many forged ones, of all kinds together."""
    every = targets()
    sizes = [n_files // len(every) + (i < n_files % len(every)) for i in range(len(every))]
    with np.errstate(all="ignore"):
        return [
            in_all(
                [attack(*kind, how, n, seed=i) for i, (kind, n) in enumerate(zip(every.items(), sizes, strict=True))]
            )
            for how in ("damaged", "forged and signed")
        ]


def in_all(each: Records) -> dict[str, Any]:
    """The sums over all kinds of files, and the longest time and largest memory of any file."""
    sums = {name: sum(one[name] for one in each) for name in ("n", "refused", "equal", "another")}
    worst = {name: max(one[name] for one in each) for name in ("slowest, s", "peak, MB")}
    return {"files": each[0]["files"], "kinds": len(each)} | sums | worst
