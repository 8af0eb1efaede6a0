"""Cases to review, made as the service makes them, with a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from filling import fill
from sqlalchemy import Engine, delete, func, select

from sepc_desk.models import Model, ModelFolder
from sepc_desk.reviewing.answering import Given, answer
from sepc_desk.reviewing.certifying import count_answers
from sepc_desk.reviewing.enrolling import enrol
from sepc_desk.reviewing.leasing import Reader, take
from sepc_desk.reviewing.settling import settle
from sepc_desk.reviewing.transactions import seconds, writing
from sepc_desk.schema import cases, readings, review_progress
from sepc_desk.settings import Settings

START = 1_900_000_000_000_000
ANN, BEN, EVE = Reader("person:ann"), Reader("person:ben"), Reader("person:eve")


def versions_in(folder: Path) -> Callable[[str, str], Model]:
    known: dict[tuple[str, str], Model] = {}

    def model_of(name: str, digest: str) -> Model:
        if (name, digest) not in known:
            known[name, digest] = ModelFolder(folder).load(name, digest)
        return known[name, digest]

    return model_of


@dataclass
class Desk:
    """A database with cases, and a clock that goes on when it is told to."""

    engine: Engine
    folder: Path
    settings: Settings
    rng: Random = field(default_factory=lambda: Random(0))
    at: int = START
    model_of: Callable[[str, str], Model] | None = None

    def __post_init__(self) -> None:
        self.model_of = self.model_of or versions_in(self.folder)
        self.model = self.model_of("loans", ModelFolder(self.folder).first_digest("loans"))

    def decide(self, n: int) -> None:
        """Decide on rows and let what needs review enter the queue."""
        fill(self.engine, self.folder, n, ("loans",))
        while enrol(self.engine, self.settings, self.model_of, self.at, self.rng):
            pass

    def later(self, n: float) -> int:
        """Let time go by, and everything happen that is due; returns how many cases the certificate counted."""
        self.at += seconds(n)
        settle(self.engine, self.settings.undo_seconds, self.at)
        return count_answers(self.engine, self.model_of)

    def take(self, reader: Reader) -> Any:
        with writing(self.engine) as connection:
            return take(connection, reader, "loans", self.at, self.settings.lease_seconds)

    def answer(self, reader: Reader, taken: Any, label: Any, comment: str = "") -> str:
        with writing(self.engine) as connection:
            return answer(connection, reader, taken.id, taken.lease, Given(label, comment), self.at)

    def case(self, case_id: str) -> Any:
        with self.engine.connect() as connection:
            return connection.execute(select(cases).where(cases.c.id == case_id)).one()

    def count(self, table: Any, *which: Any) -> int:
        with self.engine.connect() as connection:
            return int(connection.execute(select(func.count()).select_from(table).where(*which)).scalar_one())

    def leave_only(self, purpose: str) -> None:
        """Let no other cases wait, which shortens a test."""
        others = select(cases.c.id).where(cases.c.purpose != purpose)
        with writing(self.engine) as connection:
            connection.execute(delete(readings).where(readings.c.case_id.in_(others)))

    @property
    def place(self) -> int:
        with self.engine.connect() as connection:
            return int(connection.execute(select(review_progress.c.place)).scalar_one())
