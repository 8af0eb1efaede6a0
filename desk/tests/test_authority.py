"""Who may read, decide, review and own: the table, and a running service that keeps to it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reviewing_browser import Page, Reviewer
from sample_models import model
from sqlalchemy import func, select, update
from staffed import UNDO_SECONDS, Staffed, staffed_desk

from sepc_desk import authority
from sepc_desk.authority import Action, Identity, Thing, Which, may
from sepc_desk.keys import create_key
from sepc_desk.owning.changes import ChangeKind, begin
from sepc_desk.schema import answers, cases, entries, keys, readings
from sepc_desk.settings import ROLES

# What each role gives, written down a second time: the first letter stands for all, own, shown, others.
GIVEN = """
DECIDE         program a, owner a
SEE_DECISION   program o, reviewer s, owner a, auditor a
LIST_DECISIONS owner a, auditor a
ERASE          owner a
TAKE           reviewer a
ANSWER         reviewer o
ASK            reviewer os
SEE_REVIEWS    reviewer o, owner a, auditor a
SEE_MODEL      owner a, auditor a
CHANGE         owner a
AGREE          owner x
ROLL_BACK      owner a
AUDIT          auditor a
SEE_METRICS    owner a, auditor a, monitor a
"""
FITS: dict[str, Callable[[bool, bool], bool]] = {
    "a": lambda is_own, is_hidden: True,
    "o": lambda is_own, is_hidden: is_own,
    "s": lambda is_own, is_hidden: not is_hidden,
    "os": lambda is_own, is_hidden: is_own and not is_hidden,
    "x": lambda is_own, is_hidden: not is_own,
}
MODELS = ("loans", "wdbc", "*")


def given() -> dict[tuple[str, str], str]:
    """How each role gives each action."""
    found = {}
    for line in GIVEN.strip().splitlines():
        action, rest = line.split(maxsplit=1)
        for one in rest.split(", "):
            role, which = one.split()
            found[action, role] = which
    return found


def mistakes() -> Iterator[tuple[Any, ...]]:
    """Where the function differs from what is written here, for all sets of roles, each for one model or for all."""
    expected = given()
    kinds = [("person:ann", True), ("person:ann", False), ("key:1", False)]
    things = [
        Thing(name, frozenset({own}), hidden)
        for name in ("loans", "wdbc")
        for own in ("me", "other")
        for hidden in (False, True)
    ]
    for scopes in itertools.product((None, *MODELS), repeat=len(ROLES)):
        grants = frozenset((role, scope) for role, scope in zip(ROLES, scopes, strict=True) if scope is not None)
        for caller, is_session in kinds:
            person = Identity(caller, grants, is_session)
            for action, thing in itertools.product(Action, things):
                is_own = thing.by == {"me"}
                asked = Thing(thing.model, frozenset({caller if is_own else "person:eve"}), thing.is_hidden)
                right = any(
                    scope in ("*", thing.model)
                    and FITS[expected[action.name, role]](is_own, thing.is_hidden)
                    and (caller.startswith("person") or role not in ("reviewer", "owner"))
                    and (is_session or action not in (Action.AGREE, Action.ROLL_BACK))
                    for role, scope in grants
                    if (action.name, role) in expected
                )
                if may(person, action, asked) is not right:
                    yield grants, caller, is_session, action, asked


def test_everyone_may_do_what_one_of_their_roles_gives_and_nothing_else() -> None:
    assert list(mistakes()) == []


@pytest.mark.parametrize(
    ("action", "role", "which"),
    [
        (Action.SEE_DECISION, "monitor", Which.OWN),
        (Action.SEE_DECISION, "reviewer", Which.ALL),
        (Action.AGREE, "owner", Which.ALL),
        (Action.ERASE, "auditor", Which.ALL),
        (Action.SEE_DECISION, "program", None),
    ],
)
def test_a_cell_of_the_table_that_is_changed_is_found(
    action: Action, role: str, which: Which | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {own: one for own, one in authority.TABLE[action].items() if own != role}
    row |= {} if which is None else {role: which}
    monkeypatch.setattr(authority, "TABLE", dict(authority.TABLE) | {action: row})
    assert next(mistakes(), None) is not None


def described() -> str:
    """The table as the documentation has it."""
    head = ["", *(f"`{role}`" for role in ROLES)]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for action, roles in authority.TABLE.items():
        note = ", signed in" if action in authority.SIGNED_IN else ""
        lines.append(f"| {action}{note} | {' | '.join(roles.get(role, '') for role in ROLES)} |")
    return "\n".join(lines)


def test_the_documentation_has_the_table() -> None:
    page = Path(__file__).parents[1] / "docs" / "access.md"
    assert described() in page.read_text(), f"write into it:\n{described()}"


@pytest.fixture(scope="module")
def staffed(new_database, model_folder: Path) -> Iterator[Staffed]:
    with staffed_desk(new_database("postgresql"), model_folder) as own:
        yield own


def taken(page: Page) -> int:
    return int(page.path.rpartition("/")[2])


def test_a_second_role_opens_nothing_that_neither_role_gives(staffed: Staffed) -> None:
    of_another = staffed.decide()[0]
    hidden = staffed.blind().id
    never = staffed.person("p1", "program:loans", "monitor").get(f"/decisions/{'0' * 32}")
    for roles, case in ((("program:loans", "monitor"), of_another), (("reviewer:loans", "monitor"), hidden)):
        got = staffed.person("p1", *roles).get(f"/decisions/{case}")
        assert (got.status_code, got.json()) == (404, never.json())


def test_an_answer_goes_to_the_case_of_its_address_only(staffed: Staffed) -> None:
    client = staffed.person("crosser", "reviewer:loans", "reviewer:wdbc")
    one, other = Reviewer(client, "loans").take(), Reviewer(client, "wdbc").take()
    lease = other.form("/answer")[1]["lease"]
    for action in ("answer", "give-back"):
        got = client.post(f"{one.path}/{action}", data={"lease": lease, "answer": '"paid"'}, follow_redirects=False)
        assert got.status_code == (409 if action == "answer" else 303)
    assert staffed.one(select(answers).where(answers.c.reading == taken(other))) is None
    assert staffed.one(select(readings.c.state).where(readings.c.id == taken(other))).state == "taken"
    again = staffed.person("crosser", "reviewer:loans")
    own = {"lease": lease, "answer": "0"}
    never = again.post("/cases/999999/answer", data=own)
    refused = again.post(f"{other.path}/answer", data=own)
    assert (refused.status_code, refused.text) == (never.status_code, never.text) == (404, never.text)


def test_the_model_tells_nothing_while_a_label_is_hidden_and_every_question_is_logged(staffed: Staffed) -> None:
    reviewer = Reviewer(staffed.person("asker", "reviewer:loans"))
    page = reviewer.take_where(is_blind=False)
    older = page.path
    reviewer.wait_to_ask(page)
    case = staffed.one(select(readings.c.case_id).where(readings.c.id == taken(page))).case_id
    said = select(func.count()).where(entries.c.about == case, entries.c.cause == "what-if")
    assert staffed.one(said.where(entries.c.caller == "person:asker"))[0] == 1, "each that was answered"
    page = reviewer.submit(page, "/answer", answer='"paid"')
    if not page.is_blind:
        page = reviewer.take_where(is_blind=True)
    own = {name: value for name, value in page.form("/answer")[1].items() if name.startswith("value:")}
    for action, form in (("what-if", own), ("recourse", {"to": '"paid"'})):
        assert reviewer.client.post(f"{older}/{action}", data=form).status_code == 403
    staffed_over = update(readings).where(readings.c.id == taken(page)).values(until=0)
    with staffed.engine.connect() as connection, connection.begin():
        connection.execute(staffed_over)
    assert reviewer.client.post(f"{older}/what-if", data=own).status_code == 403, "also when its time was over"


def test_a_person_with_two_credentials_is_one_person(staffed: Staffed) -> None:
    session = Reviewer(staffed.person("twice", "reviewer:loans"))
    with staffed.process.client(create_key(staffed.engine, "twice", ["loans"], "reviewer")) as client:
        key = Reviewer(client)
        for _ in range(6):
            page = session.take()
            assert key.take().path == page.path
            session.submit(page, "/answer", answer='"paid"')
    twice = select(readings.c.case_id).where(readings.c.reader.like("%twice%")).group_by(readings.c.case_id)
    assert staffed.one(twice.having(func.count() > 1)) is None


def test_an_erased_case_does_not_come_back(staffed: Staffed) -> None:
    reviewer = Reviewer(staffed.person("eraser", "reviewer:loans"))
    page = reviewer.take()
    case = staffed.one(select(readings.c.case_id).where(readings.c.id == taken(page))).case_id
    page = reviewer.submit(page, "/answer", answer='"paid"')
    given = staffed.one(select(answers.c.id).where(answers.c.case_id == case)).id
    owners = (staffed.owner, staffed.person("second", "owner:loans"))
    assert [one.delete(f"/decisions/{case}").status_code for one in owners] == [202, 200]
    assert reviewer.client.post(f"/answers/{given}/undo").status_code in (404, 409)
    assert staffed.one(select(cases.c.state).where(cases.c.id == case)).state == "erased"
    time.sleep(UNDO_SECONDS + 1)
    left = {one.state for one in _all(staffed, select(readings.c.state).where(readings.c.case_id == case))}
    assert left <= {"withdrawn", "final"}
    for name in ("eraser", "another"):
        assert Reviewer(staffed.person(name, "reviewer:loans")).take().response.status_code == 200


def _all(staffed: Staffed, statement: Any) -> list[Any]:
    with staffed.engine.connect() as connection:
        return list(connection.execute(statement))


def test_a_reader_holds_one_case_however_often_they_ask_at_once(staffed: Staffed) -> None:
    client = staffed.person("greedy", "reviewer:loans")
    with ThreadPoolExecutor(20) as pool:
        got = list(pool.map(lambda _: client.post("/review/loans/next", follow_redirects=False), range(20)))
    assert {one.status_code for one in got} == {303}
    assert len({one.headers["location"] for one in got}) == 1
    held = (readings.c.reader == "person:greedy", readings.c.state == "taken")
    assert staffed.one(select(func.count()).select_from(readings).where(*held))[0] == 1


def test_what_others_have_is_what_does_not_exist(staffed: Staffed) -> None:
    holder = Reviewer(staffed.person("holder", "reviewer:wdbc"), "wdbc")
    page = holder.take()
    own = page.path
    answer = {"lease": page.form("/answer")[1]["lease"], "answer": "0"}
    holder.submit(page, "/answer", answer="0")
    given = staffed.one(select(answers.c.id).where(answers.c.reading == int(own.rpartition("/")[2]))).id
    for groups in (("reviewer:loans",), ("reviewer:wdbc",), ("owner:loans", "reviewer:loans"), ("auditor",)):
        stranger = staffed.person("stranger", *groups)
        for there, nowhere in (
            (own, "/cases/999999"),
            (f"{own}/answer", "/cases/999999/answer"),
            (f"{own}/give-back", "/cases/999999/give-back"),
            (f"{own}/what-if", "/cases/999999/what-if"),
            (f"{own}/recourse", "/cases/999999/recourse"),
            (f"/answers/{given}/undo", f"/answers/{'0' * 32}/undo"),
        ):
            ask = stranger.get if there == own else stranger.post
            data = {} if there == own else {"data": answer}
            one, other = (ask(path, **data) for path in (there, nowhere))
            assert (one.status_code, one.text) == (404, other.text), (groups, there)


def test_programs_neither_review_nor_own(staffed: Staffed) -> None:
    with pytest.raises(ValueError, match="Programs cannot have the role"):
        create_key(staffed.engine, "portal", ["loans"], "owner", is_person=False)
    for role, path in (("owner", "/models/loans"), ("reviewer", "/review")):
        person = staffed.process.client(create_key(staffed.engine, "ann", ["loans"], role))
        assert person.get(path).status_code == 200
        known = person.headers["authorization"].split("_")[1]
        with staffed.engine.connect() as connection, connection.begin():
            connection.execute(update(keys).where(keys.c.id == known).values(is_person=False))
        until = time.monotonic() + 20
        while person.get(path).status_code != 403:
            assert time.monotonic() < until
            time.sleep(0.2)
        person.close()


def staff(*, pairs: bool) -> list[tuple[str, ...]]:
    """Every role for one model, for another and for all; and every pair of roles, for one model and across models."""
    groups = [(role if scope == "*" else f"{role}:{scope}",) for role in ROLES for scope in MODELS]
    for one, other in itertools.combinations(ROLES, 2) if pairs else ():
        groups += [(f"{one}:loans", f"{other}:{scope}") for scope in ("loans", "wdbc")]
        groups += [(one, f"{other}:loans"), (f"{one}:wdbc", other)]
    return groups


def wrong_answers(staffed: Staffed, groups: tuple[str, ...], made: dict[str, Any]) -> list[Any]:
    """What a person with these roles is shown or refused, other than the table says."""
    client = staffed.person("someone", *groups)
    grants = frozenset((role, scope or "*") for role, _, scope in (one.partition(":") for one in groups))
    person = Identity("person:someone", grants, is_session=True)
    wrong: list[Any] = []

    def expect(action: Action, thing: Thing, done: tuple[int, ...], refused: int, method: str, path: str, **more: Any):
        got = client.request(method, path, follow_redirects=False, **more)
        allowed = may(person, action, thing)
        if got.status_code not in (done if allowed else (refused,)):
            wrong.append((groups, method, path, allowed, got.status_code))
        return got

    never = client.get(f"/decisions/{'0' * 32}")
    for name in ("loans", "wdbc", "gone"):
        exists = name != "gone"
        thing, ok = Thing(name), (200,) if exists else (404,)
        row = {"model": name, "rows": model(name)[1][:1] if exists else [{}]}
        expect(Action.DECIDE, thing, ok, 403, "POST", "/decide", json=row)
        expect(Action.LIST_DECISIONS, thing, ok, 403, "GET", f"/decisions?model={name}&day=2026-01-01")
        expect(Action.SEE_MODEL, thing, ok, 403, "GET", f"/models/{name}")
        if any(may(person, Action.AUDIT, Thing(one)) for one in ("loans", "wdbc")):
            expect(Action.AUDIT, thing, ok, 403, "GET", f"/audit/log?model={name}&day=2026-01-01")
        expect(Action.TAKE, thing, (303,) if exists else (404,), 403, "POST", f"/review/{name}/next")
        nothing = {"data": {"version": "0" * 64}}
        for action, path in (
            (Action.ROLL_BACK, "roll-back"),
            (Action.CHANGE, "challenger"),
            (Action.CHANGE, "compare"),
        ):
            expect(action, thing, (422,) if exists else (404,), 403, "POST", f"/models/{name}/{path}", **nothing)
        if exists:
            for kind in ("shown", "hidden", "erased"):
                own = Thing(name, frozenset({"key:other"}), is_hidden=kind == "hidden")
                case = made[f"{kind} {name}"]
                got = expect(Action.SEE_DECISION, own, (200,), 404, "GET", f"/decisions/{case}")
                if got.status_code == 404 and got.json() != never.json():
                    wrong.append((groups, kind, "the answer tells that it exists"))
                if not may(person, Action.SEE_DECISION, own):
                    expect(Action.SEE_DECISION, own, (), 404, "DELETE", f"/decisions/{case}")
            expect(Action.SEE_MODEL, thing, (200,), 404, "GET", f"/changes/{made[f'change {name}']}")
            sees = may(person, Action.SEE_MODEL, thing)
            expect(
                Action.CHANGE, thing, (409,), 403 if sees else 404, "POST", f"/changes/{made[f'change {name}']}/agree"
            )
            expect(Action.ANSWER, thing, (), 404, "GET", f"/cases/{made[f'reading {name}']}")
    expect(Action.SEE_METRICS, Thing("*"), (200,), 403, "GET", "/metrics")
    for path in ("/head", "/openapi.json", "/me", "/preferences"):
        if client.get(path).status_code != 200:
            wrong.append((groups, path))
    return wrong


@pytest.fixture(scope="module")
def made(staffed: Staffed) -> dict[str, Any]:
    """Decisions in every state, a reading of someone else, and a change, of both models."""
    found: dict[str, Any] = {}
    for name in ("loans", "wdbc"):
        found[f"hidden {name}"] = staffed.blind(name).id
        found[f"shown {name}"] = staffed.blind(name, is_blind=False).id
        reader = Reviewer(staffed.person("another", f"reviewer:{name}"), name)
        found[f"reading {name}"] = taken(reader.take())
        own = (cases.c.model == name, cases.c.is_blind.is_(False), cases.c.state == "open")
        found[f"erased {name}"] = staffed.one(select(cases.c.id).where(*own).order_by(cases.c.id.desc()).limit(1)).id
        for person in ("olga", "otto"):
            staffed.person(person, "owner").delete(f"/decisions/{found[f'erased {name}']}")
        found[f"change {name}"] = begin(staffed.engine, name, ChangeKind.AUDIT, "0" * 64, "person:olga").id
    return found


def test_a_service_keeps_to_the_table(staffed: Staffed, made: dict[str, Any]) -> None:
    assert [one for groups in staff(pairs=False) for one in wrong_answers(staffed, groups, made)] == []


@pytest.mark.slow
def test_a_service_keeps_to_the_table_for_every_pair_of_roles(staffed: Staffed, made: dict[str, Any]) -> None:
    assert [one for groups in staff(pairs=True) for one in wrong_answers(staffed, groups, made)] == []
