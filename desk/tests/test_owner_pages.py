"""The pages of owners, of a running service: figures, audit, repair, plan, second person, roll back, and digest."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import sepc
from owned_models import CORNER, N_LATER, REFERENCE, OwnedDesk, owned_desk, square
from scipy.stats import binomtest
from sepc.lifecycle import Monitor, audit, repair
from sqlalchemy import select

from sepc_desk.commands.main import main
from sepc_desk.owning.watching import BLOCK, watched
from sepc_desk.schema import cases, changes, entries


@pytest.fixture(scope="module")
def owned(new_database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnedDesk]:
    with owned_desk(new_database("sqlite"), tmp_path_factory.mktemp("owned")) as own:
        yield own


def _wait(client: Any, path: str) -> str:
    """The page of a change when the work on it is over."""
    for _ in range(600):
        page = client.get(path)
        page.raise_for_status()
        if "This takes some seconds" not in page.text:
            return page.text
        time.sleep(0.3)
    raise AssertionError("The work on the change does not end.")


def _change(owned: OwnedDesk, path: str) -> Any:
    with owned.data.engine.connect() as connection:
        return connection.execute(select(changes).where(changes.c.id == path.rpartition("/")[2])).one()


def _feedback(owned: OwnedDesk) -> tuple[Any, Any]:
    """Settled cases as anyone would read them from the exported log."""
    with owned.data.engine.connect() as connection:
        found = connection.execute(
            select(entries.c.private, cases.c.label)
            .join(cases, cases.c.id == entries.c.id)
            .where(cases.c.digest == owned.first, cases.c.label.is_not(None))
            .order_by(cases.c.entered_at, cases.c.id.desc())
        ).all()
    table = square(1, 0)[0].iloc[:0]
    rows = [orjson.loads(one.private)["row"] for one in found]
    return table.__class__(rows), np.array([orjson.loads(one.label) for one in found])


def test_figures_are_those_of_the_log(owned: OwnedDesk) -> None:
    page = owned.owner.get("/models/square").text
    with owned.data.engine.connect() as connection:
        decided = connection.execute(select(entries.c.accepted).where(entries.c.kind == "decision")).scalars().all()
        drawn = connection.execute(
            select(cases.c.label, cases.c.model_label).where(cases.c.purpose == "drawn", cases.c.label.is_not(None))
        ).all()
    assert f"{sum(decided):,} of {len(decided):,}" in page
    k, n = sum(one.label == one.model_label for one in drawn), len(drawn)
    assert n > 150
    low, high = binomtest(k, n).proportion_ci(0.95)
    assert f"{low:.1%} to {high:.1%} with 95% confidence; {k:,} of {n:,}" in page
    assert "Audit and repair" in page
    assert "Roll back" not in page


def test_alarms_are_those_of_the_library_with_the_culprit_first(owned: OwnedDesk) -> None:
    for _ in range(100):
        with owned.data.engine.connect() as connection:
            seen = watched(connection, owned.data.live)
        if seen.n_rows == N_LATER:
            break
        time.sleep(0.2)
    monitor = Monitor(owned.data.live.estimator, square(REFERENCE, 2)[0])
    later = square(N_LATER, 3, corner=CORNER, changed=True)[0]
    for start in range(0, len(later), BLOCK):
        monitor = Monitor.from_bytes(monitor.to_bytes(), owned.data.live.estimator)
        monitor.update(later[start : start + BLOCK])
    assert seen.alarms
    assert sorted(alarm.summary() for alarm in seen.alarms) == sorted(alarm.summary() for alarm in monitor.alarms)
    page = owned.owner.get("/models/square").text
    first = re.search(r"<ol><li lang=\"en\">(.*?)</li>", page)
    assert first is not None
    assert re.match(r"(height|width) moved", first[1])


def test_a_repair_is_compared_judged_agreed_by_another_and_rolled_back(owned: OwnedDesk) -> None:
    owner, second = owned.owner, owned.second
    X, y = _feedback(owned)
    found = audit(owned.data.live.estimator, X, y)
    made = owner.post("/models/square/audit")
    assert made.status_code == 303
    page = _wait(owner, made.headers["location"])
    told = orjson.loads(_change(owned, made.headers["location"]).audit)
    assert told["summary"] == found.summary()
    assert told["to_repair"] == found.to_repair.tolist() != []
    assert "Make a repair" in page

    made = owner.post("/models/square/repair")
    path = made.headers["location"]
    page = _wait(owner, path)
    own = _change(owned, path)
    assert own.state == "draft"
    assert owned.data.live.digest == owned.first, "nothing is live before someone agrees"
    repaired = repair(owned.data.live.estimator, X, y, audit=found)
    candidate = owned.data.models.load("square", own.new_digest).estimator
    fresh = square(400, 11, corner=CORNER, changed=True)
    assert np.array_equal(candidate.decide(fresh[0]).trust, repaired.decide(fresh[0]).trust)
    compared = orjson.loads(own.comparison)
    assert compared["n_changed"] > 0
    assert f"{compared['n_changed']:,}" in page
    assert compared["parts"] == ["regions"]

    assert owner.post(f"{path}/agree").status_code == 403, "it was not proposed, and not by another person"
    assert owner.post(f"{path}/propose").status_code == 303
    judgement = orjson.loads(_change(owned, path).judgement)
    assert judgement["passed"] is True
    assert owner.post(f"{path}/agree").status_code == 403
    assert "another owner has to agree" in owner.get(path).text
    assert "Agree: make it live" not in owner.get(path).text
    assert owned.running.auditor.post(f"{path}/agree").status_code == 403
    assert "Agree: make it live" in second.get(path).text
    assert second.post(f"{path}/agree").status_code == 303
    assert owned.data.live.digest == own.new_digest
    assert second.post(f"{path}/agree").status_code == 409
    decided = owned.running.client.post(
        "/decide", json={"model": "square", "rows": [{"width": 0.5, "height": 0.5}]}
    ).json()["decisions"][0]
    assert decided["label"] == "left", "the repaired version decides"

    back = second.post("/models/square/roll-back", data={"version": owned.first})
    assert back.status_code == 303
    assert owned.data.live.digest == owned.first
    never = second.post("/models/square/roll-back", data={"version": owned.other})
    assert never.status_code == 409
    with owned.data.engine.connect() as connection:
        steps = connection.execute(
            select(entries.c.cause, entries.c.caller).where(entries.c.kind == "change").order_by(entries.c.place)
        ).all()
    assert [step.cause for step in steps] == ["first", "proposed", "agreed", "rolled back"]
    assert [step.caller for step in steps[1:]] == ["person:ann", "person:ben", "person:ben"]


def test_what_the_plan_does_not_pass_cannot_go_live(owned: OwnedDesk) -> None:
    owner, second = owned.owner, owned.second
    plan, rows = owned.data.write_plan(owned.home, margin=0.0, n=80, seed=21)
    assert main(["plans", "set", "square", str(plan), str(rows), "--label", "side", *owned.common]) == 0
    made = owner.post("/models/square/compare", data={"version": owned.other})
    path = made.headers["location"]
    _wait(owner, path)
    assert owner.post(f"{path}/propose").status_code == 303
    assert orjson.loads(_change(owned, path).judgement)["passed"] is False
    refused = second.post(f"{path}/agree")
    assert refused.status_code == 409
    assert "did not pass" in refused.text
    assert owned.data.live.digest == owned.first
    assert second.post(f"{path}/discard").status_code == 303
    assert _change(owned, path).state == "rejected"
    assert main(["plans", "set", "square", str(owned.plan), str(owned.rows), "--label", "side", *owned.common]) == 2
    assert (owned.home / "models" / "square" / "plans").is_dir(), "a plan that was replaced is kept with its ledger"


def test_a_challenger_decides_in_the_shadow_without_effect(owned: OwnedDesk) -> None:
    owner = owned.owner
    assert owner.post("/models/square/challenger", data={"version": owned.other}).status_code == 303
    table, _ = square(40, 31)
    rows = [{"width": float(w), "height": float(h)} for w, h in table.to_numpy()]
    decided = owned.running.client.post("/decide", json={"model": "square", "rows": rows}).json()["decisions"]
    other = sepc.decide(owned.data.models.load("square", owned.other).estimator, table)
    n_other = sum(one["label"] != label for one, label in zip(decided, other.label.tolist(), strict=True))
    for _ in range(50):
        page = owner.get("/models/square").text
        if "decided on 40 rows" in page:
            break
        time.sleep(0.2)
    assert f"decided on 40 rows, {n_other} of them with another label" in page
    assert owner.post("/models/square/challenger", data={"version": ""}).status_code == 303
    assert "No version decides in the shadow" in owner.get("/models/square").text
    assert owner.post("/models/square/challenger", data={"version": "0" * 64}).status_code == 422


def test_the_week_is_one_file_by_link_and_by_command(owned: OwnedDesk, tmp_path: Path) -> None:
    linked = owned.owner.get("/models/square/digest")
    assert linked.headers["content-disposition"].startswith("attachment")
    file = tmp_path / "week.html"
    assert main(["digest", "square", "--output", str(file), "--language", "de", *owned.common]) == 0
    for text in (linked.text, file.read_text()):
        assert not re.search(r"(src|href)=", text), "it needs no other file"
        assert "<style>" in text
    assert "Zertifikat" in file.read_text()
    assert "Certificate" in linked.text
    assert owned.owner.get("/models/square/digest?week=soon").status_code == 422


def test_auditors_see_and_change_nothing_and_others_see_nothing(owned: OwnedDesk) -> None:
    auditor, program = owned.running.auditor, owned.running.client
    page = auditor.get("/models/square")
    assert page.status_code == 200
    assert "<form" not in page.text
    for path in ("audit", "repair", "compare", "challenger", "roll-back"):
        for client in (auditor, program):
            assert client.post(f"/models/square/{path}", data={"version": owned.other}).status_code == 403
    assert program.get("/models/square").status_code == 403
    assert program.get("/models").status_code == 403
    some = _first_change(owned)
    assert auditor.get(f"/changes/{some}").status_code == 200
    assert program.get(f"/changes/{some}").status_code == 404
    assert auditor.post(f"/changes/{some}/discard").status_code == 403


def _first_change(owned: OwnedDesk) -> str:
    made = owned.owner.post("/models/square/compare", data={"version": owned.other})
    return str(made.headers["location"].rpartition("/")[2])
