"""Sign-in of people by OpenID Connect: any provider, code flow with PKCE, roles from a claim."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable
from typing import Any

from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth, StarletteOAuth2App
from fastapi import APIRouter
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sepc_desk.errors import RequestError
from sepc_desk.keys import LONGEST_NAME, start_session
from sepc_desk.service.access import SESSION
from sepc_desk.service.desk import answer, desk_of
from sepc_desk.service.documents import PLAIN_DOCUMENT
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

router = APIRouter()

# How ID tokens may be signed, whatever the provider says of itself: by its private key.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


class _Client(StarletteOAuth2App):  # type: ignore[misc]
    """A client that accepts these algorithms only."""

    async def load_server_metadata(self) -> Any:
        found = await super().load_server_metadata()
        found["id_token_signing_alg_values_supported"] = ALGORITHMS
        return found


def client_of(settings: Settings) -> Any:
    """The client of the provider."""
    oauth = OAuth()
    return oauth.register(
        "provider",
        client_cls=_Client,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        server_metadata_url=settings.oidc_issuer.rstrip("/") + "/.well-known/openid-configuration",
        client_kwargs={"scope": settings.oidc_scope, "code_challenge_method": "S256", "timeout": 10},
    )


@router.get("/sign-in", include_in_schema=False)
async def sign_in(request: Request) -> Response:
    """Send a person to the provider."""
    client = request.app.state.sign_in
    # Never the address that the request names: anyone could choose it.
    own = desk_of(request).settings.public_address.rstrip("/") + "/sign-in/callback"
    response: Response = await _asked(client, client.authorize_redirect(request, own))
    return response


@router.get("/sign-in/callback", include_in_schema=False)
async def signed_in(request: Request) -> Response:
    """Receive a person from the provider, and start a session with the roles in the claim."""
    settings = desk_of(request).settings
    client = request.app.state.sign_in
    # The issuer that a token must name is the one in the settings, whatever the provider says of itself.
    issuer = settings.oidc_issuer.rstrip("/")
    expected = {"iss": {"essential": True, "values": [issuer, issuer + "/"]}}
    token = await _asked(client, client.authorize_access_token(request, claims_options=expected))
    # Only with an ID token is this what Authlib has checked; else it is whatever the provider has sent.
    claims = token.get("userinfo") if "id_token" in token else None
    if claims is None:
        raise _refused("no ID token")
    person = claims["sub"]
    if not isinstance(person, str) or not 0 < len(person) <= LONGEST_NAME or not person.isprintable():
        raise _refused("bad sub")
    given = claims.get(settings.oidc_roles_claim)
    values = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    said = [value for value in values if isinstance(value, str) and value in settings.oidc_roles]
    if not said:
        raise RequestError(
            403, "no_role", f"You have no role here: nothing in the claim {settings.oidc_roles_claim!r} stands for one."
        )
    engine = desk_of(request).engine
    request.session.clear()
    secret = await asyncio.to_thread(start_session, engine, person, said, settings.session_seconds)
    request.session.update({SESSION: secret, "csrf": secrets.token_urlsafe(32)})
    log.info("signed in", extra={"person": person})
    return RedirectResponse("/", 303)


@router.get("/me", openapi_extra=PLAIN_DOCUMENT)
async def me(request: Request) -> Response:
    """Who is signed in, with which roles, and the token for changes."""
    identity = await desk_of(request).gate.signed_in(request)
    if identity is None:
        raise RequestError(401, "not_signed_in", "Nobody is signed in; go to /sign-in.")
    return answer({"person": identity.caller, "roles": sorted(identity.grants), "csrf_token": request.session["csrf"]})


@router.post("/sign-out", openapi_extra=PLAIN_DOCUMENT)
async def sign_out(request: Request) -> Response:
    """End the session, and whatever has a copy of its cookie."""
    gate = desk_of(request).gate
    if await gate.signed_in(request) is None:
        raise RequestError(401, "not_signed_in", "Nobody is signed in.")
    await gate.leave(request, await gate.identify(request))
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


def _refused(why: str) -> RequestError:
    log.warning("sign-in refused", extra={"error": why})
    return RequestError(401, "sign_in_failed", "The sign-in failed; start again at /sign-in.")
