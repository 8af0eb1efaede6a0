"""The columns that matter most in a model, for the output of a command."""

from __future__ import annotations

from collections.abc import Mapping

from sepc.wording import listed, visible

# Columns to name.
N_COLUMNS = 5


def matters_most(importances: Mapping[str, float]) -> str:
    """What matters most, in a sentence; empty without importances."""
    sizes = [f"{name} {size:.2f}" for name, size in list(importances.items())[:N_COLUMNS]]
    return visible(f"What matters most, by the mean size of its term: {listed(sizes)}.") if sizes else ""
