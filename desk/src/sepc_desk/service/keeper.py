"""A process that keeps reviews up to date: it reads new cases from the log, and makes answers final.

It is a process of its own, since requests would wait for a thread that reads and counts.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from sepc_desk.database import engine_of, keep_task
from sepc_desk.errors import LogChangedError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.owning.shadowing import decide_in_shadow
from sepc_desk.owning.watching import watch
from sepc_desk.reviewing.certifying import count_answers
from sepc_desk.reviewing.enrolling import enrol
from sepc_desk.reviewing.settling import settle
from sepc_desk.reviewing.transactions import now, writing
from sepc_desk.service.logs import log_as_json
from sepc_desk.settings import Settings
from sepc_desk.verifying import Walk, send_head, witnessed_by

log = logging.getLogger("sepc_desk")

# After a step in which there was something to do, it rests for this many times as long: decisions come first.
REST = 3.0
# Its priority is lower than that of decisions, which matters where cores are few.
NICE = 10
# A process that was killed is replaced after so many seconds.
REPLACE_SECONDS = 1.0
# How often it notes that a task goes well.
NOTE_SECONDS = 15.0
# How long after a check of the whole log the next one begins.
VERIFY_SECONDS = 30.0
DONE = object()


def start_keeper(settings: Settings) -> None:
    """Start the process. It is replaced if it dies, and ends with the process that called this.

    On Linux it is a copy of this process, so it starts at once. Nothing may have been computed before, since OpenMP
    does not work in the copy of a process that has used it.
    """
    if settings.has_keeper:
        keeper = _started("fork" if sys.platform == "linux" else "spawn", settings)
        threading.Thread(target=_replace, args=(keeper, settings), daemon=True).start()


def _replace(keeper: BaseProcess, settings: Settings) -> None:
    while True:
        wait([keeper.sentinel])
        time.sleep(REPLACE_SECONDS)
        log.warning("reviews stopped", extra={"error": f"exit code {keeper.exitcode}"})
        keeper = _started("spawn", settings)


def _started(method: str, settings: Settings) -> BaseProcess:
    context: Any = multiprocessing.get_context(method)
    keeper: BaseProcess = context.Process(target=keep_up, args=(settings,), daemon=True)
    keeper.start()
    return keeper


def keep_up(settings: Settings) -> None:
    """Keep reviews up to date as long as the process that started this one lives."""
    if sys.platform != "win32":
        os.nice(NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all processes of a service
    log_as_json(settings.log_level)
    service = multiprocessing.parent_process()
    assert service is not None, "only run in a process of its own"
    keeper = Keeper(engine_of(settings), settings)
    rest = pause = settings.review_seconds or 1.0
    while not wait([service.sentinel], rest):
        started = time.monotonic()
        n_read = keeper.step()
        # While there is more to read, go on soon.
        rest = REST * (time.monotonic() - started) if n_read else pause


class Keeper:
    """Does every task again and again, and notes for the other processes how each of them is."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine, self.settings = engine, settings
        self._load = cache(ModelFolder(settings.models).load)
        self._noted: dict[str, tuple[float, str | None]] = {}
        self._unloadable: set[str] = set()
        self._walk: Walk | None = None
        # As of the last time that all of the log was checked.
        self._is_whole = True
        self._steps: Iterator[None] = iter(())
        self._verified_at = -VERIFY_SECONDS

    def version(self, name: str, digest: str) -> Model:
        """A version of a model; one that cannot be loaded is tried again."""
        self._unloadable.add(name)
        found = self._load(name, digest)
        self._unloadable.discard(name)
        return found

    def step(self) -> int:
        """Do every task once; returns how much of the log was read. A failure of one stays with it."""
        engine, settings = self.engine, self.settings
        n_read = self._try("log", self._verify)
        if settings.witness:
            self._try("witness", lambda: send_head(engine, settings))
        if settings.review_seconds == 0:
            return n_read
        self._try("answers", lambda: settle(engine, settings.undo_seconds))
        self._try("certificates", lambda: count_answers(engine, self.version))
        n_read += self._try("monitors", lambda: watch(engine, settings, self.version))
        n_read += self._try("challengers", lambda: decide_in_shadow(engine, self.version))
        n_read += self._try("cases", lambda: enrol(engine, settings, self.version))
        self._note("models of reviews", ", ".join(sorted(self._unloadable)) or None)
        return n_read

    def _verify(self) -> int:
        """Check some more of the log; all of it again and again. Returns whether there is more."""
        if self._walk is None:
            if time.monotonic() - self._verified_at < VERIFY_SECONDS:
                return 0
            self._walk = Walk(self.engine, *witnessed_by(self.settings))
            self._steps = self._walk.run()
        if next(self._steps, DONE) is not DONE:
            return 1
        verdict, self._walk, self._verified_at = self._walk.verdict, None, time.monotonic()
        self._is_whole = verdict.is_whole
        if not verdict.is_whole:
            log.critical("log changed", extra={"error": verdict.findings})
            raise LogChangedError(verdict.findings[0])
        return 0

    def _try(self, name: str, task: Callable[[], int | None]) -> int:
        try:
            n = task() or 0
        except Exception as error:  # noqa: BLE001 - no failure may end the process, or the other tasks
            log.exception("task failed", extra={"task": name, "error": type(error).__name__})
            self._note(name, type(error).__name__)
            return 0
        self._note(name)
        return n

    def _note(self, name: str, error: str | None = None) -> None:
        """Note how a task is, when that has changed, and now and then."""
        if name == "log" and error is None and not (self._is_whole and self._walk is None):
            return  # until all of it is checked, and found whole
        at, before = self._noted.get(name, (0.0, None))
        if error == before and time.monotonic() - at < NOTE_SECONDS:
            return
        try:
            with writing(self.engine) as connection:
                keep_task(connection, name, now(connection), error)
            self._noted[name] = (time.monotonic(), error)
        except SQLAlchemyError as failed:
            log.error("task not noted", extra={"task": name, "error": type(failed).__name__})
