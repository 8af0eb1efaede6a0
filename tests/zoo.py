"""Fitted models that tests share.

What a function with `fitted_once` gives is made once in a run, by the first process that asks for it; others read it
from a folder that all processes of the run share. Tests must not change what they share.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

HOME_VARIABLE = "SEPC_TEST_ZOO"

Made = TypeVar("Made")


def fitted_once(make: Callable[..., Made]) -> Callable[..., Made]:
    """Keep what `make` gives for each choice of arguments; their `repr` tells them apart."""

    @cache
    @wraps(make)
    def shared(*given: Any, **named: Any) -> Made:
        folder = os.environ.get(HOME_VARIABLE)
        if folder is None:
            return make(*given, **named)
        asked = f"{make.__module__}.{make.__qualname__}{given!r}{named!r}"
        path = Path(folder, hashlib.sha256(asked.encode()).hexdigest()[:32])
        if path.exists():
            kept: Made = pickle.loads(path.read_bytes())
            return kept
        made = make(*given, **named)
        try:
            data = pickle.dumps(made)
        except (pickle.PicklingError, AttributeError):  # It holds a function that has no name.
            return made
        # Two processes may fit the same at once; each leaves a whole file, and the contents are equal.
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(data)
        Path(file.name).replace(path)
        return made

    return shared
