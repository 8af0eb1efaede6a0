"""Certificates of a review queue, where labels come late, partly or never, and one looks after every day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepc.lifecycle import Review, ReviewQueue
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise
from sepc_benchmarks.attacking.levels import LABEL, TRUST, Array, Levels, ReadsItsRows

CERTIFICATE = Promise(
    "certificate of a review queue",
    "howto/review.md",
    "no certificate ever accepts rows of which more than `max_risk` are wrong",
    "rows come from one source, and days are no selection of them",
)
# Just above the 10 % that are promised, at every threshold.
ABOVE = 0.1005
CONSTANT = Levels.of(0.95, ABOVE)
SEVERAL = Levels.of(np.linspace(0.5, 0.99, 12), ABOVE)


@dataclass(eq=False)
class Desk:
    """People who review the rows of a queue, and the labels that they know of each review."""

    queue: ReviewQueue
    levels: Levels
    rng: np.random.Generator
    max_risk: float
    n_new: int

    def choose(self) -> tuple[Review, Array]:
        """A day's review, and the true labels of its rows."""
        X, y = self.levels.draw(self.rng, self.n_new)
        review = self.queue.choose(X)
        return review, y[review.positions]

    def restart(self) -> None:
        """Save the queue and load it again."""
        self.queue = ReviewQueue.from_bytes(self.queue.to_bytes(), self.queue.model)

    def is_false(self) -> bool:
        """Whether the certificate accepts too many errors."""
        accepted = self.levels.rows[:, TRUST] >= self.queue.certificate().threshold
        return self.levels.risk(accepted) > self.max_risk


def desk(
    rng: np.random.Generator,
    levels: Levels,
    budget: int = 20,
    max_risk: float = 0.1,
    n_new: int | None = None,
    **how: Any,
) -> Desk:
    """A queue whose bands are those of a great many rows; many more come each day than people look at."""
    model = ReadsItsRows().fit(levels.rows, np.array([0, levels.other]))
    known = np.repeat(levels.rows, np.round(10_000 * levels.share).astype(int), axis=0)
    options: dict[str, Any] = {"rows": known, "random_state": int(rng.integers(2**31))} | how
    n_new = 15 * budget + 200 if n_new is None else n_new
    return Desk(ReviewQueue(model, budget, max_risk=max_risk, **options), levels, rng, max_risk, n_new)


def every_day(rng: np.random.Generator, levels: Levels, days: int = 20, restart: bool = False, **how: Any) -> bool:
    """All labels come on the same day, and one looks at the certificate each day."""
    people = desk(rng, levels, **how)
    for _ in range(days):
        review, labels = people.choose()
        if restart:
            people.restart()
            review = people.queue.reviews_.get(review.number, review)
        people.queue.learn(review, labels)
        if people.is_false():
            return True
        if restart:
            people.restart()
    return False


def late_reviews(
    rng: np.random.Generator, levels: Levels, days: int, late: int | None, restart: bool = False, **how: Any
) -> bool:
    """Reviews with a wrong row come so many days late, or never; all others on the same day."""
    people, waiting = desk(rng, levels, **how), []
    for today in range(days + (late or 0)):
        review, labels = people.choose()
        is_hard = bool((labels != levels.rows[0, LABEL]).any())
        if late is not None or not is_hard:
            waiting.append((today + (late or 0) * is_hard, review, labels))
        if restart:
            people.restart()
        for due in [one for one in waiting if one[0] == today]:
            people.queue.learn(*due[1:])
            waiting.remove(due)
            if people.is_false():
                return True
    return False


def late_labels(rng: np.random.Generator, levels: Levels, days: int, late: int, come: bool) -> bool:
    """Right labels come on the same day. Wrong ones come later, or never: the review is then closed without them."""
    people, waiting = desk(rng, levels), []
    for today in range(days + late):
        review, labels = people.choose()
        hard = labels != levels.rows[0, LABEL]
        people.queue.learn(review, labels[~hard], review.positions[~hard], complete=False)
        if hard.any():
            waiting.append((today + late, review, labels, hard & come))
        for due in [one for one in waiting if one[0] == today]:
            _, review, labels, known = due
            people.queue.learn(review, labels[known], review.positions[known])
            waiting.remove(due)
        if people.is_false():
            return True
    return False


