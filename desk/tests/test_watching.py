"""Monitors read on in the log: in blocks, each row once, and without keeping decisions from being written."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from time import time_ns
from typing import Any

import pytest
from filling import fill
from review_cases import Desk
from sqlalchemy import Engine, select

from sepc_desk.owning import watching
from sepc_desk.owning.watching import BLOCK, PATIENCE, watch, watched
from sepc_desk.reviewing.transactions import seconds
from sepc_desk.schema import monitors
from sepc_desk.settings import Settings

SETTINGS = Settings(monitor_rows=200, certificate_share=0.0)


@pytest.fixture
def desk(engine: Engine, model_folder: Path) -> Desk:
    return Desk(engine, model_folder, SETTINGS)


def read_on(desk: Desk, at: int | None = None) -> int:
    return watch(desk.engine, SETTINGS, desk.model_of, at)  # type: ignore[arg-type]


def read_all(desk: Desk) -> None:
    while read_on(desk):
        pass


def counted(desk: Desk) -> tuple[int, int]:
    """Rows that the monitor has counted, and those that wait."""
    with desk.engine.connect() as connection:
        n_waiting = connection.execute(select(monitors.c.n_waiting).where(monitors.c.model == "loans")).scalar_one()
        return watched(connection, desk.model).n_rows, n_waiting


def test_blocks_are_larger_once_many_rows_are_counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MANY", 2 * BLOCK)
    monkeypatch.setattr(watching, "LARGE_BLOCK", 3 * BLOCK)
    desk.decide(200 + 2 * BLOCK)
    read_all(desk)
    assert counted(desk) == (2 * BLOCK, 0)
    desk.decide(2 * BLOCK)
    assert read_on(desk) == 0
    desk.decide(BLOCK + 10)
    assert read_on(desk) == 3 * BLOCK
    assert counted(desk) == (5 * BLOCK, 10)
    in_time = time_ns() // 1000 + seconds(PATIENCE) // 2
    assert read_on(desk, in_time) == 0
    assert read_on(desk, in_time + seconds(PATIENCE)) == 10
    assert counted(desk) == (5 * BLOCK + 10, 0)


def test_processes_that_read_at_once_count_every_row_once(desk: Desk) -> None:
    desk.decide(200 + 6 * BLOCK)
    with ThreadPoolExecutor(3) as pool:
        for _ in range(8):
            list(pool.map(lambda _: read_on(desk), range(3)))
    assert counted(desk) == (6 * BLOCK, 0)


def test_decisions_are_logged_and_enrolled_while_a_monitor_counts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.decide(200 + BLOCK)
    assert read_on(desk) == 200
    counts, goes_on, count = Event(), Event(), watching._counted

    def slowly(*given: Any) -> dict[str, Any]:
        counts.set()
        assert goes_on.wait(60)
        return count(*given)

    monkeypatch.setattr(watching, "_counted", slowly)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(read_on, desk)
        assert counts.wait(60)
        desk.decide(40)  # a write that waited for the monitor would never end
        goes_on.set()
        assert running.result() == BLOCK
    assert counted(desk) == (BLOCK, 40)
    with desk.engine.connect() as connection:
        assert connection.execute(select(monitors.c.waiting_since)).scalar_one() is not None


def test_rows_of_another_model_are_left_to_its_own_monitor(desk: Desk) -> None:
    fill(desk.engine, desk.folder, 50, ("wdbc",))
    desk.decide(200 + BLOCK)
    read_all(desk)
    assert counted(desk) == (BLOCK, 0)
