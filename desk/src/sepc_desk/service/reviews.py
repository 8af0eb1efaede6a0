"""What pages about reviews share: threads of their own, versions of models at hand, and what is usual."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from sqlalchemy import Engine

from sepc_desk.models import Model, ModelFolder
from sepc_desk.reviewing.usual import Recent, recent

Result = TypeVar("Result")

# How long what is usual stays as it is, in seconds.
KEEP_SECONDS = 60.0


class Reviews:
    """Runs what pages ask for.

    Attributes
    ----------
    version : callable
        Gives a version of a model by name and digest; it need not be live any more.
    """

    def __init__(self, engine: Engine, folder: ModelFolder) -> None:
        self.engine = engine
        self.version: Callable[[str, str], Model] = cache(folder.load)
        # Pages wait for threads of their own, so that they do not take turns with other work.
        self.pool = ThreadPoolExecutor(2, "review")
        self._recent: dict[tuple[str, str], tuple[float, Recent]] = {}

    async def do(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Run a function that waits for the database in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)

    def recent(self, model: Model) -> Recent:
        """Recent cases of a model, at most a minute old."""
        own = (model.name, model.digest)
        read_at, found = self._recent.get(own, (0.0, None))
        if found is None or read_at + KEEP_SECONDS < time.monotonic():
            with self.engine.connect() as connection:
                found = recent(connection, model)
            self._recent[own] = (time.monotonic(), found)
        return found
