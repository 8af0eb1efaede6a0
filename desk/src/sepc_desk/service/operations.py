"""Health and metrics."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.authority import Action, Thing, require
from sepc_desk.keys import ALL_MODELS
from sepc_desk.service.desk import NEEDED, answer, desk_of, identified
from sepc_desk.service.documents import HEALTH_DOCUMENT, METRICS_DOCUMENT

router = APIRouter()


@router.get("/health/live", openapi_extra=HEALTH_DOCUMENT)
@router.get("/v2/health/live", openapi_extra=HEALTH_DOCUMENT)
async def live(request: Request) -> Response:
    """Answers as long as the process runs."""
    return answer({"live": True})


@router.get("/health/ready", openapi_extra=HEALTH_DOCUMENT)
async def ready(request: Request) -> Response:
    """Whether to send requests here; if not, what is the reason, and which background tasks are behind."""
    found = await desk_of(request).health()
    is_ready = all(found[name] == "ok" for name in NEEDED)
    return answer({"ready": is_ready, **found}, 200 if is_ready else 503)


@router.get("/metrics", openapi_extra=METRICS_DOCUMENT)
async def metrics(request: Request) -> Response:
    """Metrics of all models for Prometheus, which sends a key with the role monitor."""
    desk, identity = await identified(request)
    require(identity, Action.SEE_METRICS, Thing(ALL_MODELS))
    return Response(desk.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
