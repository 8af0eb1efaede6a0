"""The columns that matter most in a model, for the output of a command."""

from __future__ import annotations

from collections.abc import Mapping

from sepc.wording import listed, visible

# Columns to name.
N_COLUMNS = 5


def matters_most(importances: Mapping[str, float]) -> str:
    """The most important columns, in a sentence; empty without importances."""
    sizes = [f"{name} {size:.2f}" for name, size in list(importances.items())[:N_COLUMNS]]
    return visible(f"Most important columns, by their mean absolute term: {listed(sizes)}.") if sizes else ""
