"""Pages of auditors: everything can be read, and nothing changed; every look is an entry of the log."""

from __future__ import annotations

import base64
from datetime import date
from typing import Any

import orjson
from sqlalchemy import Connection, func, select
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from sepc_desk.authority import Action
from sepc_desk.chain import head_of
from sepc_desk.errors import RequestError
from sepc_desk.exporting import EXPORTS, FORMATS, plain_rows, shown_rows
from sepc_desk.models import Model
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.reading import context_by_digest, entry_by_id, shown, today
from sepc_desk.reviewing.certifying import certificate
from sepc_desk.schema import answers, cases, entries, leases, readings
from sepc_desk.service.desk import Desk

router = page_router()

PAGE = 100
FURTHEST = 10**9
# Settings that say how reviews are made; auditors read them as they are.
STATED = (
    "blind_share",
    "second_share",
    "planted_share",
    "lease_seconds",
    "undo_seconds",
    "certificate_share",
    "certificate_block",
    "certificate_risk",
    "certificate_confidence",
    "show_reviewer_names",
)


async def _auditor(request: Request) -> tuple[Visit, list[str]]:
    here = await visit(request)
    models = here.models(Action.AUDIT)
    if not models:
        raise RequestError(403, "not_allowed", "This page takes the role auditor.")
    return here, models


@router.get("/audit")
async def overview(request: Request) -> Response:
    """Models and their versions, the head of the chain, settings of reviews, and certificates."""
    here, models = await _auditor(request)
    place, own_hash = await here.read(head_of)
    found = [await here.read(_seen, here.desk, here.desk.model(name)) for name in models]
    stated = {name: getattr(here.desk.settings, name) for name in STATED}
    head: dict[str, Any] = {"place": place, "hash": own_hash.hex()}
    chosen = {"today": today().isoformat(), "exports": sorted(EXPORTS), "formats": FORMATS}
    return here.page("audit.html", models=found, stated=stated, **(head | chosen))


def _seen(connection: Connection, desk: Desk, model: Model) -> dict[str, Any]:
    c = cases.c
    by_state = select(c.state, func.count().label("n")).where(c.model == model.name).group_by(c.state)
    try:
        versions = list(desk.folder.versions(model.name))
    except OSError:
        versions = []
    return {
        "name": model.name,
        "versions": versions,
        "live": model.digest,
        "acceptance": model.acceptance,
        "cases": {own.state: own.n for own in connection.execute(by_state)},
        "certificate": certificate(connection, model),
    }


@router.get("/audit/{what}")
async def rows(request: Request, what: str) -> Response:
    """Rows of the log, or of the tables of reviews, that began on a day."""
    here, models = await _auditor(request)
    model, day = _chosen(here, what, models)
    after = _whole(request.query_params.get("after", "0"))
    found = await here.read(shown_rows, what, model, day, after, PAGE)
    await here.note(model, f"{what}:{day.isoformat()}")
    more = after + PAGE if len(found) == PAGE else None
    chosen: dict[str, Any] = {
        "what": what,
        "model": model,
        "models": models,
        "day": day.isoformat(),
        "after": after,
        "more": more,
    }
    return here.page("audit_rows.html", rows=found, exports=sorted(EXPORTS), formats=FORMATS, **chosen)


@router.get("/audit/entries/{own_id}")
async def one_entry(request: Request, own_id: str) -> Response:
    """An entry with all that it holds, and who looked at it, had it and answered it."""
    here, models = await _auditor(request)
    found = await here.read(_entry, own_id)
    if found is None or found["entry"].get("model") not in models:
        raise RequestError(404, "no_such_entry", "There is no such entry, or it is not yours to see.")
    await here.note(found["entry"]["model"], own_id)
    return here.page("audit_entry.html", **found)


def _entry(connection: Connection, own_id: str) -> dict[str, Any] | None:
    found = entry_by_id(connection, own_id)
    if found is None:
        return None
    about = select(entries.c.id, entries.c.at, entries.c.kind, entries.c.caller, entries.c.label)
    tables = {
        "about": about.where(entries.c.about == own_id).order_by(entries.c.place),
        "answers": select(answers).where(answers.c.case_id == own_id).order_by(answers.c.given_at),
        "leases": select(leases).where(leases.c.case_id == own_id).order_by(leases.c.taken_at),
        "readings": select(readings).where(readings.c.case_id == own_id).order_by(readings.c.turn),
        "case": select(cases).where(cases.c.id == own_id),
    }
    content = None if found.context is None else context_by_digest(connection, found.context)
    return {
        "entry": shown(found),
        "context": None if content is None else orjson.loads(content),
        "tables": {name: plain_rows(connection, chosen) for name, chosen in tables.items()},
    }


@router.get("/audit/export/{what}.{form}")
async def export_file(request: Request, what: str, form: str) -> Response:
    """A file with its digest in a header and in the log, so that anyone can tell later whether it is the same."""
    here, models = await _auditor(request)
    model, day = _chosen(here, what, models)
    if form not in FORMATS:
        raise RequestError(404, "no_such_file", "There is no such file.")
    made = await here.desk.export(what, form, model, day)
    try:
        await here.note(model, f"export:{what}.{form}:{day.isoformat()}:sha256:{made.digest}")
    except BaseException:
        made.path.unlink()
        raise
    digest = base64.b64encode(bytes.fromhex(made.digest)).decode()
    return FileResponse(
        made.path,
        media_type="text/csv" if form == "csv" else "application/vnd.apache.parquet",
        filename=f"{model}-{what}-{day.isoformat()}.{form}",
        headers={"Repr-Digest": f"sha-256=:{digest}:"},
        background=BackgroundTask(made.path.unlink),
    )


def _chosen(here: Visit, what: str, models: list[str]) -> tuple[str, date]:
    if what not in EXPORTS:
        raise RequestError(404, "no_such_page", "There is no such page.")
    model = here.request.query_params.get("model", models[0])
    here.require(Action.AUDIT, model)
    here.desk.model(model)
    return model, here.day("day")


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= FURTHEST):
        raise RequestError(422, "bad_after", "after is a whole number.")
    return int(text)
