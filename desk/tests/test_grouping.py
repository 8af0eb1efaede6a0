from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sample_models import model
from sqlalchemy import Engine

from sepc_desk.chain import Chain
from sepc_desk.entries import Entry
from sepc_desk.models import ModelFolder
from sepc_desk.rows import typed_row
from sepc_desk.service.grouping import QUIET_TURNS, Grouper, Work
from sepc_desk.service.metrics import Metrics
from sepc_desk.settings import Settings


class CountingChain(Chain):
    """A chain that keeps how many entries it wrote at once."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.sizes: list[int] = []

    def append(self, group: list[Entry]) -> list:
        self.sizes.append(len(group))
        return super().append(group)


@pytest.mark.parametrize("most", [256, 4])
def test_requests_that_are_being_read_are_in_one_group(engine: Engine, model_folder: Path, most: int) -> None:
    live = ModelFolder(model_folder).load("loans")
    rows = [typed_row(live.columns, row, 0) for row in model("loans")[1][:8]]
    chain = CountingChain(engine)

    async def ask_all() -> list[float]:
        grouper = Grouper(chain, Metrics(), Settings(batch_rows=most, max_waiting_rows=100))
        grouper.start()

        async def ask(i: int) -> float:
            for _ in range(i):  # the later ones take more turns of the event loop to be read
                await asyncio.sleep(0)
            return (await grouper.do([Work("key:1", live, [rows[i]])], 30))[0].content["trust"]

        try:
            return await asyncio.gather(*map(ask, range(8)))
        finally:
            await grouper.stop()

    trust = asyncio.run(ask_all())
    assert trust == model("loans")[0].decide(model("loans")[1]).trust[:8].tolist()
    assert chain.sizes == ([8] if most > 8 else [4, 4])


def test_a_request_of_the_only_caller_waits_for_one_turn(engine: Engine, model_folder: Path) -> None:
    """Waiting for others takes several turns of the event loop, so it is done only after there were others."""
    live = ModelFolder(model_folder).load("loans")
    row = typed_row(live.columns, model("loans")[1][0], 0)

    async def turns_before_groups() -> list[list[int]]:
        grouper = Grouper(Chain(engine), Metrics(), Settings(max_waiting_rows=100))
        read, turns = grouper._read_what_arrived, []

        async def reading(n: int) -> None:
            if grouper._waiting:
                turns[-1].append(n)
            await read(n)

        grouper._read_what_arrived = reading
        grouper.start()
        for n_callers in (1, 1, 3, 1, 1):
            turns.append([])
            await asyncio.gather(*(grouper.do([Work("key:1", live, [row])], 30) for _ in range(n_callers)))
            for _ in range(2 * QUIET_TURNS):  # until the grouper is idle again
                await asyncio.sleep(0)
        await grouper.stop()
        return turns

    assert asyncio.run(turns_before_groups()) == [[1], [1], [1], [QUIET_TURNS], [1]]
