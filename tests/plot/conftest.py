"""Pictures are closed after each test."""

import pytest
from optional import package_or_skip


@pytest.fixture(autouse=True)
def plt():
    package_or_skip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")
