"""What callers can do to a service: headers that never end, bytes that come now and then, and too many of all."""

from __future__ import annotations

import concurrent.futures
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2 as httpx
import pytest
from conftest import Running
from servers import DeskProcess

from sepc_desk.service import connections

# The database makes no difference to connections.
on_sqlite = pytest.mark.parametrize("running", ["sqlite"], indirect=True)

GET = b"GET /health/live HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST /decide HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def opened(running: Running) -> closing[socket.socket]:
    return closing(socket.create_connection(("127.0.0.1", running.process.port), timeout=30))


def answered(own: socket.socket) -> bytes:
    """All that the service sends until it closes the connection."""
    found = b""
    try:
        while part := own.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


@on_sqlite
@pytest.mark.parametrize(
    ("start", "more"),
    [
        (GET + b"X-Long: ", b"a"),
        (GET, b"X-Many: a\r\n"),
        (b"GET /", b"a"),
        (CHUNKED + b"0\r\n", b"X-After: a\r\n"),
        (CHUNKED + b"1;", b"a"),
    ],
    ids=["one long header", "many headers", "a long path", "after a body", "in a chunk's size"],
)
def test_what_never_ends_is_cut_off(running: Running, start: bytes, more: bytes) -> None:
    many = more * (2**20 // len(more))
    sent = 0
    with opened(running) as own:
        own.sendall(start)
        try:
            while sent < 64:
                own.sendall(many)
                sent += 1
        except (BrokenPipeError, ConnectionResetError):
            pass
    # The system's own buffers on both sides hold some megabytes.
    assert sent < 16
    assert running.nobody.get("/health/live").status_code == 200


@on_sqlite
def test_headers_that_are_too_long_are_named_in_the_answer(running: Running) -> None:
    with opened(running) as own:
        own.sendall(GET + b"X-Long: " + b"a" * connections.MOST_BYTES)
        assert answered(own).startswith(b"HTTP/1.1 431 ")


@on_sqlite
def test_long_headers_within_the_limit_and_several_requests_at_once_are_answered(running: Running) -> None:
    with opened(running) as own:
        one = GET + b"X-Long: " + b"a" * (connections.MOST_BYTES - 1_000) + b"\r\n"
        own.sendall(3 * (one + b"\r\n") + one + b"Connection: close\r\n\r\n")
        assert answered(own).count(b"HTTP/1.1 200 ") == 4


@pytest.fixture(scope="module")
def limited(new_database, model_folder: Path) -> Iterator[Running]:
    """A service with low limits."""
    database = new_database("sqlite")
    limits = {"max_connections": 10, "requests_per_second": 5, "failed_keys_per_minute": 6}
    own = Running(DeskProcess(database, model_folder, **limits, is_warm=True).wait_ready(), database)
    yield own
    own.close()


def test_too_many_connections_are_closed_at_once(limited: Running) -> None:
    some = [socket.create_connection(("127.0.0.1", limited.process.port), timeout=30) for _ in range(12)]
    assert answered(some[-1]).startswith(b"HTTP/1.1 503 ")
    for own in some:
        own.close()
    until = time.monotonic() + 30
    while httpx.get(f"{limited.process.address}/health/live").status_code != 200:
        assert time.monotonic() < until


def test_rates_and_wrong_keys_are_limited(limited: Running) -> None:
    statuses = [limited.client.get("/head").status_code for _ in range(30)]
    assert statuses[0] == 200
    assert statuses.count(429) >= 10
    with limited.process.client("wrong" * 60) as wrong:
        found = [wrong.get("/head") for _ in range(12)]
    assert [found[0].status_code, found[-1].status_code] == [401, 429]
    assert int(found[-1].headers["retry-after"]) > 0


@on_sqlite
def test_slow_callers_are_let_go(running: Running) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        took = list(pool.map(lambda start: seconds_until_let_go(running, start), [b"", b"GET /", GET, CHUNKED]))
    assert min(took) > connections.SECONDS - 1
    assert max(took) < connections.SECONDS + 10


def seconds_until_let_go(running: Running, start: bytes) -> float:
    """How long a caller can go on that sends a start, and then some bytes now and then."""
    more = {CHUNKED: b"1\r\na\r\n", b"GET /": b"a"}.get(start, b"")
    started = time.monotonic()
    with opened(running) as own:
        own.settimeout(0.5)
        own.sendall(start)
        while time.monotonic() < started + 60:
            try:
                if own.recv(65536) == b"":
                    break
            except TimeoutError:
                own.sendall(more)
            except ConnectionResetError:
                break
    return time.monotonic() - started
