"""Identify the caller: by an API key, or by the session of someone who has signed in."""

from __future__ import annotations

import asyncio
import hmac
import time

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request

from sepc_desk.errors import RequestError
from sepc_desk.keys import PREFIX, all_keys, hash_of
from sepc_desk.service.identity import Identity, identity_of_key
from sepc_desk.service.limits import Rates

# How often keys are read; a revoked key may work that much longer.
REFRESH_SECONDS = 1.0
LONGEST_KEY = 200
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class KeyRing:
    """All keys that are not revoked, read again every second."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._known: dict[bytes, Identity] = {}
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    def known(self, secret: str) -> Identity | None:
        """The holder of this key, as of the last time keys were read."""
        return self._known.get(hash_of(secret))

    async def refresh(self, since: float | None = None) -> None:
        """Read the keys again, at most once a second; with `since`, wait until they were read after that time."""
        async with self._reading:
            left = self._read_at + REFRESH_SECONDS - time.monotonic()
            if left > 0:
                if since is None or self._read_at > since:
                    return
                await asyncio.sleep(left)
            try:
                found = await asyncio.get_running_loop().run_in_executor(None, all_keys, self.engine)
            except SQLAlchemyError:
                return  # While the database is down, the keys that were read last stay valid.
            self._known = {own: identity_of_key(key) for own, key in found.items() if not key.is_revoked}
            self._read_at = time.monotonic()


class Gate:
    """Lets known callers in, and refuses all others."""

    def __init__(self, ring: KeyRing, a_second: float, failures_a_minute: int) -> None:
        self.ring = ring
        self.rates = Rates(a_second, 2 * a_second)
        self.failures = Rates(failures_a_minute / 60, failures_a_minute)

    async def identify(self, request: Request, token: str | None = None) -> Identity:
        """The caller of a request; raises if it is not known, or sends too many requests.

        `token` is the session's token where a form sends it in a field instead of a header.
        """
        identity = await self._identity(request, token)
        if not self.rates.allows(identity.caller):
            raise RequestError(429, "too_many", "You send too many requests; try again later.", retry_after=1)
        return identity

    async def _identity(self, request: Request, token: str | None) -> Identity:
        secret = _key_in(request)
        if secret is None:
            found = session_identity(request, token)
            if found is not None:
                return found
            raise RequestError(401, "no_key", "Send an API key in the header `Authorization: Bearer sepc_...`.")
        known = self.ring.known(secret)
        if known is not None:
            return known
        if secret.startswith(PREFIX) and len(secret) <= LONGEST_KEY:
            await self.ring.refresh(since=time.monotonic())
            known = self.ring.known(secret)
        if known is not None:
            return known
        if not self.failures.allows(request.client.host if request.client else ""):
            raise RequestError(
                429, "too_many", "This address has sent too many wrong keys; try again later.", retry_after=10
            )
        raise RequestError(401, "wrong_key", "This key is unknown, or was revoked.")


def _key_in(request: Request) -> str | None:
    given = request.headers.get("authorization")
    if given is None:
        return request.headers.get("x-api-key")
    kind, _, secret = given.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""


def session_identity(request: Request, token: str | None = None) -> Identity | None:
    """Who is signed in, if anyone; a change also needs the session's token, which other sites do not know."""
    session = request.scope.get("session") or {}
    if "person" not in session or float(session.get("until", 0)) < time.time():
        return None
    if request.method not in SAFE:
        token = request.headers.get("x-csrf-token", "") if token is None else token
        if not hmac.compare_digest(token.encode(), str(session.get("csrf", "")).encode()):
            raise RequestError(403, "no_csrf_token", "Send the csrf_token of GET /me in the header X-CSRF-Token.")
    grants = frozenset((str(role), str(model)) for role, model in session.get("grants", []))
    return Identity(f"person:{session['person']}", grants, is_session=True)
