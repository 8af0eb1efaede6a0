"""Sign-in of people by OpenID Connect: any provider, code flow with PKCE, roles from a claim."""

from __future__ import annotations

import logging
import secrets
import time
from typing import Any

from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from fastapi import APIRouter
from httpx2 import HTTPError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sepc_desk.errors import RequestError
from sepc_desk.service.access import session_identity
from sepc_desk.service.desk import answer, desk_of
from sepc_desk.service.documents import PLAIN_DOCUMENT
from sepc_desk.service.identity import grants_of_claim
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

router = APIRouter()


def client_of(settings: Settings) -> Any:
    """The client of the provider."""
    oauth = OAuth()
    return oauth.register(
        "provider",
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        server_metadata_url=settings.oidc_issuer.rstrip("/") + "/.well-known/openid-configuration",
        client_kwargs={"scope": settings.oidc_scope, "code_challenge_method": "S256", "timeout": 10},
    )


@router.get("/sign-in", include_in_schema=False)
async def sign_in(request: Request) -> Response:
    """Send a person to the provider."""
    client = request.app.state.sign_in
    try:
        response: Response = await client.authorize_redirect(request, str(request.url_for("signed_in")))
    except (OAuthError, HTTPError) as error:
        raise _unreachable(error) from error
    return response


@router.get("/sign-in/callback", include_in_schema=False)
async def signed_in(request: Request) -> Response:
    """Take a person who comes back from the provider, and start a session with the roles of the claim."""
    settings = desk_of(request).settings
    client = request.app.state.sign_in
    try:
        token = await client.authorize_access_token(request)
    except OAuthError as error:
        log.warning("sign-in refused", extra={"error": str(error.error)})
        raise RequestError(401, "sign_in_failed", "The sign-in failed; start again at /sign-in.") from error
    except HTTPError as error:
        raise _unreachable(error) from error
    claims = token.get("userinfo") or {}
    grants = grants_of_claim(claims.get(settings.oidc_roles_claim), dict(settings.oidc_roles))
    if not grants:
        raise RequestError(
            403, "no_role", f"You have no role here: the claim {settings.oidc_roles_claim!r} gives none."
        )
    if not str(claims["sub"]).isprintable():
        raise RequestError(403, "bad_name", "The provider gives you a name with control characters.")
    request.session.clear()
    request.session.update(
        person=str(claims["sub"]),
        grants=sorted(grants),
        csrf=secrets.token_urlsafe(32),
        until=time.time() + settings.session_seconds,
    )
    log.info("signed in")
    return RedirectResponse("/", 303)


@router.get("/me", openapi_extra=PLAIN_DOCUMENT)
async def me(request: Request) -> Response:
    """Who is signed in, with which roles, and the token that changes need."""
    identity = session_identity(request)
    if identity is None:
        raise RequestError(401, "not_signed_in", "Nobody is signed in; go to /sign-in.")
    return answer({"person": identity.caller, "roles": sorted(identity.grants), "csrf_token": request.session["csrf"]})


@router.post("/sign-out", openapi_extra=PLAIN_DOCUMENT)
async def sign_out(request: Request) -> Response:
    """End the session."""
    if session_identity(request) is None:
        raise RequestError(401, "not_signed_in", "Nobody is signed in.")
    request.session.clear()
    return answer({"signed_in": False})


def _unreachable(error: Exception) -> RequestError:
    log.error("provider unreachable", extra={"error": type(error).__name__})
    return RequestError(503, "provider_unreachable", "The sign-in provider does not answer.", retry_after=10)
