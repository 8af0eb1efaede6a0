"""Identify the caller: by an API key, or by the session of someone who has signed in."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request

from sepc_desk.authority import PERSON, Identity, grants_of_claim
from sepc_desk.errors import RequestError
from sepc_desk.keys import PREFIX, all_keys, end_sessions, hash_of, open_sessions
from sepc_desk.service.limits import Rates

# How often keys are read; a revoked key may work that much longer.
REFRESH_SECONDS = 1.0
# Keys that were read longer ago than this let nobody in, since one of them may have been revoked.
FRESH_SECONDS = 5.0
# How long a request waits for keys to be read again.
READ_SECONDS = 3.0
LONGEST_KEY = 200
# Wrong keys of all addresses together, as many times those of one.
MANY = 5
# Where the cookie has the secret of the session.
SESSION = "id"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class KeyRing:
    """All keys that are not revoked and all sessions that have not ended, read again every second."""

    def __init__(self, engine: Engine, roles: Mapping[str, str]) -> None:
        self.engine, self.roles = engine, dict(roles)
        self._known: dict[bytes, Identity] = {}
        self._asked_at = self._read_at = 0.0
        self._answer: asyncio.Future[dict[bytes, Identity]] | None = None
        self._reading = asyncio.Lock()
        # A thread of its own, so that no other work delays what was revoked.
        self._thread = ThreadPoolExecutor(1, "keys")

    def is_fresh(self) -> bool:
        """Whether keys were read within five seconds."""
        return time.monotonic() - self._read_at < FRESH_SECONDS

    def known(self, secret: str) -> Identity | None:
        """The holder of this key or session, as of the last time they were read."""
        return self._known.get(hash_of(secret))

    def forget(self, secret: str) -> None:
        """Let this key or session in no more."""
        self._known.pop(hash_of(secret), None)

    async def refresh(self, since: float | None = None) -> None:
        """Read the keys again, at most once a second; with `since`, wait until they were read after that time."""
        async with self._reading:
            left = self._read_at + REFRESH_SECONDS - time.monotonic()
            if left > 0:
                if since is None or self._read_at > since:
                    return
                await asyncio.sleep(left)
            if self._answer is None or self._answer.done():
                self._asked_at = time.monotonic()
                self._answer = asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            self._known = await asyncio.wait_for(asyncio.shield(self._answer), FRESH_SECONDS)
            self._answer, self._read_at = None, self._asked_at

    def _read(self) -> dict[bytes, Identity]:
        found = {}
        for own, key in all_keys(self.engine).items():
            if not key.is_revoked:
                caller = f"{PERSON}{key.name}" if key.is_person else f"key:{key.id}"
                found[own] = Identity(caller, frozenset((key.role, model) for model in key.models))
        for own, (person, claims) in open_sessions(self.engine).items():
            # By the mapping as it is now: a session of which it makes no role is over.
            if grants := grants_of_claim(claims, self.roles):
                found[own] = Identity(f"{PERSON}{person}", grants, is_session=True)
        return found


class Gate:
    """Lets known callers in, and refuses all others."""

    def __init__(self, ring: KeyRing, a_second: float, failures_a_minute: int) -> None:
        self.ring = ring
        self.rates = Rates(a_second, 2 * a_second)
        self.failures = Rates(failures_a_minute / 60, failures_a_minute)
        # Whoever can name another address each time is limited, too.
        self.all_failures = Rates(MANY * failures_a_minute / 60, MANY * failures_a_minute)

    async def identify(self, request: Request, token: str | None = None) -> Identity:
        """The caller of a request; raises if it is not known, or sends too many requests.

        `token` is the session's token where a form sends it in a field instead of a header.
        """
        if not self.ring.is_fresh():
            await self._read_again()
        identity = await self._identity(request, token)
        request.scope["caller"] = identity.caller
        if not self.rates.allows(identity.caller):
            raise RequestError(429, "too_many", "You send too many requests; try again later.", retry_after=1)
        return identity

    async def _read_again(self) -> None:
        """Read keys that are too old, or of which one may be new; raise if that fails."""
        with suppress(SQLAlchemyError, TimeoutError):
            await asyncio.wait_for(self.ring.refresh(since=time.monotonic()), READ_SECONDS)
            if self.ring.is_fresh():
                return
        message = "Nobody is let in, since the database does not say which keys are revoked; try again."
        raise RequestError(503, "keys_not_read", message, retry_after=1)

    async def _identity(self, request: Request, token: str | None) -> Identity:
        secret = _key_in(request)
        if secret is None:
            found = await self.signed_in(request)
            if found is None:
                raise RequestError(401, "no_key", "Send an API key in the header `Authorization: Bearer sepc_...`.")
            _check_token(request, token)
            return found
        known = await self._known(secret) if secret.startswith(PREFIX) else None
        if known is not None and not known.is_session:
            return known
        address = request.client.host if request.client else ""
        if not (self.failures.allows(address) and self.all_failures.allows("all")):
            raise RequestError(
                429, "too_many", "This address has sent too many wrong keys; try again later.", retry_after=10
            )
        raise RequestError(401, "wrong_key", "This key is unknown, or was revoked.")

    async def signed_in(self, request: Request) -> Identity | None:
        """Who is signed in, if anyone."""
        secret = (request.scope.get("session") or {}).get(SESSION)
        found = await self._known(secret) if isinstance(secret, str) else None
        return found if found is not None and found.is_session else None

    async def leave(self, request: Request, identity: Identity) -> None:
        """End the session that a request comes with, for whoever has a copy of its cookie, too."""
        secret = str(request.session.get(SESSION))
        person = identity.caller.removeprefix(PERSON)
        await asyncio.to_thread(end_sessions, self.ring.engine, person, identity.caller, secret)
        self.ring.forget(secret)
        request.session.clear()

    async def _known(self, secret: str) -> Identity | None:
        """The holder of a key or session; one that is not known yet may be new."""
        known = self.ring.known(secret)
        if known is None and len(secret) <= LONGEST_KEY:
            await self._read_again()
            known = self.ring.known(secret)
        return known


def _check_token(request: Request, token: str | None) -> None:
    """Raise unless a change comes with the session's token, which other sites do not know."""
    if request.method not in SAFE:
        token = request.headers.get("x-csrf-token", "") if token is None else token
        if not hmac.compare_digest(token.encode(), str(request.session.get("csrf", "")).encode()):
            raise RequestError(403, "no_csrf_token", "Send the csrf_token of GET /me in the header X-CSRF-Token.")


def _key_in(request: Request) -> str | None:
    given = request.headers.get("authorization")
    if given is None:
        return request.headers.get("x-api-key")
    kind, _, secret = given.partition(" ")
    return secret.strip() if kind.lower() == "bearer" else ""
