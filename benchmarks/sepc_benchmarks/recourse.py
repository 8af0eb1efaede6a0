"""Are answers of recourse accepted, within limits and cheap, is the bound exact, do they survive a refit? An hour.

For each set, an `SEPClassifier` is fitted to at most 5,000 rows, and rows that it has not seen ask for another label.
One column is fixed, one number may only grow, and one has bounds. Answers are decided on again from their tables.
Each projection behind the bound is compared with what its proof gives. Answers hold if a model that is fitted to a
bootstrap of the training rows says the same about them. Times are of the processor, one thread.

The search was settled on heart_cleveland, magic_gamma_telescope and segment, and on the first three sets below; the
last three were not looked at before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.utils import resample

import sepc
from sepc import SEPClassifier
from sepc.datasets import load
from sepc.recourses.bounds import Box
from sepc_benchmarks.measure import Parts, Records
from sepc_benchmarks.real_tables import SETS, table_of

NAMES = ("german_credit_numeric", "wdbc", "adult", "australian_credit", "phoneme", "page_blocks")
MOST_TRAINING = 5_000
N_ROWS, N_HELD, N_BOOTSTRAPS = 170, 12, 20


@dataclass(frozen=True)
class Case:
    """A fitted model, its training rows, and rows that ask for another label."""

    name: str
    model: SEPClassifier
    X: pd.DataFrame
    y: np.ndarray
    asking: pd.DataFrame
    labels: list[Any]

    def limits(self, i: int) -> dict[str, Any]:
        """One column is fixed, one number may only grow, and one stays within the middle of the training rows."""
        own, (fixed, grows, bounded) = self.asking.iloc[i], self.limited
        low, high = self.X[bounded].quantile([0.02, 0.98]).tolist()
        bounds = {bounded: (min(low, own[bounded]), max(high, own[bounded]))}
        return {"fixed": [fixed], "direction": {grows: "up"}, "bounds": bounds}

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers."""
        return [name for name in self.X if pd.api.types.is_numeric_dtype(self.X[name])]

    @property
    def limited(self) -> tuple[str, str, str]:
        """The fixed column, that which grows, and that with bounds."""
        several = [name for name in self.numbers if self.X[name].nunique() > 10]
        return self.X.columns[-1], several[0], several[1]

    @cached_property
    def scale(self) -> pd.Series:
        """A deviation of each number."""
        names = list(self.model.model_.feature_names)
        return pd.Series({name: self.model.model_.scale[names.index(name)] for name in self.numbers})

    def costs(self, rows: pd.DataFrame, row: pd.Series) -> np.ndarray:
        """What it costs to become each of some rows, without the code under test."""
        squared = (((rows[self.numbers] - row[self.numbers]) / self.scale) ** 2).sum(axis=1)
        others = [name for name in self.X if name not in self.numbers]
        differs = (rows[others].astype(str) != row[others].astype(str)).sum(axis=1)
        return np.sqrt((squared + differs).to_numpy(dtype=float))

    def are_within(self, i: int, answer: pd.DataFrame) -> bool:
        """Whether an answer keeps all limits."""
        (fixed, grows, bounded), before, after = self.limited, self.asking.iloc[i], answer.iloc[0]
        low, high = self.limits(i)["bounds"][bounded]
        is_same = str(after[fixed]) == str(before[fixed]) or np.isclose(float(after[fixed]), float(before[fixed]))
        return bool(is_same and after[grows] >= before[grows] - 1e-9 and low - 1e-9 <= after[bounded] <= high + 1e-9)

    def is_it(self, i: int, answer: pd.DataFrame, needs_acceptance: bool) -> bool:
        """Whether an answer has the label and, if that is asked for, is accepted."""
        decided = self.model.decide(answer[self.X.columns])
        return bool(decided.label[0] == self.labels[i] and (decided.accepted[0] or not needs_acceptance))


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features without gaps, with categories as text, and labels."""
    if name == "wdbc":
        data = load_breast_cancer(as_frame=True)
        return data.data, data.target_names[data.target]
    X, y = table_of(name) if name in SETS else (load(name).features, load(name).target)
    X = X.astype({column: str for column in X if not pd.api.types.is_numeric_dtype(X[column])})
    complete = X.notna().all(axis=1).to_numpy()
    return X[complete].reset_index(drop=True), y[complete]


def case_of(name: str, n_rows: int, most: int) -> Case:
    X, y = table(name)
    order = np.random.default_rng(0).permutation(len(X))
    n_train = min(most, len(X) * 2 // 3)
    train, asking = order[:n_train], order[n_train : n_train + n_rows]
    model = SEPClassifier().fit(X.iloc[train], y[train])
    asking = X.iloc[asking]
    others = [[label for label in model.classes_ if label != own] for own in model.predict(asking)]
    labels = [own[i % len(own)] for i, own in enumerate(others)]
    return Case(name, model, X.iloc[train].reset_index(drop=True), y[train], asking, labels)


def gaps(found: sepc.Recourse) -> Iterator[float]:
    """How far the nearest point of each ellipsoid is from the bound that its proof gives."""
    for k in {leaf.ellipsoid for leaf in found.proof}:
        own = Box.whole(found.proof[0].box.limits).project(k)
        yield 0.0 if np.isinf(own.bound) else (own.squared - own.bound) / max(1.0, own.bound)


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """What a task gives, and its seconds of processor time, on one thread."""
    started = time.process_time()
    return task(), time.process_time() - started


def asked(case: Case, i: int, **options: Any) -> sepc.Recourse:
    return sepc.recourse(case.model, case.asking.iloc[[i]], to=case.labels[i], n_answers=1, **case.limits(i), **options)


def answers(case: Case) -> dict[str, Any]:
    """How many answers are accepted and within limits, how cheap they are, and how exact the bound is."""
    found, seconds = zip(*(timed(partial(asked, case, i)) for i in range(len(case.asking))), strict=True)
    given = [(i, own.answers[0]) for i, own in enumerate(found) if own.answers]
    apart = np.array([gap for own in found for gap in gaps(own)])
    reached = [own for own in found if own.is_reachable and own.proof]
    return {
        "set": case.name,
        "features": len(case.model.model_.shift),
        "ellipsoids": case.model.model_.n_ellipsoids,
        "rows": len(found),
        "with an answer": len(given),
        "proved out of reach": sum(not own.is_reachable for own in found),
        "accepted by decide": sum(case.is_it(i, own.row, True) for i, own in given),
        "within limits": sum(case.are_within(i, own.row) for i, own in given),
        "bound": round(float(np.median([own.bound for own in reached])), 2) if reached else 0.0,
        "cost": round(float(np.median([own.cost for _, own in given])), 2) if given else 0.0,
        "features changed": float(np.median([len(own.changes) for _, own in given])) if given else 0.0,
        "projections": len(apart),
        "largest gap": float(f"{apart.max(initial=0.0):.1e}"),
        "ms": round(1e3 * float(np.median(seconds)), 1),
    }


def holding(case: Case, n_rows: int, n_bootstraps: int) -> Records:
    """How many answers models of other rows give the same label, and accept."""
    models = []
    for seed in range(n_bootstraps):
        X, y = resample(case.X, case.y, random_state=seed, stratify=case.y)
        models.append(SEPClassifier().fit(X, y))
    records = []
    for way, min_trust in {"sepc": None, "sepc, min_trust=0.99": 0.99}.items():
        found = [(i, asked(case, i, min_trust=min_trust).answers) for i in range(n_rows)]
        kept = [(i, own[0].row) for i, own in found if own and case.is_it(i, own[0].row, True)]
        if not kept:
            continue
        frame = pd.concat([row for _, row in kept], ignore_index=True)
        labels = np.array([case.labels[i] for i, _ in kept])
        decided = [model.decide(frame) for model in models]
        has_label = np.array([own.label == labels for own in decided])
        is_accepted = has_label & np.array([own.accepted for own in decided])
        head = {"set": case.name, "by": way, "answers": len(kept), "refits": n_bootstraps}
        shares = {"same label": f"{100 * has_label.mean():.0f} %", "accepted": f"{100 * is_accepted.mean():.0f} %"}
        records.append(head | shares)
    return records


def parts(smallest: bool) -> Parts:
    names = ("phoneme", "australian_credit") if smallest else NAMES
    n_rows, n_held, n_bootstraps, most = (6, 3, 2, 400) if smallest else (N_ROWS, N_HELD, N_BOOTSTRAPS, MOST_TRAINING)
    return {
        "answers": lambda: {"answers": [answers(case_of(name, n_rows, most)) for name in names]},
        "refits": lambda: {
            "refits": [row for name in names for row in holding(case_of(name, n_rows, most), n_held, n_bootstraps)]
        },
    }
