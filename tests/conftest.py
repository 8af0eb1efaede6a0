"""Settings and fixtures that all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from optional import SkippingWithoutPackages

from sepc import datasets

# The same examples on every run and machine, and no time limit that a busy machine could break.
settings.register_profile("sepc", derandomize=True, deadline=None)
settings.load_profile("sepc")

SHARED = Path(__file__).parents[2] / "shared" / "data"


def pytest_configure(config):
    """Skip tests for missing packages everywhere, also the examples in docstrings."""
    config.pluginmanager.register(SkippingWithoutPackages())


@pytest.fixture
def home(monkeypatch):
    """The folder of data sets, for `sepc.datasets.load`."""
    folder = Path(os.environ.get(datasets.HOME_VARIABLE, SHARED))
    if not folder.is_dir():
        pytest.skip(f"{datasets.HOME_VARIABLE} is not set")
    monkeypatch.setenv(datasets.HOME_VARIABLE, str(folder))
    return folder
