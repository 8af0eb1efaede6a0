"""What if a value were another one, and what would have to change: for cases whose label is shown."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.authority import Action, Thing, may
from sepc_desk.deciding import decide_rows
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.pages.case_view import bars_of
from sepc_desk.pages.forms import chosen_label, typed_values
from sepc_desk.pages.rendering import filled
from sepc_desk.pages.review import note, open_case, see_case, shown
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.reviewing.seeing import SeenCase
from sepc_desk.service.decide import MOST_SEARCHES, search

router = page_router()


def _see_shown(here: Visit, reading: int) -> tuple[SeenCase, Model]:
    """A case about which the person may ask the model."""
    seen, model = see_case(here, reading)
    own = frozenset({here.caller})
    if not may(here.identity, Action.ASK, Thing(model.name, own, seen.is_hidden)):
        raise RequestError(
            403, "hidden", "The model's label is hidden until your answer is final, and so is all that tells it."
        )
    if not may(here.identity, Action.ASK, Thing(model.name, own, seen.has_hidden)):
        raise RequestError(
            403,
            "hidden",
            "You have a case whose label is hidden. The model can be asked about others when its answer is final.",
        )
    return seen, model


@router.post("/cases/{reading}/what-if")
async def what_if(request: Request, reading: int) -> Response:
    """Label, trust and reason for other values; as a part of the page for htmx, or else as the whole page."""
    here = await visit(request)
    seen, model = await here.desk.reviews.do(_see_shown, here, reading)
    row = typed_values(model, here.form, seen.row)
    await note(here, seen, "what-if")
    outcome = decide_rows(model, [row], explain=True)[0]
    more: dict[str, Any] = {
        "outcome": outcome,
        "outcome_bars": bars_of(outcome),
        "is_same": row == typed_values(model, {}, seen.row),
        "is_other": outcome.label_text != seen.case.model_label,
    }
    if "hx-request" in request.headers:
        return here.page("outcome.html", **more)
    opened = await here.desk.reviews.do(open_case, here, reading)
    return shown(here, opened, tried=filled(row), **more)


@router.post("/cases/{reading}/recourse")
async def recourse(request: Request, reading: int) -> Response:
    """The smallest change that would make the model accept the case with a label."""
    here = await visit(request)
    desk = here.desk
    seen, model = await desk.reviews.do(_see_shown, here, reading)
    to = chosen_label(model, here.form.get("to", ""))
    if to is None:
        raise RequestError(422, "no_such_label", "The form has a label that the model does not know.")
    await note(here, seen, "recourse")
    if desk.n_searching >= MOST_SEARCHES:
        raise RequestError(429, "busy", "Too many searches are running; try again later.", retry_after=5)
    desk.n_searching += 1
    try:
        running = asyncio.get_running_loop().run_in_executor(desk.searcher, search, model, seen.row, to, {})
        found = await asyncio.wait_for(running, desk.settings.answer_seconds)
    except TimeoutError:
        raise RequestError(503, "too_slow", "The search took too long.", retry_after=5) from None
    finally:
        desk.n_searching -= 1
    if "hx-request" in request.headers:
        return here.page("recourse.html", found=found, to=to)
    opened = await desk.reviews.do(open_case, here, reading)
    return shown(here, opened, found=found, to=to)
