"""Whether an audit finds planted clusters of wrong rows, and how many of its findings are false.

A classifier is fitted on one part of the rows; the others are feedback. Two clusters of 20 to 80 rows are planted in
the feedback: the nearest rows of a random one, in features turned and stretched at random, so that clusters are no
balls in the audit's own distance. 19 of 20 of their labels are made to contradict the classifier. Labels elsewhere are
drawn so that the classifier's claims are true, and whatever else is found is false; or they are what they are. What is
found beside the planted clusters may then be a failing of the classifier itself. Such findings count as false under
FDR. They are unconfirmed if fresh rows, which nobody has searched, do not show at a level of 5 % that errors there are
more than claimed; the fresh rows of a finding are those nearer to its rows than to any others. Real data give up to
2,000 rows each, and at most two in five, to training and to feedback; the others are fresh.

A finding is true if at least half of its rows are planted. A planted cluster is found if true findings hold at least
half of its rows. FDR is the mean share of false findings over trials, and so is the share of unconfirmed ones.

Seeds from 1,000 on were never looked at while the audit was made; those below were.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.lifecycle import audit
from sepc.lifecycle.audit import check_regions, tail
from sepc_benchmarks.audit_rivals import by_cleanlab, by_halves, by_tree
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

FIRST_SEED = 1_000
FDR = 0.1
SIZES = (20, 30, 50, 80)
N_PLANTED = 2
WRONG_SHARE = 0.95
SETS = (
    *("banknote_authentication", "electricity", "htru2", "magic_gamma_telescope", "page_blocks"),
    *("pendigits", "phoneme", "satimage", "segment", "wine_quality_white"),
)
MOST_ROWS = 2_000
Finding = list[np.ndarray]


def mixture(rng: np.random.Generator, d: int) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Two classes of three normal parts each; gives a function that draws rows and labels."""
    centers = 3.0 * rng.normal(size=(2, 3, d))
    shapes = 0.5 * rng.normal(size=(2, 3, d, d)) + np.eye(d)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        y, part = rng.integers(2, size=n), rng.integers(3, size=n)
        return centers[y, part] + np.einsum("nij,nj->ni", shapes[y, part], rng.normal(size=(n, d))), y

    return draw


def planted_rows(rng: np.random.Generator, X: np.ndarray, size: int) -> np.ndarray:
    """The nearest rows of a random one, in features stretched, turned and stretched again."""
    d = X.shape[1]
    spread = X.std(axis=0)
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    moved = (X / np.where(spread > 0.0, spread, 1.0) * np.exp(0.4 * rng.normal(size=d))) @ turned
    moved *= np.exp(0.3 * rng.normal(size=d))
    return np.argsort(np.sum((moved - moved[rng.integers(len(X))]) ** 2, axis=1))[:size]


