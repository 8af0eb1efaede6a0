"""The training table of a model, which of its rows are to be erased, and the table without them."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from sepc.cli._messages import InputError
from sepc.cli._model_rows import beside, main_classifier
from sepc.cli.fitting import plan_of
from sepc.cli.labelled_rows import as_text, labelled_table, read_sample
from sepc.cli.source import open_table
from sepc.io.atomic_files import replacing
from sepc.tables.files import PACKED, Source
from sepc.tables.table_file import TableFile, read_table
from sepc.wording import counted, shown

# The column of the file of ids that holds row numbers instead of ids.
ROW = "row"
# Options of a fit that decide whether a file may be read in blocks, and that a fitted model does not need.
NOT_GIVEN: dict[str, Any] = {"by": [], "max_risk": None, "merge_labels": False, "test_last": 0.0, "test_size": 0.0}


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The rows of a fit."""

    X: Any
    y: Any
    numbers: Any
    rows_to_erase: set[int]

    def erased_and_left(self) -> tuple[Any, Any]:
        """Positions of the rows to erase, and of the others."""
        import numpy as np

        is_erased = np.isin(self.numbers, list(self.rows_to_erase))
        if not is_erased.any():
            raise InputError("None of these rows was used to fit the model, so there is nothing to erase from it.")
        return np.flatnonzero(is_erased), np.flatnonzero(~is_erased)


def training_table(options: argparse.Namespace, model: Any) -> TrainingTable:
    """Read the table as `sepc fit` does, and find the rows to erase."""
    table = open_table(options)
    source = table.source
    if source.format == "excel" or source.is_standard_input or source.path.endswith(PACKED):
        raise InputError(f"{source.name}: the table must be a CSV or Parquet file that is not compressed.")
    X, y, numbers = _read(options, model)
    return TrainingTable(X, y, numbers, _rows_to_erase(options, table))


def left_table(options: argparse.Namespace, model: Any, path: str) -> tuple[Any, Any, int]:
    """Read the file of rows that are left, as `sepc fit` does: features, labels, and the number of rows."""
    X, y, numbers = _read(beside(options, path), model)
    return X, y, len(numbers)


def _read(options: argparse.Namespace, model: Any) -> tuple[Any, Any, Any]:
    """Features, labels and row numbers of a table, with the columns of a model."""
    import numpy as np

    from sepc.estimators.unwrapping import is_partition

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise InputError("The model has no feature names; use sepc.lifecycle.forget in Python.")
    by = [str(names[j]) for j in getattr(model, "by_", ())]
    inner = main_classifier(model).categorical_features
    declared = [] if inner is None or isinstance(inner, str) else [str(name) for name in inner]
    changed = vars(options) | {
        "features": [str(name) for name in names if str(name) not in by],
        "categorical": [*options.categorical, *declared],
        "drop": [],
        "use": [],
        **NOT_GIVEN,
    }
    chosen = argparse.Namespace(**changed)
    given = labelled_table(open_table(chosen), chosen, by)
    if is_partition(model) and plan_of(given, chosen).in_blocks:
        return chosen.data, chosen.target, np.arange(1, (given.table.n_rows or 0) + 1)
    sample = read_sample(given, chosen)
    return sample.rows.X, sample.rows.y, sample.numbers


def _rows_to_erase(options: argparse.Namespace, table: TableFile) -> set[int]:
    """The numbers of the rows that the file of ids names."""
    ids, source = read_table(options.rows, format="csv"), table.source
    if len(ids.names) != 1:
        raise InputError(f"{options.rows} has {len(ids.names)} columns; give a single one, of ids or row numbers.")
    name = ids.names[0]
    named = [cell for cell in _texts(ids, name) if cell]
    if name == ROW and ROW not in table.names:
        return _row_numbers(options, named)
    table.check_names([name])
    cells = _texts(table, name)
    missing = sorted(set(named) - set(cells))
    if missing or not named:
        which = (
            f"names {shown(missing[0])}, which column {name!r} of {source.name} does not have" if named else "is empty"
        )
        raise InputError(f"{options.rows} {which}.")
    asked = set(named)
    return {number for number, cell in enumerate(cells, 1) if cell in asked}


def _row_numbers(options: argparse.Namespace, named: list[str]) -> set[int]:
    try:
        numbers = {int(cell) for cell in named}
    except ValueError:
        raise InputError(f"{options.rows}: column {ROW!r} must hold row numbers, counted from 1.") from None
    if not numbers or min(numbers) < 1:
        raise InputError(f"{options.rows}: column {ROW!r} must hold row numbers, counted from 1.")
    return numbers


def _texts(table: TableFile, name: str) -> list[str]:
    return [cell for batch in table.batches([name]) for cell in as_text(table, batch.columns[name])]


def write_rest(options: argparse.Namespace, rows_to_erase: set[int]) -> None:
    """Write the table without some rows, in its own format and with all its columns."""
    table = open_table(options)
    source = table.source
    if source.format != _format_of(options):
        raise InputError(f"--rest {options.rest}: the name must end like that of {source.name}.")
    with replacing(options.rest) as temporary:
        if source.format == "parquet":
            _write_parquet(table, rows_to_erase, options.target, temporary)
        else:
            _write_csv(source, rows_to_erase, temporary)


def _format_of(options: argparse.Namespace) -> str:
    ending = options.rest.lower()
    return "parquet" if ending.endswith((".parquet", ".pq")) else "csv"


def _write_parquet(table: TableFile, rows_to_erase: set[int], target: str, path: str) -> None:
    import numpy as np

    from sepc.points.streams import write_some

    left = np.setdiff1d(np.arange(table.n_rows or 0), np.array(sorted(rows_to_erase), dtype=np.int64) - 1)
    write_some(table.source.path, target, left, path)


def _write_csv(source: Source, rows_to_erase: set[int], path: str) -> None:
    """Copy a CSV file record by record, each as it is written."""
    separator = source.separator or ","
    with source.opened() as stream, open(path, "w", encoding="utf-8", newline="") as out:
        text = _Lines(stream)
        number = -1
        for record in csv.reader(text, delimiter=separator):
            written, number = text.taken(), number + bool(record)
            if not record or number not in rows_to_erase:
                out.write(written)
    n_last = max(rows_to_erase)
    if number < n_last:
        raise InputError(f"{source.name} has {counted(number, 'row')}, so there is no row {n_last:,}.")


class _Lines:
    """Lines of a stream, which remembers those taken since they were last asked for."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        self._taken: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self._taken.append(line)
            yield line

    def taken(self) -> str:
        """The lines since the last call."""
        written, self._taken = "".join(self._taken), []
        return written
