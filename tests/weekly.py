"""Cases of which every change tries some, and the weekly run all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def weekly_unless(is_quick: Callable[..., bool], cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The cases as parameters of a test; those that are not quick are marked slow."""
    return [pytest.param(*case, marks=[] if is_quick(*case) else [pytest.mark.slow]) for case in cases]


def weekly(*case: Any) -> Any:
    """A single case that is marked slow."""
    return pytest.param(*case, marks=pytest.mark.slow)
