"""Every database that a statement can run in."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))


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


class SparkTables:
    """Spark SQL, with the same two methods as the other databases."""

    dialect = "spark"

    def __init__(self, session):
        self.session = session

    def create(self, name, frame):
        objects = {column: frame[column].astype(object) for column in frame if frame[column].dtype.kind not in "fibM"}
        given = frame.assign(**{column: values.where(values.notna(), None) for column, values in objects.items()})
        self.session.createDataFrame(given).createOrReplaceTempView(f"`{name}`")

    def ask(self, statement):
        return self.session.sql(statement).toPandas()


@pytest.fixture(scope="session")
def spark_tables(spark):
    """Spark SQL in the session that all tests share."""
    return SparkTables(spark)


ENGINES = ["duck", "sqlite", pytest.param("postgres", marks=pytest.mark.cluster)]


@pytest.fixture(params=ENGINES)
def engine(request):
    """Each database but Spark, which takes seconds to plan."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=[*ENGINES, pytest.param("spark_tables", marks=pytest.mark.cluster)])
def any_engine(request):
    """Each database."""
    return request.getfixturevalue(request.param)
