"""What every request gets: an id, security headers, a log line unless it is routine, and a measured time."""

from __future__ import annotations

import logging
import secrets
import time
from contextlib import suppress
from typing import Any
from urllib.parse import unquote_plus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sepc_desk.entries import EntryKind, entry
from sepc_desk.errors import RequestError
from sepc_desk.service.grouping import Work
from sepc_desk.service.refusals import refused

log = logging.getLogger("sepc_desk.requests")

HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"strict-transport-security", b"max-age=31536000"),
]
# Routine requests get a log line only if they fail; decisions are in the log of decisions.
QUIET = frozenset({"/decide", "/v2/models/{name}/infer", "/health/live", "/health/ready", "/metrics"})


class EveryRequest:
    """Wraps the application."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note the outcome."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, is_begun = time.perf_counter(), 500, False
        request_id = secrets.token_hex(8)

        async def sending(message: Message) -> None:
            nonlocal status, is_begun
            is_begun = True
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", [])
                own = {name.lower() for name, _ in given}
                added = [header for header in HEADERS if header[0] not in own]
                message["headers"] = [*given, *added, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            # Databases and logs do not take every character.
            query = scope["query_string"] and unquote_plus(scope["query_string"].decode("latin-1"))
            if scope["path"].isprintable() and (not query or query.isprintable()):
                await self.app(scope, receive, sending)
            else:
                error = RequestError(400, "unreadable", "The path or the query has characters that cannot be shown.")
                await refused(scope, error)(scope, receive, sending)
        except Exception as error:
            log.exception("failed", extra={"request": request_id, "error": type(error).__name__})
            if is_begun:
                raise
            message = "The service failed on this request."
            await refused(scope, RequestError(500, "failed", message))(scope, receive, sending)
        finally:
            if status == 403 and "caller" in scope:
                await _log_refusal(scope)
            self._note(scope, status, time.perf_counter() - started, request_id)

    def _note(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = getattr(scope.get("route"), "path", "none")
        desk: Any = getattr(scope["app"].state, "desk", None) if "app" in scope else None
        if desk is not None:
            desk.metrics.answered(route, status, seconds)
        if status >= 400 or route not in QUIET:
            level = logging.WARNING if status >= 500 else logging.INFO
            told = {"route": route, "status": status, "ms": round(1e3 * seconds, 2), "request": request_id}
            told |= {name: scope[name] for name in ("caller", "rule") if name in scope}
            told |= {"method": scope["method"], "address": (scope.get("client") or ("",))[0]}
            log.log(level, "request", extra=told)


async def _log_refusal(scope: Scope) -> None:
    """Write to the log of decisions what a known caller was refused; the answer has been given already."""
    desk = scope["app"].state.desk
    about = f"{scope.get('rule')} {scope['method']} {scope['path'][:200]}"
    made = entry(EntryKind.EVENT, scope["caller"], cause="refused", about=about)
    with suppress(RequestError):  # the log is down, which other lines say
        await desk.grouper.do([Work(scope["caller"], ready=[made])], desk.settings.answer_seconds)
