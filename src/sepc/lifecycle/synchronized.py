"""Objects whose state several threads may change: one of them at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

P = ParamSpec("P")
S = TypeVar("S", bound="SharedState")
R = TypeVar("R")


class SharedState:
    """An object with its own lock, which copies and pickles leave out and create afresh."""

    _lock: threading.RLock

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A new object with its lock; `__init__` may be skipped."""
        made = super().__new__(cls)
        made._lock = threading.RLock()
        return made

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}


def synchronized(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let only one thread at a time run the decorated methods of an object."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return guarded
