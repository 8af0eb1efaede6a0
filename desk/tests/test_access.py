from __future__ import annotations

import time

from conftest import Running
from sqlalchemy import select

from sepc_desk.keys import all_keys, create_key, revoke_key
from sepc_desk.reading import shown
from sepc_desk.schema import entries, keys

LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}
OPEN = {"/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready"}


def decide(client, model: str = "loans") -> dict:
    return client.post("/decide", json={"model": model, "rows": [LOAN]}).json()["decisions"][0]


def test_nothing_but_health_answers_without_a_key(running: Running) -> None:
    document = running.client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        own = path.replace("{name}", "loans").replace("{case}", "0" * 32).replace("{version}", "0")
        for method in methods:
            if path in OPEN:
                continue
            for headers in (
                {},
                {"Authorization": "Basic eA=="},
                {"Authorization": "Bearer x"},
                {"X-Api-Key": "y"},
            ):
                answer = running.nobody.request(method, own, headers=headers, content=b"{}")
                assert answer.status_code in (401, 429), (method, path)
    # What looks like a key takes up to a second, since keys are read again.
    looks_right = {"Authorization": "Bearer sepc_x"}
    assert running.nobody.get("/v2/models/loans", headers=looks_right).status_code in (401, 429)
    assert running.nobody.get("/openapi.json").status_code in (401, 429)


def test_a_key_is_for_its_models_and_its_role(running: Running) -> None:
    with running.process.client(running.loans_key) as only_loans:
        assert decide(only_loans)["label"]
        for path, body in (
            ("/decide", {"model": "wdbc", "rows": [{}]}),
            ("/explain", {"model": "wdbc", "rows": [{}]}),
            ("/recourse", {"model": "wdbc", "row": {}, "to": 1}),
            ("/v2/models/wdbc/infer", {"inputs": []}),
        ):
            assert only_loans.post(path, json=body).status_code == 403, path
        assert only_loans.get("/v2/models/wdbc").status_code == 403
        # Nobody learns from the answer whether a model exists.
        assert only_loans.post("/decide", json={"model": "none", "rows": [{}]}).status_code == 403
    assert running.auditor.post("/decide", json={"model": "loans", "rows": [LOAN]}).status_code == 403


def test_cases_are_seen_by_those_who_may_and_every_access_is_logged(running: Running) -> None:
    own = decide(running.client)
    with running.process.client(running.loans_key) as other:
        assert other.get(f"/decisions/{own['id']}").status_code == 404
    seen = running.auditor.get(f"/decisions/{own['id']}")
    assert seen.json()["case"]["row"] == LOAN
    assert seen.json()["receipt"] == own["receipt"]
    running.client.get(f"/decisions/{own['id']}")
    with running.engine.connect() as connection:
        noted = connection.execute(select(entries).where(entries.c.about == own["id"]).order_by(entries.c.place)).all()
    names = {f"key:{key.id}": key.name for key in all_keys(running.engine).values()}
    assert [(found.kind, names.get(found.caller, found.caller)) for found in noted] == [
        ("access", "person:auditor"),
        ("access", "all models"),
    ]
    assert running.auditor.get("/decisions/" + "0" * 32).status_code == 404
    assert running.auditor.get("/decisions/..%2f..%2fetc").status_code == 404


def test_an_access_entry_is_not_a_case(running: Running) -> None:
    own = decide(running.client)
    running.auditor.get(f"/decisions/{own['id']}")
    with running.engine.connect() as connection:
        noted = connection.execute(select(entries.c.id).where(entries.c.about == own["id"])).scalar_one()
    assert running.auditor.get(f"/decisions/{noted}").status_code == 404


def test_owners_and_auditors_list_a_day_without_values(running: Running) -> None:
    own = decide(running.client)
    with running.engine.connect() as connection:
        day = shown(connection.execute(select(entries).where(entries.c.id == own["id"])).one())["at"][:10]
    after = own["receipt"]["place"] - 1
    query = {"model": "loans", "day": day, "after": after, "limit": 1}
    listed = running.auditor.get("/decisions", params=query).json()
    assert [one["id"] for one in listed["decisions"]] == [own["id"]]
    assert "case" not in listed["decisions"][0]
    assert running.client.get("/decisions", params=query).status_code == 403
    for wrong in ({"day": "yesterday"}, {"day": "9999-12-31"}, {"after": "-1"}, {"limit": "x"}, {"limit": "٣"}):
        assert running.auditor.get("/decisions", params=query | wrong).status_code == 422, wrong


def test_only_owners_erase(running: Running) -> None:
    own = decide(running.client)
    for client in (running.client, running.auditor):
        assert client.delete(f"/decisions/{own['id']}").status_code == 403
    asked = running.owner.delete(f"/decisions/{own['id']}")
    assert (asked.status_code, asked.json()["erased"], asked.json()["waits_for_another_person"]) == (202, 0, True)
    assert running.owner.delete(f"/decisions/{own['id']}").status_code == 202
    assert running.auditor.get(f"/decisions/{own['id']}").json()["case"]["row"] == LOAN
    assert running.other_owner.delete(f"/decisions/{own['id']}").json()["erased"] == 1
    after = running.auditor.get(f"/decisions/{own['id']}").json()
    assert (after["erased"], after["case"], after["label"]) == (True, None, own["label"])
    left = running.owner.delete(f"/decisions/{own['id']}").json()
    assert left == {"erased": 0, "waits_for_another_person": False}
    old = {"model": "loans", "days": 300}
    assert running.auditor.delete("/decisions", params=old).status_code == 403
    assert running.owner.delete("/decisions", params=old).status_code == 202
    assert running.other_owner.delete("/decisions", params=old).json() == left


def test_a_revoked_key_is_refused_within_seconds(running: Running) -> None:
    secret = create_key(running.engine, "short", ["loans"])
    with running.process.client(secret) as client:
        assert client.get("/head").status_code == 200
        revoke_key(running.engine, secret.split("_")[1])
        until = time.monotonic() + 15
        while client.get("/head").status_code == 200 and time.monotonic() < until:
            time.sleep(0.1)
        assert client.get("/head").status_code == 401


def test_the_database_has_no_key_only_its_hash(running: Running) -> None:
    with running.engine.connect() as connection:
        found = connection.execute(select(keys)).all()
    assert running.key.split("_", 2)[2] not in str(found)


def test_neither_values_nor_keys_are_in_the_logs(running: Running) -> None:
    running.client.post("/decide", json={"model": "loans", "rows": [{**LOAN, "amount": "very-private"}]})
    running.client.post("/decide", json={"model": "loans", "rows": [{**LOAN, "amount": 1e300}]})
    running.client.post("/explain", json={"model": "loans", "rows": [{**LOAN, "amount": 987654321.25}]})
    running.client.get("/decisions", params={"model": "very-private", "day": "2026-01-01"})
    text = running.process.log.read_text()
    assert '"route": "/explain"' in text
    for private in ("987654321", "1e300", "1e+300", "very-private", running.key, running.key.split("_", 2)[2]):
        assert private not in text
