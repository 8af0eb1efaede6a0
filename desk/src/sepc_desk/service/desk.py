"""What all routes share: settings, database, models, the grouper, and the check of callers."""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from datetime import date
from typing import Any

import orjson
from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.authority import Identity
from sepc_desk.chain import MOST_APART, Chain, keep_context
from sepc_desk.database import check_durable, engine_of, keep_task
from sepc_desk.errors import RequestError
from sepc_desk.exporting import Exported, be_nice, export_by
from sepc_desk.migrations.versioning import check_version
from sepc_desk.models import Model, ModelFolder
from sepc_desk.owning.changes import load_live, newest_change
from sepc_desk.owning.making import Workshop
from sepc_desk.reviewing.transactions import now, seconds, writing
from sepc_desk.schema import tasks
from sepc_desk.service.access import REFRESH_SECONDS, Gate, KeyRing
from sepc_desk.service.grouping import Grouper
from sepc_desk.service.limits import Buffers, read_body
from sepc_desk.service.metrics import Metrics
from sepc_desk.service.reviews import Reviews
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

# How often the folder of models is checked for changes, in seconds.
WATCH_SECONDS = 2.0
# How long the database may take to confirm a write that tests it, and how long the outcome of a write stands.
PROBE_SECONDS = 2.0
# A task that has not succeeded for so long is behind.
LATE_SECONDS, KEEPER_SECONDS = 10.0, 60.0
PROBE = "probe"
# Without these, requests are better sent elsewhere.
NEEDED = ("database", "models", "clock", "keys")
# Exports that wait for the one that is written.
MOST_EXPORTS = 20


