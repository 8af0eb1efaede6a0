from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from servers import Cluster
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
    engine = engine_of(load_settings({}, database=database))
    with pytest.raises(SettingError, match="has no tables yet.*sepc-desk migrate"):
        check_version(engine)
    migrate(engine, "0001")
    with pytest.raises(SettingError, match="is at version 0001"):
        check_version(engine)
    chain = Chain(engine)
    chain.append([entry(EntryKind.DECISION, "key:1", {"row": {}}) for _ in range(20)])
    migrate(engine)
    check_version(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    create_key(engine, "a", ["*"])
    assert len(all_keys(engine)) == 1
    assert verify(engine).n_entries == 20
    chain.append([entry(EntryKind.ACCESS, "key:1")])
    migrate(engine, "0001")
    assert not inspect(engine).has_table("keys")
    verdict = verify(engine)
    assert verdict.is_whole
    assert verdict.n_entries == 21
    migrate(engine)
    chain.append([entry(EntryKind.ACCESS, "key:1")])
    assert verify(engine).n_entries == 22
    chain.close()
    migrate(engine, "base")
    assert version_of(engine) is None
    assert not inspect(engine).has_table("entries")
    engine.dispose()


def test_the_newest_version_is_the_one_that_the_service_needs() -> None:
    assert ScriptDirectory(str(SCRIPTS)).get_current_head() == NEWEST
