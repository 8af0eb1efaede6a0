"""Change plans: criteria that are false by little, the best of ten candidates, ten looks, and rows chosen afterwards.

The rows hold what the old model and every candidate decide, so that the true rates are those of the generator. A plan
is broken if a candidate that does not meet its criterion passes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from sepc import Cause, Decisions, SelectiveClassifier, SEPClassifier
from sepc.errors import RefusedLookError
from sepc.lifecycle import check_plan, row_digest
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise
from sepc_benchmarks.attacking.levels import NO_REGIONS, Array

PLANS = Promise(
    "change plan",
    "howto/compare.md",
    "no candidate that violates a criterion passes it, over all candidates that the plan allows",
    "rows are independent and like later ones; no candidate was built with knowledge of them or of earlier answers",
)
KEY = "a key of some random characters"
# Just more than the 5 % or 2 % that plans allow here.
MARGIN, ABOVE, ABOVE_TWO = 0.05, 0.0501, 0.0201
N_ROWS, N_CANDIDATES = 1_000, 10
# The trust of rows that are accepted, and of others.
TRUSTED, DOUBTED = 1.0, -1.0

CHANGED = {"kind": "changed", "margin": MARGIN, "what": "label"}
ERRORS = {"kind": "overall", "margin": MARGIN}


class ReadsColumns(ClassifierMixin, BaseEstimator):
    """A classifier whose rows hold its label and its trust, two columns for every model."""

    def __init__(self, model: int = 0) -> None:
        self.model = model

    def fit(self, X: Array, y: Array) -> Self:
        """Learn the two labels, and nothing else."""
        self.classes_, self.n_features_in_ = np.array([0, 1]), X.shape[1]
        return self

    def predict(self, X: Array) -> Array:
        """The labels in the rows."""
        return self.decide(X).label

    def decide(self, X: Array) -> Decisions:
        """What the rows say."""
        n = len(X)
        return Decisions(
            classes=self.classes_,
            label=X[:, 2 * self.model].astype(np.int64),
            trust=X[:, 2 * self.model + 1],
            accepted=np.ones(n, dtype=bool),
            cause=np.full(n, int(Cause.ACCEPTED)),
            probabilities=np.full((n, 2), np.nan),
            region=np.full(n, NO_REGIONS),
        )


@cache
def reading(model: int, random_state: int = 0) -> SelectiveClassifier:
    """The model whose decisions are in these columns; it accepts what is trusted, and promises 2 %."""
    X = np.full((500, 2 * N_CANDIDATES + 2), TRUSTED)
    frozen = FrozenEstimator(ReadsColumns(model).fit(X, np.ones(500)))
    return SelectiveClassifier(frozen, 0.02, random_state=random_state).fit(X, np.ones(500, dtype=int))


def rows_of(
    rng: np.random.Generator, n: int, broken: float = 0.0, repaired: float = 0.0, n_candidates: int = 1
) -> tuple[Array, Array]:
    """Rows that a candidate gets wrong and the old model right with chance `broken`, and the other way round."""
    y = rng.integers(2, size=n)
    X = np.full((n, 2 * N_CANDIDATES + 2), TRUSTED)
    was_wrong = rng.random(n) < repaired
    X[:, 0] = np.where(was_wrong, 1 - y, y)
    for model in range(1, n_candidates + 1):
        # All that the old model gets wrong is repaired; of the rest some is broken.
        breaks = ~was_wrong & (rng.random(n) < broken / (1.0 - repaired))
        X[:, 2 * model] = np.where(breaks, 1 - y, y)
    return X, y


def written(
    folder: str, criterion: dict[str, Any], rows: str, most: int = 1, level: float = 0.05, name: str = "plan"
) -> Path:
    """A plan with one criterion; `rows` are the lines that fix the rows."""
    path = Path(folder, f"{name}.toml")
    path.write_text(
        f'version = 1\nmay_change = ["threshold", "regions", "weights", "model"]\n[rows]\nkey = "{KEY}"\n{rows}\n'
        f"[candidates]\nmost = {most}\n[[criteria]]\nlevel = {level}\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in criterion.items()),
        encoding="utf-8",
    )
    return path


def fixed(X: Array, y: Array, groups: Array | None = None) -> str:
    """The line that fixes rows by their digest."""
    return f'digest = "{row_digest(KEY, X, y, groups)}"'


def passes(plan: Path, model: Any, X: Array, y: Array, groups: Array | None = None) -> bool:
    """Whether a candidate passes; a look that is refused is not passed."""
    try:
        return check_plan(plan, reading(0), model, X, y, groups).passed
    except RefusedLookError:
        return False


def once(
    rng: np.random.Generator,
    criterion: dict[str, Any],
    draw: Callable[..., tuple[Array, Array]],
    level: float = 0.05,
    n: int = N_ROWS,
) -> bool:
    """One candidate that does not meet the criterion."""
    X, y = draw(rng, n)
    with tempfile.TemporaryDirectory() as folder:
        return passes(written(folder, criterion, fixed(X, y), level=level), reading(1), X, y)


def more_abstentions(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """The old model abstains on 10 % of rows, the candidate on none of these and on more of the others."""
    X, y = rows_of(rng, n)
    kind = rng.random(n)
    X[kind < 0.1, 1] = DOUBTED
    X[(kind >= 0.1) & (kind < 0.2 + ABOVE), 3] = DOUBTED
    return X, y


def broken_promise(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Accepted rows are wrong just more often than promised; a third is not accepted."""
    X, y = rows_of(rng, n, ABOVE_TWO)
    X[rng.random(n) < 1 / 3, 3] = DOUBTED
    return X, y


