"""What goes wrong around a service: it goes on as far as it may, and says what is behind."""

from __future__ import annotations

import concurrent.futures
import itertools
import json
import os
import random
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from attacks import append, forged
from conftest import Running
from sample_models import model, save_models
from servers import KEYED, Cluster, DeskProcess
from sqlalchemy import func, select

from sepc_desk.database import engine_of
from sepc_desk.keys import create_key, revoke_key
from sepc_desk.migrations.running import migrate
from sepc_desk.schema import entries
from sepc_desk.settings import load_settings
from sepc_desk.verifying import verify

LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}
BODY = {"model": "loans", "rows": [LOAN]}
# A revoked key, or a database that does not say which keys are revoked.
SECONDS = 5.0


@pytest.fixture
def own(new_database: Callable[[str], str], tmp_path: Path) -> Iterator[Running]:
    """A service with two models in a folder of its own."""
    models = save_models(tmp_path / "models", ["loans", "wdbc"])
    database = new_database("sqlite")
    running = Running(DeskProcess(database, models, is_warm=True, review_seconds=0.2).wait_ready(), database)
    yield running
    running.close()


def wait_until(holds: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


def health(own: Running) -> dict[str, object]:
    return own.nobody.get("/health/ready").json()


def test_files_that_nobody_can_read_stop_neither_other_models_nor_the_end_of_keys(own: Running, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    (folder / "loans" / "live").write_bytes(b"\xff\xfe\x00")
    shutil.rmtree(folder / "wdbc")
    (folder / "wdbc").mkdir()
    (folder / "wdbc" / "0.sepc").mkdir()
    wait_until(lambda: "model wdbc" in str(health(own)["behind"]))
    assert health(own)["ready"]
    assert '"event": "model not loaded"' in own.process.log.read_text()
    assert own.client.post("/decide", json=BODY).status_code == 200
    with own.process.client(create_key(own.engine, "short", ["loans"])) as client:
        assert client.get("/head").status_code == 200
        revoke_key(own.engine, client.headers["Authorization"].split("_")[1])
        since = time.monotonic()
        wait_until(lambda: client.get("/head").status_code != 200)
        assert time.monotonic() - since < SECONDS
    shutil.rmtree(folder)
    wait_until(lambda: "task failed" in own.process.log.read_text())
    assert own.client.post("/decide", json=BODY).status_code == 200
    wait_until(lambda: 'sepc_desk_task_failures_total{task="models"}' in own.auditor.get("/metrics").text)


def test_a_database_that_hangs_lets_nobody_in(model_folder: Path) -> None:
    cluster = Cluster()
    try:
        database = cluster.create("own")
        engine = engine_of(load_settings(KEYED, database=database))
        migrate(engine)
        engine.dispose()
        own = Running(DeskProcess(database, model_folder, is_warm=True).wait_ready(), database)
        server = int((cluster.data / "postmaster.pid").read_text().splitlines()[0])
        children = [int(child) for child in Path(f"/proc/{server}/task/{server}/children").read_text().split()]
        for process in (server, *children):
            os.kill(process, signal.SIGSTOP)
        try:
            time.sleep(SECONDS + 0.5)
            with httpx.Client(base_url=own.process.address, timeout=10) as client:
                refused = client.get("/head", headers={"Authorization": f"Bearer {own.key}"})
                assert (refused.status_code, refused.json()["error"]["code"]) == (503, "keys_not_read")
                found = client.get("/health/ready")
                assert (found.status_code, found.json()["database"], found.json()["keys"]) == (
                    503,
                    "unreachable",
                    "not read",
                )
        finally:
            for process in (server, *children):
                os.kill(process, signal.SIGCONT)
        wait_until(lambda: health(own)["ready"])
        wait_until(lambda: own.client.post("/decide", json=BODY).status_code == 200)
        own.close()
    finally:
        cluster.remove()


def test_a_service_that_got_no_turn_reads_keys_again_before_it_refuses_anyone(own: Running) -> None:
    pid = own.process.process.pid
    os.kill(pid, signal.SIGSTOP)
    time.sleep(SECONDS + 0.5)
    os.kill(pid, signal.SIGCONT)
    assert own.client.get("/head").status_code == 200


def test_a_full_disk_is_not_ready(own: Running) -> None:
    """As a limit on the size of files, since filling a disk takes the rights to mount one."""
    assert own.client.post("/decide", json=BODY).status_code == 200
    pid = own.process.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        wait_until(lambda: own.client.post("/decide", json=BODY).status_code == 503)
        found = own.nobody.get("/health/ready")
        assert (found.status_code, found.json()["database"]) == (503, "unreachable")
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    wait_until(lambda: health(own)["ready"])
    assert own.client.post("/decide", json=BODY).status_code == 200


def test_nobody_else_may_read_a_file_of_sqlite(tmp_path: Path) -> None:
    engine = engine_of(load_settings(KEYED, database=f"sqlite:///{tmp_path / 'desk.db'}"))
    migrate(engine)
    files = list(tmp_path.iterdir())
    assert {file.name for file in files} == {"desk.db", "desk.db-wal", "desk.db-shm"}
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    engine.dispose()


def test_a_clock_that_differs_by_400_days_is_told(model_folder: Path, cluster: Cluster) -> None:
    """The clock of the database seems to be ahead, by a function that comes before the one of PostgreSQL."""
    database = cluster.create("clock", "migrated")
    own = Running(DeskProcess(database, model_folder, is_warm=True).wait_ready(), database)
    body = "SELECT pg_catalog.clock_timestamp() + interval '400 days'"
    ahead = f"CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ {body} $$"
    cluster.execute(
        f"CREATE SCHEMA ahead; {ahead}; ALTER DATABASE clock SET search_path = ahead, pg_catalog, public", "clock"
    )
    others = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'clock' AND pid != pg_backend_pid()"
    )
    cluster.execute(others, "clock")
    wait_until(lambda: health(own)["clock"] == "differs from that of the database")
    assert not health(own)["ready"]
    own.close()


@pytest.mark.slow  # the service checks the whole log every 30 seconds
def test_a_forged_entry_is_noticed_by_the_service_itself(own: Running) -> None:
    own.client.post("/decide", json=BODY).raise_for_status()
    with own.engine.connect().execution_options(writes=True) as connection, connection.begin():
        append(connection, forged())
    wait_until(lambda: "log" in str(health(own)["behind"]).split(", "))
    time.sleep(5)
    assert "log" in str(health(own)["behind"]), "it is told until the log is whole"
    lines = [json.loads(line) for line in own.process.log.read_text().splitlines() if '"log changed"' in line]
    assert "was not written with the key of the log" in lines[0]["error"][0]
    assert lines[0]["level"] == "critical"


def test_a_refusal_names_caller_address_and_rule(own: Running) -> None:
    assert own.auditor.post("/decide", json=BODY).status_code == 403
    wait_until(lambda: '"not_allowed"' in own.process.log.read_text())
    lines = [json.loads(line) for line in own.process.log.read_text().splitlines() if '"not_allowed"' in line]
    assert (lines[0]["address"], lines[0]["rule"], lines[0]["status"]) == ("127.0.0.1", "not_allowed", 403)
    assert lines[0]["caller"] == "person:auditor"
    with own.engine.connect() as connection:
        told = connection.execute(select(entries.c.caller, entries.c.about).where(entries.c.cause == "refused")).all()
    assert told == [("person:auditor", "not_allowed POST /decide")]


HOSTILE = (
    "\0",
    "\x1e",
    "\x1f",
    "\x7f",
    "\x85",
    "\u2028",
    "\u202e",
    "\ud800",
    "\U000e0041",
    "\r\nX: y",
    "=1+1",
    "x" * 10**5,
)
# Where a text can stand in the address of a page or in a form; forms of the last three are bodies of JSON.
PATHS = (
    *("/decisions/{}", "/v2/models/{}", "/models/{}", "/changes/{}", "/cases/{}", "/review/{}", "/oversight?model={}"),
    *("/audit/{}", "/audit/entries/{}", "/audit/export/{}.csv", "/audit/log?model={}", "/audit/log?day={}"),
    *("/decisions?model={}&day=2026-01-01", "/decisions?model=loans&day={}", "/audit/log?after={}"),
    *("/models/loans/digest?week={}", "/sign-in/callback?state={}&code={}", "/{}"),
)
FORMS = (
    *("/models/{}/roll-back", "/models/{}/challenger", "/models/{}/compare", "/models/{}/audit", "/review/{}/next"),
    *("/changes/{}/agree", "/changes/{}/propose", "/changes/{}/discard", "/answers/{}/undo", "/cases/1/answer"),
    *("/cases/{}/answer", "/cases/1/give-back", "/cases/1/what-if", "/preferences", "/leave"),
)
NAMES = ("version", "answer", "comment", "lease", "language", "columns", "value:age", "to", "csrf_token")


def escaped(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))


