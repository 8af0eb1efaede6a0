"""Answers to new and to repeated requests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Engine, select

from sepc_desk.chain import Receipt
from sepc_desk.deciding import Decided
from sepc_desk.entries import Entry
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
        is_other = self.row is not None and orjson.dumps(self.row) != orjson.dumps(row)
        if is_other or (model is not None and self.model != model.name):
            raise RequestError(
                422,
                "key_used_before",
                "This Idempotency-Key was used for another request. Use a new key for each request, and the same one "
                "only to send a request again.",
            )
        return replace(self, content=self.content | {"repeated": True})


def new_answer(made: Entry, decided: Decided | None, receipt: Receipt) -> Answer:
    """The answer to a row that was decided just now, or to an entry without a decision."""
    content: dict[str, Any] = {"id": made.id}
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
    """The answers that were given before, by the places of their entries."""
    with engine.connect() as connection:
        found = connection.execute(select(entries).where(entries.c.place.in_(places))).all()
    answers = {}
    for own in found:
        private = {} if own.private is None else orjson.loads(own.private)
        content = {
            "id": own.id,
            "label": None if own.label is None else orjson.loads(own.label),
            "accepted": own.accepted,
            "cause": own.cause,
            "trust": private.get("trust"),
            "probabilities": private.get("probabilities"),
        }
        content |= {name: private[name] for name in ("reason", "terms") if name in private}
        content["receipt"] = {"place": own.place, "hash": bytes(own.hash).hex()}
        answers[own.place] = Answer(content, private.get("row"), own.model)
    return answers
