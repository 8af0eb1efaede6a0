from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

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
from sepc_desk.migrations import running, versioning
from sepc_desk.migrations.running import SCRIPTS, migrate
from sepc_desk.migrations.versioning import NEWEST, check_version, version_of
from sepc_desk.schema import metadata
from sepc_desk.settings import load_settings
from sepc_desk.verifying import verify

NEXT = f"{int(NEWEST) + 1:04}"
# What a migration of a coming release may look like.
MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{NEXT}", "{NEWEST}"


def upgrade():
    op.add_column("keys", sa.Column("purpose", sa.Text))


def downgrade():
    op.drop_column("keys", "purpose")
"""


@pytest.fixture(params=["postgresql", "sqlite"])
def empty(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The address of a database without tables, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'desk.db'}"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.create(tmp_path.name.lower())


@contextmanager
def next_release(folder: Path) -> Iterator[None]:
    """As if a release with one more version were installed."""
    scripts = folder / "scripts"
    shutil.copytree(SCRIPTS, scripts, dirs_exist_ok=True)
    (scripts / "versions" / "next.py").write_text(MIGRATION)
    with pytest.MonkeyPatch.context() as own:
        own.setattr(running, "SCRIPTS", scripts)
        own.setattr(versioning, "NEWEST", NEXT)
        yield


def test_a_new_database_is_at_the_newest_version(empty: str) -> None:
    engine = engine_of(load_settings(KEYED, database=empty))
    with pytest.raises(SettingError, match="has no tables yet.*sepc-desk migrate"):
        check_version(engine)
    for _ in range(2):
        migrate(engine)
        check_version(engine)
        with engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        migrate(engine, "base")
        assert version_of(engine) is None
        assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()


def test_up_and_down_with_data(empty: str, tmp_path: Path) -> None:
    engine = engine_of(load_settings(KEYED, database=empty))
    migrate(engine)
    create_key(engine, "a", ["*"])
    chain = Chain(engine)
    chain.append([entry(EntryKind.DECISION, "key:1", {"row": {}}) for _ in range(20)])
    chain.close()
    with next_release(tmp_path):
        with pytest.raises(SettingError, match=f"is at version {NEWEST}, and this service needs version {NEXT}"):
            check_version(engine)
        migrate(engine)
        check_version(engine)
        assert "purpose" in {column["name"] for column in inspect(engine).get_columns("keys")}
    # Back in the release before, which does not know what came after it.
    with pytest.raises(SettingError, match=f"is at version {NEXT}"):
        check_version(engine)
    with pytest.raises(SettingError, match=f"cannot go from version {NEXT} to head"):
        migrate(engine)
    with next_release(tmp_path):
        migrate(engine, NEWEST)
        with pytest.raises(SettingError, match="The log has entries"):
            migrate(engine, "base")
    check_version(engine)
    assert (len(all_keys(engine)), verify(engine).n_entries) == (1, 21)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_the_newest_version_is_the_one_that_the_service_needs() -> None:
    assert ScriptDirectory(str(SCRIPTS)).get_current_head() == NEWEST


@pytest.mark.parametrize("is_new", [True, False])
def test_several_at_once_do_it_once(empty: str, tmp_path: Path, *, is_new: bool) -> None:
    """Five at the same moment; on a database that has no tables yet, and on one that is a version behind."""

    def one(barrier: threading.Barrier) -> str | None:
        engine = engine_of(load_settings(KEYED, database=empty))
        barrier.wait()
        migrate(engine)
        found = version_of(engine)
        engine.dispose()
        return found

    if is_new:
        with ThreadPoolExecutor(5) as pool:
            assert list(pool.map(one, [threading.Barrier(5)] * 5)) == [NEWEST] * 5
        return
    one(threading.Barrier(1))
    with next_release(tmp_path), ThreadPoolExecutor(5) as pool:
        assert list(pool.map(one, [threading.Barrier(5)] * 5)) == [NEXT] * 5
