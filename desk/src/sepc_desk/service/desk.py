"""What all routes share: settings, database, models, the grouper, and the check of callers."""

from __future__ import annotations

import asyncio
import gc
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.chain import Chain, keep_context
from sepc_desk.database import check_durable, engine_of
from sepc_desk.errors import ModelFolderError, RequestError
from sepc_desk.migrations.versioning import check_version
from sepc_desk.models import Model, ModelFolder
from sepc_desk.owning.making import Workshop
from sepc_desk.service.access import Gate, KeyRing
from sepc_desk.service.grouping import Grouper
from sepc_desk.service.limits import Buffers, read_body
from sepc_desk.service.metrics import Metrics
from sepc_desk.service.reviews import Reviews
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

# How often the folder of models is checked for changes, in seconds.
WATCH_SECONDS = 2.0
# How long the database may take to answer a question about its health.
PROBE_SECONDS = 2.0


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
        self._probe: asyncio.Future[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self.grouper: Grouper
        self.gate: Gate

    def _load(self) -> None:
        stamp = self.folder.stamp()
        models = self.folder.load_live()
        for model in models.values():
            keep_context(self.engine, *model.context)
        self.models, self._stamp = models, stamp
        # What is loaded stays in memory. The garbage collector need not scan it, which would delay answers.
        gc.collect()
        gc.freeze()

    async def start(self) -> None:
        """Begin to serve."""
        settings = self.settings
        self.grouper = Grouper(
            Chain(self.engine),
            self.metrics,
            batch_rows=settings.batch_rows,
            most_waiting=settings.max_waiting_rows,
            write_seconds=settings.write_seconds,
        )
        ring = KeyRing(self.engine)
        await ring.refresh()
        self.gate = Gate(ring, settings.requests_per_second, settings.failed_keys_per_minute)
        self.grouper.start()
        self._watcher = asyncio.get_running_loop().create_task(self._watch())
        log.info("started", extra={"models": sorted(self.models)})

    async def stop(self) -> None:
        """Finish the work that was accepted, and end."""
        if self._watcher is not None:
            self._watcher.cancel()
        self.reviews.stop()
        await self.grouper.stop()
        for pool in (self.searcher, self.prober, self.worker):
            pool.shutdown(wait=False, cancel_futures=True)
        self.engine.dispose()
        log.info("stopped")

    async def _watch(self) -> None:
        """Read keys again, and models when their folder has changed."""
        ticks = 0
        while True:
            await asyncio.sleep(WATCH_SECONDS / 2)
            await self.gate.ring.refresh()
            ticks += 1
            if ticks % 2 == 0:
                await self.reload()

    async def reload(self) -> None:
        """Load models again if their folder has changed."""
        loop = asyncio.get_running_loop()
        try:
            if await loop.run_in_executor(None, self.folder.stamp) != self._stamp:
                await loop.run_in_executor(None, self._load)
                log.info("models loaded", extra={"models": sorted(self.models)})
        except (ModelFolderError, OSError, SQLAlchemyError) as error:
            log.error("models not loaded", extra={"error": str(error)})

    def model(self, name: Any) -> Model:
        """The live version of a model; raises if there is none."""
        found = self.models.get(name) if isinstance(name, str) else None
        if found is None:
            raise RequestError(404, "no_such_model", f"There is no model {name!r}.")
        return found

    async def database_answers(self) -> bool:
        """Whether the database answers within two seconds."""
        loop = asyncio.get_running_loop()
        if self._probe is None or self._probe.done():
            self._probe = loop.run_in_executor(self.prober, self._ask_database)
        try:
            await asyncio.wait_for(asyncio.shield(self._probe), PROBE_SECONDS)
        except (TimeoutError, SQLAlchemyError):
            return False
        return True

    def _ask_database(self) -> None:
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))


def desk_of(request: Request) -> Desk:
    """The desk of the application that a request came to."""
    desk: Desk = request.app.state.desk
    return desk


async def json_body(request: Request) -> Any:
    """The body of a request as JSON; memory for it is given back when the request ends."""
    desk = desk_of(request)
    settings = desk.settings
    with desk.buffers.lent() as taken:
        body = await read_body(request, settings.max_bytes, settings.body_seconds, desk.buffers, taken)
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise RequestError(400, "not_json", f"The body is not JSON: {error}.") from None


async def object_body(request: Request) -> dict[str, Any]:
    """The body of a request, which must be an object."""
    found = await json_body(request)
    if not isinstance(found, dict):
        raise RequestError(400, "not_object", "The body must be a JSON object.")
    return found


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response with JSON."""
    body = orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS)
    return Response(body, status, headers, media_type="application/json")
