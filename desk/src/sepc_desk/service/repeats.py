"""Answers to new and to repeated requests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Engine, select

from sepc_desk.chain import Receipt
from sepc_desk.deciding import Decided
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.rows import Row
from sepc_desk.schema import entries


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for one row.

    Attributes
    ----------
    content : dict
        The decision as JSON has it, with its receipt.
    row : Row or None
        The row that was decided on, if the log still has it.
    model : str or None
    """

    content: dict[str, Any]
    row: Row | None = None
    model: str | None = None

    def repeated(self, row: Row, model: Model | None) -> Answer:
        """The same answer for a repeated request; raises if this is another request with the same key."""
        if self.row is None:
            message = "The values sent with this Idempotency-Key were erased. Use a new key for a new request."
            raise RequestError(410, "erased", message)
        is_other = orjson.dumps(self.row) != orjson.dumps(row)
        if is_other or (model is not None and self.model != model.name):
            raise RequestError(
                422,
                "key_used_before",
                "This Idempotency-Key was used for another request. Use a new key for each request, and the same one "
                "only to send a request again.",
            )
        return replace(self, content=self.content | {"repeated": True})


def answer_of(own_id: str, decided: Decided | None, receipt: Receipt) -> Answer:
    """The answer to a row that was decided, or to an entry without a decision."""
    content: dict[str, Any] = {"id": own_id}
    if decided is not None:
        content |= {
            "label": decided.label,
            "accepted": decided.accepted,
            "cause": decided.cause,
            "trust": decided.trust,
            "probabilities": decided.probabilities,
        }
        if decided.reason is not None:
            content |= {"reason": decided.reason, "terms": decided.terms}
    return Answer(content | {"receipt": {"place": receipt.place, "hash": receipt.hash.hex()}})


def answers_of_log(engine: Engine, places: list[int]) -> dict[int, Answer]:
    """The answers that were given before, by the places of their entries; without content where it was erased."""
    with engine.connect() as connection:
        found = connection.execute(select(entries).where(entries.c.place.in_(places))).all()
    answers = {own.place: Answer({}, None, own.model) for own in found}
    for own in found:
        if own.private is not None:
            private = orjson.loads(own.private)
            row = private.pop("row")
            decided = Decided(orjson.loads(own.label), own.accepted, own.cause, **private)
            content = answer_of(own.id, decided, Receipt(own.place, bytes(own.hash))).content
            answers[own.place] = Answer(content, row, own.model)
    return answers
