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
from collections.abc import Callable
from functools import cache
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from sepc_desk.database import engine_of
from sepc_desk.errors import ModelFolderError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.owning.shadowing import decide_in_shadow
from sepc_desk.owning.watching import watch
from sepc_desk.reviewing.certifying import count_answers
from sepc_desk.reviewing.enrolling import enrol
from sepc_desk.reviewing.settling import settle
from sepc_desk.service.logs import log_as_json
from sepc_desk.settings import Settings

log = logging.getLogger("sepc_desk")

# After a step in which there was something to do, it rests for this many times as long: decisions come first.
REST = 3.0
# Its priority is lower than that of decisions, which matters where cores are few.
NICE = 10
# A process that was killed is replaced after so many seconds.
REPLACE_SECONDS = 1.0


def start_keeper(settings: Settings) -> None:
    """Start the process. It is replaced if it dies, and ends with the process that called this.

    On Linux it is a copy of this process, so it starts at once. Nothing may have been computed before, since OpenMP
    does not work in the copy of a process that has used it.
    """
    if settings.review_seconds > 0:
        copies = (
            multiprocessing.get_context("fork") if sys.platform == "linux" else multiprocessing.get_context("spawn")
        )
        keeper = copies.Process(target=keep_up, args=(settings,), daemon=True)
        keeper.start()
        threading.Thread(target=_replace, args=(keeper, settings), daemon=True).start()


def _replace(keeper: BaseProcess, settings: Settings) -> None:
    while True:
        wait([keeper.sentinel])
        time.sleep(REPLACE_SECONDS)
        log.warning("reviews stopped", extra={"error": f"exit code {keeper.exitcode}"})
        keeper = multiprocessing.get_context("spawn").Process(target=keep_up, args=(settings,), daemon=True)
        keeper.start()


def keep_up(settings: Settings) -> None:
    """Keep reviews up to date as long as the process that started this one lives."""
    if sys.platform != "win32":
        os.nice(NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all processes of a service
    log_as_json(settings.log_level)
    service = multiprocessing.parent_process()
    assert service is not None, "only run in a process of its own"
    engine = engine_of(settings)
    version = cache(ModelFolder(settings.models).load)
    rest = settings.review_seconds
    while not wait([service.sentinel], rest):
        started = time.monotonic()
        n_read = _step_or_log(engine, settings, version)
        # While there is more to read, go on soon.
        rest = REST * (time.monotonic() - started) if n_read else settings.review_seconds


def _step_or_log(engine: Engine, settings: Settings, version: Callable[[str, str], Model]) -> int:
    try:
        return step(engine, settings, version)
    except (SQLAlchemyError, ModelFolderError, OSError) as error:
        log.warning("reviews not kept up", extra={"error": type(error).__name__})
    except Exception as error:  # noqa: BLE001 - one failure must not end the process for good
        log.exception("reviews failed", extra={"error": type(error).__name__})
    return 0


def step(engine: Engine, settings: Settings, version: Callable[[str, str], Model]) -> int:
    """Read on in the log for cases, monitors and challengers, and make answers final; returns how much was read."""
    settle(engine, settings.undo_seconds)
    count_answers(engine, version)
    n_read = watch(engine, settings, version) + decide_in_shadow(engine, version)
    return n_read + enrol(engine, settings, version)