def one_group_worse(rng: np.random.Generator, n_groups: int, n: int) -> bool:
    """Only the last group is worse, by just more than allowed; in the others all errors are repaired."""
    X, y = rows_of(rng, n, repaired=0.1)
    group = rng.integers(n_groups, size=n)
    here = group == n_groups - 1
    X[here, 0], X[here, 2] = y[here], np.where(rng.random(n) < ABOVE, 1 - y, y)[here]
    criterion = {"kind": "groups", "margin": MARGIN, "names": list(range(n_groups))}
    with tempfile.TemporaryDirectory() as folder:
        return passes(written(folder, criterion, fixed(X, y, group)), reading(1), X, y, group)


@cache
def partitions() -> tuple[Any, Any, Array, Array, int, float]:
    """Two partitions, a finite set of rows, the region in which the second is worst, and by how much."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 2))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=12_000) > 0).astype(int)
    old, new = (SEPClassifier(max_ellipsoids=6).fit(X[part], y[part]) for part in (slice(2_000), slice(2_000, 2_200)))
    X, y = X[2_200:], y[2_200:]
    before, after = old.decide(X), new.decide(X)
    rise = (after.label != y).astype(int) - (before.label != y)
    large = [region for region in np.unique(before.region).tolist() if (before.region == region).mean() > 0.05]
    worst = max(large, key=lambda region: rise[before.region == region].mean())
    return old, new, X, y, worst, float(rise[before.region == worst].mean())


def region_of_a_partition(rng: np.random.Generator) -> bool:
    """Rows drawn with replacement; the margin is just below the true rise in the worst region."""
    old, new, X, y, worst, rise = partitions()
    drawn = rng.integers(len(y), size=N_ROWS)
    criterion = {"kind": "regions", "margin": max(rise - 1e-4, 0.0), "names": [worst]}
    with tempfile.TemporaryDirectory() as folder:
        plan = written(folder, criterion, fixed(X[drawn], y[drawn]))
        check = check_plan(plan, old, new, X[drawn], y[drawn])
        # The other regions together are no part of what is violated.
        return check.lines[1].passed


def best_of_ten(rng: np.random.Generator, criterion: dict[str, Any]) -> bool:
    """Ten candidates, none of which meets the criterion."""
    X, y = rows_of(rng, N_ROWS, ABOVE, n_candidates=N_CANDIDATES)
    with tempfile.TemporaryDirectory() as folder:
        plan = written(folder, criterion, fixed(X, y), N_CANDIDATES)
        return any(passes(plan, reading(model), X, y) for model in range(1, N_CANDIDATES + 1))


def ten_looks(rng: np.random.Generator) -> bool:
    """The same candidate and the same rows, ten times."""
    X, y = rows_of(rng, N_ROWS, ABOVE)
    with tempfile.TemporaryDirectory() as folder:
        plan = written(folder, CHANGED, fixed(X, y))
        return any(passes(plan, reading(1), X, y) for _ in range(10))


def ten_disguises(rng: np.random.Generator, most: int) -> bool:
    """The same candidate saved with ten different parameters that change no decision."""
    X, y = rows_of(rng, N_ROWS, ABOVE)
    with tempfile.TemporaryDirectory() as folder:
        plan = written(folder, CHANGED, fixed(X, y), most)
        return any(passes(plan, reading(1, state), X, y) for state in range(10))


def growing_table(rng: np.random.Generator) -> bool:
    """A look whenever a hundred more rows have come, with a rule of drawing instead of a digest."""
    X, y = rows_of(rng, N_ROWS, ABOVE)
    with tempfile.TemporaryDirectory() as folder:
        plan = written(folder, CHANGED, "draw = 100", N_CANDIDATES)
        return any(passes(plan, reading(1), X[:n], y[:n]) for n in range(100, N_ROWS + 1, 100))


def chosen_rows(rng: np.random.Generator) -> bool:
    """The rows on which the candidate is wrong are left out of the table, one in two."""
    X, y = rows_of(rng, N_ROWS, ABOVE)
    kept = (X[:, 2] == y) | (rng.random(N_ROWS) < 0.5)
    with tempfile.TemporaryDirectory() as folder:
        return passes(written(folder, ERRORS, fixed(X, y)), reading(1), X[kept], y[kept])


def chosen_labels(rng: np.random.Generator) -> bool:
    """The labels of the rows on which the candidate is wrong are corrected afterwards."""
    X, y = rows_of(rng, N_ROWS, ABOVE)
    with tempfile.TemporaryDirectory() as folder:
        return passes(written(folder, ERRORS, fixed(X, y)), reading(1), X, X[:, 2].astype(int))


def chosen_seed(rng: np.random.Generator) -> bool:
    """The plan draws 300 of the rows, and its seed is changed until they are kind."""
    X, y = rows_of(rng, N_ROWS, ABOVE)
    with tempfile.TemporaryDirectory() as folder:
        plans = (written(folder, CHANGED, f"draw = 300\nseed = {seed}") for seed in range(10))
        return any(passes(plan, reading(1), X, y) for plan in plans)


def without_a_ledger(rng: np.random.Generator) -> bool:
    """Ten candidates on the same rows, each with a plan for one candidate: the ledger is removed every time."""
    X, y = rows_of(rng, N_ROWS, ABOVE, n_candidates=N_CANDIDATES)
    with tempfile.TemporaryDirectory() as folder:
        plans = (written(folder, CHANGED, fixed(X, y), name=f"plan{i}") for i in range(1, N_CANDIDATES + 1))
        return any(passes(plan, reading(model), X, y) for model, plan in enumerate(plans, 1))


def chosen_before_a_draw(rng: np.random.Generator) -> bool:
    """A rule of drawing, and a table without the rows on which the candidate is wrong."""
    X, y = rows_of(rng, N_ROWS, ABOVE)
    kept = X[:, 2] == y
    with tempfile.TemporaryDirectory() as folder:
        return passes(written(folder, ERRORS, "draw = 300"), reading(1), X[kept], y[kept])


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, PLANS)
    drawn = partial(rows_of, broken=ABOVE)
    yield make("5.01 % of labels change, 5 % allowed", partial(once, criterion=CHANGED, draw=drawn))
    yield make("the same with 100 rows", partial(once, criterion=CHANGED, draw=drawn, n=100))
    half = partial(once, criterion=CHANGED, draw=drawn, level=0.5)
    yield make("the same at a level of 50 %", half, allowed=0.5)
    yield make("errors rise by 5.01 %, none repaired", partial(once, criterion=ERRORS, draw=drawn))
    swapped = partial(rows_of, broken=ABOVE + 0.2, repaired=0.2)
    yield make("errors rise by 5.01 %, many repaired", partial(once, criterion=ERRORS, draw=swapped))
    abstains = {"kind": "overall", "margin": MARGIN, "measure": "abstentions"}
    yield make("abstentions rise by 5.01 %", partial(once, criterion=abstains, draw=more_abstentions))
    promises = partial(once, criterion={"kind": "promises"}, draw=broken_promise)
    yield make("2.01 % of accepted rows wrong, 2 % promised", promises)
    yield make("one of two groups worse", partial(one_group_worse, n_groups=2, n=800))
    yield make("one of ten groups worse", partial(one_group_worse, n_groups=10, n=4_000))
    yield make("a region of a partition worse", region_of_a_partition)
    yield make("the best of ten candidates, by changes", partial(best_of_ten, criterion=CHANGED))
    yield make("the best of ten candidates, by errors", partial(best_of_ten, criterion=ERRORS))
    yield make("ten looks at a candidate", ten_looks)
    yield make("a candidate in ten disguises, one allowed", partial(ten_disguises, most=1))
    yield make("a candidate in ten disguises, ten allowed", partial(ten_disguises, most=10))
    yield make("ten looks while the table grows", growing_table)
    yield make("rows left out afterwards", chosen_rows)
    yield make("labels corrected afterwards", chosen_labels)
    yield make("ten seeds of a draw", chosen_seed)
    yield make("the ledger is removed between ten candidates", without_a_ledger, kind=Kind.RULED_OUT)
    yield make("a draw from a table that lacks wrong rows", chosen_before_a_draw, kind=Kind.RULED_OUT)
