"""Whatever two routes that change something do at once, twenty times each: one outcome, and the log has it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import httpx2 as httpx
import pytest
from reviewing_browser import Reviewer
from sample_models import model, with_versions
from sqlalchemy import and_, func, select
from staffed import Staffed, staffed_desk

from sepc_desk.models import ModelFolder
from sepc_desk.owning.changes import ChangeKind, ChangeState, begin, finish, live_digest, propose
from sepc_desk.schema import answers, cases, changes, entries, readings
from sepc_desk.verifying import verify

N_EACH = 20
PASSED = {"passed": True, "title": "", "lines": [], "look": 1, "most": 3, "ledger": "x"}


class Round:
    """A case that a reviewer holds, two proposed changes of the same model, and everyone's clients."""

    def __init__(self, staffed: Staffed, people: dict[str, httpx.Client], folder: ModelFolder, versions: list[str]):
        self.staffed, self.people, self.folder = staffed, people, folder
        reviewer = Reviewer(people["rita"])
        page = reviewer.take()
        self.path, self.reading = page.path, int(page.path.rpartition("/")[2])
        self.lease = page.form("/answer")[1]["lease"]
        self.case = staffed.one(select(readings.c.case_id).where(readings.c.id == self.reading))[0]
        with staffed.engine.connect() as connection:
            self.live = live_digest(connection, folder, "loans")
        self.changes = [self._proposed(one) for one in versions if one != self.live][:2]

    def everything(self, statement: Any) -> list[Any]:
        with self.staffed.engine.connect() as connection:
            return list(connection.execute(statement))

    def _proposed(self, digest: str) -> str:
        own = begin(self.staffed.engine, "loans", ChangeKind.VERSION, self.live, "person:olga", digest).id
        finish(self.staffed.engine, own, ChangeState.DRAFT, comparison={"summary": ""})
        propose(self.staffed.engine, own, "person:olga", PASSED)
        return own

    def _post(self, who: str, path: str, **form: str) -> httpx.Response:
        return self.people[who].post(path, data=form, follow_redirects=False)

    def answer(self, i: int) -> httpx.Response:
        return self._post("rita", f"{self.path}/answer", lease=self.lease, answer=('"paid"', '"late"')[i % 2])

    def give_back(self, _: int) -> httpx.Response:
        return self._post("rita", f"{self.path}/give-back", lease=self.lease)

    def take(self, i: int) -> httpx.Response:
        return self._post(("rita", "ruth")[i % 2], "/review/loans/next")

    def undo(self, _: int) -> httpx.Response:
        given = self.staffed.one(select(answers.c.id).where(answers.c.reading == self.reading))
        return self._post("rita", f"/answers/{given[0] if given else '0' * 32}/undo")

    def ask(self, _: int) -> httpx.Response:
        return self._post("rita", f"{self.path}/what-if")

    def erase(self, i: int) -> httpx.Response:
        return self.people[("olga", "otto")[i % 2]].delete(f"/decisions/{self.case}")

    def agree(self, i: int) -> httpx.Response:
        return self._post(("otto", "oda")[i // 2 % 2], f"/changes/{self.changes[i % 2]}/agree")

    def discard(self, i: int) -> httpx.Response:
        return self._post("oda", f"/changes/{self.changes[i % 2]}/discard")

    def roll_back(self, i: int) -> httpx.Response:
        former = self.staffed.one(
            select(changes.c.old_digest).where(changes.c.state == "live").order_by(changes.c.decided_at.desc())
        )
        return self._post(("olga", "otto")[i % 2], "/models/loans/roll-back", version=former[0] if former else "")

    def challenge(self, i: int) -> httpx.Response:
        return self._post("otto", "/models/loans/challenger", version=self._digest(i))

    def _digest(self, i: int) -> str:
        return str(self.staffed.one(select(changes.c.new_digest).where(changes.c.id == self.changes[i % 2]))[0])

    def decide(self, _: int) -> httpx.Response:
        body = {"model": "loans", "rows": model("loans")[1][:1]}
        return self.staffed.client.post("/decide", json=body, headers={"Idempotency-Key": self.case})

    def prefer(self, i: int) -> httpx.Response:
        return self._post("rita", "/preferences", language=("en", "de")[i % 2])


ROUTES: tuple[Callable[[Round, int], httpx.Response], ...] = (
    Round.answer,
    Round.give_back,
    Round.take,
    Round.undo,
    Round.ask,
    Round.erase,
    Round.agree,
    Round.discard,
    Round.roll_back,
    Round.challenge,
    Round.decide,
    Round.prefer,
)


def at_once(own: Round, *routes: Callable[[Round, int], httpx.Response]) -> list[list[httpx.Response]]:
    barrier = Barrier(N_EACH * len(routes))

    def go(route: Callable[[Round, int], httpx.Response], i: int) -> httpx.Response:
        barrier.wait()
        return route(own, i)

    with ThreadPoolExecutor(barrier.parties) as pool:
        asked = [[pool.submit(go, route, i) for i in range(N_EACH)] for route in routes]
        return [[one.result() for one in some] for some in asked]


def _said(kind: str, **values: str) -> Any:
    return and_(entries.c.kind == kind, *(entries.c[name] == value for name, value in values.items()))


def check(own: Round, got: dict[str, list[httpx.Response]]) -> None:
    """One outcome of each thing, which the tables and the log agree about."""
    one = own.staffed.one
    answered = {response.status_code for some in got.values() for response in some}
    assert answered <= {200, 202, 303, 403, 404, 409, 422}, {
        name: [r.status_code for r in x] for name, x in got.items()
    }
    state = one(select(cases.c.state).where(cases.c.id == own.case))[0]
    reading = one(select(readings).where(readings.c.id == own.reading))
    given = (answers.c.reading == own.reading, answers.c.undone_at.is_(None))
    n_given = one(select(func.count()).select_from(answers).where(*given))[0]
    assert n_given == (reading.state in ("answered", "final")) or state == "erased"
    asked_by = [row[0] for row in own.everything(select(entries.c.caller).where(_said("consent", about=own.case)))]
    n_erased = len(own.everything(select(entries.c.id).where(_said("erasure", cause=own.case))))
    assert len(asked_by) == len(set(asked_by)) <= 2
    assert (state == "erased") == (len(asked_by) == 2) == (n_erased == 1)
    if state == "erased":
        assert reading.state in ("withdrawn", "final")
    held = select(readings.c.reader).where(readings.c.state == "taken", readings.c.reader != "person:rita")
    assert own.everything(held.group_by(readings.c.reader).having(func.count() > 1)) == []
    for change in own.changes:
        said = select(entries.c.cause).where(entries.c.kind == "change", entries.c.about.contains(change))
        steps = [row[0] for row in own.everything(said.order_by(entries.c.place))]
        now = one(select(changes.c.state).where(changes.c.id == change))[0]
        assert steps in (["proposed"], ["proposed", "agreed"], ["proposed", "rejected"])
        assert now == {"proposed": "proposed", "agreed": "live", "rejected": "rejected"}[steps[-1]]
    lived = select(func.count()).where(changes.c.id.in_(own.changes), changes.c.state == "live")
    n_live, n_agreed = one(lived)[0], sum(response.status_code == 303 for response in got.get("agree", ()))
    assert n_live == n_agreed <= 2
    newest = select(entries.c.about).where(
        entries.c.kind == "change", entries.c.model == "loans", entries.c.cause.in_(["first", "agreed", "rolled back"])
    )
    chain = [row[0].split(":")[-2:] for row in own.everything(newest.order_by(entries.c.place))]
    assert all(before[1] == after[0] for before, after in itertools.pairwise(chain)), "each was compared with the last"
    if "decide" in got:
        assert len({response.json()["decisions"][0]["id"] for response in got["decide"]}) == 1


@pytest.fixture(scope="module")
def start(new_database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Round]]:
    folder, versions = with_versions(tmp_path_factory.mktemp("races"))
    with staffed_desk(new_database("postgresql"), folder.path, undo_seconds=600, processes=2) as staffed:
        people = {name: staffed.person(name, "reviewer:loans") for name in ("rita", "ruth")}
        people |= {name: staffed.person(name, "owner:loans") for name in ("olga", "otto", "oda")}

        def fresh() -> Round:
            for _ in range(3):  # cases wait for both reviewers
                staffed.decide("loans", 5)
            return Round(staffed, people, folder, versions)

        yield fresh
        assert verify(staffed.engine).is_whole


@pytest.mark.slow
@pytest.mark.parametrize("one", ROUTES, ids=lambda route: route.__name__)
def test_two_routes_at_once_have_one_outcome(start: Callable[[], Round], one: Any) -> None:
    for other in ROUTES[ROUTES.index(one) :]:
        own = start()
        got = at_once(own, one, other)
        check(own, {one.__name__: got[0], other.__name__: got[0] + got[1] if one is other else got[1]})
