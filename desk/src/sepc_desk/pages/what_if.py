"""What if a value were another one, and what would have to change: for cases whose label is shown."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.deciding import decide_rows
from sepc_desk.errors import RequestError
from sepc_desk.pages.case_view import bars_of
from sepc_desk.pages.forms import chosen_label, typed_values
from sepc_desk.pages.rendering import filled
from sepc_desk.pages.review import Opened, open_case, shown
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.service.decide import MOST_SEARCHES, search

router = page_router()


def _open_shown(here: Visit, reading: int) -> Opened:
    opened = open_case(here, reading)
    opened.seen.require_shown()
    return opened


@router.post("/cases/{reading}/what-if")
async def what_if(request: Request, reading: int) -> Response:
    """Label, trust and reason for other values; as a part of the page for htmx, or else as the whole page."""
    here = await visit(request)
    opened = await here.desk.reviews.do(_open_shown, here, reading)
    row = typed_values(opened.model, here.form, opened.seen.row)
    outcome = decide_rows(opened.model, [row], explain=True)[0]
    is_same = row == typed_values(opened.model, filled_form(opened), opened.seen.row)
    more: dict[str, Any] = {"outcome": outcome, "outcome_bars": bars_of(outcome), "is_same": is_same}
    if "hx-request" in request.headers:
        return here.page("outcome.html", decided=opened.decided, **more)
    return shown(here, opened, tried=filled(row), **more)


def filled_form(opened: Opened) -> dict[str, str]:
    """The form as it is before anything is changed."""
    return {f"value:{name}": text for name, text in filled(opened.seen.row).items()}


@router.post("/cases/{reading}/recourse")
async def recourse(request: Request, reading: int) -> Response:
    """The smallest change that would make the model accept the case with a label."""
    here = await visit(request)
    desk = here.desk
    opened = await desk.reviews.do(_open_shown, here, reading)
    to = chosen_label(opened.model, here.form.get("to", ""))
    if to is None:
        raise RequestError(422, "no_such_label", "The form has a label that the model does not know.")
    if desk.n_searching >= MOST_SEARCHES:
        raise RequestError(429, "busy", "Too many searches are running; try again later.", retry_after=5)
    desk.n_searching += 1
    try:
        running = asyncio.get_running_loop().run_in_executor(
            desk.searcher, search, opened.model, opened.seen.row, to, {}
        )
        found = await asyncio.wait_for(running, desk.settings.answer_seconds)
    except TimeoutError:
        raise RequestError(503, "too_slow", "The search took too long.", retry_after=5) from None
    finally:
        desk.n_searching -= 1
    if "hx-request" in request.headers:
        return here.page("recourse.html", found=found, to=to)
    return shown(here, opened, found=found, to=to)
