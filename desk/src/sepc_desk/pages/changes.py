"""The page of a change: what it would change, how the plan judges it, and the second person who agrees."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sepc_desk.authority import Action, Thing, may
from sepc_desk.errors import RequestError
from sepc_desk.owning.changes import Change, ChangeState, agree, discard, known_change
from sepc_desk.owning.plans import plan_of
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.reviewing.transactions import now, seconds

router = page_router()

# Work that has not ended by then was interrupted.
LONGEST_WORK = 1_800.0


async def _visit_to(request: Request, own: str, action: Action = Action.CHANGE) -> tuple[Visit, Change]:
    """A person who may do something with a change, and the change; it does not exist for those who may not see it."""
    here = await visit(request)
    found = await here.read(known_change, own)
    if not here.may(Action.SEE_MODEL, found.model):
        raise RequestError(404, "no_such_change", "There is no such change, or it is not yours to see.")
    here.require(action, found.model)
    return here, found


@router.get("/changes/{own}")
async def page(request: Request, own: str) -> Response:
    """A change, with what can be done about it."""
    here, found = await _visit_to(request, own, Action.SEE_MODEL)
    at = await here.read(now)
    by = frozenset({found.made_by, found.proposed_by or ""})
    may_agree = may(here.identity, Action.AGREE, Thing(found.model, by=by))
    return here.page(
        "change.html",
        change=found,
        is_lost=found.state is ChangeState.WORKING and found.made_at < at - seconds(LONGEST_WORK),
        may_change=here.may(Action.CHANGE, found.model),
        may_agree=may_agree and bool((found.judgement or {}).get("passed")),
        is_mine=here.caller in by,
        plan=await here.desk.reviews.do(plan_of, here.desk.folder, found.model),
    )


@router.post("/changes/{own}/propose")
async def propose_change(request: Request, own: str) -> Response:
    """Let the plan judge a change, and propose it to a second person."""
    here, found = await _visit_to(request, own)
    desk = here.desk
    await asyncio.get_running_loop().run_in_executor(desk.worker, desk.workshop.propose, found, here.caller)
    return RedirectResponse(f"/changes/{own}", 303)


@router.post("/changes/{own}/discard")
async def discard_change(request: Request, own: str) -> Response:
    """Give a change up, or reject one that another person has proposed."""
    here, _ = await _visit_to(request, own)
    await here.desk.reviews.do(discard, here.desk.engine, own, here.caller)
    return RedirectResponse(f"/changes/{own}", 303)


@router.post("/changes/{own}/agree")
async def agree_to_change(request: Request, own: str) -> Response:
    """Let a change go live, as the second person."""
    here, _ = await _visit_to(request, own)
    desk = here.desk
    await desk.reviews.do(agree, desk.engine, desk.folder, own, here.identity)
    await desk.reload()
    return RedirectResponse(f"/changes/{own}", 303)
