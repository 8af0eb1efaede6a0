"""DuckDB, SQLite and PostgreSQL: put a table into one, and ask it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

# Where Debian puts the programs of a PostgreSQL server.
SERVERS = Path("/usr/lib/postgresql")
# PostgreSQL refuses to run as root; one of these runs it then.
USERS = ("postgres", "nobody")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class DuckDB:
    """DuckDB in memory."""

    dialect = "duckdb"

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()

    def create(self, name: str, frame: pd.DataFrame) -> None:
        """Make a table of these rows."""
        self.connection.register("given frame", _plain(frame))
        self.connection.execute(f'CREATE OR REPLACE TABLE {quoted(name)} AS SELECT * FROM "given frame"')

    def ask(self, statement: str) -> pd.DataFrame:
        """All rows of a statement."""
        return self.connection.execute(statement).df()

    def run(self, statement: str) -> None:
        """Compute all columns of a statement, and keep none."""
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE answer AS {statement}")

    def plan(self, statement: str) -> None:
        """Plan a statement, and do no more."""
        self.connection.execute(f"SELECT * FROM ({statement}) LIMIT 0").fetchall()


class SQLite:
    """SQLite in memory."""

    dialect = "sqlite"
    types = {"f": "REAL", "i": "INTEGER", "b": "INTEGER", "M": "TEXT"}

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def create(self, name: str, frame: pd.DataFrame) -> None:
        """Make a table of these rows."""
        given = _plain(frame)
        for column in given.columns[given.dtypes.map(lambda own: own.kind == "M")]:
            given[column] = given[column].dt.strftime("%Y-%m-%d %H:%M:%S.%f")
        self.connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
        self.connection.execute(f"CREATE TABLE {quoted(name)} ({_columns(frame, self.types)})")
        marks = ", ".join("?" * given.shape[1])
        self.connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", _records(given))

    def ask(self, statement: str) -> pd.DataFrame:
        """All rows of a statement."""
        cursor = self.connection.execute(statement)
        return pd.DataFrame(cursor.fetchall(), columns=[column[0] for column in cursor.description])

    def plan(self, statement: str) -> None:
        """Plan a statement, and do no more."""
        self.connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()


class Postgres:
    """A connection to a PostgreSQL server."""

    dialect = "postgres"
    types = {"f": "double precision", "i": "bigint", "b": "boolean", "M": "timestamp"}

    def __init__(self, socket: str) -> None:
        import psycopg

        self.connection = psycopg.connect(host=socket, dbname="postgres", user="sepc", autocommit=True)

    def create(self, name: str, frame: pd.DataFrame) -> None:
        """Make a table of these rows."""
        self.connection.execute(f"DROP TABLE IF EXISTS {quoted(name)}")
        self.connection.execute(f"CREATE TABLE {quoted(name)} ({_columns(frame, self.types)})")
        with self.connection.cursor().copy(f"COPY {quoted(name)} FROM STDIN") as copy:
            for record in _records(_plain(frame)):
                copy.write_row(record)

    def ask(self, statement: str) -> pd.DataFrame:
        """All rows of a statement."""
        cursor = self.connection.execute(statement)
        return pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description or ()])

    def plan(self, statement: str) -> None:
        """Plan a statement, and do no more."""
        self.connection.execute(f"EXPLAIN {statement}").fetchall()


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with objects in place of pandas' own types for categories and texts."""
    return frame.astype({name: object for name in frame if not isinstance(frame[name].dtype, np.dtype)})


def _columns(frame: pd.DataFrame, types: dict[str, str]) -> str:
    return ", ".join(f"{quoted(name)} {_type(values, types)}" for name, values in frame.items())


def _type(values: pd.Series, types: dict[str, str]) -> str:
    known = _plain(values.to_frame()).iloc[:, 0].dropna()
    kind = known.dtype.kind
    if kind == "O" and len(known) and all(isinstance(value, float) for value in known):
        kind = "f"
    return types.get(kind, "TEXT")


def _records(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    objects = frame.astype(object)
    return objects.where(objects.notna(), None).itertuples(index=False, name=None)


def postgres_programs() -> Path | None:
    """The folder with initdb and pg_ctl; None if there is no server."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(SERVERS.glob("*/bin"), key=lambda folder: float(folder.parent.name))
    return folders[-1] if folders else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a PostgreSQL server with a database of its own; gives the folder of its socket."""
    programs, user = postgres_programs(), None
    if programs is None:
        raise FileNotFoundError("There is no PostgreSQL server.")
    folder = tempfile.mkdtemp(prefix="sepc-postgres-")
    if os.geteuid() == 0:
        import pwd

        user = next(name for name in USERS if name in {entry.pw_name for entry in pwd.getpwall()})
        shutil.chown(folder, user)

    def call(program: str, *options: str) -> None:
        command = [str(programs / program), "-D", f"{folder}/data", *options]
        subprocess.run(command, cwd=folder, user=user, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    try:
        call("initdb", "--username=sepc", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=10"
        call("pg_ctl", "-o", options, "-l", f"{folder}/log", "--wait", "start")
        try:
            yield folder
        finally:
            call("pg_ctl", "--mode=immediate", "--wait", "stop")
    finally:
        shutil.rmtree(folder)
