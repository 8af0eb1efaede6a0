"""Decide and write in groups: what came during the last write is decided in one call and written in one transaction.

There is no timer. A request that comes alone is decided at once; under load, groups grow by themselves, since requests
that have arrived are read to their end before a group is formed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sepc_desk.chain import Chain, Receipt
from sepc_desk.deciding import Decided, decide_rows
from sepc_desk.entries import Entry, EntryKind, entry
from sepc_desk.errors import LogUnavailableError, RequestError
from sepc_desk.models import Model
from sepc_desk.rows import Row
from sepc_desk.service.metrics import Metrics
from sepc_desk.service.repeats import Answer, answer_of, answers_of_log
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

# How long a write may go on after its connection was ended, in seconds.
GRACE = 5.0
# A request takes a few turns of the event loop from its first byte to a group. After so many turns without another one,
# the group is formed; after a single turn if the last group had one request, so that a lone caller hardly waits.
QUIET_TURNS = 8


@dataclass(eq=False, slots=True)
class Work:
    """Rows of one request to decide on, or entries to write as they are.

    Attributes
    ----------
    caller : str
    model : Model or None
    rows : list of Row
    key : bytes or None
        The digest by which a repeated request is recognised.
    first : int
        Position in the request of the first of these rows.
    explain : bool
    ready : list of Entry
        Entries without a decision, such as an access to a case.
    """

    caller: str
    model: Model | None = None
    rows: list[Row] = field(default_factory=list)
    key: bytes | None = None
    first: int = 0
    explain: bool = False
    ready: list[Entry] = field(default_factory=list)
    future: asyncio.Future[list[Answer]] = field(init=False)
    arrived: float = field(init=False)
    decided: list[Decided] = field(init=False, default_factory=list)

    @property
    def size(self) -> int:
        """The number of entries that result."""
        return len(self.rows) + len(self.ready)


class Grouper:
    """Accepts work, and does it group by group."""

    def __init__(self, chain: Chain, metrics: Metrics, settings: Settings) -> None:
        self.chain, self.metrics, self.settings = chain, metrics, settings
        # When the log did not confirm the last group.
        self.failed_at: float | None = None
        self._waiting: deque[Work] = deque()
        self._n_waiting = 0
        self._some = asyncio.Event()
        self._writer = ThreadPoolExecutor(1, "writer")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to accept work."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Finish all work that was accepted, and end."""
        while self._waiting or self._n_waiting:
            await asyncio.sleep(0.01)
        if self._task is not None:
            self._task.cancel()
        self._writer.shutdown()
        self.chain.close()

    async def do(self, work: Sequence[Work], seconds: float) -> list[Answer]:
        """Wait for work to be done; raises if too much is waiting, or if it takes too long."""
        size = sum(own.size for own in work)
        if self._n_waiting + size > self.settings.max_waiting_rows and self._n_waiting > 0:
            raise RequestError(429, "busy", "Too many rows are waiting; try again in a second.", retry_after=1)
        now, loop = time.monotonic(), asyncio.get_running_loop()
        for own in work:
            own.arrived, own.future = now, loop.create_future()
            self._waiting.append(own)
        self._n_waiting += size
        self._some.set()
        futures = [own.future for own in work]
        try:
            _, missing = await asyncio.wait(futures, timeout=seconds)
        finally:
            for future in futures:
                future.cancel()  # unless it is done
        if missing:
            raise RequestError(
                503,
                "too_slow",
                f"There was no answer within {seconds:g} seconds, and the decision may have been logged. Send the "
                "request again with the same Idempotency-Key to get it, or to have it made if it was not.",
                retry_after=1,
            )
        for error in [future.exception() for future in futures]:
            if error is not None:
                raise error
        return [answer for future in futures for answer in future.result()]

    async def _run(self) -> None:
        is_alone = True
        while True:
            await self._some.wait()
            await self._read_what_arrived(1 if is_alone else QUIET_TURNS)
            group = self._next_group()
            if not group:
                self._some.clear()
                continue
            try:
                await self._finish(group)
            except Exception as error:  # noqa: BLE001 - whatever it is, callers get an error and the next group is done
                log.exception("group failed", extra={"error": type(error).__name__})
                _fail(
                    group, RequestError(503, "failed", "The service failed on this request; try again.", retry_after=1)
                )
            finally:
                is_alone = len(group) == 1 and not self._waiting
                self._n_waiting -= sum(own.size for own in group)
                self.metrics.waiting(self._n_waiting, self._waiting[0].arrived if self._waiting else None)

    async def _read_what_arrived(self, turns: int) -> None:
        """Let the event loop read requests that have arrived; with them, groups under load are twice as large."""
        n_quiet = 0
        while n_quiet < turns and self._n_waiting < self.settings.batch_rows:
            before = self._n_waiting
            await asyncio.sleep(0)
            n_quiet = n_quiet + 1 if self._n_waiting == before else 0

    def _next_group(self) -> list[Work]:
        """The work that waits, up to the size of a group; a request that came twice is in it once."""
        group: list[Work] = []
        later: list[Work] = []
        seen: set[tuple[bytes, int]] = set()
        n = 0
        while self._waiting and (n == 0 or n + self._waiting[0].size <= self.settings.batch_rows):
            own = self._waiting.popleft()
            if own.future.done():
                self._n_waiting -= own.size
                continue
            if own.key is not None:
                if (own.key, own.first) in seen:
                    later.append(own)
                    continue
                seen.add((own.key, own.first))
            group.append(own)
            n += own.size
        self._waiting.extendleft(reversed(later))
        return group

    async def _finish(self, group: list[Work]) -> None:
        _decide(group)
        able = [own for own in group if not own.future.done()]
        written = [made for own in able for made in _entries(own)]
        if not written:
            return
        started = time.perf_counter()
        try:
            receipts = await self._write(written)
        except LogUnavailableError as error:
            log.warning("log unavailable", extra={"error": str(error)})
            self.metrics.write_failures.inc()
            self.failed_at = time.monotonic()
            _fail(able, _unavailable())
            return
        self.failed_at = None
        self.metrics.wrote(len(written), time.perf_counter() - started, receipts[-1].place)
        await self._answer(able, written, receipts)

    async def _write(self, written: list[Entry]) -> list[Receipt]:
        """Write in a thread; a write that takes too long is ended, and may or may not have been committed."""
        running = asyncio.get_running_loop().run_in_executor(self._writer, self.chain.append, written)
        done, _ = await asyncio.wait([running], timeout=self.settings.write_seconds)
        if not done:
            self.chain.abort()
            done, _ = await asyncio.wait([running], timeout=GRACE)
        if not done:
            # The thread is stuck for good; another one goes on with a new connection.
            self._writer = ThreadPoolExecutor(1, "writer")
            self.chain = Chain(self.chain.engine)
            running.cancel()
            raise LogUnavailableError("stuck")
        return running.result()

    async def _answer(self, able: list[Work], written: list[Entry], receipts: list[Receipt]) -> None:
        start = 0
        for own in able:
            end = start + own.size
            mine, got = written[start:end], receipts[start:end]
            start = end
            if any(receipt.was_there for receipt in got):
                await self._answer_again(own, mine, got)
            elif not own.future.done():
                own.future.set_result(_answers(own, mine, got))
            self.metrics.decided(own.model, [d for d, r in zip(own.decided, got, strict=False) if not r.was_there])

    async def _answer_again(self, own: Work, mine: list[Entry], got: list[Receipt]) -> None:
        """Answer a repeated request with the decision that is in the log."""
        loop = asyncio.get_running_loop()
        new = _answers(own, mine, got)
        try:
            places = [receipt.place for receipt in got if receipt.was_there]
            known = await loop.run_in_executor(None, answers_of_log, self.chain.engine, places)
            answers = [
                known[receipt.place].repeated(row, own.model) if receipt.was_there else answer
                for receipt, row, answer in zip(got, own.rows, new, strict=True)
            ]
        except RequestError as error:
            _fail([own], error)
        except Exception as error:  # noqa: BLE001 - the log can fail in many ways between a write and a read
            log.warning("log unreadable", extra={"error": type(error).__name__})
            _fail([own], _unavailable())
        else:
            if not own.future.done():
                own.future.set_result(answers)


