"""A model whose cases change, with settled answers: what owners see and repair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
import pytest
import sepc
from conftest import Running
from sample_models import rows_of
from servers import KEYED, DeskProcess
from signing_in import SignIn
from sqlalchemy import Engine, select, update

from sepc_desk.chain import Chain, keep_context
from sepc_desk.commands.main import main
from sepc_desk.database import engine_of
from sepc_desk.deciding import decide_rows
from sepc_desk.entries import EntryKind, entry
from sepc_desk.models import Model, ModelFolder
from sepc_desk.owning.changes import live_digest
from sepc_desk.reviewing.enrolling import enrol
from sepc_desk.reviewing.states import CaseState, ReadingState
from sepc_desk.reviewing.transactions import writing
from sepc_desk.rows import typed_row
from sepc_desk.schema import cases, entries, readings
from sepc_desk.settings import Settings, load_settings

# The share of rows that come from the corner, after the change.
CORNER = 0.5
PLAN = """
version = 1
title = "Repairs of the square"
may_change = ["regions", "threshold"]

[rows]
key = "kept with the plan: 4f8a61c09d"
draw = {draw}

[candidates]
most = 3

[[criteria]]
kind = "overall"
margin = {margin}
level = 0.05
"""


def square(n: int, seed: int, *, corner: float = 0.0, changed: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Points of a square with the side they lie on; some more of a corner, whose label may have changed."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, size=(n, 2))
    is_corner = rng.random(n) < corner
    points[is_corner] = rng.uniform(0.25, 0.75, size=(int(is_corner.sum()), 2))
    side = np.where(points[:, 0] > 0.0, "right", "left")
    if changed:
        side[np.abs(points - 0.5).max(axis=1) < 0.25] = "left"
    return pd.DataFrame(points, columns=["width", "height"]), side


@dataclass
class Owned:
    """A database with decisions of the square, and the folder of its versions."""

    engine: Engine
    folder: Path
    settings: Settings

    @property
    def models(self) -> ModelFolder:
        return ModelFolder(self.folder)

    @property
    def live(self) -> Model:
        with self.engine.connect() as connection:
            return self.models.load("square", live_digest(connection, self.models, "square"))

    def add(self, n: int, seed: int) -> str:
        """Fit a version and add it; the first is live."""
        self.folder.mkdir(exist_ok=True)
        file = self.folder / "square.unsorted"
        sepc.save(sepc.SEPClassifier().fit(*square(n, seed)), file)
        digest = self.models.add("square", file)
        file.unlink()
        return digest

    def decide(self, table: pd.DataFrame, version: Model) -> None:
        """Log decisions, and let what needs review enter the queue."""
        keep_context(self.engine, *version.context)
        rows = [typed_row(version.columns, row, i) for i, row in enumerate(rows_of(table))]
        made = [
            entry(
                EntryKind.DECISION,
                "key:1",
                own.private(row),
                model="square",
                context=version.context[0],
                label=own.label_text,
                accepted=own.accepted,
                cause=own.cause,
            )
            for row, own in zip(rows, decide_rows(version, rows), strict=True)
        ]
        chain = Chain(self.engine)
        chain.append(made)
        chain.close()
        while enrol(self.engine, self.settings, self.models.load):
            pass

    def settle(self, label_of: Callable[[str], str]) -> int:
        """Settle every open case as reviewers who know the label would; returns how many."""
        with writing(self.engine) as connection:
            found = connection.execute(
                select(cases.c.id, entries.c.private)
                .join(entries, entries.c.id == cases.c.id)
                .where(cases.c.state == CaseState.OPEN)
            ).all()
            for own, private in found:
                values = {"state": CaseState.SETTLED, "label": label_of(private)}
                connection.execute(update(cases).where(cases.c.id == own).values(**values))
                connection.execute(
                    update(readings).where(readings.c.case_id == own).values(state=ReadingState.WITHDRAWN)
                )
        return len(found)

    def write_plan(self, home: Path, *, margin: float = 0.02, n: int = 600, seed: int = 9) -> tuple[Path, Path]:
        """A plan, and rows like those that come now, as CSV."""
        table, side = square(n, seed, corner=CORNER, changed=True)
        plan, rows = home / f"plan-{margin}-{seed}.toml", home / f"rows-{seed}.csv"
        plan.write_text(PLAN.format(draw=n, margin=margin))
        table.assign(side=side).to_csv(rows, index=False)
        return plan, rows


REFERENCE, N_LATER = 300, 400
SETTINGS = {
    "review_seconds": 0.2,
    "undo_seconds": 0,
    "certificate_share": 0.9,
    "certificate_block": 300,
    "monitor_rows": REFERENCE,
    "blind_share": 0,
    "second_share": 0,
    "planted_share": 0,
}


def truth_of(private: str) -> str:
    """The label of a point after the corner has changed, as JSON."""
    point = np.array(list(orjson.loads(private)["row"].values()))
    is_left = point[0] <= 0.0 or np.abs(point - 0.5).max() < 0.25
    return orjson.dumps("left" if is_left else "right").decode()


@dataclass
class OwnedDesk:
    """A service whose cases have changed, with settled answers, a plan, two versions, and two owners who signed in."""

    running: Running
    data: Owned
    first: str
    other: str
    owner: Any
    second: Any
    sign_in: SignIn
    home: Path
    common: list[str]
    plan: Path
    rows: Path


@contextmanager
def owned_desk(database: str, home: Path) -> Iterator[OwnedDesk]:
    """Start a service on a migrated database, in a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEPC_DESK_LOG_KEY", KEYED["SEPC_DESK_LOG_KEY"])  # for commands that a test runs
        settings = load_settings(KEYED, database=database, models=home / "models", **SETTINGS)
        data = Owned(engine_of(settings), home / "models", settings)
        first, other = data.add(400, 0), data.add(400, 1)
        data.decide(square(REFERENCE, 2)[0], data.live)
        data.decide(square(N_LATER, 3, corner=CORNER, changed=True)[0], data.live)
        data.settle(truth_of)
        plan, rows = data.write_plan(home)
        common = ["--models", str(home / "models"), "--database", database]
        assert main(["plans", "set", "square", str(plan), str(rows), "--label", "side", *common]) == 0
        sign_in = SignIn("square")
        process = DeskProcess(database, home / "models", **SETTINGS, **sign_in.settings(), is_warm=True)
        running = Running(process.wait_ready(), database)
        owner, second = (sign_in.person(process, name, "owner:square") for name in ("ann", "ben"))
        yield OwnedDesk(running, data, first, other, owner, second, sign_in, home, common, plan, rows)
        owner.close()
        second.close()
        sign_in.close()
        data.engine.dispose()
        running.close()
