"""A challenger: another version that decides on the same rows in the shadow, without any effect."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Row, and_, delete, func, insert, select, update

from sepc_desk.chain import head_of, note
from sepc_desk.deciding import decide_rows
from sepc_desk.entries import EntryKind
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.owning.figures import number_of
from sepc_desk.reviewing.oversight import Share
from sepc_desk.reviewing.states import CaseState, Purpose
from sepc_desk.reviewing.transactions import apart, now, only_one, writing
from sepc_desk.schema import cases, challengers, entries, shadow_decisions

log = logging.getLogger("sepc_desk")

LOCK = 7365706369
BLOCK = 500
# Entries of other models after which a challenger without new rows moves on, so that it does not read them again.
FAR = 1_000


@dataclass(frozen=True)
class Shadow:
    """What a challenger has decided, beside what was decided.

    Attributes
    ----------
    digest : str
    chosen_by : str
    chosen_at : int
        Microseconds since 1970.
    n : int
        Rows that both decided on.
    n_other_label : int
    accepted, accepted_shadow : Share
        What was accepted, and what the challenger would have accepted.
    right, right_shadow : Share
        Settled cases among them with the label that was given, and with the label of the challenger.
    """

    digest: str
    chosen_by: str
    chosen_at: int
    n: int
    n_other_label: int
    accepted: Share
    accepted_shadow: Share
    right: Share
    right_shadow: Share


def choose_challenger(engine: Engine, model: str, digest: str | None, caller: str) -> None:
    """Let a version decide in the shadow from now on, or none."""
    with writing(engine) as connection:
        note(connection, caller, "challenger chosen", digest or "none", model)
        connection.execute(delete(challengers).where(challengers.c.model == model))
        connection.execute(delete(shadow_decisions).where(shadow_decisions.c.model == model))
        if digest is not None:
            new = {"model": model, "digest": digest, "chosen_by": caller, "chosen_at": now(connection)}
            connection.execute(insert(challengers).values(**new, after_place=head_of(connection)[0]))


def decide_in_shadow(engine: Engine, model_of: Callable[[str, str], Model]) -> int:
    """Let challengers decide on rows that have come since; returns how many."""
    with engine.connect() as connection:
        chosen = connection.execute(select(challengers)).all()
        head = head_of(connection)[0] if chosen else 0
        if not any(_next(connection, own, 1, head) or head - own.after_place > FAR for own in chosen):
            return 0
    n = 0
    with writing(engine) as connection:
        if not only_one(connection, LOCK):
            return 0
        for own in connection.execute(select(challengers).with_for_update()).all():
            with apart(connection, own.model):
                head = head_of(connection)[0]
                found = _next(connection, own, BLOCK, head)
                if found:
                    _decide(connection, own, found, model_of)
                place = found[-1].place if len(found) == BLOCK else head
                connection.execute(
                    update(challengers).where(challengers.c.model == own.model).values(after_place=place)
                )
                n += len(found)
    return n


def _next(connection: Connection, own: Row[Any], most: int, last: int) -> list[Row[Any]]:
    e = entries.c
    decided = (e.kind == EntryKind.DECISION, e.model == own.model, e.private.is_not(None))
    unread = (e.place > own.after_place, e.place <= last)
    some = select(e.place, e.id, e.private).where(*decided, *unread).order_by(e.place).limit(most)
    return list(connection.execute(some))


def _decide(
    connection: Connection, own: Row[Any], found: Sequence[Row[Any]], model_of: Callable[[str, str], Model]
) -> None:
    try:
        decided = decide_rows(model_of(own.model, own.digest), [orjson.loads(one.private)["row"] for one in found])
    except (RequestError, KeyError) as error:
        # A row that only the live version takes; the challenger goes on with those after it.
        log.warning("not decided in the shadow", extra={"models": [own.model], "error": str(error)})
        decided = []
    new = [
        {"id": one.id, "digest": own.digest, "model": own.model, "label": its.label_text, "accepted": its.accepted}
        for one, its in zip(found, decided, strict=False)
    ]
    if new:
        connection.execute(insert(shadow_decisions), new)


def shadow(connection: Connection, model: str) -> Shadow | None:
    """What the challenger of a model has decided so far; None if there is none."""
    own = connection.execute(select(challengers).where(challengers.c.model == model)).first()
    if own is None:
        return None
    s, e, c = shadow_decisions.c, entries.c, cases.c
    settled = and_(c.id == s.id, c.state == CaseState.SETTLED, c.label.is_not(None), c.purpose != Purpose.PLANTED)
    counts = (
        select(
            func.count(),
            number_of(s.label != e.label),
            number_of(e.accepted),
            number_of(s.accepted),
            func.count(c.label),
            number_of(c.label == e.label),
            number_of(c.label == s.label),
        )
        .select_from(shadow_decisions.join(entries, e.id == s.id).join(cases, settled, isouter=True))
        .where(s.model == model, s.digest == own.digest)
    )
    n, n_other, k, k_shadow, n_settled, right, right_shadow = map(int, connection.execute(counts).one())
    return Shadow(
        own.digest,
        own.chosen_by,
        own.chosen_at,
        n,
        n_other,
        Share(k, n),
        Share(k_shadow, n),
        Share(right, n_settled),
        Share(right_shadow, n_settled),
    )
