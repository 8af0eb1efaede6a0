"""A visit to a page: who comes, in which language, and with which form."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar, TypeVarTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter
from fastapi.routing import APIRoute
from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sepc_desk.authority import Action, Identity, Thing, may, require, sees_labels
from sepc_desk.entries import EntryKind, entry
from sepc_desk.errors import RequestError
from sepc_desk.pages.languages import Language, language, preferred
from sepc_desk.pages.rendering import html
from sepc_desk.reading import today
from sepc_desk.reviewing.leasing import Reader
from sepc_desk.reviewing.transactions import writing
from sepc_desk.schema import reviewers
from sepc_desk.service.desk import Desk, desk_of
from sepc_desk.service.grouping import Work
from sepc_desk.service.limits import read_body
from sepc_desk.service.refusals import of_database
from sepc_desk.settings import LANGUAGES

MOST_FIELDS = 2_000
LONGEST_FORM = 256 * 1024
FIRST_YEAR, LAST_YEAR = 1971, 9000

Given = TypeVarTuple("Given")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Preferences:
    """What a person has chosen.

    Attributes
    ----------
    language : str or None
        None to follow the browser.
    has_shortcuts : bool
        Whether single keys answer.
    """

    language: str | None = None
    has_shortcuts: bool = True


@dataclass(frozen=True)
class Visit:
    """Who comes to a page."""

    request: Request
    desk: Desk
    identity: Identity
    form: dict[str, str]
    preferences: Preferences
    language: Language

    @property
    def csrf(self) -> str:
        """The token that forms send along; empty for a key, which no other site can send."""
        session = self.request.scope.get("session") or {}
        return str(session.get("csrf", "")) if self.identity.is_session else ""

    def may(self, action: Action, model: str, *, own: bool = False) -> bool:
        """Whether the person may do something with all of a model's things, or at least with their own."""
        return may(self.identity, action, Thing(model, by=frozenset({self.caller} if own else ())))

    def require(self, action: Action, model: str) -> None:
        """Raise unless the person may do something with all of a model's things."""
        require(self.identity, action, Thing(model))

    def models(self, action: Action, *, own: bool = False) -> list[str]:
        """Models for which the person may do something."""
        return [name for name in sorted(self.desk.models) if self.may(action, name, own=own)]

    @property
    def caller(self) -> str:
        """The person as the log has it."""
        return self.identity.caller

    def reader(self, model: str) -> Reader:
        """The person as a reader of a model's cases."""
        return Reader(self.caller, sees_labels=sees_labels(self.identity, model))

    async def read(self, function: Callable[[Connection, *Given], Result], *given: *Given) -> Result:
        """What a function finds in the database, in a thread for pages."""

        def found() -> Result:
            with self.desk.engine.connect() as connection:
                return function(connection, *given)

        return await self.desk.reviews.do(found)

    async def note(self, model: str, about: str | None, cause: str | None = None) -> None:
        """Write to the log who has seen what, before it is shown."""
        made = entry(EntryKind.ACCESS, self.caller, model=model, cause=cause, about=about)
        await self.desk.grouper.do([Work(self.caller, ready=[made])], self.desk.settings.answer_seconds)

    def day(self, name: str) -> date:
        """The day that the address asks for; today by default."""
        text = self.request.query_params.get(name)
        try:
            day = date.fromisoformat(text) if text else today()
        except ValueError:
            day = date.max
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise RequestError(422, "bad_day", "Say which day, as in 2026-11-18.")
        return day

    def page(self, template: str, status: int = 200, **context: Any) -> Response:
        """A page for this person."""
        shown = {
            "csrf": self.csrf,
            "person": self.caller.partition(":")[2],
            "may_review": bool(self.models(Action.TAKE)),
            "may_own": bool(self.models(Action.CHANGE)),
            "may_audit": bool(self.models(Action.AUDIT)),
            "has_session": self.identity.is_session,
            "has_shortcuts": self.preferences.has_shortcuts,
            "path": self.request.url.path,
        }
        return html(self.language, template, status, **(shown | context))


class PageRoute(APIRoute):
    """A route whose errors are pages, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with errors turned into pages."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except RequestError as error:
                return _refused(request, error)
            except SQLAlchemyError as error:
                return _refused(request, of_database(error))

        return handle


def page_router() -> APIRouter:
    """A router of pages; they are not part of the OpenAPI document."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)


def _refused(request: Request, error: RequestError) -> Response:
    desk = desk_of(request)
    request.scope["rule"] = error.code
    is_full_page = request.method == "GET" and "hx-request" not in request.headers
    if error.status == 401 and desk.settings.oidc_issuer and is_full_page:
        return RedirectResponse("/sign-in", 303)
    own = language(preferred(request.headers.get("accept-language", ""), desk.settings.language))
    template = "refused_part.html" if "hx-request" in request.headers else "refused.html"
    response = html(own, template, error.status, message=own.say(str(error)), code=error.code)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


async def visit(request: Request) -> Visit:
    """Who comes; raises if nobody can tell."""
    desk = desk_of(request)
    form = {} if request.method in ("GET", "HEAD") else await _form(request, desk)
    token = form.pop("csrf", None)
    identity = await desk.gate.identify(request, token)
    chosen = await desk.reviews.do(preferences_of, desk.engine, identity.caller)
    header = request.headers.get("accept-language", "")
    code = chosen.language or preferred(header, desk.settings.language)
    return Visit(request, desk, identity, form, chosen, language(code))


async def _form(request: Request, desk: Desk) -> dict[str, str]:
    settings = desk.settings
    with desk.buffers.lent() as taken:
        body = await read_body(request, LONGEST_FORM, settings.body_seconds, desk.buffers, taken)
        try:
            form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
            if not all(_is_text(own) for pair in form.items() for own in pair):
                raise ValueError("control characters")
            return form
        except (UnicodeDecodeError, ValueError) as error:
            raise RequestError(400, "no_form", "The body is not a form.") from error


def _is_text(given: str) -> bool:
    """Whether people can have written it; line breaks and tabs are the only control characters."""
    return all(own.isprintable() or own in "\n\r\t" or unicodedata.category(own)[0] != "C" for own in given)


def preferences_of(engine: Engine, caller: str) -> Preferences:
    """What a person has chosen."""
    with engine.connect() as connection:
        found = connection.execute(select(reviewers).where(reviewers.c.caller == caller)).first()
    if found is None:
        return Preferences()
    return Preferences(found.language if found.language in LANGUAGES else None, bool(found.has_shortcuts))


def keep_preferences(engine: Engine, caller: str, chosen: Preferences) -> None:
    """Keep what a person has chosen."""
    values = vars(chosen)
    for _ in range(2):
        try:
            with writing(engine) as connection:
                own = update(reviewers).where(reviewers.c.caller == caller).values(**values)
                if connection.execute(own).rowcount == 0:
                    connection.execute(insert(reviewers).values(caller=caller, **values))
            return
        except IntegrityError:
            continue  # Another request of the same person was first.
