"""Limits that keep one caller from using up the memory or time of all."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import ClientDisconnect, Request

from sepc_desk.errors import RequestError

# Callers whose rates are remembered; those not seen for longest are forgotten first.
MOST_CALLERS = 10_000


class Rates:
    """Allows each caller a number of requests per second, and more in a burst; 0 means no limit."""

    def __init__(self, a_second: float, at_once: float) -> None:
        self.a_second, self.most = a_second, max(1.0, at_once)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, caller: str) -> bool:
        """Whether one more request is allowed now; counts it if so."""
        if self.a_second <= 0:
            return True
        now = time.monotonic()
        left, before = self._left.pop(caller, (self.most, now))
        left = min(self.most, left + (now - before) * self.a_second)
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > MOST_CALLERS:
            self._left.popitem(last=False)
        return left >= 1


class Buffers:
    """Counts the bytes of all request bodies in memory."""

    def __init__(self, most: int) -> None:
        self.most, self.used = most, 0

    def take(self, n: int) -> None:
        """Count bytes; raises if all bodies together are too many."""
        if self.used + n > self.most:
            raise RequestError(
                429, "busy", "Too many large requests are being received; try again in a second.", retry_after=1
            )
        self.used += n

    @contextmanager
    def lent(self) -> Iterator[list[int]]:
        """A list of byte counts that are given back at the end."""
        taken: list[int] = []
        try:
            yield taken
        finally:
            self.used -= sum(taken)


async def read_body(request: Request, most: int, seconds: float, buffers: Buffers, taken: list[int]) -> bytes:
    """The body of a request; raises as soon as it is too long, or if it arrives too slowly."""
    too_long = RequestError(
        413,
        "body_too_large",
        f"The body has more than {most:,} bytes. Send fewer rows per request, or raise max_bytes.",
    )
    told = request.headers.get("content-length", "0")
    if not told.isdigit() or int(told) > most:
        raise too_long
    parts: list[bytes] = []
    n = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                n += len(part)
                if n > most:
                    raise too_long
                buffers.take(len(part))
                taken.append(len(part))
                parts.append(part)
    except TimeoutError:
        raise RequestError(408, "body_too_slow", f"The body did not arrive within {seconds:g} seconds.") from None
    except ClientDisconnect:
        raise RequestError(400, "gone", "The caller closed the connection.") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)
