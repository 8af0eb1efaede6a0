"""Pages of auditors: everything can be read, and nothing changed; every look is an entry of the log."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime
from typing import Any

import orjson
from sqlalchemy import func, select
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from sepc_desk.authority import Action
from sepc_desk.chain import head_of
from sepc_desk.entries import EntryKind, entry
from sepc_desk.errors import ModelFolderError, RequestError
from sepc_desk.exporting import EXPORTS, FORMATS, plain, shown_rows
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.reading import context_by_digest, entry_by_id, shown
from sepc_desk.reviewing.certifying import certificate
from sepc_desk.schema import answers, cases, entries, leases, readings
from sepc_desk.service.grouping import Work

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
    found = await here.desk.reviews.do(_overview, here, models)
    stated = {name: getattr(here.desk.settings, name) for name in STATED}
    today = datetime.now(UTC).date().isoformat()
    return here.page("audit.html", **found, stated=stated, today=today, exports=sorted(EXPORTS), formats=FORMATS)


def _overview(here: Visit, names: list[str]) -> dict[str, Any]:
    desk = here.desk
    with desk.engine.connect() as connection:
        place, own_hash = head_of(connection)
        models = []
        for name in names:
            model = desk.model(name)
            by_state = (
                select(cases.c.state, func.count().label("n")).where(cases.c.model == name).group_by(cases.c.state)
            )
            models.append(
                {
                    "name": name,
                    "versions": _versions(here, name),
                    "live": model.digest,
                    "acceptance": model.acceptance,
                    "cases": {own.state: own.n for own in connection.execute(by_state)},
                    "certificate": certificate(connection, model),
                }
            )
    return {"place": place, "hash": own_hash.hex(), "models": models}


def _versions(here: Visit, name: str) -> list[str]:
    try:
        return list(here.desk.folder.versions(name))
    except (ModelFolderError, OSError):
        return []


@router.get("/audit/{what}")
async def rows(request: Request, what: str) -> Response:
    """Rows of the log, or of the tables of reviews, that began on a day."""
    here, models = await _auditor(request)
    model, day = _chosen(here, what, models)
    after = _whole(request.query_params.get("after", "0"))
    found = await here.desk.reviews.do(_rows, here, what, model, day, after)
    await _note(here, model, f"{what}:{day.isoformat()}")
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


def _rows(here: Visit, what: str, model: str, day: date, after: int) -> list[dict[str, Any]]:
    with here.desk.engine.connect() as connection:
        return shown_rows(connection, what, model, day, after, PAGE)


@router.get("/audit/entries/{own_id}")
async def one_entry(request: Request, own_id: str) -> Response:
    """An entry with all that it holds, and who looked at it, had it and answered it."""
    here, models = await _auditor(request)
    found = await here.desk.reviews.do(_entry, here, own_id)
    if found is None or found["entry"].get("model") not in models:
        raise RequestError(404, "no_such_entry", "There is no such entry, or it is not yours to see.")
    await _note(here, found["entry"]["model"], own_id)
    return here.page("audit_entry.html", **found)


def _entry(here: Visit, own_id: str) -> dict[str, Any] | None:
    with here.desk.engine.connect() as connection:
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
            "tables": {
                name: [
                    {key: plain(key, value) for key, value in one.items()}
                    for one in connection.execute(chosen).mappings()
                ]
                for name, chosen in tables.items()
            },
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
        await _note(here, model, f"export:{what}.{form}:{day.isoformat()}:sha256:{made.digest}")
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
    """The model and the day that a page is about."""
    if what not in EXPORTS:
        raise RequestError(404, "no_such_page", "There is no such page.")
    asked = here.request.query_params
    model = asked.get("model", models[0])
    here.require(Action.AUDIT, model)
    here.desk.model(model)
    try:
        day = date.fromisoformat(asked["day"]) if asked.get("day") else datetime.now(UTC).date()
    except ValueError:
        raise RequestError(422, "bad_day", "Say which day, as in 2026-11-18.") from None
    if not 1970 <= day.year <= 9000:
        raise RequestError(422, "bad_day", "Say which day, as in 2026-11-18.")
    return model, day


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= FURTHEST):
        raise RequestError(422, "bad_after", "after is a whole number.")
    return int(text)


async def _note(here: Visit, model: str, about: str) -> None:
    """Write to the log who has seen what, before it is shown."""
    caller = here.identity.caller
    made = entry(EntryKind.ACCESS, caller, model=model, about=about)
    await here.desk.grouper.do([Work(caller, ready=[made])], here.desk.settings.answer_seconds)
