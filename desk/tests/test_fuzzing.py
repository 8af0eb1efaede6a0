"""Requests made from the OpenAPI document at random: no 500, nothing without a key, no case of another model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import schemathesis
from conftest import Running
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from servers import DeskProcess
from sqlalchemy import select

from sepc_desk.schema import entries

# Requests of each operation; in the weekly run, 800, which makes more than 10,000.
N = int(os.environ.get("DESK_FUZZED", "6"))


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
    n = 0
    statuses: set[int] = set()
    strange = st.text(max_size=40).filter(lambda text: text.isprintable() and text.isascii())
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy(), key=st.sampled_from([fuzzed.loans_key, "sepc_no", ""]) | strange)
        @settings(
            max_examples=N,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def one(case, key) -> None:
            nonlocal n
            headers = {name: value for name, value in (case.headers or {}).items() if str(value).isascii()}
            headers["Authorization"] = f"Bearer {key}"
            answer = case.call(base_url=fuzzed.process.address, headers=headers, timeout=60)
            n += 1
            statuses.add(answer.status_code)
            assert answer.status_code < 500 or answer.status_code == 503, (case.method, case.path, answer.text)
            if key != fuzzed.loans_key and "/health/" not in case.path:
                assert answer.status_code in (400, 401, 404, 405, 429), (case.method, case.path, answer.status_code)

        one()
    with fuzzed.engine.connect() as connection:
        models = set(connection.execute(select(entries.c.model).distinct()).scalars())
    assert models <= {"loans"}
    assert n >= 10 * N
    assert 200 in statuses
