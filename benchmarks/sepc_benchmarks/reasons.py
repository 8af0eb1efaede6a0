"""Reasons as a reader meets them: twenty cases of every cause and of every rule, from several data sets.

Models are fitted to one half of each set; the cases are rows of the other half, spread evenly over those of a kind,
some with cells taken out, and some with a feature moved far away. DRIFTED is what a monitor refuses after a feature was
moved in half of the rows, UNEXPLAINED what a logistic regression refuses.

Before these, every reason for at most 2,000 rows of the sets of the comparison is checked against the terms: whether
the largest term for the label comes first, whether a refused row names the largest against it, how much of the sum of
all sizes is named, how long it is, and whether it contradicts trust, counts or cause.

    python -m sepc_benchmarks.reasons --output benchmarks/results/reasons.json
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import sepc
from sepc import Cause, SEPClassifier, TrustedClassifier
from sepc.lifecycle import Monitor
from sepc.results import Rule
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

SETS = ("wdbc", "german_credit_numeric", "heart_cleveland", "adult", "letter", "electricity")
# The sets of the comparison in sepc_benchmarks.trust.
COMPARED = (
    *(
        "parkinsons",
        "haberman",
        "vertebral_column_2c",
        "glass",
        "ecoli",
        "blood_transfusion",
        "sonar",
        "heart_cleveland",
    ),
    *("ionosphere", "wdbc", "ilpd", "australian_credit", "mammographic_masses", "banknote_authentication"),
    *("german_credit_numeric", "vehicle", "skin_segmentation", "htru2", "phoneme", "electricity", "adult"),
    *("magic_gamma_telescope", "spambase", "page_blocks", "shuttle", "wine_quality_red", "satimage"),
)
N_CASES = 20
MOST_ROWS, MOST_CHECKED = 4_000, 2_000


def table(name: str) -> tuple[pd.DataFrame, Any]:
    """A data set as a table and its labels in words, at most 4,000 rows of it."""
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return X, np.where(y == 0, "malignant", "benign")
    data = load(name)
    few = np.random.default_rng(0).permutation(len(data.target))[:MOST_ROWS]
    return data.features.iloc[few].reset_index(drop=True), np.asarray(data.target)[few]


def halves(name: str) -> tuple[pd.DataFrame, pd.DataFrame, Any, Any]:
    X, y = table(name)
    can_stratify = np.unique(y, return_counts=True)[1].min() > 1
    return tuple(train_test_split(X, y, test_size=0.5, random_state=0, stratify=y if can_stratify else None))


def with_gaps(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with a fifth of their numbers missing."""
    numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name])]
    gone = X.copy().astype(dict.fromkeys(numbers, "float64"))
    for name in numbers:
        gone.loc[rng.random(len(X)) < 0.2, name] = np.nan
    return gone


