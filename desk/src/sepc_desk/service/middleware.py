"""What every request gets: an id, security headers, a log line unless it is routine, and a measured time."""

from __future__ import annotations

import logging
import secrets
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sepc_desk.service.metrics import Metrics

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
        started, status = time.perf_counter(), 500
        request_id = secrets.token_hex(8)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", [])
                own = {name.lower() for name, _ in given}
                added = [header for header in HEADERS if header[0] not in own]
                message["headers"] = [*given, *added, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        finally:
            self._note(scope, status, time.perf_counter() - started, request_id)

    def _note(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route = getattr(scope.get("route"), "path", "none")
        desk: Any = getattr(scope["app"].state, "desk", None) if "app" in scope else None
        metrics: Metrics | None = None if desk is None else desk.metrics
        if metrics is not None:
            metrics.answered(route, status, seconds)
        if status >= 400 or route not in QUIET:
            level = logging.WARNING if status >= 500 else logging.INFO
            told = {"route": route, "status": status, "ms": round(1e3 * seconds, 2), "request": request_id}
            log.log(level, "request", extra=told | {"method": scope["method"]})