def second_thoughts(rng: np.random.Generator) -> bool:
    """Wrong labels are taken back the next day."""
    people, before = desk(rng, CONSTANT), None
    for _ in range(20):
        if before is not None:
            review, labels = before
            people.queue.learn(review, np.zeros_like(labels))
        review, labels = people.choose()
        people.queue.learn(review, labels[1:], review.positions[1:], complete=False)
        before = (review, labels)
        if people.is_false():
            return True
    return False


def the_same_rows_again(rng: np.random.Generator) -> bool:
    """The same 100 rows are offered every day, so that the labels speak of these and not of their source."""
    people = desk(rng, CONSTANT)
    X, y = CONSTANT.draw(rng, 100)
    for _ in range(30):
        review = people.queue.choose(X)
        people.queue.learn(review, y[review.positions])
        if people.is_false():
            return True
    return False


def back_to_an_older_file(rng: np.random.Generator) -> bool:
    """Whenever a review has many errors, the file from before it is loaded again."""
    people = desk(rng, CONSTANT)
    for _ in range(20):
        saved = people.queue.to_bytes()
        review, labels = people.choose()
        if np.mean(labels != 0) > 0.1:
            people.queue = ReviewQueue.from_bytes(saved, people.queue.model)
            continue
        people.queue.learn(review, labels)
        if people.is_false():
            return True
    return False


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, CERTIFICATE)
    yield make("constant trust, one looks every day", partial(every_day, levels=CONSTANT))
    yield make("all thresholds just too high", partial(every_day, levels=SEVERAL))
    part = partial(every_day, levels=SEVERAL, coverage=0.5, certify_share=0.5)
    yield make("half of the budget to decide, half of the rows aimed at", part)
    yield make("three values of trust", partial(every_day, levels=Levels.of([0.7, 0.8, 0.9], ABOVE)))
    yield make("the most trusted wrong more often", partial(every_day, levels=Levels.of([0.6, 0.9], [0.091, 0.11])))
    yield make("a budget of 1", partial(every_day, levels=CONSTANT, budget=1, days=80))
    yield make("a budget of 500", partial(every_day, levels=SEVERAL, budget=500, days=4))
    yield make("confidence 50 %", partial(every_day, levels=CONSTANT, confidence=0.5), allowed=0.5)
    yield make("saved and loaded twice a day", partial(every_day, levels=SEVERAL, restart=True))
    four: dict[str, Any] = {"levels": Levels.of(0.98, 0.04), "max_risk": 0.02}
    yield make("4 % wrong, reviews with an error 30 days late", partial(late_reviews, days=40, late=30, **four))
    short: dict[str, Any] = {"levels": CONSTANT, "days": 30, "budget": 4}
    yield make("short reviews with an error 10 days late", partial(late_reviews, late=10, **short))
    yield make("short late reviews, saved and loaded every day", partial(late_reviews, late=10, restart=True, **short))
    yield make("reviews with an error never come back", partial(late_reviews, levels=CONSTANT, days=20, late=None))
    yield make("wrong labels 3 days late", partial(late_labels, levels=CONSTANT, days=15, late=3, come=True))
    closed = partial(late_labels, levels=CONSTANT, days=15, late=3, come=False)
    yield make("wrong labels never come, reviews are closed", closed)
    yield make("wrong labels are taken back", second_thoughts)
    two = Levels.of([0.6, 0.9], [0.19, 0.011])
    yield make("bands of the first 500 rows", partial(every_day, levels=two, rows=None, coverage=1.0))
    yield make("30 rows a day for a budget of 20", partial(every_day, levels=SEVERAL, days=40, n_new=30))
    yield make("the same 100 rows every day", the_same_rows_again, kind=Kind.RULED_OUT)
    yield make("older files loaded after errors", back_to_an_older_file, kind=Kind.RULED_OUT)
