"""Packages that some tests need and the library does not; without them those tests are skipped, not failed."""

import doctest
import importlib
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest

OPTIONAL = {
    *("pandas", "polars", "matplotlib", "dask", "pyarrow", "pyspark", "onnx", "onnxruntime", "mlflow", "skl2onnx"),
    *(
        "openpyxl",
        "cvxpy",
        "clarabel",
        "piqp",
        "scs",
        "mapie",
        "nautilus",
        "interpret",
        "hbbrain",
        "build",
    ),
    *("shtab", "tqdm", "duckdb", "psycopg", "nbclient", "nbformat", "jupyter_client", "traitlets"),
}


class OnDemand:
    """Stands where a package would: imported when a test first uses it, and that test is skipped if it is missing."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest itself, looking for tests and doctests
            raise AttributeError(attribute)
        return getattr(imported_or_skip(self._name), attribute)


def package_or_skip(name: str) -> Any:
    """The package, once a test uses it; some take seconds to import, and `pytest.importorskip` would skip the file."""
    return OnDemand(name)


@cache
def imported_or_skip(name: str) -> ModuleType:
    top = name.partition(".")[0]
    if find_spec(top) is None:
        pytest.skip(f"{top} is not installed")
    return importlib.import_module(name)


class SkippingWithoutPackages:
    """A plugin: a test that fails because an optional package cannot be imported is skipped."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self):
        return (yield from skipping())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self):
        return (yield from skipping())


def skipping():
    try:
        return (yield)
    except (ImportError, doctest.UnexpectedException) as error:
        package = missing_package(error.exc_info[1] if isinstance(error, doctest.UnexpectedException) else error)
        if package is None:
            raise
        pytest.skip(f"{package} is not installed")


def missing_package(error: BaseException | None) -> str | None:
    """The optional package whose absence led to this error, if that is why."""
    while isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        if package in OPTIONAL and find_spec(package) is None:
            return package
        error = error.__cause__ or error.__context__
    return None
