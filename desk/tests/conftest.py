from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sample_models import save_models
from servers import KEYED, Cluster, DeskProcess
from sqlalchemy import Engine

from sepc_desk.database import engine_of
from sepc_desk.keys import create_key
from sepc_desk.migrations.running import migrate
from sepc_desk.settings import load_settings

KINDS = ["postgresql", "sqlite"]
_numbers = itertools.count()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run all tests of the service that they share, and a process each of the other files."""
    for item in items:
        shares = "running" in getattr(item, "fixturenames", ())
        item.add_marker(pytest.mark.xdist_group("running" if shares else item.path.name))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of PostgreSQL with a database that is migrated already, to be copied."""
    own = Cluster()
    engine = engine_of(load_settings(KEYED, database=own.create("migrated")))
    migrate(engine)
    engine.dispose()
    yield own
    own.remove()


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("migrated") / "desk.db"
    engine = engine_of(load_settings(KEYED, database=f"sqlite:///{file}"))
    migrate(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return file.read_bytes()


@pytest.fixture(scope="session")
def new_database(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, migrated_sqlite: bytes
) -> Callable[[str], str]:
    """Makes a new, migrated database of a kind; gives its address."""

    def make(kind: str) -> str:
        number = next(_numbers)
        if kind == "sqlite":
            file = tmp_path_factory.mktemp("database") / f"desk{number}.db"
            file.write_bytes(migrated_sqlite)
            return f"sqlite:///{file}"
        cluster: Cluster = request.getfixturevalue("cluster")
        return cluster.create(f"desk{number}", "migrated")

    return make


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> str:
    """The address of an empty database, of each kind."""
    return new_database(request.param)


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    own = engine_of(load_settings(KEYED, database=database))
    yield own
    own.dispose()


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two models that the tests of the service use."""
    return save_models(tmp_path_factory.mktemp("models") / "models", ["loans", "wdbc"])


class Running:
    """A service with its database, and keys for it."""

    def __init__(self, process: DeskProcess, database: str) -> None:
        self.process, self.database = process, database
        self.engine = engine_of(load_settings(KEYED, database=database))
        self.key = create_key(self.engine, "all models", ["*"])
        self.loans_key = create_key(self.engine, "loans only", ["loans"])
        self.owner_key = create_key(self.engine, "owner", ["*"], "owner")
        self.other_owner_key = create_key(self.engine, "other owner", ["*"], "owner")
        self.auditor_key = create_key(self.engine, "auditor", ["*"], "auditor")
        self.client = process.client(self.key)
        self.owner = process.client(self.owner_key)
        self.other_owner = process.client(self.other_owner_key)
        self.auditor = process.client(self.auditor_key)
        self.nobody = process.client()

    def close(self) -> None:
        for one in (self.client, self.owner, self.other_owner, self.auditor, self.nobody):
            one.close()
        self.engine.dispose()
        self.process.kill()
        self.process.log.unlink()


@pytest.fixture(scope="session", params=KINDS)
def running(
    request: pytest.FixtureRequest, new_database: Callable[[str], str], model_folder: Path
) -> Iterator[Running]:
    """A running service on each kind of database; two processes on PostgreSQL."""
    database = new_database(request.param)
    processes = 2 if request.param == "postgresql" else 1
    own = Running(DeskProcess(database, model_folder, processes=processes, is_warm=True), database)
    own.process.wait_ready()
    yield own
    own.close()
