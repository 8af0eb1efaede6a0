"""Logged decisions: show one, list those of a day, erase one. Every access is itself an entry of the log."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

from fastapi import APIRouter
from sqlalchemy import Engine, select
from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.authority import Action, Identity, Thing, may, require
from sepc_desk.chain import head_of
from sepc_desk.entries import EntryKind, entry
from sepc_desk.erasing import Erased, erase, erase_older
from sepc_desk.errors import RequestError
from sepc_desk.reading import day_bounds, entry_by_id, shown
from sepc_desk.reviewing.seeing import may_be_read
from sepc_desk.schema import entries
from sepc_desk.service.desk import Desk, answer, identified
from sepc_desk.service.documents import CASE_DOCUMENT, ERASE_DOCUMENT, HEAD_DOCUMENT, LIST_DOCUMENT, RETENTION_DOCUMENT
from sepc_desk.service.grouping import Work

router = APIRouter()

MOST_LISTED = 1_000
MOST_DAYS = 99_999
LONGEST_ID = 64
FIRST_YEAR, LAST_YEAR = 1970, 9000


@router.get("/decisions/{case}", openapi_extra=CASE_DOCUMENT)
async def one_case(request: Request, case: str) -> Response:
    """A logged decision with all that is stored of it; programs see only their own."""
    desk, identity = await identified(request)
    found = await _permitted(desk, identity, case)
    await _note(desk, identity, found["model"], case)
    return answer(found)


@router.get("/decisions", openapi_extra=LIST_DOCUMENT)
async def some_cases(request: Request) -> Response:
    """The decisions of a model on a day, without private data; for owners and auditors."""
    desk, identity = await identified(request)
    model = request.query_params.get("model", "")
    require(identity, Action.LIST_DECISIONS, Thing(model))
    desk.model(model)  # before anything is logged under a name that does not exist
    day = _day(request.query_params.get("day", ""))
    after = _whole(request.query_params.get("after", "0"), "after")
    limit = min(_whole(request.query_params.get("limit", "100"), "limit"), MOST_LISTED)
    listed = await asyncio.to_thread(_listed, desk.engine, model, day, after, limit)
    await _note(desk, identity, model, f"day:{day.isoformat()}")
    return answer({"decisions": listed, "next": listed[-1]["receipt"]["place"] if len(listed) == limit > 0 else None})


@router.delete("/decisions/{case}", openapi_extra=ERASE_DOCUMENT)
async def erase_case(request: Request, case: str) -> Response:
    """Erase the private data of a case, once a second person asks for it; label, acceptance and cause stay."""
    desk, identity = await identified(request)
    found = await _permitted(desk, identity, case)
    require(identity, Action.ERASE, Thing(found["model"]))
    return _told(await asyncio.to_thread(erase, desk.engine, case, identity.caller))


@router.delete("/decisions", openapi_extra=RETENTION_DOCUMENT)
async def erase_old_cases(request: Request) -> Response:
    """Erase the private data of a model's cases that are older than some days, once two people have asked for it."""
    desk, identity = await identified(request)
    model = request.query_params.get("model", "")
    require(identity, Action.ERASE, Thing(model))
    desk.model(model)
    days = _whole(request.query_params.get("days", ""), "days")
    if days > MOST_DAYS:
        raise RequestError(422, "bad_days", f"days must be at most {MOST_DAYS:,}.")
    return _told(await asyncio.to_thread(erase_older, desk.engine, days, identity.caller, model))


def _told(erased: Erased) -> Response:
    receipt = erased.receipt
    content = {"erased": erased.n_entries, "waits_for_another_person": erased.is_waiting}
    told = {} if receipt is None else {"receipt": {"place": receipt.place, "hash": receipt.hash.hex()}}
    return answer(content | told, 202 if erased.is_waiting else 200)


@router.get("/head", openapi_extra=HEAD_DOCUMENT)
async def head(request: Request) -> Response:
    """The last place of the chain and its hash, to be kept elsewhere."""
    desk, _ = await identified(request)
    place, own_hash = await asyncio.to_thread(_head, desk.engine)
    return answer({"place": place, "hash": own_hash.hex()})


async def _permitted(desk: Desk, identity: Identity, case: str) -> dict[str, Any]:
    """A case, if the caller may see it; otherwise it does not exist for the caller."""
    found = await asyncio.to_thread(_case, desk.engine, case) if len(case) <= LONGEST_ID and case.isalnum() else None
    if found is None or not may(identity, Action.SEE_DECISION, found[1]):
        raise RequestError(404, "no_such_decision", "There is no such decision, or you may not see it.")
    content: dict[str, Any] = found[0]
    return content


def _case(engine: Engine, case: str) -> tuple[dict[str, Any], Thing] | None:
    with engine.connect() as connection:
        found = entry_by_id(connection, case)
        if found is None or found.kind not in (EntryKind.DECISION, EntryKind.RECOURSE):
            return None
        is_hidden = not may_be_read(connection, case)
        return shown(found), Thing(found.model, by=frozenset({found.caller}), is_hidden=is_hidden)


def _listed(engine: Engine, model: str, day: date, after: int, limit: int) -> list[dict[str, Any]]:
    first, last = day_bounds(day)
    own = (entries.c.kind == EntryKind.DECISION, entries.c.model == model, entries.c.at >= first, entries.c.at < last)
    some = select(entries).where(*own, entries.c.place > after).order_by(entries.c.place).limit(limit)
    with engine.connect() as connection:
        found = [shown(one) for one in connection.execute(some)]
    return [{name: value for name, value in one.items() if name != "case"} for one in found]


def _head(engine: Engine) -> tuple[int, bytes]:
    with engine.connect() as connection:
        return head_of(connection)


async def _note(desk: Desk, identity: Identity, model: str, about: str) -> None:
    """Log who sees what, before it is shown."""
    made = entry(EntryKind.ACCESS, identity.caller, model=model, about=about)
    await desk.grouper.do([Work(identity.caller, ready=[made])], desk.settings.answer_seconds)


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or not FIRST_YEAR <= day.year <= LAST_YEAR:
        raise RequestError(422, "bad_day", "Give a day, as in ?day=2026-11-18.")
    return day


def _whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise RequestError(422, f"bad_{name}", f"{name} must be a whole number, from 0.")
    return int(text)
