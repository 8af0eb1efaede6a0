"""Pages of reviewers: the queue, one case after another, answers and their undoing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Row, func, select
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sepc_desk.authority import Action, Thing, may
from sepc_desk.deciding import Decided, decide_rows
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.pages.case_view import bars_of, telling_columns, values_of
from sepc_desk.pages.forms import CANNOT_SAY, chosen_label
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.reviewing.answering import LONGEST_COMMENT, Given, answer, undo, undoable
from sepc_desk.reviewing.leasing import case_of, give_back
from sepc_desk.reviewing.seeing import SeenCase, see
from sepc_desk.reviewing.states import AnswerKind, CaseState, Purpose, ReadingState, lock_cases
from sepc_desk.reviewing.taking import next_reading
from sepc_desk.reviewing.transactions import now, seconds, writing
from sepc_desk.reviewing.usual import Recent
from sepc_desk.schema import answers, cases, readings

router = page_router()


@dataclass(frozen=True)
class Waiting:
    """What waits for readers of a model.

    Attributes
    ----------
    model : str
    n : int
        Readings that nobody has taken.
    age : int or None
        How long the oldest has waited, in microseconds.
    causes : list of pairs
        Causes of refusal with their numbers; cases that were drawn have none of their own.
    n_other : int
        Cases that were drawn from accepted decisions.
    n_mine : int
        What this person has taken and not answered.
    """

    model: str
    n: int
    age: int | None
    causes: list[tuple[str, int]]
    n_other: int
    n_mine: int


@router.get("/review")
async def queue(request: Request) -> Response:
    """What waits, by model, with its age and causes."""
    here, models = await _reviewer(request)
    found = [await here.read(_waiting, here.caller, model) for model in models]
    return here.page("queue.html", waiting=found, empty=request.query_params.get("empty"), settings=here.desk.settings)


async def _reviewer(request: Request) -> tuple[Visit, list[str]]:
    here = await visit(request)
    models = here.models(Action.TAKE)
    if not models:
        raise RequestError(403, "not_allowed", "You may not review cases: it takes the role reviewer for a model.")
    return here, models


def _waiting(connection: Connection, caller: str, model: str) -> Waiting:
    at = now(connection)
    own = (readings.c.model == model, readings.c.state == ReadingState.OPEN)
    by_cause = (
        select(cases.c.purpose, cases.c.cause, func.count(), func.min(readings.c.entered_at))
        .join(cases, cases.c.id == readings.c.case_id)
        .where(*own)
        .group_by(cases.c.purpose, cases.c.cause)
    )
    found = connection.execute(by_cause).all()
    causes: dict[str, int] = {}
    for purpose, cause, n, _ in found:
        if purpose == Purpose.REFUSED:
            causes[cause] = causes.get(cause, 0) + n
    total = sum(n for _, _, n, _ in found)
    oldest = min((since for *_, since in found), default=None)
    mine = (readings.c.reader == caller, readings.c.model == model, readings.c.until > at)
    n_mine = connection.execute(
        select(func.count()).select_from(readings).where(*mine, readings.c.state == ReadingState.TAKEN)
    ).scalar_one()
    ordered = sorted(causes.items(), key=lambda one: -one[1])
    return Waiting(model, total, None if oldest is None else at - oldest, ordered, total - sum(causes.values()), n_mine)


@router.post("/review/{model}/next")
async def take_next(request: Request, model: str) -> Response:
    """Take a case, or go on with the one that is held."""
    here = await visit(request)
    here.require(Action.TAKE, model)
    return await _go_on(here, here.desk.model(model))


async def _go_on(here: Visit, model: Model) -> Response:
    desk = here.desk
    taken = await desk.reviews.do(next_reading, desk.engine, here.reader(model.name), model, desk.settings)
    to = f"/review?empty={model.name}" if taken is None else f"/cases/{taken.id}"
    return RedirectResponse(to, 303)


@dataclass(frozen=True)
class Opened:
    """A case with everything that its page needs."""

    seen: SeenCase
    model: Model
    recent: Recent
    decided: Decided | None
    last: Row[Any] | None


@router.get("/cases/{reading}")
async def case_page(request: Request, reading: int) -> Response:
    """The page of a case; looking at it is an entry of the log."""
    here = await visit(request)
    opened = await here.desk.reviews.do(open_case, here, reading)
    await note(here, opened.seen)
    return shown(here, opened)


def open_case(here: Visit, reading: int) -> Opened:
    """Read a case for the person who holds it, with everything that its page shows."""
    desk = here.desk
    seen, model = see_case(here, reading)
    last = None
    if seen.is_held:
        with desk.engine.connect() as connection:
            reader = here.reader(model.name)
            last = undoable(connection, reader, model.name, now(connection), desk.settings.undo_seconds)
    decided = None if seen.is_hidden else decide_rows(model, [seen.row], explain=True)[0]
    return Opened(seen, model, desk.reviews.recent(model), decided, last)


def see_case(here: Visit, reading: int) -> tuple[SeenCase, Model]:
    """What a person may see of a case, and the version of the model that decided it."""
    desk = here.desk
    with desk.engine.connect() as connection:
        own = own_reading(connection, here, reading)
        seen = see(connection, here.reader(own.model), reading, now(connection))
    return seen, desk.reviews.version(seen.case.model, seen.case.digest)


def own_reading(connection: Connection, here: Visit, reading: int) -> Row[Any]:
    """A reading that is the person's to see and to answer; to all others it does not exist."""
    own = connection.execute(select(readings).where(readings.c.id == reading)).first()
    if own is None or not may(here.identity, Action.ANSWER, Thing(own.model, by=frozenset({own.reader}))):
        raise RequestError(404, "no_such_case", "You do not have this case, or no longer. Take the next one.")
    return own