class Desk:
    """The parts of a running service."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine = engine_of(settings)
        check_durable(self.engine, settings)
        check_version(self.engine)
        self.folder = ModelFolder(settings.models)
        self.metrics = Metrics()
        self.buffers = Buffers(settings.max_buffered_bytes)
        self.models: dict[str, Model] = {}
        # Models whose newest version could not be loaded.
        self.not_loaded: list[str] = []
        self._stamp: Any = None
        self._load()
        # Recourse takes seconds; one search at a time leaves the rest of the process to decisions.
        self.searcher = ThreadPoolExecutor(1, "recourse")
        self.prober = ThreadPoolExecutor(1, "probe")
        self.n_searching = 0
        self.reviews = Reviews(self.engine, self.folder)
        self.workshop = Workshop(self.engine, self.folder, self.reviews.version)
        # Audits and repairs take seconds to minutes; one at a time.
        self.worker = ThreadPoolExecutor(1, "change")
        self._exporter = self._new_exporter()
        self.n_exporting = 0
        self._probe: asyncio.Future[list[str]] | None = None
        self._probed_at, self._clock_differs = 0.0, False
        self._tasks: list[asyncio.Task[None]] = []
        # When each task of this process has last succeeded.
        self.done: dict[str, float] = {}
        self.grouper: Grouper
        self.gate: Gate

    def _load(self) -> None:
        """Load each model on its own: one that cannot be loaded stays as it was, and the others go on."""
        stamp = self._now()
        models: dict[str, Model] = {}
        failed: list[str] = []
        for name in self.folder.names():
            try:
                models[name] = load_live(self.engine, self.folder, name)
                keep_context(self.engine, *models[name].context)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the files of one model
                failed.append(name)
                log.error("model not loaded", extra={"models": [name], "error": f"{type(error).__name__}: {error}"})
                models |= {name: self.models[name]} if name in self.models else {}
        self.models, self.not_loaded = models, failed
        self._stamp = None if failed else stamp
        # What is loaded stays in memory. The garbage collector need not scan it, which would delay answers.
        gc.collect()
        gc.freeze()

    def _now(self) -> Any:
        """Changes whenever a version is added, or another one goes live."""
        with self.engine.connect() as connection:
            return self.folder.stamp(), newest_change(connection)

    async def start(self) -> None:
        """Begin to serve."""
        settings = self.settings
        self.grouper = Grouper(Chain(self.engine), self.metrics, settings)
        ring = KeyRing(self.engine, settings.oidc_roles)
        await ring.refresh()
        self.gate = Gate(ring, settings.requests_per_second, settings.failed_keys_per_minute)
        self.grouper.start()
        for name, each, work in (("keys", REFRESH_SECONDS, ring.refresh), ("models", WATCH_SECONDS, self.reload)):
            self.done[name] = time.monotonic()
            self._tasks.append(asyncio.get_running_loop().create_task(self._repeat(name, each, work)))
        log.info("started", extra={"models": sorted(self.models)})

    async def stop(self) -> None:
        """Finish the work that was accepted, and end."""
        for task in self._tasks:
            task.cancel()
        await self.grouper.stop()
        for pool in (self.reviews.pool, self.searcher, self.prober, self.worker, self._exporter):
            pool.shutdown(wait=False, cancel_futures=True)
        self.engine.dispose()
        log.info("stopped")

    async def _repeat(self, name: str, each: float, work: Callable[[], Awaitable[None]]) -> None:
        """Do a task again and again; a failure is logged and counted, and the task goes on."""
        while True:
            await asyncio.sleep(each)
            try:
                await work()
                self.done[name] = time.monotonic()
            except Exception as error:  # noqa: BLE001 - no failure may end the task
                self.metrics.task_failures.labels(name).inc()
                log.exception("task failed", extra={"task": name, "error": type(error).__name__})

    async def reload(self) -> None:
        """Load models again if their folder has changed, or if one of them could not be loaded."""
        loop = asyncio.get_running_loop()
        if await loop.run_in_executor(None, self._now) != self._stamp:
            await loop.run_in_executor(None, self._load)
            log.info("models loaded", extra={"models": sorted(self.models)})

    @staticmethod
    def _new_exporter() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), be_nice)

    async def export(self, what: str, form: str, model: str, day: date) -> Exported:
        """Write a file, one at a time and in another process."""
        if self.n_exporting >= MOST_EXPORTS:
            raise RequestError(429, "busy", "Too many exports are waiting; try again later.", retry_after=10)
        self.n_exporting += 1
        try:
            running = self._exporter.submit(export_by, self.settings, what, form, model, day)
            return await asyncio.wrap_future(running)
        except BrokenProcessPool:
            self._exporter = self._new_exporter()
            raise RequestError(503, "failed", "The export was interrupted; try again.", retry_after=1) from None
        finally:
            self.n_exporting -= 1

    def model(self, name: Any) -> Model:
        """The live version of a model; raises if there is none."""
        found = self.models.get(name) if isinstance(name, str) else None
        if found is None:
            raise RequestError(404, "no_such_model", f"There is no model {name!r}.")
        return found

    async def health(self) -> dict[str, str]:
        """How the parts of the service are: "ok", or what is wrong."""
        loop = asyncio.get_running_loop()
        if self._probe is None or (self._probe.done() and time.monotonic() - self._probed_at > 1.0):
            self._probed_at = time.monotonic()
            self._probe = loop.run_in_executor(self.prober, self._write_to_database)
        database, late = "ok", []
        try:
            late = await asyncio.wait_for(asyncio.shield(self._probe), PROBE_SECONDS)
        except Exception as error:  # noqa: BLE001 - whatever keeps the database from confirming a write
            database = "unreachable"
            log.error("database does not write", extra={"error": type(error).__name__})
        if self.grouper.failed_at is not None and time.monotonic() - self.grouper.failed_at < LATE_SECONDS:
            database = "unreachable"
        late += [name for name, at in self.done.items() if time.monotonic() - at > LATE_SECONDS]
        late += [f"model {name}" for name in self.not_loaded]
        return {
            "database": database,
            "models": "ok" if self.models else "none loaded",
            "clock": "differs from that of the database" if self._clock_differs else "ok",
            "keys": "ok" if self.gate.ring.is_fresh() else "not read",
            "behind": ", ".join(late) or "none",
        }

    def _write_to_database(self) -> list[str]:
        """Write, at most once a second, and say which tasks of the other process are behind."""
        with writing(self.engine) as connection:
            keep_task(connection, PROBE, at := now(connection))
            self._clock_differs = abs(at - time.time_ns() // 1000) > MOST_APART
            known = connection.execute(select(tasks).where(tasks.c.name != PROBE)).all()
        late = at - seconds(KEEPER_SECONDS)
        return [own.name for own in known if own.error or own.done_at < late] if self.settings.has_keeper else []


def desk_of(request: Request) -> Desk:
    """The desk of the application that a request came to."""
    desk: Desk = request.app.state.desk
    return desk


async def identified(request: Request) -> tuple[Desk, Identity]:
    """The desk, and who asks; raises if the caller is not known."""
    desk = desk_of(request)
    return desk, await desk.gate.identify(request)


async def object_body(request: Request) -> dict[str, Any]:
    """The body of a request, which must be an object; memory for it is given back when the request ends."""
    desk = desk_of(request)
    settings = desk.settings
    with desk.buffers.lent() as taken:
        body = await read_body(request, settings.max_bytes, settings.body_seconds, desk.buffers, taken)
        try:
            found = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise RequestError(400, "not_json", f"The body is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise RequestError(400, "not_object", "The body must be a JSON object.")
    return found


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response with JSON."""
    body = orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, status, headers, media_type="application/json")