def _decide(group: list[Work]) -> None:
    """Decide on all rows of a model in one call; if that fails, on those of each request alone."""
    together: dict[tuple[str, str, bool], list[Work]] = {}
    for own in group:
        if own.model is not None and own.rows:
            together.setdefault((own.model.name, own.model.digest, own.explain), []).append(own)
    for some in together.values():
        _decide_together(some)


def _decide_together(some: list[Work]) -> None:
    model = some[0].model
    assert model is not None
    try:
        decided = decide_rows(model, [row for own in some for row in own.rows], some[0].explain)
    except Exception as error:  # noqa: BLE001 - a model may fail in any way on unexpected values
        if len(some) > 1:  # one request's rows must not fail those of another
            for own in some:
                _decide_together([own])
        elif isinstance(error, RequestError):
            _fail(some, error)
        else:
            log.exception("model failed", extra={"error": type(error).__name__})
            _fail(some, RequestError(422, "refused_by_model", "The model cannot decide on these values."))
        return
    start = 0
    for own in some:
        own.decided = decided[start : start + len(own.rows)]
        start += len(own.rows)


def _entries(own: Work) -> list[Entry]:
    if own.model is None:
        return own.ready
    context = own.model.context[0]
    made = [
        entry(
            EntryKind.DECISION,
            own.caller,
            decided.private(row),
            model=own.model.name,
            context=context,
            label=decided.label_text,
            accepted=decided.accepted,
            cause=decided.cause,
            request_key=own.key,
            request_row=None if own.key is None else own.first + i,
        )
        for i, (row, decided) in enumerate(zip(own.rows, own.decided, strict=True))
    ]
    return [*made, *own.ready]


def _answers(own: Work, mine: list[Entry], got: list[Receipt]) -> list[Answer]:
    decided: list[Any] = own.decided or [None] * len(mine)
    return [answer_of(made.id, one, receipt) for made, one, receipt in zip(mine, decided, got, strict=True)]


def _fail(group: list[Work], error: RequestError) -> None:
    for own in group:
        if not own.future.done():
            own.future.set_exception(error)


def _unavailable() -> RequestError:
    return RequestError(
        503,
        "log_unavailable",
        "The log did not confirm the decision, so there is no answer. Send the request again with the same "
        "Idempotency-Key: if it was logged after all, it is not decided a second time.",
        retry_after=1,
    )
