"""Sign-in of people by OpenID Connect: any provider, code flow with PKCE, roles from a claim."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable
from typing import Any

from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from fastapi import APIRouter
from joserfc.errors import JoseError
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

# The longest `sub` that OpenID Connect allows.
LONGEST_NAME = 255


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
    response: Response = await _asked(client, client.authorize_redirect(request, str(request.url_for("signed_in"))))
    return response


@router.get("/sign-in/callback", include_in_schema=False)
async def signed_in(request: Request) -> Response:
    """Receive a person from the provider, and start a session with the roles in the claim."""
    settings = desk_of(request).settings
    client = request.app.state.sign_in
    token = await _asked(client, client.authorize_access_token(request, claims_options=_expected(settings)))
    # Only with an ID token is this what Authlib has checked; else it is whatever the provider has sent.
    claims = token.get("userinfo") if "id_token" in token else None
    if claims is None:
        raise _refused("no ID token")
    person = claims["sub"]
    if not isinstance(person, str) or not 0 < len(person) <= LONGEST_NAME or not person.isprintable():
        raise _refused("bad sub")
    grants = grants_of_claim(claims.get(settings.oidc_roles_claim), dict(settings.oidc_roles))
    if not grants:
        raise RequestError(
            403, "no_role", f"You have no role here: nothing in the claim {settings.oidc_roles_claim!r} stands for one."
        )
    request.session.clear()
    request.session.update(
        person=person,
        grants=sorted(grants),
        csrf=secrets.token_urlsafe(32),
        until=time.time() + settings.session_seconds,
    )
    log.info("signed in")
    return RedirectResponse("/", 303)


@router.get("/me", openapi_extra=PLAIN_DOCUMENT)
async def me(request: Request) -> Response:
    """Who is signed in, with which roles, and the token for changes."""
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


async def _asked(client: Any, waiting: Awaitable[Any]) -> Any:
    """The provider's answer; raises if it refuses, or if its answer cannot be used."""
    try:
        return await waiting
    except OAuthError as error:
        raise _refused(type(error).__name__) from error
    except Exception as error:
        # An answer may be wrong in any way. What was kept of the provider may be too, so it is asked for again.
        client.server_metadata.clear()
        if isinstance(error, JoseError):
            raise _refused(type(error).__name__) from error
        log.error("provider unusable", extra={"error": type(error).__name__})
        message = "The sign-in provider does not answer as it should; try again later."
        raise RequestError(503, "provider_unusable", message, retry_after=10) from error


def _expected(settings: Settings) -> dict[str, Any]:
    """The issuer that a token must name: the one in the settings, whatever the provider says of itself."""
    issuer = settings.oidc_issuer.rstrip("/")
    return {"iss": {"essential": True, "values": [issuer, issuer + "/"]}}


def _refused(why: str) -> RequestError:
    log.warning("sign-in refused", extra={"error": why})
    return RequestError(401, "sign_in_failed", "The sign-in failed; start again at /sign-in.")
