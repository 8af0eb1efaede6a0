"""Read the log for cases to review: all that the model refuses, and what `ReviewQueue` draws of those it accepts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import orjson
from sepc.lifecycle import Purpose as DrawnFor
from sqlalchemy import ColumnElement, Connection, Engine, Row, Table, delete, func, insert, select, update

from sepc_desk.entries import EntryKind
from sepc_desk.models import Model
from sepc_desk.reading import contexts_of
from sepc_desk.reviewing.certifying import draw
from sepc_desk.reviewing.states import FIRST, SECOND, CaseState, Purpose, ReadingState
from sepc_desk.reviewing.transactions import apart, now, only_one, writing
from sepc_desk.schema import cases, contexts, entries, monitors, readings, review_progress, review_queues
from sepc_desk.settings import Settings

LOCK = 7365706366
# How far the log has been read; and up to where for a model that is behind, by its name after this prefix.
LOG, MODEL = "log", "model:"
# Larger blocks would keep decisions waiting longer on SQLite, which has one writer at a time.
BLOCK = 500
ModelOf = Callable[[str, str], Model]


def enrol(
    engine: Engine, settings: Settings, model_of: ModelOf, at: int | None = None, rng: Random | None = None
) -> int:
    """Read on in the log, at most 500 entries; returns how many were read. Each entry is read once.

    Parameters
    ----------
    engine, settings
    model_of : callable
        Gives the version of a model, by name and digest.
    at : int, optional
        The time; by default that of the database.
    rng : Random, optional
        Draws which cases are blind, and which have a second reader.
    """
    with engine.connect() as connection:
        if not _behind(connection) and not _fresh(connection, _progress(connection, LOG), 1):
            return 0
    with writing(engine) as connection:
        if not only_one(connection, LOCK):
            return 0
        read = _progress(connection, LOG)
        found = _fresh(connection, read, BLOCK)
        last = found[-1].place if found else read
        work = _Enrolment(connection, settings, model_of, now(connection) if at is None else at, rng)
        late = _behind(connection)
        by_model: dict[str, list[Row[Any]]] = {name: [] for name in late}
        for own in found:
            if own.kind == EntryKind.DECISION:
                by_model.setdefault(own.model, []).append(own)
        for name, some in by_model.items():
            work.read_on(name, some, late.get(name), last)
        _move_on(connection, LOG, last)
        work.draw(last)
    return len(found)


def _progress(connection: Connection, name: str) -> int:
    return int(connection.execute(select(review_progress.c.place).where(review_progress.c.name == name)).scalar() or 0)


def _behind(connection: Connection) -> dict[str, int]:
    """Models for which reading on has failed, and the place up to which they are read."""
    found = connection.execute(select(review_progress).where(review_progress.c.name.startswith(MODEL))).all()
    return {own.name.removeprefix(MODEL): own.place for own in found}


def _move_on(connection: Connection, name: str, place: int) -> None:
    if place != _progress(connection, name):
        _change_or_add(connection, review_progress, {"name": name}, {"place": place}, {"place": place})


def _change_or_add(
    connection: Connection, table: Table, own: dict[str, Any], changed: dict[str, Any], new: dict[str, Any]
) -> None:
    """Change the row of a table that has these values, or add it."""
    is_own = [table.c[name] == value for name, value in own.items()]
    if connection.execute(update(table).where(*is_own).values(**changed)).rowcount == 0:
        connection.execute(insert(table).values(**own, **new))


def _fresh(connection: Connection, after: int, most: int, *which: ColumnElement[bool]) -> Sequence[Row[Any]]:
    e = entries.c
    columns = (e.place, e.id, e.kind, e.at, e.model, e.context, e.label, e.accepted, e.cause)
    is_there = e.private.is_not(None).label("is_there")
    some = select(*columns, is_there).where(e.place > after, *which).order_by(e.place).limit(most)
    return connection.execute(some).all()


class _Enrolment:
    """One transaction of reading on."""

    def __init__(
        self, connection: Connection, settings: Settings, model_of: ModelOf, at: int, rng: Random | None
    ) -> None:
        self.connection, self.settings, self.model_of, self.at = connection, settings, model_of, at
        self.rng = secrets.SystemRandom() if rng is None else rng
        self._digests: dict[str, str] = {}

    def read_on(self, model: str, found: Sequence[Row[Any]], behind: int | None, last: int) -> None:
        """Read decisions of a model; it stays behind if that fails, and catches up when it no longer does."""
        place = found[0].place - 1 if behind is None else behind
        with apart(self.connection, model):
            if behind is not None:
                is_own = (entries.c.kind == EntryKind.DECISION, entries.c.model == model, entries.c.place <= last)
                found = _fresh(self.connection, behind, BLOCK, *is_own)
            self.run([own for own in found if own.is_there])
            place = found[-1].place if len(found) == BLOCK else last
        if place < last:
            _move_on(self.connection, f"{MODEL}{model}", place)
        else:
            self.connection.execute(delete(review_progress).where(review_progress.c.name == f"{MODEL}{model}"))

    def run(self, found: Sequence[Row[Any]]) -> None:
        """Let refused decisions wait for a reader, and count accepted ones; monitors wait for all of them."""
        self.add([(own, Purpose.REFUSED, {}) for own in found if not own.accepted])
        by_version: dict[tuple[str, str], list[Row[Any]]] = {}
        for own in found:
            if own.context is not None:
                by_version.setdefault((own.model, self.digest(own.context)), []).append(own)
        for (model, digest), decided in by_version.items():
            version = {"model": model, "digest": digest}
            if accepted := [own.place for own in decided if own.accepted]:
                more = {"n_waiting": review_queues.c.n_waiting + len(accepted)}
                new = {"state": None, "n_waiting": len(accepted), "after_place": accepted[0] - 1}
                _change_or_add(self.connection, review_queues, version, more, new)
            n, since, m = len(decided), decided[0].at, monitors.c
            more = {"n_waiting": m.n_waiting + n, "waiting_since": func.coalesce(m.waiting_since, since)}
            new = {"n_reference": 0, "after_place": decided[0].place - 1, "n_waiting": n, "waiting_since": since}
            _change_or_add(self.connection, monitors, version, more, new)

    def draw(self, last: int) -> None:
        """Where enough accepted decisions wait, let the queue of the certificate draw some of them."""
        size = self.settings.certificate_block
        if self.settings.certificate_share == 0:
            return
        enough = select(review_queues).where(review_queues.c.n_waiting >= size).with_for_update()
        for own in self.connection.execute(enough).all():
            with apart(self.connection, own.model):
                while own.n_waiting >= size:
                    own = self._draw_block(own, last, size)

    def _draw_block(self, own: Row[Any], last: int, size: int) -> Row[Any]:
        e = entries.c
        theirs = contexts_of(self.connection, own.model, own.digest)
        accepted = (e.kind == EntryKind.DECISION, e.accepted.is_(True), e.model == own.model, e.context.in_(theirs))
        some = select(entries).where(*accepted, e.place > own.after_place, e.place <= last)
        block = self.connection.execute(some.order_by(e.place).limit(size)).all()
        there = [one for one in block if one.private is not None]
        # Those whose values were erased before anyone could draw them no longer wait.
        left = own.n_waiting - size if len(block) == size else 0
        after = block[-1].place if block else last
        model = self.model_of(own.model, own.digest)
        rows = [orjson.loads(one.private)["row"] for one in there]
        review, state = draw(own.state, model, rows, self.settings)
        if review is not None:
            purposes = [Purpose.DRAWN if why == DrawnFor.CERTIFY else Purpose.LEAST_TRUSTED for why in review.purpose]
            self.add(
                [
                    (there[i], purpose, {"review": review.number, "position": i, "draw_order": order})
                    for order, (i, purpose) in enumerate(zip(review.positions.tolist(), purposes, strict=True))
                ]
            )
        is_own = (review_queues.c.model == own.model, review_queues.c.digest == own.digest)
        done = update(review_queues).where(*is_own).values(state=state, n_waiting=left, after_place=after)
        return self.connection.execute(done.returning(*review_queues.c)).one()

    def add(self, found: Sequence[tuple[Row[Any], Purpose, Mapping[str, Any]]]) -> None:
        """Let cases wait for readers."""
        if not found:
            return
        new, looks = [], []
        for own, purpose, more in found:
            # The order of waiting cases must not tell what was drawn, so time of entry is all that orders them.
            is_blind = purpose is Purpose.DRAWN or self.rng.random() < self.settings.blind_share
            n_readers = 2 if self.rng.random() < self.settings.second_share else 1
            new.append(
                {
                    "id": own.id,
                    "model": own.model,
                    "digest": self.digest(own.context),
                    "purpose": purpose,
                    "cause": own.cause or "",
                    "model_label": own.label,
                    "decided_at": own.at,
                    "entered_at": self.at,
                    "is_blind": is_blind,
                    "n_readers": n_readers,
                    "state": CaseState.OPEN,
                    "review": more.get("review"),
                    "position": more.get("position"),
                    "is_counted": False,
                    "draw_order": more.get("draw_order"),
                }
            )
            looks += [
                {
                    "case_id": own.id,
                    "model": own.model,
                    "turn": turn,
                    "is_blind": is_blind,
                    "entered_at": self.at,
                    "state": ReadingState.OPEN,
                }
                for turn in (FIRST, SECOND)[:n_readers]
            ]
        self.rng.shuffle(looks)
        self.connection.execute(insert(cases), new)
        self.connection.execute(insert(readings), looks)

    def digest(self, context: str) -> str:
        """The digest of the model in a context."""
        if context not in self._digests:
            content = self.connection.execute(select(contexts.c.content).where(contexts.c.digest == context))
            self._digests[context] = orjson.loads(content.scalar_one())["model"]["digest"]
        return self._digests[context]
