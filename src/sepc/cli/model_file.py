"""Model files, and the columns of a table that a model needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.cli.messages import InputError
from sepc.cli.source import Source, check_readable
from sepc.cli.tables import Batch, Table, check_names, matrix, refuse_missing, refuse_text

WRONG_TEXT = "The model needs numbers there."


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted estimator, and the columns of a table that it takes.

    Attributes
    ----------
    estimator : estimator
    features : tuple of str
        Columns of the table, in the model's order.
    by : tuple of str
        Those of them that hold categories.
    """

    estimator: Any
    features: tuple[str, ...]
    by: tuple[str, ...]

    @property
    def numbers(self) -> list[str]:
        """The features that must be numbers."""
        return [name for name in self.features if name not in self.by]

    def decide(self, batch: Batch, numbers: Any) -> Any:
        """Decide on the rows of a batch; `numbers` are its numeric features."""
        rows = to_frame(batch, numbers, self.numbers, self.by, self.features) if self.by else numbers
        from sepc.estimators.base import decide_rows

        return decide_rows(self.estimator, rows)

    def complete_numbers(self, source: Source, batch: Batch, advice: str) -> Any:
        """The numeric features of a batch; raises if a cell is empty."""
        numbers = matrix(batch, self.numbers)
        refuse_missing(source, batch, numbers, self.numbers, advice)
        return numbers


def load_model(path: str) -> Any:
    """Load an estimator, or say in a sentence why it cannot be loaded."""
    check_readable(path)
    from sepc.errors import ForeignModelError, FormatError
    from sepc.model_files import load

    try:
        return load(path)
    except FormatError as error:
        raise InputError(f"{path}: {error}") from error
    except ForeignModelError as error:
        raise InputError(
            f"{path} wraps a model of another library, {error.kind}, which is not in the file; "
            f"use it from Python, with sepc.load(path, {error.argument}=...)."
        ) from error


def scorer_for(estimator: Any, table: Table, features: Sequence[str] | None) -> Scorer:
    """Match the model's features with the columns of a table: by name, or in order if the model knows no names."""
    names = features or getattr(estimator, "feature_names_in_", None)
    if names is None:
        names = table.names
    n = estimator.n_features_in_
    if len(names) != n:
        raise InputError(
            f"The model has {n} features without names, but {table.source.name} has {len(names)} columns; "
            f"name the {n} with --features."
            if features is None
            else f"--features names {len(names)} columns; the model has {n} features."
        )
    chosen = tuple(map(str, names))
    check_names(table, chosen)
    from sepc.estimators.unwrapping import category_positions

    by = tuple(chosen[j] for j in category_positions(estimator))
    scorer = Scorer(estimator, chosen, by)
    refuse_text(table, scorer.numbers, WRONG_TEXT)
    return scorer


def to_frame(batch: Batch, numbers: Any, names: Sequence[str], by: Sequence[str], order: Sequence[str]) -> Any:
    """A DataFrame of the numeric and the categorical features, in the model's order."""
    pd = pandas_package()
    frame = pd.DataFrame(numbers, columns=list(names))
    for name in by:
        frame[name] = categories(batch.columns[name])
    return frame[list(order)]


def categories(column: Any) -> Any:
    """The cells of a categorical column: text, integers and booleans as they are, everything else as text."""
    import numpy as np

    kind = str(column.type)
    is_plain = kind in ("string", "large_string", "bool") or kind.startswith(("int", "uint", "dictionary"))
    cells = np.empty(len(column), dtype=object)
    cells[:] = (column if is_plain else column.cast("string")).to_pylist()
    return cells


def pandas_package() -> Any:
    """The pandas module, or an error that says how to install it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError('This command needs pandas: pip install "sepc[table]"') from error
    return pd
