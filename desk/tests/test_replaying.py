from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from filling import fill
from sample_models import NAMES, save_models
from servers import KEYED, Cluster
from sqlalchemy import Engine, select, update

from sepc_desk.context import digest_of_context
from sepc_desk.database import engine_of
from sepc_desk.models import ModelFolder
from sepc_desk.reading import day_bounds
from sepc_desk.replaying import replay
from sepc_desk.schema import contexts, entries
from sepc_desk.settings import load_settings
from sepc_desk.verifying import verify

# Rows of each of the twelve models; in the weekly run, 8,400.
N = int(os.environ.get("DESK_REPLAYED", "30"))


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_models(tmp_path_factory.mktemp("twelve") / "models")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_models(tmp_path_factory.mktemp("one") / "models", ["loans"])


def test_all_models_replay_to_the_last_bit_also_after_dump_and_restore(
    cluster: Cluster, new_database, twelve: Path
) -> None:
    engine = engine_of(load_settings(KEYED, database=new_database("postgresql")))
    n = fill(engine, twelve, N)
    found = replay(engine, ModelFolder(twelve))
    assert (found.n_identical, found.n_different, found.told) == (n, 0, [])
    dumped = subprocess.run(
        [cluster.bin / "pg_dump", "-Fc", engine.url.set(drivername="postgresql").render_as_string(hide_password=False)],
        capture_output=True,
        check=True,
    ).stdout
    restored = cluster.create(f"restored{engine.url.database}")
    subprocess.run([cluster.bin / "pg_restore", "-d", restored], input=dumped, check=True)
    again = engine_of(load_settings(KEYED, database=restored))
    assert verify(again).is_whole
    assert replay(again, ModelFolder(twelve)).n_identical == n == N * len(NAMES)
    engine.dispose()
    again.dispose()


def test_sqlite_replays_to_the_last_bit_also_after_a_backup(new_database, one: Path, tmp_path: Path) -> None:
    engine = engine_of(load_settings(KEYED, database=new_database("sqlite")))
    fill(engine, one, 40, ("loans",))
    assert replay(engine, ModelFolder(one)).n_identical == 40
    raw = engine.raw_connection()
    raw.cursor().execute(f"VACUUM INTO '{tmp_path / 'backup.db'}'")
    raw.close()
    engine.dispose()
    again = engine_of(load_settings(KEYED, database=f"sqlite:///{tmp_path / 'backup.db'}"))
    assert verify(again).is_whole
    assert replay(again, ModelFolder(one)).n_identical == 40
    again.dispose()


def test_what_is_asked_for_is_replayed(engine: Engine, one: Path) -> None:
    fill(engine, one, 5, ("loans",))
    with engine.connect() as connection:
        own = connection.execute(select(entries).limit(1)).one()
    assert replay(engine, ModelFolder(one), entries.c.id == own.id).n_identical == 1
    first, last = day_bounds(datetime.fromtimestamp(own.at / 1e6, UTC).date())
    assert replay(engine, ModelFolder(one), entries.c.at >= first, entries.c.at < last).n_identical == 5


def test_a_changed_decision_is_told(engine: Engine, one: Path) -> None:
    fill(engine, one, 5, ("loans",))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        own = connection.execute(select(entries).where(entries.c.place == 2)).one()
        private = orjson.loads(own.private)
        private["trust"] += 1e-15 if private["trust"] < 0.9 else -2e-15
        connection.execute(update(entries).where(entries.c.place == 2).values(private=orjson.dumps(private).decode()))
        connection.execute(update(entries).where(entries.c.place == 3).values(label='"nobody"'))
    found = replay(engine, ModelFolder(one))
    assert (found.n_identical, found.n_different) == (3, 2)
    assert "not the same to the last bit" in found.told[0]
    assert 'the label was "nobody"' in found.told[1]


def test_elsewhere_equal_to_1e_12_is_enough_and_what_differs_is_named(engine: Engine, one: Path) -> None:
    fill(engine, one, 5, ("loans",))
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        digest, text = connection.execute(select(contexts.c.digest, contexts.c.content)).one()
        node = orjson.loads(text)
        node["versions"]["numpy"] = "1.0"
        text = orjson.dumps(node, option=orjson.OPT_SORT_KEYS).decode()
        connection.execute(update(contexts).values(digest=digest_of_context(text), content=text))
        connection.execute(update(entries).values(context=digest_of_context(text)))
        for place, off in ((1, 1e-13), (2, 1e-11)):
            own = connection.execute(select(entries).where(entries.c.place == place)).one()
            private = orjson.loads(own.private)
            private["trust"] -= off
            values = {"private": orjson.dumps(private).decode()}
            connection.execute(update(entries).where(entries.c.place == place).values(**values))
    found = replay(engine, ModelFolder(one))
    assert (found.n_identical, found.n_close, found.n_different) == (3, 1, 1)
    assert any(line.startswith("numpy was 1.0") for line in found.elsewhere)


def test_decisions_of_a_model_that_is_gone_are_counted(engine: Engine, one: Path, tmp_path: Path) -> None:
    fill(engine, one, 5, ("loans",))
    (tmp_path / "loans").mkdir()
    found = replay(engine, ModelFolder(tmp_path))
    assert found.n_without_model == 5
    assert "no file of loans with digest" in found.told[0]