def plant(
    rng: np.random.Generator, X: np.ndarray, y: np.ndarray, said: Any, classes: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Labels with planted errors, and the rows of each planted cluster."""
    labels, taken = y.copy(), np.zeros(len(X), dtype=bool)
    clusters: list[np.ndarray] = []
    while len(clusters) < N_PLANTED:
        rows = planted_rows(rng, X, int(rng.choice(SIZES)))
        if taken[rows].any():
            continue
        taken[rows] = True
        clusters.append(rows)
        other = another_label(rng, said.label[rows], classes)
        labels[rows] = np.where(rng.random(len(rows)) < WRONG_SHARE, other, said.label[rows])
    return labels, clusters


def another_label(rng: np.random.Generator, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    step = rng.integers(1, len(classes), size=len(labels))
    return classes[(np.searchsorted(classes, labels) + step) % len(classes)]


def as_claimed(rng: np.random.Generator, said: Any, classes: np.ndarray) -> np.ndarray:
    """Labels of which each is the classifier's with the probability that it claims."""
    right = rng.random(len(said)) < said.trust
    return np.where(right, said.label, another_label(rng, said.label, classes))


def findings(model: SEPClassifier, X: np.ndarray, y: np.ndarray) -> dict[str, Finding]:
    """What each way of looking finds in the same feedback."""
    said = model.decide(X)
    rows, wrong, risk = model.model_.standardize(X), said.label != y, 1.0 - said.trust
    return {
        "audit": [one.rows for one in audit(model, X, y, fdr=FDR).disjuncts],
        "halves": by_halves(rows, wrong, risk, FDR, 0),
        "tree": by_tree(rows, wrong),
        "cleanlab, rows": by_cleanlab(y, said.probabilities, model.classes_),
    }


def scored(found: Finding, clusters: list[np.ndarray], n: int) -> dict[str, Any]:
    planted, held = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    planted[np.concatenate(clusters)] = True
    true = [planted[rows].mean() >= 0.5 for rows in found]
    for rows, is_true in zip(found, true, strict=True):
        held[rows] |= is_true
    return {
        "false share": 1.0 - float(np.mean(true)) if found else 0.0,
        "findings": len(found),
        "found": [bool(held[rows].mean() >= 0.5) for rows in clusters],
        "sizes": [len(rows) for rows in clusters],
        "false": [rows for rows, is_true in zip(found, true, strict=True) if not is_true],
    }


def confirmed(model: SEPClassifier, X: np.ndarray, found: Finding, fresh: tuple[np.ndarray, np.ndarray]) -> list[bool]:
    """Whether fresh rows nearest to those of each finding show that errors there are more than claimed."""
    rows, others = model.model_.standardize(X), model.model_.standardize(fresh[0])
    nearest = NearestNeighbors(n_neighbors=1).fit(rows).kneighbors(others, return_distance=False)[:, 0]
    said = model.decide(fresh[0])
    wrong, risk = said.label != fresh[1], 1.0 - said.trust
    inside = [np.isin(nearest, one) for one in found]
    counts = [(wrong[own].sum(), own.sum(), risk[own].sum()) for own in inside]
    return [bool(n and tail(*map(np.asarray, (n_wrong, n, claimed))) <= 0.05) for n_wrong, n, claimed in counts]


def synthetic_trial(seed: int, claims_true: bool) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    draw = mixture(rng, int(rng.integers(2, 9)))
    model = SEPClassifier().fit(*draw(1500))
    X, y = draw(2000)
    said = model.decide(X)
    labels, clusters = plant(rng, X, as_claimed(rng, said, model.classes_) if claims_true else y, said, model.classes_)
    return judged(model, X, findings(model, X, labels), clusters, None if claims_true else draw(50_000))


def real_trial(name: str, seed: int, claims_true: bool) -> dict[str, dict[str, Any]]:
    data, rng = load(name), np.random.default_rng(seed)
    X, y = data.numeric.to_numpy(dtype=float), np.asarray(data.target)
    n = min(MOST_ROWS, 2 * len(y) // 5)
    training, feedback, rest = np.split(rng.permutation(len(y)), [n, 2 * n])
    model = SEPClassifier().fit(X[training], y[training])
    feedback = feedback[np.isin(y[feedback], model.classes_)]
    said = model.decide(X[feedback])
    others = as_claimed(rng, said, model.classes_) if claims_true else y[feedback]
    labels, clusters = plant(rng, X[feedback], others, said, model.classes_)
    found = findings(model, X[feedback], labels)
    fresh = None if claims_true else (X[rest], y[rest])
    return judged(model, X[feedback], found, clusters, fresh)


def judged(
    model: SEPClassifier, X: np.ndarray, found: dict[str, Finding], clusters: list[np.ndarray], fresh: Any
) -> dict[str, dict[str, Any]]:
    """The score of each way of looking; with fresh rows, also how many findings of clusters they do not confirm."""
    results = {name: scored(some, clusters, len(X)) for name, some in found.items()}
    for name in ("audit", "halves", "tree") if fresh is not None else ():
        n_confirmed = sum(confirmed(model, X, results[name]["false"], fresh))
        n_false = len(results[name]["false"])
        results[name]["unconfirmed"] = (n_false - n_confirmed) / max(results[name]["findings"], 1)
    return results


def summary(trials: list[dict[str, dict[str, Any]]], about: dict[str, Any]) -> list[dict[str, Any]]:
    records = []
    for name in trials[0]:
        results = [trial[name] for trial in trials]
        found = np.concatenate([one["found"] for one in results])
        sizes = np.concatenate([one["sizes"] for one in results])
        record = about | {"way": name, "trials": len(trials), "FDR": mean_of(results, "false share", 3)}
        record["unconfirmed"] = mean_of(results, "unconfirmed", 3) if "unconfirmed" in results[0] else ""
        record["recall"] = round(float(found.mean()), 3)
        for size in SIZES:
            record[f"of {size} rows"] = round(float(found[sizes == size].mean()), 2) if (sizes == size).any() else ""
        records.append(record | {"findings": mean_of(results, "findings", 1)})
    return records


def mean_of(results: list[dict[str, Any]], name: str, digits: int) -> float:
    return round(float(np.mean([one[name] for one in results])), digits)


def regions_trial(seed: int) -> tuple[float, float]:
    """Share of false alarms and of broken claims found among regions: all claims are true but those of two regions."""
    rng = np.random.default_rng(seed)
    draw = mixture(rng, int(rng.integers(2, 9)))
    model = SEPClassifier().fit(*draw(1500))
    X, _ = draw(2000)
    said = model.decide(X)
    labels = as_claimed(rng, said, model.classes_)
    ids, counts = np.unique(said.region, return_counts=True)
    broken = rng.choice(ids[counts >= 20], size=2, replace=False)
    worse = np.isin(said.region, broken) & (rng.random(len(X)) < 0.3)
    labels[worse] = another_label(rng, said.label[worse], model.classes_)
    tested = check_regions(said.region, said.label != labels, 1.0 - said.trust, FDR)
    failing = tested.region[tested.failing]
    return float(np.mean(~np.isin(failing, broken))) if len(failing) else 0.0, float(np.mean(np.isin(broken, failing)))


def main() -> None:
    options = arguments(__doc__)
    n_trials, sets, n_seeds = (1, SETS[:1], 1) if options.smallest else (100, SETS, 3)
    warnings.simplefilter("ignore", FlatSetWarning)
    seeds, real_seeds = (range(FIRST_SEED, FIRST_SEED + n) for n in (n_trials, n_seeds))
    planted, started = [], time.perf_counter()
    for claims_true in (True, False):
        about = {"data": "synthetic", "labels elsewhere": "as claimed" if claims_true else "as they are"}
        planted += summary([synthetic_trial(seed, claims_true) for seed in seeds], about)
    for claims_true in (True, False):
        about = {"data": "real", "labels elsewhere": "as claimed" if claims_true else "as they are"}
        planted += summary([real_trial(name, seed, claims_true) for name in sets for seed in real_seeds], about)
    show("planted", planted)
    shares = np.array([regions_trial(seed) for seed in seeds]).mean(axis=0)
    regions = [{"trials": n_trials, "FDR": round(float(shares[0]), 3), "recall": round(float(shares[1]), 3)}]
    show("regions", regions)
    print(f"{time.perf_counter() - started:.0f} s")
    save(options.output, {"planted": planted, "regions": regions})


if __name__ == "__main__":
    main()
