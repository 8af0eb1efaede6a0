"""Settings and fixtures that all tests share."""

import logging
import os
import shutil
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import zoo
from _pytest.doctest import DoctestModule
from checked_records import check_records
from hypothesis import settings
from optional import SkippingWithoutPackages

from sepc import datasets

check_records()  # before anything declares one

# The same examples on every run and machine, and no time limit that a busy machine could break.
settings.register_profile("sepc", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("weekly", parent=settings.get_profile("sepc"), max_examples=100)
settings.load_profile("sepc")

# Workers of Dask are forked from a process that has imported what they need, as in Dask's own tests.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
IMPORTED_BY_WORKERS = ["distributed", "dask.array", "dask.dataframe", "sepc.model_files", "sepc.points.engines"]

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_configure(config):
    """Skip tests for missing packages everywhere, also the examples in docstrings; and make a folder for the zoo."""
    config.pluginmanager.register(SkippingWithoutPackages())
    if not hasattr(config, "workerinput"):  # Other processes of the run are started later, with this environment.
        folder = tempfile.TemporaryDirectory(prefix="sepc-zoo-")
        os.environ[zoo.HOME_VARIABLE] = folder.name
        config.add_cleanup(folder.cleanup)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Leave out the examples in docstrings of tests: there are none, and every helper would be imported to see that."""
    return [found for found in (yield) if not isinstance(found, DoctestModule)]


@pytest.fixture(scope="session")
def distributed():
    """Dask's package for clusters, whose workers start with their imports done."""
    package = pytest.importorskip("dask.distributed")
    utils = pytest.importorskip("distributed.utils")
    utils.get_mp_context().set_forkserver_preload(IMPORTED_BY_WORKERS)
    return package


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items):
    """Mark slow cases, and what needs a Dask cluster, Spark or a PostgreSQL server; then let long tests begin."""
    for item in items:
        is_slow = any(is_one_of(item, mark.args) for mark in item.iter_markers("slow_cases"))
        if is_slow or not all(is_one_of(item, mark.args) for mark in item.iter_markers("quick_cases")):
            item.add_marker("slow")
        if {"cluster", "spark", "postgres"} & set(item.fixturenames):
            item.add_marker("cluster")
    yield  # what is not asked for is taken out
    items[:] = long_ones_first(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def is_one_of(item, patterns):
    """Whether a case of a parametrised test has one of these ids, in which `*` stands for anything."""
    return any(fnmatchcase(item.callspec.id, pattern) for pattern in patterns)


def long_ones_first(items, n_processes):
    """Engines at the start of the first process's tests; pages and benchmarks at the start of the second's.

    pytest-xdist gives every process a stretch of equally many tests, and one that is done gets the end of another's. So
    engines are started by one process only, others wait for nothing meanwhile, and what is left for the end is short.
    """
    kinds = {"engine": [], "page": [], "short": []}
    for item in items:
        has = {mark.name for mark in item.iter_markers()}
        kinds["engine" if "cluster" in has else "page" if has & {"docs", "bench"} else "short"].append(item)
    engines, pages, short = kinds.values()
    first = max(0, len(items) // n_processes - len(engines))
    return [*engines, *short[:first], *pages, *short[first:]]


@pytest.fixture
def home(monkeypatch):
    """The folder of data sets, for `sepc.datasets.load`."""
    folder = Path(os.environ.get(datasets.HOME_VARIABLE, SHARED))
    if not folder.is_dir():
        pytest.skip(f"{datasets.HOME_VARIABLE} is not set")
    monkeypatch.setenv(datasets.HOME_VARIABLE, str(folder))
    return folder


@pytest.fixture(scope="session")
def spark():
    """A local Spark session of two threads."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        options = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
        session = sql.SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="session")
def cluster(distributed):
    """A Dask cluster of two worker processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """The client that Dask collections are computed with, for one test."""
    from dask.distributed import Client

    with Client(cluster) as client:
        yield client
