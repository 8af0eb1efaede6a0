"""Health and metrics."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.service.desk import answer, desk_of
from sepc_desk.service.documents import METRICS_DOCUMENT, PLAIN_DOCUMENT

router = APIRouter()


@router.get("/health/live", openapi_extra=PLAIN_DOCUMENT)
async def live(request: Request) -> Response:
    """Whether the process answers; if not, start it again."""
    return answer({"live": True})


@router.get("/health/ready", openapi_extra=PLAIN_DOCUMENT)
async def ready(request: Request) -> Response:
    """Whether requests should come here: tells a database that does not answer from models that are not there."""
    desk = desk_of(request)
    parts = {
        "database": "ok" if await desk.database_answers() else "unreachable",
        "models": "ok" if desk.models else "none loaded",
    }
    is_ready = set(parts.values()) == {"ok"}
    return answer({"ready": is_ready, **parts}, 200 if is_ready else 503)


@router.get("/metrics", openapi_extra=METRICS_DOCUMENT)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus; it sends a key as everyone does."""
    desk = desk_of(request)
    await desk.gate.identify(request)
    return Response(desk.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
