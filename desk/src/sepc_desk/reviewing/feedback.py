"""Labels that reviewers have settled: feedback for audits and repairs, without planted cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, select

from sepc_desk.reviewing.states import CaseState, Purpose
from sepc_desk.rows import Row
from sepc_desk.schema import cases, entries


@dataclass(frozen=True)
class Settled:
    """A case with the label that its readers have settled on.

    Attributes
    ----------
    id : str
    row : Row
    label : object
    digest : str
        The version of the model that decided it.
    purpose : str
        Why it was reviewed; only cases that were drawn are a random sample.
    decided_at : int
        Microseconds since 1970.
    """

    id: str
    row: Row
    label: Any
    digest: str
    purpose: str
    decided_at: int


def feedback(connection: Connection, model: str, most: int | None = None) -> list[Settled]:
    """The settled cases of a model whose values are still there, the newest first."""
    settled = (cases.c.model == model, cases.c.state == CaseState.SETTLED, cases.c.label.is_not(None))
    known = (
        select(cases, entries.c.private)
        .join(entries, entries.c.id == cases.c.id)
        .where(*settled, cases.c.purpose != Purpose.PLANTED, entries.c.private.is_not(None))
        .order_by(cases.c.entered_at.desc(), cases.c.id)
        .limit(most)
    )
    return [
        Settled(
            one.id,
            orjson.loads(one.private)["row"],
            orjson.loads(one.label),
            one.digest,
            one.purpose,
            one.decided_at,
        )
        for one in connection.execute(known)
    ]
