"""Auditors read everything and change nothing; what they export has a digest that the log knows."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from conftest import Running
from reviewing_browser import Reviewer
from sample_models import model
from servers import DeskProcess
from sqlalchemy import func, insert, select

from sepc_desk.exporting import EXPORTS
from sepc_desk.keys import create_key
from sepc_desk.schema import answers, cases, changes, entries, leases, metadata, readings
from sepc_desk.service.app import PAGES, PARTS
from sepc_desk.verifying import verify

NO_MODELS = ("none", "", "x\x1eevil", "loans\x1eevil", "x\x1fy", "\x00", "loans\x00", "*", "\u202eloans", "x" * 10_000)
TODAY = datetime.now(UTC).date().isoformat()


@pytest.fixture(scope="module")
def audited(new_database, model_folder: Path) -> Iterator[Running]:
    """A service with decisions, and answers to some of them."""
    database = new_database("postgresql")
    process = DeskProcess(
        database, model_folder, review_seconds=0.2, undo_seconds=0, second_share=0, planted_share=0, is_warm=True
    )
    own = Running(process.wait_ready(), database)
    own.client.post("/decide", json={"model": "loans", "rows": model("loans")[1][:60]}).raise_for_status()
    with process.client(create_key(own.engine, "kim-the-reader", ["loans"], "reviewer")) as client:
        reviewer = Reviewer(client)
        page = reviewer.take()
        for _ in range(5):
            page = reviewer.submit(page, "/answer", answer='"paid"', comment="seen")
    made = {"id": "c1", "model": "loans", "kind": "repair", "state": "draft", "old_digest": "x"}
    with own.engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(insert(changes).values(**made, made_by="person:ann", made_at=time.time_ns() // 1000))
    time.sleep(1)
    yield own
    own.close()


def _count(own: Running, table) -> int:
    """Rows of a table; of the log, without entries about no model."""
    found = select(func.count()).select_from(table)
    if table is entries:
        found = found.where(entries.c.model == "loans")
    with own.engine.connect() as connection:
        return int(connection.execute(found).scalar_one())


@pytest.mark.parametrize("what", sorted(EXPORTS))
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_exports_hold_everything_and_their_digest_is_in_the_log(audited: Running, what: str, form: str) -> None:
    tables = {"log": entries, "cases": cases, "readings": readings, "leases": leases, "answers": answers}
    tables["changes"] = changes
    before = _count(audited, tables[what])
    got = audited.auditor.get(f"/audit/export/{what}.{form}", params={"model": "loans", "day": TODAY})
    assert got.status_code == 200
    digest = hashlib.sha256(got.content).digest()
    assert got.headers["repr-digest"] == f"sha-256=:{base64.b64encode(digest).decode()}:"
    with audited.engine.connect() as connection:
        said = select(entries.c.about).where(entries.c.about.like(f"export:{what}.{form}:%"))
        assert connection.execute(said).scalars().all()[-1].endswith(f"sha256:{digest.hex()}")
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(got.text)))
        names = set(rows[0])
    else:
        frame = pd.read_parquet(io.BytesIO(got.content))
        rows, names = frame.to_dict("records"), set(frame.columns)
    assert len(rows) == before
    assert {column.name for column in tables[what].c} <= names


def test_every_entry_can_be_read_with_who_had_it_and_what_they_said(audited: Running) -> None:
    with audited.engine.connect() as connection:
        own = connection.execute(select(answers).where(answers.c.final_at.is_not(None)).limit(1)).one()
    page = audited.auditor.get(f"/audit/entries/{own.case_id}")
    assert page.status_code == 200
    for text in (own.reader, own.case_id, "&#34;paid&#34;", "Who had it", "Entries about it", "Answers"):
        assert text in page.text
    for path in ("/audit", *(f"/audit/{what}" for what in EXPORTS)):
        assert audited.auditor.get(path, params={"model": "loans", "day": TODAY}).status_code == 200
    assert audited.auditor.get("/audit/log", params={"model": "wdbc", "day": "1999-01-01"}).text.count("<tr>") == 0
    for path, status in (("/audit/x", 404), ("/audit/log?day=never", 422), ("/audit/log?after=x", 422)):
        assert audited.auditor.get(path).status_code == status
    assert audited.auditor.get("/audit/entries/none").status_code == 404
    assert audited.auditor.get("/audit/export/log.xls").status_code == 404


def test_an_auditor_changes_nothing(audited: Running) -> None:
    """Every route that is not a plain GET, with every id that there is."""
    with audited.engine.connect() as connection:
        ids = {
            "reading": str(connection.execute(select(readings.c.id).limit(1)).scalar_one()),
            "own_id": connection.execute(select(answers.c.id).limit(1)).scalar_one(),
            "case": connection.execute(select(cases.c.id).limit(1)).scalar_one(),
            "model": "loans",
            "name": "loans",
            "version": "x",
            "own": "c1",
        }
    # Accesses are entries, and how far the service has read them, and how its tasks are, is its own business.
    own_business = ("entries", "reviewers", "review_progress", "tasks")
    tables = [table for table in metadata.sorted_tables if table.name not in own_business]
    before = {table.name: _content(audited, table) for table in tables}
    n_tried = 0
    for part in (*PARTS, *PAGES):
        for route in part.router.routes:
            for method in route.methods - {"GET", "HEAD"}:
                if route.path in ("/preferences", "/leave"):
                    continue
                got = audited.auditor.request(method, route.path.format(**ids), data={"lease": "x", "answer": '"paid"'})
                assert got.status_code in (400, 403, 404), (route.path, got.status_code)
                n_tried += 1
    assert n_tried >= 10
    assert {table.name: _content(audited, table) for table in tables} == before


def _content(own: Running, table) -> list[tuple]:
    with own.engine.connect() as connection:
        return sorted(map(repr, connection.execute(select(table)).all()))


def test_nothing_is_logged_under_a_name_that_does_not_exist(audited: Running) -> None:
    """While others decide, whose entries are written together with those of the auditor."""
    rows = model("loans")[1][:1]
    asked = [(path, own) for path in ("/decisions", "/audit/log", "/audit/export/log.csv") for own in NO_MODELS]
    with ThreadPoolExecutor(8) as pool:
        deciding = [
            pool.submit(audited.client.post, "/decide", json={"model": "loans", "rows": rows}) for _ in range(200)
        ]
        for path, own in asked:
            got = audited.auditor.get(path, params={"model": own, "day": TODAY})
            assert got.status_code == (404 if own.isprintable() else 400), (path, own)
        assert {one.result().status_code for one in deciding} == {200}
    with audited.engine.connect() as connection:
        assert set(connection.execute(select(entries.c.model).distinct()).scalars()) <= {"loans", "wdbc", None}
    assert verify(audited.engine).is_whole


def test_pages_of_audit_are_for_auditors(audited: Running) -> None:
    for key in (audited.key, audited.owner_key):
        with audited.process.client(key) as client:
            for path in ("/audit", "/audit/log", "/audit/export/log.csv", "/audit/entries/x"):
                assert client.get(path).status_code == 403
    assert audited.nobody.get("/audit").status_code == 401


def test_reviewers_see_their_own_figures_and_owners_all_without_names(audited: Running) -> None:
    with audited.engine.connect() as connection:
        reader = connection.execute(select(answers.c.reader).limit(1)).scalar_one()
    page = audited.owner.get("/oversight")
    assert page.status_code == 200
    assert reader.partition(":")[2] not in page.text
    assert "By reviewer" in page.text
    assert "about reviewers" in page.text or "Nothing was drawn for a certificate" in page.text
    with audited.process.client(create_key(audited.engine, "other", ["loans"], "reviewer")) as client:
        own = client.get("/oversight")
    assert "your own figures" in own.text
    assert "There are no final answers yet." in own.text
    assert "By reviewer" not in own.text
    with audited.process.client(audited.key) as client:
        assert client.get("/oversight").status_code == 403