def hostile_requests(text: str) -> Iterator[tuple[str, str, dict[str, object]]]:
    """A text in every field that is read: paths, queries, headers, bodies and forms."""
    if len(text) < 100:
        yield from (("GET", path.replace("{}", escaped(text)), {}) for path in PATHS)
        yield from (("DELETE", path.format(escaped(text)), {}) for path in ("/decisions/{}", "/decisions?model={}"))
    quoted, form = json.dumps(text), "&".join(f"{name}={escaped(text)}" for name in NAMES)
    of_form = {"Content-Type": "application/x-www-form-urlencoded"}
    for path in FORMS:
        address = path.replace("{}", escaped(text) if len(text) < 100 else "loans")
        yield "POST", address, {"content": form.encode(), "headers": of_form}
    for body in (
        f'{{"model": {quoted}, "rows": [{json.dumps(LOAN)}]}}',
        f'{{"model": "loans", "rows": [{json.dumps(LOAN | {"home": text})}]}}',
        f'{{"model": "loans", "rows": [{json.dumps(LOAN | {text: 1})}]}}',
        f'{{"model": "loans", "rows": [{json.dumps(LOAN)}], {quoted}: 1}}',
    ):
        yield "POST", "/decide", {"content": body}
        yield "POST", "/explain", {"content": body}
    if text.isascii() and len(text) < 100 and text.isprintable():
        for name in ("Idempotency-Key", "X-Forwarded-For", "Accept-Language", "Cookie", "Authorization", "Origin"):
            yield "POST", "/decide", {"json": BODY, "headers": {name: text}}


