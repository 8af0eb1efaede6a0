"""Model files, and the columns of a table that a model needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.cli.category_matching import matched
from sepc.cli.column_reading import array_of
from sepc.cli.messages import InputError
from sepc.cli.model_columns import ModelColumns, columns_of_model
from sepc.cli.source import Source, check_readable
from sepc.cli.tables import Batch, Reading, Table, check_names


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted estimator, and the columns of a table that it takes.

    Attributes
    ----------
    estimator : estimator
    features : tuple of str
        Columns of the table, in the model's order.
    by : tuple of str
        Those of them whose values have models of their own.
    columns : ModelColumns
    """

    estimator: Any
    features: tuple[str, ...]
    by: tuple[str, ...]
    columns: ModelColumns

    @property
    def used(self) -> list[str]:
        """The features that the model looks at."""
        return [name for name in self.features if name not in self.columns.left_out]

    @property
    def readings(self) -> dict[str, Reading]:
        """What each feature is read as."""
        numbers = dict.fromkeys(self.features, Reading.NUMBER)
        return numbers | self.columns.readings | dict.fromkeys(self.by, Reading.FOUND)

    def arrays(self, source: Source, batch: Batch) -> dict[str, Any]:
        """The features of a batch that the model looks at; a cell that cannot be one is an error."""
        return {name: self._array(source, name, batch) for name in self.used}

    def decide(self, arrays: dict[str, Any]) -> Any:
        """Decide on rows, given by their features."""
        from sepc.estimators.base import decide_rows

        return decide_rows(self.estimator, self.table(arrays))

    def table(self, arrays: dict[str, Any]) -> Any:
        """Features as the model takes them: an array if all are numbers, else a DataFrame."""
        import numpy as np

        if not self.by and not self.columns.readings:
            return np.stack(list(arrays.values())).T
        # What is left out must be there, by its name only.
        return pandas_package().DataFrame({name: arrays.get(name) for name in self.features})

    def _array(self, source: Source, name: str, batch: Batch) -> Any:
        column = batch.columns[name]
        if name in self.by:
            return categories(column)
        cells = array_of(source, name, column, self.readings[name], batch.first_row)
        return matched(cells, self.columns.categories[name]) if name in self.columns.categories else cells


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


def scorer_for(
    estimator: Any, table: Table, features: Sequence[str] | None, beside: Sequence[str] | None = None
) -> Scorer:
    """Match the model's features with the columns of a table: by name, or in order if the model knows no names.

    `beside` are the columns that can be features; all by default.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if features or names is None:
        names = features or (table.names if beside is None else beside)
    n = estimator.n_features_in_
    if len(names) != n:
        raise InputError(
            f"The model has {n} features without names, but {table.source.name} has {len(names)} columns; "
            f"name the {n} with --features."
            if features is None
            else f"--features names {len(names)} columns; the model has {n} features."
        )
    chosen, columns = tuple(map(str, names)), columns_of_model(estimator)
    from sepc.estimators.unwrapping import category_positions

    by = tuple(chosen[j] for j in category_positions(estimator))
    scorer = Scorer(estimator, chosen, by, columns)
    check_names(table, scorer.used)
    return scorer


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