async def note(here: Visit, seen: SeenCase, asked: str | None = None) -> None:
    """Write to the log who looks at a case, or asks the model about it; a planted one is not in the log."""
    if seen.is_planted and asked is None:
        return
    await here.note(seen.case.model, None if seen.is_planted else seen.case.id, asked)


def shown(here: Visit, opened: Opened, status: int = 200, **more: Any) -> Response:
    """The page of a case that was opened."""
    seen, model, decided, settings = opened.seen, opened.model, opened.decided, here.desk.settings
    context: dict[str, Any] = {
        "seen": seen,
        "model": model,
        "values": values_of(model, seen.row, opened.recent),
        "n_recent": opened.recent.n,
        "decided": decided,
        "last": opened.last,
        "last_label": _label_of(opened.last),
        "longest_comment": LONGEST_COMMENT,
        "cannot_say": CANNOT_SAY,
        "undo_seconds": settings.undo_seconds,
        "answer_label": _label_of(seen.answer),
        "outcome": None,
        "found": None,
        "tried": None,
    }
    if decided is not None:
        names = telling_columns(model, decided)
        context |= {"terms": bars_of(decided), "like": opened.recent.like(seen.row, seen.case.id), "names": names}
    return here.page("case.html", status, **(context | more))


def _label_of(given: Row[Any] | None) -> Any:
    return None if given is None or given.label is None else orjson.loads(given.label)


@router.post("/cases/{reading}/answer")
async def give_answer(request: Request, reading: int) -> Response:
    """Take an answer, and go on with the next case."""
    here = await visit(request)
    model = await here.desk.reviews.do(_answer, here, reading)
    return await _go_on(here, here.desk.model(model))


def _answer(here: Visit, reading: int) -> str:
    with writing(here.desk.engine) as connection:
        lock_cases(connection, cases.c.id == case_of(reading))
        own = own_reading(connection, here, reading)
        digest = connection.execute(select(cases.c.digest).where(cases.c.id == own.case_id)).scalar_one()
        label = chosen_label(here.desk.reviews.version(own.model, digest), here.form.get("answer", ""))
        given = Given(label, here.form.get("comment", "").strip())
        answer(connection, here.reader(own.model), reading, here.form.get("lease", ""), given, now(connection))
        return str(own.model)


@router.post("/cases/{reading}/give-back")
async def give_case_back(request: Request, reading: int) -> Response:
    """Return a case to the queue."""
    here = await visit(request)
    await here.desk.reviews.do(_give_back, here, reading)
    return RedirectResponse("/review", 303)


def _give_back(here: Visit, reading: int) -> None:
    with writing(here.desk.engine) as connection:
        lock_cases(connection, cases.c.id == case_of(reading))
        own = own_reading(connection, here, reading)
        give_back(connection, here.reader(own.model), reading, here.form.get("lease", ""), now(connection))


@router.post("/answers/{own_id}/undo")
async def undo_answer(request: Request, own_id: str) -> Response:
    """Take an answer back, and show its case again."""
    here = await visit(request)
    reading = await here.desk.reviews.do(_undo, here, own_id)
    return RedirectResponse(f"/cases/{reading}", 303)


def _undo(here: Visit, own_id: str) -> int:
    settings = here.desk.settings
    with writing(here.desk.engine) as connection:
        given = connection.execute(select(answers).where(answers.c.id == own_id)).first()
        if given is None or given.reader != here.caller:
            raise RequestError(404, "no_such_answer", "There is no such answer.")
        lock_cases(connection, cases.c.id == given.case_id)
        own = own_reading(connection, here, given.reading)
        limits = {"undo_seconds": settings.undo_seconds, "lease_seconds": settings.lease_seconds}
        return int(undo(connection, here.reader(own.model), own_id, now(connection), **limits).id)


@router.get("/answers")
async def own_answers(request: Request) -> Response:
    """What a person has answered lately, with the model's label where it is no longer hidden."""
    here, models = await _reviewer(request)
    return here.page("answers.html", given=await here.read(_own_answers, here, models))


MOST_ANSWERS = 50


def _own_answers(connection: Connection, here: Visit, models: list[str]) -> list[dict[str, Any]]:
    mine = (answers.c.reader == here.caller, answers.c.undone_at.is_(None), cases.c.model.in_(models))
    # Planted cases are not told from others here, so none shows the right label.
    some = (
        select(answers, cases.c.model, cases.c.model_label, cases.c.state, readings.c.is_blind)
        .join(cases, cases.c.id == answers.c.case_id)
        .join(readings, readings.c.id == answers.c.reading)
        .where(*mine)
        .order_by(answers.c.given_at.desc())
        .limit(MOST_ANSWERS)
    )
    last = now(connection) - seconds(here.desk.settings.undo_seconds)
    return [
        {
            "id": one.id,
            "reading": one.reading,
            "model": one.model,
            "at": one.given_at,
            "label": _label_of(one) if one.kind == AnswerKind.LABEL else None,
            "is_final": one.final_at is not None,
            "can_undo": one.final_at is None and one.given_at > last,
            "state": one.state,
            "model_label": None
            if one.is_blind and (one.final_at is None or one.state == CaseState.OPEN)
            else orjson.loads(one.model_label),
        }
        for one in connection.execute(some)
    ]
