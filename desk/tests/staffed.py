"""A running service with people: reviewers, owners and auditors who sign in, and cases of two models."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
from conftest import Running
from sample_models import model
from servers import DeskProcess
from signing_in import SignIn
from sqlalchemy import select

from sepc_desk.schema import cases

UNDO_SECONDS = 2


class Staffed(Running):
    """A service on PostgreSQL that people sign in to, with decisions of two models; half of the cases are blind."""

    def __init__(self, process: DeskProcess, database: str, sign_in: SignIn) -> None:
        super().__init__(process, database)
        self.sign_in = sign_in
        self.open: list[httpx.Client] = []

    def person(self, name: str, *groups: str) -> httpx.Client:
        self.open.append(self.sign_in.person(self.process, name, *groups))
        return self.open[-1]

    def one(self, statement: Any) -> Any:
        with self.engine.connect() as connection:
            return connection.execute(statement).first()

    def decide(self, name: str = "loans", n: int = 1) -> list[str]:
        made = self.client.post("/decide", json={"model": name, "rows": model(name)[1][:n]}).json()
        return [one["id"] for one in made["decisions"]]

    def blind(self, name: str = "loans", is_blind: bool = True) -> Any:
        """A case that waits, and whether its label is hidden."""
        own = (cases.c.model == name, cases.c.is_blind.is_(is_blind), cases.c.state == "open")
        return self.one(select(cases).where(*own).limit(1))


@contextmanager
def staffed_desk(database: str, models: Path, **more: object) -> Iterator[Staffed]:
    """Start a service on a migrated database, and let cases of both models wait."""
    sign_in = SignIn("loans", "wdbc")
    settings = {"review_seconds": 0.2, "blind_share": 0.5, "second_share": 0.5, "planted_share": 0}
    settings |= {"certificate_share": 0, "undo_seconds": UNDO_SECONDS, **more}
    process = DeskProcess(database, models, **settings, **sign_in.settings())
    own = Staffed(process.wait_ready(), database, sign_in)
    for name in ("loans", "wdbc"):
        own.decide(name, 250)
    until = time.monotonic() + 60
    while own.blind("wdbc") is None or own.blind() is None:
        assert time.monotonic() < until
        time.sleep(0.2)
    yield own
    for client in own.open:
        client.close()
    own.close()
    sign_in.close()
