"""Cases and versions as a state machine, over HTTP: whatever people do, in any order, some things always hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sample_models import with_versions
from sqlalchemy import func, select, update
from staffed import Staffed, staffed_desk

from sepc_desk.keys import create_key
from sepc_desk.owning.changes import ChangeKind, ChangeState, begin, finish, propose
from sepc_desk.schema import answers, cases, entries, readings
from sepc_desk.verifying import verify

STEPS = 50
MOST_ERASED = 60  # others have to be left to review
WHO = st.sampled_from(["ann", "ann's key", "ben", "eve"])
PERSON = {"ann": "person:ann", "ann's key": "person:ann", "ben": "person:ben", "eve": "person:eve"}
ANSWERS = st.sampled_from(['"paid"', '"late"', "cannot say", '"no such label"', ""])
PASSED = {"passed": True, "title": "", "lines": [], "look": 1, "most": 3, "ledger": "x"}
UNDER_REVIEW = ("open", "disputed")


class People:
    """Clients of everyone who takes part, and what has been erased so far."""

    def __init__(self, staffed: Staffed, versions: list[str]) -> None:
        self.staffed, self.versions = staffed, versions
        self.clients = {name: staffed.person(name, "reviewer:loans") for name in ("ann", "ben", "eve")}
        self.clients["ann's key"] = staffed.process.client(
            create_key(staffed.engine, "ann", ["loans"], "reviewer"), follow_redirects=False
        )
        self.owners = [staffed.person(name, "owner:loans") for name in ("olga", "otto")]
        self.erased: set[str] = set()
        self.n_checked = 0  # entries of the log

    def all(self, statement: Any) -> list[Any]:
        with self.staffed.engine.connect() as connection:
            return list(connection.execute(statement))

    def do(self, statement: Any) -> None:
        with self.staffed.engine.connect() as connection, connection.begin():
            connection.execute(statement)


class Review(RuleBasedStateMachine):
    """Reviewers, one of them with two credentials, owners, erasures, leases that end, and versions that change."""

    people: People

    def _mine(self, who: str, state: str) -> list[Any]:
        own = (readings.c.reader == PERSON[who], readings.c.state == state)
        return self.people.all(select(readings).where(*own).order_by(readings.c.id))

    def _post(self, who: str, path: str, **form: str) -> int:
        status = int(self.people.clients[who].post(path, data=form, follow_redirects=False).status_code)
        assert status in (303, 403, 404, 409, 422), (path, status)
        return status

    @rule(who=WHO)
    def take(self, who: str) -> None:
        self._post(who, "/review/loans/next")

    @rule(who=WHO, label=ANSWERS)
    def answer(self, who: str, label: str) -> None:
        for own in self._mine(who, "taken")[:1]:
            self._post(who, f"/cases/{own.id}/answer", lease=own.lease, answer=label, comment="seen")

    @rule(who=WHO, label=ANSWERS)
    def answer_for_another(self, who: str, label: str) -> None:
        others = select(readings).where(readings.c.state == "taken", readings.c.reader != PERSON[who]).limit(1)
        for own in self.people.all(others):
            assert self._post(who, f"/cases/{own.id}/answer", lease=own.lease, answer=label) == 404

    @rule(who=WHO)
    def give_back(self, who: str) -> None:
        for own in self._mine(who, "taken")[:1]:
            self._post(who, f"/cases/{own.id}/give-back", lease=own.lease)

    @rule(who=WHO)
    def undo(self, who: str) -> None:
        mine = select(answers.c.id).where(answers.c.reader == PERSON[who], answers.c.undone_at.is_(None))
        for own in self.people.all(mine.order_by(answers.c.given_at.desc()).limit(1)):
            self._post(who, f"/answers/{own.id}/undo")

    @rule(who=WHO)
    def ask_the_model(self, who: str) -> None:
        mine = select(readings.c.id).where(readings.c.reader == PERSON[who]).limit(1)
        for own in self.people.all(mine):
            status = self.people.clients[who].post(f"/cases/{own.id}/what-if", data={}).status_code
            assert status in (200, 403, 404)
            if status == 200:
                held = (readings.c.reader == PERSON[who], readings.c.state == "taken", readings.c.is_blind)
                assert self.people.all(select(readings.c.id).where(*held, readings.c.until > 10**12)) == []

    @rule()
    def leases_end(self) -> None:
        self.people.do(update(readings).where(readings.c.state == "taken").values(until=1))

    @rule()
    def time_to_undo_is_over(self) -> None:
        self.people.do(update(answers).where(answers.c.final_at.is_(None)).values(given_at=answers.c.given_at - 10**9))

    @rule(state=st.sampled_from(["open", "taken", "answered", "final"]), seed=st.integers(0, 10**6))
    def erase(self, state: str, seed: int) -> None:
        found = self.people.all(select(readings.c.case_id).where(readings.c.state == state).limit(20))
        if found and len(self.people.erased) < MOST_ERASED:
            case = random.Random(seed).choice(found).case_id
            got = [owner.delete(f"/decisions/{case}").status_code for owner in self.people.owners]
            assert set(got) <= {200, 202, 404}

    @rule(to=st.integers(0, 2), by=st.integers(0, 1), agreed_by=st.integers(0, 1))
    def change_the_version(self, to: int, by: int, agreed_by: int) -> None:
        name, live, new = f"person:{('olga', 'otto')[by]}", self._live(), self.people.versions[to]
        own = begin(self.people.staffed.engine, "loans", ChangeKind.VERSION, live, name, new).id
        finish(self.people.staffed.engine, own, ChangeState.DRAFT, comparison={"summary": ""})
        propose(self.people.staffed.engine, own, name, PASSED)
        status = self.people.owners[agreed_by].post(f"/changes/{own}/agree").status_code
        assert status == (403 if by == agreed_by else 303)
        assert self._live() == (live if by == agreed_by else new)

    @rule(to=st.integers(0, 2), by=st.integers(0, 1))
    def roll_back(self, to: int, by: int) -> None:
        form = {"version": self.people.versions[to]}
        assert self.people.owners[by].post("/models/loans/roll-back", data=form).status_code in (303, 409, 422)

    def _live(self) -> str:
        steps = (entries.c.kind == "change", entries.c.model == "loans")
        went_live = entries.c.cause.in_(["first", "agreed", "rolled back"])
        newest = select(entries.c.about).where(*steps, went_live).order_by(entries.c.place.desc()).limit(1)
        return str(self.people.all(newest)[0].about).rpartition(":")[2]

    @invariant()
    def erased_is_final(self) -> None:
        erased = {one.id for one in self.people.all(select(cases.c.id).where(cases.c.state == "erased"))}
        assert self.people.erased <= erased
        self.people.erased |= erased
        moving = (readings.c.case_id.in_(erased), readings.c.state.not_in(["withdrawn", "final"]))
        assert self.people.all(select(readings).where(*moving)) == []

    @invariant()
    def every_case_has_a_way_on(self) -> None:
        moving = select(readings.c.case_id).where(readings.c.state.not_in(["withdrawn", "final"]))
        stuck = (cases.c.state.in_(UNDER_REVIEW), cases.c.id.not_in(moving))
        assert self.people.all(select(cases.c.id).where(*stuck)) == []

    @invariant()
    def settled_by_people_with_a_label_of_the_model(self) -> None:
        settled = select(cases.c.label).where(cases.c.model == "loans", cases.c.state == "settled").distinct()
        assert {one.label for one in self.people.all(settled)} <= {None, '"paid"', '"late"'}
        final = (answers.c.final_at.is_not(None), answers.c.undone_at.is_(None))
        n_people = (
            select(func.count(answers.c.reader.distinct()))
            .where(answers.c.case_id == cases.c.id, *final)
            .scalar_subquery()
        )
        few = select(cases.c.id).where(cases.c.state == "settled", n_people < cases.c.n_readers)
        assert self.people.all(few) == []

    @invariant()
    def nobody_holds_two_cases_unless_an_answer_was_undone(self) -> None:
        undone = select(answers.c.reading).where(answers.c.undone_at.is_not(None))
        # Whether a lease that is over was ended already depends on what else has locked its case.
        running = (readings.c.state == "taken", readings.c.until > 1, readings.c.id.not_in(undone))
        held = select(readings.c.reader).where(*running)
        assert self.people.all(held.group_by(readings.c.reader).having(func.count() > 1)) == []

    @invariant()
    def what_is_live_was_agreed_by_two(self) -> None:
        own = entries.alias()
        proposed = (own.c.cause == "proposed", own.c.caller != entries.c.caller)
        same = own.c.about.startswith(entries.c.about + ":")
        two = select(own.c.place).where(own.c.kind == "change", *proposed, same).exists()
        agreed = (entries.c.kind == "change", entries.c.cause == "agreed", entries.c.place > self.people.n_checked)
        assert self.people.all(select(entries.c.id).where(*agreed, ~two)) == []
        self.people.n_checked = self.people.all(select(func.max(entries.c.place)))[0][0]


@pytest.fixture(scope="module")
def people(new_database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder, versions = with_versions(tmp_path_factory.mktemp("states"))
    with staffed_desk(new_database("postgresql"), folder.path, undo_seconds=60) as staffed:
        yield People(staffed, versions)


def explore(people: People, n_steps: int) -> None:
    machine = type("Explored", (Review,), {"people": people})
    limits = settings(
        max_examples=n_steps // STEPS,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=limits)
    assert verify(people.staffed.engine).is_whole


def test_what_always_holds(people: People) -> None:
    explore(people, 1_000)


@pytest.mark.slow
def test_what_always_holds_for_long(people: People) -> None:
    explore(people, 20_000)
