"""Pages of owners: a model with its figures, audits and repairs, challengers, roll back, and the weekly digest."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sepc_desk.authority import Action
from sepc_desk.deciding import decide_rows
from sepc_desk.errors import ModelFolderError, RequestError
from sepc_desk.models import Model
from sepc_desk.owning.changes import ChangeKind, begin, former_versions, roll_back
from sepc_desk.owning.making import logged_rows
from sepc_desk.owning.plans import plan_of
from sepc_desk.owning.shadowing import choose_challenger
from sepc_desk.pages.model_view import digest_page, seen_model
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.reading import today

router = page_router()


async def _visit_for(action: Action, request: Request, name: str) -> tuple[Visit, Model]:
    here = await visit(request)
    here.require(action, name)
    return here, here.desk.model(name)


@router.get("/models")
async def models(request: Request) -> Response:
    """The models that a person owns or audits."""
    here = await visit(request)
    names = here.models(Action.SEE_MODEL)
    if not names:
        raise RequestError(403, "not_allowed", "You may not see models: it takes the role owner or auditor.")
    found = [await here.read(seen_model, here.desk.model(name)) for name in names]
    return here.page("models.html", found=found)


@router.get("/models/{name}")
async def one_model(request: Request, name: str) -> Response:
    """A model: what came, what was accepted and right, certificate, alarms, queue, and what can be done."""
    here, model = await _visit_for(Action.SEE_MODEL, request, name)
    folder, do = here.desk.folder, here.desk.reviews.do
    versions = await do(folder.versions, name)
    return here.page(
        "model.html",
        seen=await here.read(seen_model, model),
        versions=list(versions),
        former=[digest for digest in await here.read(former_versions, name) if digest in versions],
        plan=await do(plan_of, folder, name),
        may_change=here.may(Action.CHANGE, name),
        week=today().isoformat(),
    )


@router.post("/models/{name}/audit")
async def audit_model(request: Request, name: str) -> Response:
    """Audit a model with what reviewers have settled."""
    return await _work(request, name, ChangeKind.AUDIT)


@router.post("/models/{name}/repair")
async def repair_model(request: Request, name: str) -> Response:
    """Make a repair, and show what it would change; nothing changes yet."""
    return await _work(request, name, ChangeKind.REPAIR)


@router.post("/models/{name}/compare")
async def compare_version(request: Request, name: str) -> Response:
    """Show what another version would change; nothing changes yet."""
    return await _work(request, name, ChangeKind.VERSION)


async def _work(request: Request, name: str, kind: ChangeKind) -> Response:
    here, model = await _visit_for(Action.CHANGE, request, name)
    new = await _other_version(here, model) if kind is ChangeKind.VERSION else None
    desk = here.desk
    made = await desk.reviews.do(begin, desk.engine, name, kind, model.digest, here.caller, new)
    asyncio.get_running_loop().run_in_executor(desk.worker, desk.workshop.work, made)
    return RedirectResponse(f"/changes/{made.id}", 303)


async def _other_version(here: Visit, model: Model) -> str:
    """The digest that a form has, of a version that is not live."""
    digest = here.form.get("version", "")
    known = await here.desk.reviews.do(here.desk.folder.versions, model.name)
    if digest not in known or digest == model.digest:
        raise RequestError(422, "no_such_version", "The form has a version that the model does not have, or is live.")
    return digest


@router.post("/models/{name}/challenger")
async def challenge(request: Request, name: str) -> Response:
    """Let another version decide in the shadow, or none."""
    here, model = await _visit_for(Action.CHANGE, request, name)
    digest = await _other_version(here, model) if here.form.get("version") else None
    await here.desk.reviews.do(_challenge, here, model, digest)
    return RedirectResponse(f"/models/{name}", 303)


def _challenge(here: Visit, model: Model, digest: str | None) -> None:
    desk = here.desk
    if digest is not None:
        _check_rows(desk, model, desk.reviews.version(model.name, digest))
    choose_challenger(desk.engine, model.name, digest, here.caller)


def _check_rows(desk: Any, model: Model, other: Model) -> None:
    """Raise unless a version takes the rows of the log."""
    with desk.engine.connect() as connection:
        rows, _ = logged_rows(connection, model.name)
    try:
        if rows:
            decide_rows(other, rows[-1:])
    except (RequestError, KeyError) as error:
        raise RequestError(
            409, "other_columns", "This version needs columns that the logged rows do not have, so it cannot decide."
        ) from error


@router.post("/models/{name}/roll-back")
async def back(request: Request, name: str) -> Response:
    """Make the version live again that was live before."""
    here, model = await _visit_for(Action.ROLL_BACK, request, name)
    to = await _other_version(here, model)
    desk = here.desk
    try:
        await desk.reviews.do(roll_back, desk.engine, desk.folder, name, to, here.caller)
    except ModelFolderError as error:
        raise RequestError(409, "no_version", str(error)) from error
    await desk.reload()
    return RedirectResponse(f"/models/{name}", 303)


@router.get("/models/{name}/digest")
async def digest(request: Request, name: str) -> Response:
    """The week of a model as one HTML file."""
    here, model = await _visit_for(Action.SEE_MODEL, request, name)
    day = here.day("week")
    page = await here.read(digest_page, model, day, here.language)
    file = f'attachment; filename="{name}-{day.isoformat()}.html"'
    return Response(page, 200, {"Content-Disposition": file}, "text/html; charset=utf-8")
