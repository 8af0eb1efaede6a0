"""The databases that a statement can run in, beside Spark."""

import pytest


@pytest.fixture(scope="session")
def postgres():
    """A connection to a server of our own."""
    pytest.importorskip("psycopg")
    pytest.importorskip("pandas")
    from databases import Postgres, postgres_programs, postgres_server

    if postgres_programs() is None:
        pytest.skip("there is no PostgreSQL server")
    with postgres_server() as socket:
        engine = Postgres(socket)
        yield engine
        engine.connection.close()


@pytest.fixture(scope="session")
def duck():
    """DuckDB in memory."""
    pytest.importorskip("duckdb")
    pytest.importorskip("pandas")
    from databases import DuckDB

    engine = DuckDB()
    yield engine
    engine.connection.close()


@pytest.fixture(scope="session")
def sqlite():
    """SQLite in memory."""
    pytest.importorskip("pandas")
    from databases import SQLite

    engine = SQLite()
    functions = {name for (name,) in engine.connection.execute("SELECT name FROM pragma_function_list")}
    if not {"exp", "ln", "sqrt", "power", "sin", "cos"} <= functions:
        pytest.skip("this SQLite has no mathematical functions")
    yield engine
    engine.connection.close()


ENGINES = ["duck", "sqlite", pytest.param("postgres", marks=pytest.mark.cluster)]


@pytest.fixture(params=ENGINES)
def engine(request):
    """Each database but Spark, which takes seconds for a statement."""
    return request.getfixturevalue(request.param)