def far_away(X: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with one number moved by three to thirty deviations."""
    moved = X.copy()
    numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name]) and X[name].std() > 0]
    moved = moved.astype(dict.fromkeys(numbers, "float64"))
    for i in moved.index:
        name = rng.choice(numbers)
        moved.loc[i, name] += X[name].std() * rng.uniform(3.0, 30.0)
    return moved


def judged(name: str) -> Iterator[tuple[str, Any]]:
    """Decisions on the second half of a set, by several models."""
    X, X_new, y, y_new = halves(name)
    rng = np.random.default_rng(1)
    model = SEPClassifier().fit(X, y)
    few = X_new.iloc[:300]
    yield "as it is", model.decide(X_new)
    yield "with gaps", model.decide(with_gaps(few, rng))
    yield "far away", model.decide(far_away(few, rng))
    if name in ("wdbc", "german_credit_numeric", "electricity"):
        yield "by counts", SEPClassifier(trust="counts").fit(X, y).decide(few)
        yield "by another model", TrustedClassifier(LogisticRegression(max_iter=10_000)).fit(X, y).decide(few)
        plain = LogisticRegression(max_iter=10_000).fit(X, y)
        yield "by a logistic regression", sepc.decide(plain, few)
        yield "after a drift", drifted(model, X_new, y_new)


def drifted(model: SEPClassifier, X: pd.DataFrame, y: Any) -> Any:
    """What a monitor says of rows of which a feature has moved."""
    half = len(X) // 2
    monitor = Monitor(model, X.iloc[:half], y[:half])
    later = X.iloc[half:].copy()
    name = later.columns[0]
    later[name] = later[name] + 2.0 * later[name].std()
    for _ in range(5):
        monitor.update(later)
    return monitor.decide(later)


def kinds_of(decisions: Any) -> dict[str, np.ndarray]:
    """Masks of the rows of every cause and of every rule."""
    kinds = {cause.name: decisions.cause == cause for cause in Cause}
    if hasattr(decisions, "rule"):
        kinds |= {f"rule {rule.name}": decisions.rule == rule for rule in Rule}
    return kinds


def cases(names: tuple[str, ...], n_cases: int) -> dict[str, list[dict[str, Any]]]:
    """So many cases of every kind, as many of each source as of any other where there are enough."""
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for name in names:
        for source, decisions in judged(name):
            for kind, rows in kinds_of(decisions).items():
                places = np.flatnonzero(rows)
                if len(places):
                    few = places[np.linspace(0, len(places) - 1, min(n_cases, len(places))).astype(int)]
                    found.setdefault(kind, []).append([case(name, source, decisions, int(i)) for i in few])
    return {kind: in_turn(sources)[:n_cases] for kind, sources in sorted(found.items())}


def in_turn(sources: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One of each source, then another one of each, until all are used up."""
    most = max(map(len, sources))
    return [source[i] for i in range(most) for source in sources if i < len(source)]


def case(name: str, source: str, decisions: Any, i: int) -> dict[str, Any]:
    return {"set": name, "rows": source, "reason": decisions.why(i)}


def checked(name: str) -> dict[str, Any]:
    """What can be counted about the reasons for the rows of a set."""
    X, X_new, y, _ = halves(name)
    decisions = SEPClassifier().fit(X, y).decide(X_new.iloc[:MOST_CHECKED])
    np.asarray(decisions.cause)
    started = time.process_time()
    reasons = decisions.why()
    seconds = time.process_time() - started
    sizes = sizes_of(decisions)
    named = [named_in(reason, own) for reason, own in zip(reasons, sizes, strict=True)]
    shares = [
        sum(abs(own[what]) for what in told) / sum(map(abs, own.values()))
        for told, own in zip(named, sizes, strict=True)
    ]
    spoken_for = [i for i, own in enumerate(sizes) if max(own.values()) >= 0.005]
    best = [said_first(reasons[i], "For it: ", max(sizes[i], key=sizes[i].__getitem__)) for i in spoken_for]
    refused = [i for i in np.flatnonzero(~decisions.accepted).tolist() if min(sizes[i].values()) <= -0.005]
    worst = [said_first(reasons[i], "Against it: ", min(sizes[i], key=sizes[i].__getitem__)) for i in refused]
    words = [len(reason.split()) for reason in reasons]
    return {
        "set": name,
        "rows": len(reasons),
        "features": len(sizes[0]) - 1,
        "largest for it first %": 100.0 * np.mean(best),
        "refused": len(refused),
        "largest against it first %": 100.0 * np.mean(worst) if worst else "",
        "rows with 70 % named, %": 100.0 * np.mean(np.array(shares) >= 0.7),
        "median share named %": 100.0 * np.median(shares),
        "median words": float(np.median(words)),
        "most words": max(words),
        "contradictions": sum(contradicts(decisions[i], reasons[i]) for i in range(len(reasons))),
        "ms a row": 1e3 * seconds / len(reasons),
    }


def sizes_of(decisions: Any) -> list[dict[str, float]]:
    """The terms of every decision by column, with all ellipsoids and isolated rows together as its neighbourhood."""
    model, terms = decisions.model, decisions.terms()
    columns = [model.feature_names[j] for j in model.column_of]
    frame = pd.DataFrame(terms.features.T).groupby(columns, sort=False).sum().T
    frame["its neighbourhood"] = terms.ellipsoids.sum(axis=1) + terms.isolated
    return frame.to_dict("records")


def said_first(reason: str, side: str, what: str) -> bool:
    return reason.partition(side)[2].removeprefix("missing ").startswith(what)


def named_in(reason: str, sizes: dict[str, float]) -> list[str]:
    """The terms whose name, followed by a value and by what they add, stands in a reason."""
    return [
        what
        for what, size in sizes.items()
        if re.search(rf"{re.escape(what)}[^(]*\({re.escape(f'{size:+.1f}')}", reason)
    ]


def contradicts(decision: Any, reason: str) -> bool:
    """Whether a reason says something else than the decision about trust, acceptance, cause, place or signs."""
    trust = re.search(r" with trust (> )?([\d.]+)", reason)
    is_trust = trust is not None and (trust[1] is not None or abs(float(trust[2]) - decision.trust) <= 5.1e-4)
    sides = reason.partition(" For it: ")[2].partition(" Against it: ")
    signs = [
        re.findall(r"\(([+-])\d", re.split(r"\. (?:The other|An average|Its distance|What|Not)", own)[0])
        for own in sides[::2]
    ]
    is_signed = not ("-" in signs[0] or "+" in signs[1])
    is_far = ("far from all training cases" in reason) == (decision.cause is Cause.UNSEEN)
    is_refused = decision.accepted == ("Not accepted" not in reason)
    is_cause = decision.accepted or f"Not accepted ({decision.cause.name})" in reason
    is_outside = "outside all groups" not in reason or decision.rule is Rule.NEAREST
    return not (is_trust and is_signed and is_far and is_refused and is_cause and is_outside)


def main() -> None:
    asked = arguments(__doc__)
    warnings.simplefilter("ignore")
    names = ("wdbc",) if asked.smallest else SETS
    counted = [checked(name) for name in (names if asked.smallest else COMPARED)]
    found = cases(names, 2 if asked.smallest else N_CASES)
    lengths = [
        {"kind": kind, "cases": len(own), "most words": max(len(one["reason"].split()) for one in own)}
        for kind, own in found.items()
    ]
    results = {"checked": counted, "lengths": lengths, **found}
    for name, rows in results.items():
        show(name, rows)
    save(asked.output, results)


if __name__ == "__main__":
    main()
