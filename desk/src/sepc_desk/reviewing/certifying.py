"""Certificates from answers: `ReviewQueue` draws the cases, and counts answers that were given blind."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sepc.lifecycle import Certificate, Plan, Review, ReviewQueue
from sqlalchemy import Connection, Engine, Row, func, select, update

from sepc_desk.models import Model
from sepc_desk.reviewing.states import Evidence
from sepc_desk.reviewing.transactions import apart, only_one, writing
from sepc_desk.rows import Row as CaseRow
from sepc_desk.schema import cases, review_queues
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

LOCK = 7365706367


def draw(
    state: bytes | None, model: Model, rows: Sequence[CaseRow], settings: Settings
) -> tuple[Review | None, bytes | None]:
    """Let the queue of a model draw some of these rows; returns what it drew, and its state after that.

    It draws nothing if the model gives no trust that tells rows apart.
    """
    n = max(1, round(settings.certificate_share * len(rows)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if state is not None:
                queue = ReviewQueue.from_bytes(bytes(state), model.estimator)
            else:
                promise = {"max_risk": settings.certificate_risk, "confidence": settings.certificate_confidence}
                queue = ReviewQueue(model.estimator, n, **promise)
            review = queue.choose(model.table(rows), n_rows=n)
    except ValueError as error:
        log.warning("nothing drawn", extra={"error": type(error).__name__, "models": [model.name]})
        return None, state
    return review, queue.to_bytes()


def count_answers(engine: Engine, model_of: Callable[[str, str], Model]) -> int:
    """Let the queues learn what was settled since; returns how many cases were counted."""
    fresh = (cases.c.evidence.is_not(None), cases.c.is_counted.is_(False), cases.c.review.is_not(None))
    with engine.connect() as connection:
        if connection.execute(select(cases.c.id).where(*fresh).limit(1)).first() is None:
            return 0
    with writing(engine) as connection:
        if not only_one(connection, LOCK):
            return 0
        found = connection.execute(select(cases).where(*fresh).order_by(cases.c.review, cases.c.position)).all()
        by_version: dict[tuple[str, str], list[Row[Any]]] = {}
        for own in found:
            by_version.setdefault((own.model, own.digest), []).append(own)
        for (name, digest), some in by_version.items():
            with apart(connection, name):
                _learn(connection, model_of(name, digest), some)
    return len(found)


def _learn(connection: Connection, model: Model, some: Sequence[Row[Any]]) -> None:
    is_own = (review_queues.c.model == model.name, review_queues.c.digest == model.digest)
    state = connection.execute(select(review_queues.c.state).where(*is_own).with_for_update()).scalar_one()
    queue = ReviewQueue.from_bytes(bytes(state), model.estimator)
    for number in sorted({own.review for own in some}):
        review = queue.reviews_[number]
        theirs = [own for own in some if own.review == number]
        said = dict(zip(review.positions.tolist(), review.label.tolist(), strict=True))
        labels = [_label(own, said[own.position], model) for own in theirs]
        queue.learn(review, labels, [own.position for own in theirs], complete=False)
    connection.execute(update(review_queues).where(*is_own).values(state=queue.to_bytes()))
    # No draw is made meanwhile, since the row of the queue is locked.
    of_version = (cases.c.model == model.name, cases.c.digest == model.digest)
    newest = connection.execute(select(func.max(cases.c.review)).where(*of_version)).scalar_one()
    counted = cases.c.id.in_([own.id for own in some])
    connection.execute(update(cases).where(counted).values(is_counted=True, counted_after=newest))


def _label(own: Row[Any], said: Any, model: Model) -> Any:
    """What a queue learns of a case: the reviewers' label, or another one than the model's where there is none."""
    if own.evidence == Evidence.ANSWER:
        return orjson.loads(own.evidence_label)
    return next(label for label in model.classes if label != said)


@dataclass(frozen=True)
class Proof:
    """What the answers about a version of a model have proved, and what they still lack.

    Attributes
    ----------
    certificate : Certificate
    plan : Plan or None
        What the answers to the newest open draw should prove, and about how many more that takes; None if no draw is
        open.
    """

    certificate: Certificate
    plan: Plan | None


def proof(connection: Connection, model: Model) -> Proof | None:
    """What the answers about a version of a model have proved; None before the first draw."""
    is_own = (review_queues.c.model == model.name, review_queues.c.digest == model.digest)
    state = connection.execute(select(review_queues.c.state).where(*is_own)).scalar()
    if state is None:
        return None
    queue = ReviewQueue.from_bytes(bytes(state), model.estimator)
    newest = max(queue.reviews_, default=None)
    return Proof(queue.certificate(), None if newest is None else queue.reviews_[newest].plan)


def certificate(connection: Connection, model: Model) -> Certificate | None:
    """The certificate of a version of a model; None before the first draw."""
    found = proof(connection, model)
    return None if found is None else found.certificate
