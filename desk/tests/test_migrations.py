from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from servers import KEYED, Cluster
from sqlalchemy import inspect

from sepc_desk.chain import Chain
from sepc_desk.database import engine_of
from sepc_desk.entries import EntryKind, entry
from sepc_desk.errors import SettingError
from sepc_desk.keys import all_keys, create_key
from sepc_desk.migrations.running import SCRIPTS, migrate
from sepc_desk.migrations.versioning import NEWEST, check_version, version_of
from sepc_desk.schema import metadata
from sepc_desk.settings import load_settings
from sepc_desk.verifying import verify


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_up_and_down_with_data(kind: str, tmp_path, request: pytest.FixtureRequest) -> None:
    if kind == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        database = cluster.create("migrations")
    else:
        database = f"sqlite:///{tmp_path / 'desk.db'}"
    engine = engine_of(load_settings(KEYED, database=database))
    with pytest.raises(SettingError, match="has no tables yet.*sepc-desk migrate"):
        check_version(engine)
    migrate(engine, "0001")
    with pytest.raises(SettingError, match="is at version 0001"):
        check_version(engine)
    migrate(engine)
    check_version(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    migrate(engine, "0001")
    assert not inspect(engine).has_table("keys")
    migrate(engine)
    create_key(engine, "a", ["*"])
    assert len(all_keys(engine)) == 1
    chain = Chain(engine)
    chain.append([entry(EntryKind.DECISION, "key:1", {"row": {}}) for _ in range(20)])
    chain.close()
    with pytest.raises(SettingError, match="those with and without seals"):
        migrate(engine, "0001")
    assert (version_of(engine), verify(engine).n_entries) == (NEWEST, 21)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.exec_driver_sql("DELETE FROM entries")
    migrate(engine, "base")
    assert version_of(engine) is None
    assert not inspect(engine).has_table("entries")
    engine.dispose()


def test_the_newest_version_is_the_one_that_the_service_needs() -> None:
    assert ScriptDirectory(str(SCRIPTS)).get_current_head() == NEWEST


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_several_at_once_do_it_once(kind: str, tmp_path, request: pytest.FixtureRequest) -> None:
    """Five at the same moment; on a database that has no tables yet."""
    database = f"sqlite:///{tmp_path / 'desk.db'}"
    if kind == "postgresql":
        database = request.getfixturevalue("cluster").create("at_once")
    barrier = threading.Barrier(5)

    def one(_: int) -> str | None:
        engine = engine_of(load_settings(KEYED, database=database))
        barrier.wait()
        migrate(engine)
        found = version_of(engine)
        engine.dispose()
        return found

    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(one, range(5))) == [NEWEST] * 5
