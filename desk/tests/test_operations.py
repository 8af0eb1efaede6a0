"""The service stops without loss, says what is missing, and gives back memory and time."""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx2 as httpx
import pytest
import sepc
from conftest import Running
from sample_models import model, save_models
from servers import KEYED, Cluster, DeskProcess
from sqlalchemy import select

from sepc_desk.commands.main import main
from sepc_desk.database import engine_of
from sepc_desk.migrations.running import migrate
from sepc_desk.models import ModelFolder
from sepc_desk.owning.changes import go_live_in_emergency
from sepc_desk.schema import entries
from sepc_desk.settings import load_settings

LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}
BODY = {"model": "loans", "rows": [LOAN]}


def test_health_tells_the_database_from_the_models_and_it_comes_back(model_folder: Path) -> None:
    cluster = Cluster()
    try:
        database = cluster.create("own")
        environment = KEYED | {"SEPC_DESK_DATABASE": database}
        engine = engine_of(load_settings(environment))
        migrate(engine)
        engine.dispose()
        own = Running(DeskProcess(database, model_folder, write_seconds=2).wait_ready(), database)
        first = own.client.post("/decide", json=BODY).json()["decisions"][0]
        own.engine.dispose()
        cluster.stop("immediate")
        until = time.monotonic() + 10  # what was found is told again for a second
        while (answer := own.nobody.get("/health/ready")).status_code == 200 and time.monotonic() < until:
            time.sleep(0.1)
        assert (answer.status_code, answer.json()["database"], answer.json()["models"]) == (503, "unreachable", "ok")
        refused = own.client.post("/decide", json=BODY, headers={"Idempotency-Key": "while-down"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "log_unavailable")
        assert refused.headers["retry-after"] == "1"
        assert own.client.get(f"/decisions/{first['id']}").status_code == 503
        cluster.start()
        until = time.monotonic() + 30
        while own.client.post("/decide", json=BODY, headers={"Idempotency-Key": "while-down"}).status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.1)
        own.process.wait_ready(seconds=10)
        own.close()
    finally:
        cluster.remove()


def test_too_much_at_once_is_told_to_come_again_and_a_stop_answers_what_was_taken(
    new_database, model_folder: Path
) -> None:
    database = new_database("sqlite")
    settings = {"max_waiting_rows": 300, "max_buffered_bytes": 60_000, "body_seconds": 0.5}
    own = Running(DeskProcess(database, model_folder, **settings).wait_ready(), database)
    own.client.post("/decide", json=BODY)
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        many = {"model": "loans", "rows": [LOAN] * 200}
        found = [one.result() for one in [pool.submit(own.client.post, "/decide", json=many) for _ in range(24)]]
    assert {one.status_code for one in found} == {200, 429}
    assert all(one.headers["retry-after"] == "1" for one in found if one.status_code == 429)
    with socket.create_connection(("127.0.0.1", own.process.port)) as slow:
        head = f"POST /decide HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {own.key}\r\nContent-Length: 100\r\n\r\n{{"
        slow.sendall(head.encode())
        slow.settimeout(10)
        assert b" 408 " in slow.recv(100)

    def ask(_: int) -> str | None:
        try:
            answer = own.client.post("/decide", json=BODY)
        except httpx.HTTPError:
            return None  # refused after the stop, which is fine
        return answer.json()["decisions"][0]["id"] if answer.status_code == 200 else None

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, i) for i in range(200)]
        time.sleep(0.3)
        assert own.process.stop() in (0, -15)
    answered = {one.result() for one in asked} - {None}
    with own.engine.connect() as connection:
        logged = set(connection.execute(select(entries.c.id)).scalars())
    assert answered
    assert answered <= logged
    own.close()


@pytest.mark.slow  # as the faults, in which processes are killed many times
def test_a_process_that_was_killed_is_replaced_and_leaves_the_metrics(
    new_database, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    database = new_database("sqlite")
    own = Running(DeskProcess(database, model_folder, processes=2).wait_ready(), database)
    until = time.monotonic() + 200
    while own.process.n_started() < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
    for _ in range(20):
        assert own.client.post("/decide", json=BODY, headers={"Connection": "close"}).status_code == 200
    killed = own.process.workers()[0]
    assert list(tmp_path.glob(f"gauge_live*_{killed}.db"))
    os.kill(killed, signal.SIGKILL)
    while own.process.n_started() < 3:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert not list(tmp_path.glob(f"gauge_live*_{killed}.db"))
    assert killed not in own.process.workers()
    assert own.client.post("/decide", json=BODY).status_code == 200
    own.close()


def test_another_version_goes_live_in_a_running_service(new_database, tmp_path: Path) -> None:
    folder = save_models(tmp_path / "models", ["loans"])
    database = new_database("sqlite")
    own = Running(DeskProcess(database, folder).wait_ready(), database)
    before = own.client.post("/decide", json=BODY).json()
    sepc.save(model("strata")[0], tmp_path / "other.sepc")
    digest = ModelFolder(folder).add("loans", tmp_path / "other.sepc")
    assert own.client.post("/decide", json=BODY).json()["version"] == before["version"]
    go_live_in_emergency(own.engine, ModelFolder(folder), "loans", digest, "command:me", "why not")
    until = time.monotonic() + 20
    while own.client.post("/decide", json=BODY).json()["version"] != digest:
        assert time.monotonic() < until
        time.sleep(0.1)
    own.close()


def test_a_service_that_cannot_start_says_why(tmp_path: Path, new_database, capsys, monkeypatch) -> None:
    def said(database: str, models: Path) -> str:
        monkeypatch.setenv("SEPC_DESK_DATABASE", database)
        monkeypatch.setenv("SEPC_DESK_LOG_KEY", KEYED["SEPC_DESK_LOG_KEY"])
        monkeypatch.setenv("SEPC_DESK_MODELS", str(models))
        assert main(["serve"]) == 2
        return str(capsys.readouterr().err)

    assert "Run `sepc-desk migrate`" in said(f"sqlite:///{tmp_path}/new.db", tmp_path)
    assert "There is no folder" in said(new_database("sqlite"), tmp_path / "none")
    (tmp_path / "loans").mkdir()
    assert "contains no .sepc file" in said(new_database("sqlite"), tmp_path)
    (tmp_path / "loans" / "0.sepc").write_bytes(b"no model")
    assert "0.sepc cannot be served" in said(new_database("sqlite"), tmp_path)


def test_the_promtool_of_prometheus_finds_no_fault_in_the_metrics(running: Running) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("needs Debian's package prometheus")
    running.client.post("/decide", json=BODY)
    text = running.auditor.get("/metrics").text
    found = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
    assert found.returncode == 0, found.stdout + found.stderr
