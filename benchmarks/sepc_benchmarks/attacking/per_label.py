"""An error rate for each label: labels with few rows, labels that training may lack, and ties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from sepc import SelectiveClassifier
from sepc_benchmarks.attacking.attack import Attack, Promise
from sepc_benchmarks.attacking.levels import LABEL, TRUST, Levels, ReadsItsRows, frozen
from sepc_benchmarks.attacking.overall_labels import real_set

PER_LABEL = Promise(
    "error rate per label",
    "howto/promises.md",
    "of the accepted rows predicted as each label, at most its `max_risk` are wrong, for all labels together",
    "rows are independent, later ones like those of calibration",
)
# A label that the model never gives and that very few rows have.
RARE = 5


def broken(selective: SelectiveClassifier, levels: Levels, promised: Mapping[int, float]) -> bool:
    """Whether more of the accepted levels of any label are wrong than promised for it."""
    accepted, label = selective.decide(levels.rows).accepted, levels.rows[:, LABEL]
    return any(levels.risk(accepted & (label == one)) > most for one, most in promised.items())


def calibrated(rng: np.random.Generator, levels: Levels, n: int, promised: Mapping[int, float]) -> bool:
    """A frozen model; all rows are calibration rows."""
    selective = SelectiveClassifier(frozen(*promised, levels.other), dict(promised))
    return broken(selective.fit(*levels.draw(rng, n)), levels, promised)


def maybe_missing(rng: np.random.Generator, n_rare: int) -> bool:
    """A label is named of which very few rows exist, so that training, calibration or both may lack it."""
    levels, promised = Levels.of([0.6, 0.9, 0.6, 0.9], 0.0205, label=[0, 0, 1, 1]), {0: 0.02, 1: 0.02, RARE: 0.02}
    X, y = levels.draw(rng, 4000)
    y[rng.choice(len(y), size=n_rare, replace=False)] = RARE
    selective = SelectiveClassifier(ReadsItsRows(), promised, random_state=int(rng.integers(2**31))).fit(X, y)
    given_as_rare = selective.decide(np.array([[RARE, 0.9, 0.0]]))
    return broken(selective, levels, {0: 0.02, 1: 0.02}) or bool(given_as_rare.accepted.any())


def sorted_labels(rng: np.random.Generator) -> bool:
    """Rows sorted by their label and then by trust, given to a model that has to be fitted."""
    levels, promised = Levels.of([0.6, 0.9, 0.6, 0.9], 0.0205, label=[0, 0, 1, 1]), {0: 0.02, 1: 0.02}
    X, y = levels.draw(rng, 4000)
    order = np.lexsort((X[:, TRUST], y))
    selective = SelectiveClassifier(ReadsItsRows(), promised, random_state=int(rng.integers(2**31)))
    return broken(selective.fit(X[order], y[order]), levels, promised)


def real_digits(rng: np.random.Generator) -> bool:
    """Ten labels of a real set, rows drawn with replacement; the truth is the whole set."""
    X, y = real_set(load_digits)
    drawn, promised = rng.integers(len(y), size=1500), dict.fromkeys(range(10), 0.2)
    selective = SelectiveClassifier(GaussianNB(), promised, random_state=int(rng.integers(2**31)))
    decided = selective.fit(X[drawn], y[drawn]).decide(X)
    wrong = [(decided.label != y)[decided.accepted & (decided.label == one)] for one in promised]
    return any(len(own) and own.mean() > 0.2 for own in wrong)


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, PER_LABEL)
    both = {0: 0.02, 1: 0.02}
    yield make(
        "two labels, constant trust",
        partial(calibrated, levels=Levels.of(0.9, 0.0201, label=[0, 1]), n=880, promised=both),
    )
    tied = Levels.of([0.6, 0.9, 0.6, 0.9], 0.0201, label=[0, 0, 1, 1])
    yield make("two labels, trust tied at two values", partial(calibrated, levels=tied, n=2000, promised=both))
    rare = Levels.of(0.9, [0.001, 0.3005], [0.96, 0.04], label=[0, 1])
    yield make("a label with 24 rows", partial(calibrated, levels=rare, n=600, promised={0: 0.02, 1: 0.3}))
    ten = Levels.of(0.9, 0.201, label=range(10))
    ten = Levels(ten.rows, ten.share, ten.error, other=99)
    yield make("ten labels", partial(calibrated, levels=ten, n=400, promised=dict.fromkeys(range(10), 0.2)))
    for n_rare in (1, 2):
        words = "one row" if n_rare == 1 else "two rows"
        yield make(f"a label of {words}, named", partial(maybe_missing, n_rare=n_rare))
    yield make("rows sorted by label and trust", sorted_labels)
    yield make("real rows, digits, ten labels", real_digits)
