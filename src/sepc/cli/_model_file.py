"""Loading a model file, and summaries in the model's own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sepc.cli._messages import InputError
from sepc.tables.files import check_readable
from sepc.wording import listed, visible


def load_model(path: str, key: str | None = None) -> Any:
    """Load an estimator, or say in a sentence why it cannot be loaded; with `key`, only if its signature is valid."""
    check_readable(path)
    from sepc.errors import ForeignModelError, FormatError
    from sepc.model_files import load

    try:
        return load(path, key=key)
    except FormatError as error:
        raise InputError(f"{path}: {error}") from error
    except ForeignModelError as error:
        raise InputError(
            f"{path} wraps a model from another library, {error.kind}, which is not in the file; "
            f"use it from Python, with sepc.load(path, {error.argument}=...)."
        ) from error


def in_words(result: Any, estimator: Any) -> str:
    """A result's summary; names with line breaks are put on one line, so that none can forge a line of the summary."""
    text = str(result.summary())
    names = [*map(str, getattr(estimator, "feature_names_in_", ())), *map(str, estimator.classes_)]
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, visible(name)) if visible(name) != name else text
    return text


# Columns to name.
N_COLUMNS = 5


def matters_most(importances: Mapping[str, float]) -> str:
    """The most important columns, in a sentence; empty without importances."""
    sizes = [f"{name} {size:.2f}" for name, size in list(importances.items())[:N_COLUMNS]]
    return visible(f"Most important columns, by their mean absolute term: {listed(sizes)}.") if sizes else ""
