"""The application that uvicorn runs."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response

import sepc_desk
from sepc_desk.pages import audit, changes, home, oversight, owner, review, what_if
from sepc_desk.service import cases, decide, inference, operations
from sepc_desk.service.desk import Desk, answer, desk_of
from sepc_desk.service.logs import log_as_json
from sepc_desk.service.middleware import EveryRequest
from sepc_desk.service.refusals import EXPECTED, response_to
from sepc_desk.service.shortcut import Shortcut
from sepc_desk.settings import Settings, load_settings

PARTS = (decide, inference, cases, operations)
PAGES = (home, review, what_if, oversight, owner, changes, audit)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application; without settings, with those of the environment."""
    settings = load_settings() if settings is None else settings
    log_as_json(settings.log_level)
    desk = Desk(settings)
    app = FastAPI(
        title="sepc-desk",
        version=sepc_desk.__version__,
        description="Decides with sepc models, and logs every decision before it is answered.",
        lifespan=_lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk = desk
    for part in (*PARTS, *PAGES):
        app.include_router(part.router)
    if settings.oidc_issuer:
        sign_in = importlib.import_module("sepc_desk.service.sign_in")
        app.state.sign_in = sign_in.client_of(settings)
        app.include_router(sign_in.router)
        app.add_middleware(
            SessionMiddleware,
            secret_key=settings.session_secret,
            session_cookie="sepc_desk",
            max_age=settings.session_seconds,
            same_site="lax",
            https_only=settings.secure_cookies,
        )
    app.add_middleware(Shortcut)
    app.add_middleware(EveryRequest)
    for kind in EXPECTED:
        app.add_exception_handler(kind, _respond)
    app.add_api_route("/openapi.json", _openapi, include_in_schema=False)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    await app.state.desk.start()
    yield
    await app.state.desk.stop()


async def _openapi(request: Request) -> Response:
    """The OpenAPI document, for those with a key."""
    await desk_of(request).gate.identify(request)
    app = request.app
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    for route in (route for part in PARTS for route in part.router.routes):
        # FastAPI drops nulls, which are missing values in examples of rows.
        own = (getattr(route, "openapi_extra", None) or {}).get("requestBody")
        for method in getattr(route, "methods", ()) if own else ():
            document["paths"][route.path][method.lower()]["requestBody"] = own
    document["components"] = document.get("components", {}) | {
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}
    }
    document["security"] = [{"key": []}]
    return answer(document)


async def _respond(request: Request, error: Exception) -> Response:
    response = response_to(request.scope, error)
    assert response is not None, "only these errors are passed here"
    return response
