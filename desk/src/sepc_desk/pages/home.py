"""Where people arrive, what they choose for themselves, and the files that pages are made with."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from sepc_desk.authority import Action
from sepc_desk.errors import RequestError
from sepc_desk.pages.rendering import html
from sepc_desk.pages.visits import Preferences, keep_preferences, page_router, visit
from sepc_desk.settings import LANGUAGES

router = page_router()

STATIC = Path(__file__).parent / "static"
TYPES = {"desk.css": "text/css", "desk.js": "text/javascript", "htmx.min.js": "text/javascript"}
NAMES = {"en": "English", "de": "Deutsch"}


@router.get("/")
async def home(request: Request) -> Response:
    """Send a person to the page that is theirs."""
    here = await visit(request)
    homes = {Action.TAKE: "/review", Action.CHANGE: "/models", Action.AUDIT: "/audit"}
    return RedirectResponse(next((to for action, to in homes.items() if here.models(action)), "/oversight"), 303)


@router.get("/preferences")
async def preferences(request: Request) -> Response:
    """Language and keys."""
    here = await visit(request)
    return here.page("preferences.html", chosen=here.preferences, names=NAMES)


@router.post("/preferences")
async def keep(request: Request) -> Response:
    """Keep what was chosen."""
    here = await visit(request)
    wanted = here.form.get("language", "")
    if wanted not in ("", *LANGUAGES):
        raise RequestError(422, "no_such_language", "There is no such language here.")
    chosen = Preferences(wanted or None, here.form.get("shortcuts") == "on")
    await here.desk.reviews.do(keep_preferences, here.desk.engine, here.caller, chosen)
    return RedirectResponse("/preferences", 303)


@router.post("/leave")
async def leave(request: Request) -> Response:
    """End the session."""
    here = await visit(request)
    if here.identity.is_session:
        await here.desk.gate.leave(request, here.identity)
    return html(here.language, "left.html")


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A file that pages are made with."""
    if name not in TYPES:
        raise RequestError(404, "no_such_file", "There is no such file.")
    return FileResponse(STATIC / name, media_type=TYPES[name], headers={"Cache-Control": "public, max-age=3600"})
