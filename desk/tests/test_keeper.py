"""The process that keeps reviews up to date is replaced when it dies, and ends with the service."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Running
from sample_models import model
from servers import DeskProcess
from sqlalchemy import func, select

from sepc_desk.schema import cases


@pytest.fixture
def start(new_database, model_folder: Path):
    started: list[Running] = []

    def start(**settings: object) -> Running:
        database = new_database("sqlite")
        started.append(Running(DeskProcess(database, model_folder, **settings).wait_ready(), database))
        return started[-1]

    yield start
    for own in started:
        own.close()


def children_of(own: Running) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(own.process.process.pid)], text=True, capture_output=True).stdout
    return [int(one) for one in found.split()]


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def n_cases(own: Running) -> int:
    with own.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(cases)).scalar_one())


def test_it_is_replaced_when_it_is_killed(start) -> None:
    own = start(review_seconds=0.1, certificate_share=0)
    (keeper,) = children_of(own)
    os.kill(keeper, signal.SIGKILL)
    body = {"model": "loans", "rows": model("loans")[1][:200]}
    decided = own.client.post("/decide", json=body).json()["decisions"]
    n_refused = sum(not one["accepted"] for one in decided)
    assert n_refused > 0
    wait_until(lambda: n_cases(own) == n_refused)
    assert keeper not in children_of(own)


def test_it_ends_with_the_service_even_if_that_is_killed(start) -> None:
    own = start(review_seconds=0.1)
    (keeper,) = children_of(own)
    os.kill(own.process.process.pid, signal.SIGKILL)
    own.process.process.wait()
    wait_until(lambda: not Path(f"/proc/{keeper}/cmdline").exists() or not Path(f"/proc/{keeper}/cmdline").read_bytes())


def test_there_is_none_without_reviews(start) -> None:
    assert children_of(start(review_seconds=0)) == []
