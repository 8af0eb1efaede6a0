"""The process that keeps reviews up to date is replaced when it dies, and ends with the service."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Running
from sample_models import model
from servers import DeskProcess
from sqlalchemy import func, select

from sepc_desk.schema import cases
from sepc_desk.service.keeper import start_keeper
from sepc_desk.settings import load_settings


@pytest.fixture
def own(new_database, model_folder: Path):
    database = new_database("sqlite")
    settings = {"review_seconds": 0.1, "certificate_share": 0}
    running = Running(DeskProcess(database, model_folder, **settings).wait_ready(), database)
    yield running
    running.close()


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def has_ended(process: int) -> bool:
    try:
        return not Path(f"/proc/{process}/cmdline").read_bytes()  # one that nobody has waited for has none
    except FileNotFoundError:
        return True


def n_cases(own: Running) -> int:
    with own.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(cases)).scalar_one())


def test_it_is_replaced_when_it_is_killed_and_ends_with_a_service_that_is_killed(own: Running) -> None:
    (keeper,) = own.process.others()
    os.kill(keeper, signal.SIGKILL)
    body = {"model": "loans", "rows": model("loans")[1][:200]}
    decided = own.client.post("/decide", json=body).json()["decisions"]
    n_refused = sum(not one["accepted"] for one in decided)
    assert n_refused > 0
    wait_until(lambda: n_cases(own) == n_refused)
    replaced = own.process.others()
    assert replaced
    assert keeper not in replaced
    os.kill(own.process.process.pid, signal.SIGKILL)
    own.process.process.wait()
    wait_until(lambda: all(map(has_ended, replaced)))


def test_there_is_none_if_the_log_is_never_read_for_cases() -> None:
    before = multiprocessing.active_children()
    start_keeper(load_settings({"SEPC_DESK_REVIEW_SECONDS": "0"}, database="sqlite://"))
    assert multiprocessing.active_children() == before
