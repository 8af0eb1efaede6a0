"""Reviews in a running service: new cases are read from the log, and answers become final, without being asked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from sepc_desk.errors import ModelFolderError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.owning.shadowing import decide_in_shadow
from sepc_desk.owning.watching import watch
from sepc_desk.reviewing.certifying import count_answers
from sepc_desk.reviewing.enrolling import enrol
from sepc_desk.reviewing.settling import settle
from sepc_desk.reviewing.usual import Recent, recent
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")
Result = TypeVar("Result")

# How long the work on reviews rests, beside the time that it took.
REST = 3.0
# How long what is usual stays as it is, in seconds.
KEEP_SECONDS = 60.0


class Reviews:
    """Keeps the queue of cases up to date, and versions of models at hand."""

    def __init__(self, engine: Engine, folder: ModelFolder, settings: Settings) -> None:
        self.engine, self.folder, self.settings = engine, folder, settings
        # Pages wait for threads of their own, so that they do not take turns with other work.
        self.pool = ThreadPoolExecutor(2, "review")
        self._versions: dict[tuple[str, str], Model] = {}
        self._recent: dict[tuple[str, str], tuple[float, Recent]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to keep the queue up to date."""
        if self.settings.review_seconds > 0:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
        self.pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.settings.review_seconds)
            try:
                # While there is more to read, go on soon: decisions have most of the time of the process.
                started = time.monotonic()
                while await self.do(self.step):
                    await asyncio.sleep(REST * (time.monotonic() - started))
                    started = time.monotonic()
            except (SQLAlchemyError, ModelFolderError, OSError) as error:
                log.warning("reviews not kept up", extra={"error": type(error).__name__})
            except Exception as error:  # noqa: BLE001 - one failure must not end the task for good
                log.exception("reviews failed", extra={"error": type(error).__name__})

    def step(self) -> int:
        """Read on in the log for cases, monitors and challengers, and make answers final; returns how much was read."""
        settle(self.engine, self.settings.undo_seconds)
        count_answers(self.engine, self.version)
        n = watch(self.engine, self.settings, self.version) + decide_in_shadow(self.engine, self.version)
        return n + enrol(self.engine, self.settings, self.version)

    async def do(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a function that waits for the database in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)

    def version(self, name: str, digest: str) -> Model:
        """A version of a model, which need not be live any more."""
        if (name, digest) not in self._versions:
            self._versions[name, digest] = self.folder.load(name, digest)
        return self._versions[name, digest]

    def recent(self, model: Model) -> Recent:
        """Recent cases of a model, at most a minute old."""
        own = (model.name, model.digest)
        read_at, found = self._recent.get(own, (0.0, None))
        if found is None or read_at + KEEP_SECONDS < time.monotonic():
            with self.engine.connect() as connection:
                found = recent(connection, model)
            self._recent[own] = (time.monotonic(), found)
        return found
