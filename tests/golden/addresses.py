"""Public names at the address that they have in the code at hand, since two commits are compared."""

from importlib import import_module
from typing import Any

ADDRESSES = ("sepc", "sepc.lifecycle", "sepc.metrics", "sepc.lifecycle.sites", "sepc.sites")

# What a public name was called in an earlier commit.
FORMER = {"RoutedClassifier": "StratifiedClassifier"}


def public(name: str) -> Any:
    """The public object of this name."""
    for address in ADDRESSES:
        try:
            return getattr(import_module(address), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    if name in FORMER:
        return public(FORMER[name])
    raise AttributeError(name)
