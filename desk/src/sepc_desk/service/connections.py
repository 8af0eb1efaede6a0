"""Connections with limits on what comes before and after the body of a request.

uvicorn limits neither the size of headers nor the time they take, and goes on reading a body after it has answered.
A caller without a key could keep a process busy with a header that never ends, or take up all connections by sending a
byte now and then. The service itself limits bodies, once it knows who sends them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

# For the request line and headers, and for what may follow a body.
MOST_BYTES = 32 * 1024
# For the request line and headers, and for the rest of a body that was answered before it was all here.
SECONDS = 10.0


class LimitedConnection(HttpToolsProtocol):
    """A connection that is closed if headers are too long, or if a caller takes too long to send what nobody reads.

    Connections beyond the limit of the service are closed at once.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._n_bytes = self._n_head = 0
        self._n_begun = 0
        self._has_moved_on = False
        self._is_in_message = False
        self._is_in_head = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, unless there are too many connections."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) > self.limit_concurrency:
            self._refuse(503, b"retry-after: 1\r\n")
        else:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came; too much that brings the request no further ends the connection."""
        was_in_message, self._has_moved_on, self._n_begun = self._is_in_message, False, 0
        super().data_received(data)
        if not self._has_moved_on:
            self._n_bytes += len(data)
        else:
            # All of it belongs to the head of one request, or it is not known how much of it does.
            is_head = self._is_in_head and self._n_begun == 1 and not was_in_message
            self._n_bytes = len(data) if is_head else 0
        if self._n_bytes > MOST_BYTES:
            self._refuse(431)

    def on_message_begin(self) -> None:
        """The first byte of a request is here."""
        self._has_moved_on = self._is_in_message = self._is_in_head = True
        self._n_head = 0
        self._n_begun += 1
        self._start_timer()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the address is here."""
        self._n_head += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header is here."""
        self._n_head += len(name) + len(value) + len(": \r\n")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are here; those that are too long end the connection, even if they came at once."""
        self._has_moved_on, self._is_in_head = True, False
        self._stop_timer()
        if self._n_head > MOST_BYTES:
            self._refuse(431)
            raise OverflowError(self._n_head)  # so that nothing is made of the request
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body is here."""
        self._has_moved_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of the request is here."""
        self._has_moved_on, self._is_in_message = True, False
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is given; the rest of its request, which nobody reads, may take a while longer."""
        super().on_response_complete()
        if self._is_in_message and self.cycle.response_complete:
            self._start_timer()

    def send_400_response(self, msg: str) -> None:
        """Say that this is not HTTP, unless the connection is closed for another reason."""
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _refuse(self, status: int, headers: bytes = b"") -> None:
        if not self.transport.is_closing():
            self.transport.write(STATUS_LINE[status] + headers + b"content-length: 0\r\nconnection: close\r\n\r\n")
            self.transport.close()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(SECONDS, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