def refused_by_the_parser(answer: httpx.Response) -> bool:
    return answer.text == "Invalid HTTP request received."


@pytest.mark.parametrize("text", HOSTILE)
def test_every_character_is_answered_and_leaves_the_log_whole(running: Running, text: str) -> None:
    """Never 500, nor 503; sent by an auditor, an owner and a program in turn."""
    clients = itertools.cycle([running.auditor, running.owner, running.client, running.owner])
    for client, (method, path, more) in zip(clients, hostile_requests(text), strict=False):
        answer = client.request(method, path, **more)
        assert answer.status_code < 500, (method, path, more, answer.text)
        assert "content-security-policy" in answer.headers or refused_by_the_parser(answer)
    decided = running.client.post("/decide", json=BODY).json()["decisions"][0]
    assert running.auditor.get(f"/decisions/{decided['id']}").json()["model"] == "loans"


@pytest.mark.slow
def test_hostile_requests_beside_clients_that_decide(new_database: Callable[[str], str], model_folder: Path) -> None:
    database = new_database("postgresql")
    process = DeskProcess(database, model_folder, processes=2, failed_keys_per_minute=10**6)
    own = Running(process.wait_ready(), database)
    rng, is_over, n_hostile = random.Random(0), threading.Event(), int(os.environ.get("DESK_HOSTILE", "20000"))
    odd = [*range(32), *range(127, 160), 0x2028, 0x2029, 0xD800, 0xDFFF, 0x200F, 0x202E, 0xFEFF, 0x10FFFF]

    def decide(i: int) -> list[str]:
        name, made = ("loans", "wdbc")[i % 2], []
        row = LOAN if name == "loans" else model("wdbc")[1][0]
        while not is_over.is_set():
            answer = own.client.post("/decide", json={"model": name, "rows": [row]})
            assert answer.status_code == 200, answer.text
            made.append(answer.json()["decisions"][0]["id"])
        return made

    def attack(_: int) -> int:
        text = "".join(chr(rng.choice(odd)) for _ in range(rng.randint(1, 8)))
        client, sent = rng.choice([own.auditor, own.owner, own.client, own.nobody]), list(hostile_requests(text))
        for method, path, more in sent:
            answer = client.request(method, path, **more)
            assert answer.status_code < 500, (method, path, more, answer.status_code, answer.text)
        return len(sent)

    with concurrent.futures.ThreadPoolExecutor(20) as deciding, concurrent.futures.ThreadPoolExecutor(4) as attacking:
        decided = [deciding.submit(decide, i) for i in range(20)]
        try:
            n_sent = 0
            while n_sent < n_hostile:
                n_sent += sum(attacking.map(attack, range(40)))
        finally:
            is_over.set()
        made = {own_id: ("loans", "wdbc")[i % 2] for i, one in enumerate(decided) for own_id in one.result()}
    with own.engine.connect() as connection:
        logged = dict(
            connection.execute(select(entries.c.id, entries.c.model).where(entries.c.kind == "decision")).all()
        )
    assert {own_id: logged.get(own_id) for own_id in made} == made
    assert verify(own.engine).is_whole
    own.close()


@pytest.mark.slow
def test_many_exports_keep_nobody_waiting(running: Running) -> None:
    """Twelve at once: pages are answered meanwhile, and all files come, one after the other."""
    running.client.post("/decide", json={"model": "loans", "rows": [LOAN] * 200}).raise_for_status()
    day = time.strftime("%Y-%m-%d", time.gmtime())
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        path = f"/audit/export/log.csv?model=loans&day={day}"
        asked = [pool.submit(running.auditor.get, path) for _ in range(12)]
        n_pages = 0
        while not all(one.done() for one in asked):
            assert running.owner.get("/oversight").status_code == 200
            n_pages += 1
            time.sleep(0.2)
        files = [one.result() for one in asked]
    assert {one.status_code for one in files} == {200}
    assert n_pages > 1
    assert min(len(one.text.splitlines()) for one in files) > 200
    with running.engine.connect() as connection:
        noted = select(func.count()).where(entries.c.about.startswith("export:log.csv"))
        assert connection.execute(noted).scalar_one() >= 12
