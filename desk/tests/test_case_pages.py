"""The pages of reviewers, of a running service: cases, answers, what-if, and what is hidden."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from conftest import Running
from reviewing_browser import Page, Reviewer
from sample_models import model
from servers import DeskProcess
from sqlalchemy import Engine, select, update

from sepc_desk.authority import Action, Identity
from sepc_desk.errors import RequestError
from sepc_desk.keys import create_key
from sepc_desk.models import ModelFolder
from sepc_desk.pages.languages import language
from sepc_desk.pages.visits import Preferences, Visit
from sepc_desk.reviewing.planting import plant, remove_planted
from sepc_desk.rows import typed_row
from sepc_desk.schema import answers, cases, entries, readings

UNDO_SECONDS = 4


@pytest.fixture(scope="module")
def reviewed(new_database, model_folder: Path) -> Iterator[Running]:
    """A service with 60 decisions, half of its cases blind."""
    database = new_database("sqlite")
    # Nothing is planted before the test of planted cases.
    settings = {"review_seconds": 0.2, "blind_share": 0.5, "second_share": 0, "planted_share": 1}
    process = DeskProcess(database, model_folder, undo_seconds=UNDO_SECONDS, **settings, is_warm=True)
    own = Running(process.wait_ready(), database)
    rows = model("loans")[1][:200]
    own.client.post("/decide", json={"model": "loans", "rows": rows}).raise_for_status()
    yield own
    own.close()


@pytest.fixture
def reviewer(reviewed: Running) -> Iterator[Reviewer]:
    """Someone else for each test."""
    key = create_key(reviewed.engine, f"reader {uuid.uuid4()}", ["loans"], "reviewer")
    with reviewed.process.client(key) as client:
        yield Reviewer(client)


def _case_of(engine: Engine, page: Page):
    reading = int(page.path.rpartition("/")[2])
    with engine.connect() as connection:
        return connection.execute(
            select(cases).join(readings, readings.c.case_id == cases.c.id).where(readings.c.id == reading)
        ).one()


def test_a_case_shows_values_beside_what_is_usual_and_terms(reviewed: Running, reviewer: Reviewer) -> None:
    page = reviewer.take_where(is_blind=False)
    case = _case_of(reviewed.engine, page)
    with reviewed.engine.connect() as connection:
        private = connection.execute(select(entries.c.private).where(entries.c.id == case.id)).scalar_one()
    row = orjson.loads(private)["row"]
    assert page.response.status_code == 200
    for name in row:
        assert f'<th scope="row">{name}</th>' in page.text
    assert f"<strong>{row['amount']:,.0f}</strong>" in page.text
    assert re.search(r"own \d+%, rent \d+%|rent \d+%, own \d+%", page.text)
    assert f"<strong>{orjson.loads(case.model_label)}</strong>" in page.text
    assert page.text.count('class="for"') + page.text.count('class="against"') >= 5
    with reviewed.engine.connect() as connection:
        seen = select(entries.c.caller).where(entries.c.kind == "access", entries.c.about == case.id)
        assert connection.execute(seen).first() is not None


def test_label_and_trust_follow_a_changed_value(reviewed: Running, reviewer: Reviewer) -> None:
    page = reviewer.take_where(is_blind=False)
    reviewer.wait_to_ask(page)
    action, fields = page.form("/what-if")
    hx = {"HX-Request": "true"}
    times = []
    for income in ("100", "20000") * 4:
        started = time.perf_counter()
        part = reviewer.client.post(action, data=fields | {"value:income": income}, headers=hx)
        times.append(time.perf_counter() - started)
        assert part.status_code == 200
        assert "<html" not in part.text
        said = re.search(r"<strong>(late|paid)</strong>, with trust", part.text)
        assert said is not None
        direct = reviewed.owner.post(
            "/explain", json={"model": "loans", "rows": [_row_of(fields, income=float(income))]}
        ).json()["decisions"][0]
        assert said[1] == direct["label"]
        assert direct["reason"] in part.text.replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<")
    assert min(times) < 0.2
    whole = reviewer.client.post(action, data=fields | {"value:income": "100"})
    assert "<html" in whole.text
    assert "With these values" in whole.text
    wrong = reviewer.client.post(action, data=fields | {"value:income": "much"}, headers=hx)
    assert (wrong.status_code, "income is a number" in wrong.text) == (422, True)


def _row_of(fields: dict[str, str], **changed: object) -> dict[str, object]:
    row = {name.removeprefix("value:"): value for name, value in fields.items() if name.startswith("value:")}
    numbers = {name: float(value) for name, value in row.items() if name != "home"}
    return row | numbers | changed


def test_recourse_is_searched_on_demand(reviewer: Reviewer) -> None:
    page = reviewer.take_where(is_blind=False)
    reviewer.wait_to_ask(page)
    found = reviewer.submit(page, "/recourse", to='"paid"')
    assert "smallest change that was found" in found.text or "No change was found" in found.text
    assert reviewer.submit(page, "/recourse", to='"x"').response.status_code == 422


def test_nothing_tells_the_label_of_a_blind_case(reviewed: Running, reviewer: Reviewer) -> None:
    page = reviewer.take_where(is_blind=True)
    case = _case_of(reviewed.engine, page)
    reading = page.path
    other = '"late"' if case.model_label == '"paid"' else '"paid"'
    before = reviewer.get(reading)
    with reviewed.engine.connect().execution_options(writes=True) as connection, connection.begin():
        own = connection.execute(select(entries).where(entries.c.id == case.id)).one()
        private = orjson.loads(own.private)
        swapped = private | {"trust": 0.123, "probabilities": private["probabilities"][::-1], "region": 7}
        kept = {"private": orjson.dumps(swapped).decode(), "label": other, "cause": "THIN", "accepted": True}
        connection.execute(update(entries).where(entries.c.id == case.id).values(**kept))
        connection.execute(update(cases).where(cases.c.id == case.id).values(model_label=other, cause="THIN"))
    after = reviewer.get(reading)
    assert before.response.content == after.response.content
    assert _headers(before) == _headers(after)
    for path, form in (("what-if", {"value:income": "100"}), ("recourse", {"to": '"paid"'})):
        told = [reviewer.client.post(f"{reading}/{path}", data=form, headers=hx) for hx in ({}, {"HX-Request": "true"})]
        assert {one.status_code for one in told} == {403}
    assert reviewer.client.get(f"/decisions/{case.id}").status_code == 404
    row = [_row_of({f"value:{name}": str(value) for name, value in private["row"].items()})]
    for path in ("/decide", "/explain"):
        assert reviewer.client.post(path, json={"model": "loans", "rows": row}).status_code == 403
    asked = {"model": "loans", "row": row[0], "to": "paid"}
    assert reviewer.client.post("/recourse", json=asked).status_code == 403
    # Answered, but not final: still hidden, and so in the list of answers.
    reviewer.submit(page, "/answer", answer='"paid"')
    answered = reviewer.get(reading)
    assert "You answered paid" in answered.text
    assert "The model says" not in answered.text
    assert reviewer.client.post(f"{reading}/what-if", data={"value:income": "100"}).status_code == 403
    line = next(one for one in reviewer.get("/answers").text.split("<tr>") if reading in one)
    assert "hidden" in line
    until = time.monotonic() + UNDO_SECONDS + 20
    while "The model says" not in reviewer.get(reading).text:
        assert time.monotonic() < until
        time.sleep(0.2)
    assert reviewer.client.get(f"/decisions/{case.id}").status_code == 200


def _headers(page: Page) -> dict[str, str]:
    return {name: value for name, value in page.response.headers.items() if name not in ("x-request-id", "date")}


def test_decisions_that_can_still_be_drawn_are_not_shown_to_reviewers(reviewed: Running, reviewer: Reviewer) -> None:
    with reviewed.engine.connect() as connection:
        drawable = select(entries.c.id).where(entries.c.kind == "decision", entries.c.accepted.is_(True)).limit(1)
        own = connection.execute(drawable).scalar_one()
    assert reviewer.client.get(f"/decisions/{own}").status_code == 404
    assert reviewed.auditor.get(f"/decisions/{own}").status_code == 200


@pytest.mark.parametrize(("roles", "sees_labels"), [({"reviewer"}, False), ({"reviewer", "owner"}, True)])
def test_those_who_can_ask_the_model_get_no_blind_case(roles: set[str], sees_labels: bool) -> None:
    identity = Identity("person:ann", frozenset((role, "loans") for role in roles))
    here = Visit(None, None, identity, {}, Preferences(), language("en"))  # type: ignore[arg-type]
    assert here.reader("loans").sees_labels is sees_labels
    with pytest.raises(RequestError, match="takes the role"):
        here.require(Action.TAKE, "wdbc")


def test_the_next_case_is_there_at_once_and_an_answer_can_be_undone(reviewed: Running, reviewer: Reviewer) -> None:
    first = reviewer.take()
    second = reviewer.submit(first, "/answer", answer='"late"', comment="a note")
    assert second.path.startswith("/cases/")
    assert second.path != first.path
    assert "You answered the case before with late." in second.text
    again = reviewer.submit(second, "/undo")
    assert again.path == first.path
    assert 'name="answer"' in again.text
    third = reviewer.submit(again, "/answer", answer="cannot say")
    assert third.path == second.path
    assert "You could not say for the case before." in third.text
    listed = reviewer.submit(reviewer.get("/answers"), "/undo")
    assert listed.path == first.path, "also from the list of answers, where the newest comes first"
    third = reviewer.submit(listed, "/answer", answer="cannot say")
    action, _ = third.form("/undo")
    time.sleep(UNDO_SECONDS + 1)
    late = reviewer.client.post(action)
    assert late.status_code == 409
    assert "can be undone for" in late.text
    assert reviewer.submit(again, "/answer", answer='"paid"').response.status_code == 409


def test_a_case_that_was_given_back_is_gone(reviewer: Reviewer) -> None:
    first = reviewer.take()
    action, fields = first.form("/answer")
    gone = reviewer.client.post(action.replace("/answer", "/give-back"), data=fields)
    assert gone.url.path == "/review"
    assert reviewer.get(first.path).response.status_code == 404
    assert reviewer.take().path != first.path


def test_cases_of_others_do_not_exist(reviewed: Running, reviewer: Reviewer) -> None:
    page = reviewer.take()
    with reviewed.process.client(create_key(reviewed.engine, "other", ["loans"], "reviewer")) as client:
        assert client.get(page.path).status_code == 404
        action, fields = page.form("/answer")
        assert client.post(action, data=fields | {"answer": '"paid"'}).status_code == 404
    for key in (reviewed.key, reviewed.auditor_key, reviewed.owner_key):
        with reviewed.process.client(key) as client:
            assert client.get(page.path).status_code == 404
            assert client.get("/review").status_code == 403
    assert reviewed.nobody.get("/review").status_code == 401
    assert reviewer.get("/cases/999999").response.status_code == 404


def test_the_queue_tells_age_and_causes(reviewer: Reviewer) -> None:
    page = reviewer.get("/review")
    assert "cases of other labels lie near it" in page.text
    assert "For 50% of cases, drawn at random" in page.text


def test_preferences_switch_keys_off_and_change_the_language(reviewer: Reviewer) -> None:
    assert "data-shortcuts" in reviewer.get("/review").text
    changed = reviewer.submit(reviewer.get("/preferences"), "/preferences", language="de")
    assert '<html lang="de">' in changed.text
    assert "data-shortcuts" not in changed.text
    assert reviewer.client.post("/preferences", data={"language": "xx"}).status_code == 422


def test_pages_load_nothing_from_elsewhere_and_run_nothing_inline(reviewer: Reviewer) -> None:
    page = reviewer.take()
    policy = page.response.headers["content-security-policy"]
    assert page.response.headers.get_list("content-security-policy") == [policy]
    assert "script-src 'self';" in policy
    assert not re.search(r"<script>|<style|\sstyle=|\son\w+=|https?://", page.text)
    for name in ("desk.css", "desk.js", "htmx.min.js"):
        assert reviewer.client.get(f"/static/{name}").status_code == 200
    assert reviewer.client.get("/static/htmx.LICENSE.txt").status_code == 404


def test_planted_cases_look_like_others(reviewed: Running, reviewer: Reviewer, model_folder: Path) -> None:
    live = ModelFolder(model_folder).load("loans")
    rows = [typed_row(live.columns, row, 0) for row in model("loans")[1][:20]]
    plant(reviewed.engine, live, rows, ["paid"] * 20, "command:me")
    try:
        page = reviewer.take()
        assert _case_of(reviewed.engine, page).purpose == "planted"
        assert "planted" not in page.text
        reviewer.submit(page, "/answer", answer='"paid"')
        with reviewed.engine.connect() as connection:
            planted = connection.execute(select(cases.c.id).where(cases.c.purpose == "planted")).scalars().all()
            assert len(planted) == 2
            about = connection.execute(select(entries.c.about).where(entries.c.about.in_(planted))).all()
            assert about == []
            answered = select(answers.c.case_id).order_by(answers.c.given_at.desc()).limit(1)
            assert connection.execute(answered).scalar_one() in planted
    finally:
        remove_planted(reviewed.engine, "loans", "command:me")
