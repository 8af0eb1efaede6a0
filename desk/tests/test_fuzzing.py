"""Requests made from the OpenAPI document at random: no 500, nothing without a key, no case of another model.

Most of what is made at random is refused at the door. So half of the bodies get the name of a real model and real
columns, and half of the paths get a real id, of a case that the caller may see or of one that it may not.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from conftest import Running
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sample_models import model
from servers import DeskProcess
from sqlalchemy import select

from sepc_desk.keys import create_key
from sepc_desk.schema import entries
from sepc_desk.verifying import verify

# Requests of each operation; in the weekly run, 800, which makes more than 10,000.
N = int(os.environ.get("DESK_FUZZED", "6"))
LOANS = model("loans")[1]
REFUSED = (400, 401, 404, 405, 429)


@pytest.fixture(scope="module")
def fuzzed(new_database, model_folder: Path):
    database = new_database("sqlite")
    process = DeskProcess(database, model_folder, failed_keys_per_minute=1_000_000, max_explained_rows=3)
    own = Running(process.wait_ready(), database)
    yield own
    own.close()


@pytest.mark.slow
def test_no_request_from_the_schema_makes_the_service_fail(fuzzed: Running) -> None:
    document = fuzzed.client.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    owner = create_key(fuzzed.engine, "owner of loans", ["loans"], "owner")
    known = [fuzzed.loans_key, owner]
    others = decided(fuzzed, "wdbc", model("wdbc")[1][:20])
    ours = decided(fuzzed, "loans", LOANS[:20])
    strange = st.text(max_size=40).filter(lambda text: text.isprintable() and text.isascii())
    keys = st.sampled_from([*known, *known, "sepc_no", ""]) | strange
    found: Counter[tuple[str, int]] = Counter()
    for operation in (own.ok() for own in schema.get_all_operations()):

        @given(case=operation.as_strategy(), key=keys, data=st.data())
        @settings(
            max_examples=N,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def one(case: Any, key: str, data: st.DataObject) -> None:
            if data.draw(st.booleans()):
                make_likely(case, data, [*others, *ours])
            headers = {name: value for name, value in (case.headers or {}).items() if str(value).isascii()}
            headers["Authorization"] = f"Bearer {key}"
            answer = case.call(base_url=fuzzed.process.address, headers=headers, timeout=60)
            told = (case.method, case.path, case.body, answer.text)
            found[f"{case.method} {case.path}", answer.status_code] += 1
            assert answer.status_code < 500, told
            if key not in known and "/health/" not in case.path:
                assert answer.status_code in REFUSED, told
            if (case.path_parameters or {}).get("case") in others:
                assert answer.status_code in (401, 404), told
            assert not any(own in answer.text for own in others), told

        one()
    statuses = Counter(status for _, status in found.elements())
    print(f"{found.total():,} requests of {len({own for own, _ in found})} operations: {dict(statuses)}")
    with fuzzed.engine.connect() as connection:
        noted = connection.execute(select(entries.c.kind, entries.c.model, entries.c.caller)).all()
    callers = {own.caller for own in noted if own.model == "wdbc"}
    assert callers == {f"key:{fuzzed.key.split('_')[1]}"}, "nobody else has come near the other model"
    assert {own.model for own in noted} == {"loans", "wdbc"}
    assert verify(fuzzed.engine).is_whole
    assert found.total() >= 10 * N
    assert found["POST /decide", 200]
    assert found["DELETE /decisions/{case}", 200] or N < 100


def decided(fuzzed: Running, name: str, rows: list[dict[str, Any]]) -> list[str]:
    """Ids of decisions on some rows, by a key for all models."""
    answer = fuzzed.client.post("/decide", json={"model": name, "rows": rows}).json()
    return [own["id"] for own in answer["decisions"]]


def make_likely(case: Any, data: st.DataObject, ids: list[str]) -> None:
    """Put real names into a request that was made at random, so that it comes further."""
    path = case.path_parameters or {}
    if "case" in path:
        path["case"] = data.draw(st.sampled_from(ids))
    if "name" in path:
        path["name"] = data.draw(st.sampled_from(["loans", "wdbc"]))
    body = case.body
    if isinstance(body, dict) and "model" in body:
        body["model"] = data.draw(st.sampled_from(["loans", "loans", "wdbc"]))
        for row in [body.get("row"), *(body["rows"] if isinstance(body.get("rows"), list) else [])]:
            if isinstance(row, dict):
                cells = list(row.values())
                row.update(data.draw(st.sampled_from(LOANS)))
                for name in data.draw(st.lists(st.sampled_from(list(LOANS[0])), max_size=len(cells), unique=True)):
                    row[name] = cells.pop()
    elif isinstance(body, dict) and isinstance(body.get("inputs"), list):
        row = data.draw(st.sampled_from(LOANS))
        kinds = {str: "BYTES", float: "FP64", int: "INT64"}
        real = [{"name": own, "shape": [1], "datatype": kinds[type(row[own])], "data": [row[own]]} for own in row]
        body["inputs"] = [*real, *body["inputs"][:1]] if data.draw(st.booleans()) else real
