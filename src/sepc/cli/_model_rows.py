"""Rows of a table as a fitted model takes them, with true labels if a column holds them."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import InputError, complain
from sepc.cli.rows import Reading, batches_of, data_frame, open_table, read_cells, read_labels
from sepc.tables.table_file import Batch, TableFile, objects
from sepc.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sepc.columns.preparation import Preparation


def main_classifier(model: Any) -> Any:
    """The `SEPClassifier` inside a model that `sepc fit` made."""
    from sepc.estimators.unwrapping import layers

    *_, last = layers(model)
    return last.classifier


def left_out_of(model: Any) -> dict[str, str]:
    """The columns that no part of a model uses, and what they seem to be."""
    from sepc.columns.kinds import Kind

    columns = [column for preparation in _preparations_in(model) for column in preparation.columns]
    used = {column.name for column in columns if column.kind is not Kind.LEFT_OUT}
    return {column.name: column.why for column in columns if column.name not in used}


def taken_as(model: Any, names: Sequence[str]) -> Preparation:
    """What the classifier for all rows uses each column as: a number, a category, a date, or nothing."""
    from sepc.columns.kinds import Column, Kind
    from sepc.columns.preparation import Preparation
    from sepc.estimators.unwrapping import category_positions

    kinds = {names[j]: Column(names[j], Kind.CATEGORY, "") for j in category_positions(model)}
    own = main_classifier(model).encoding_
    kinds |= {} if own is None else {column.name: column for column in own.columns}
    return Preparation(tuple(kinds.get(name, Column(name, Kind.NUMBER, "")) for name in names), (), ())


def _preparations_in(model: Any) -> Iterator[Preparation]:
    """How each classifier inside a model prepares tables; those that take plain numbers do not."""
    from sepc.estimators.unwrapping import is_partition, models_in

    return (one.encoding_ for one in models_in(model) if is_partition(one) and one.encoding_ is not None)


def _readings_of(model: Any) -> tuple[dict[str, Reading], dict[str, set[Any]]]:
    """What a model reads columns as unless they are plain numbers, and the categories that it knows."""
    from sepc.columns.kinds import Kind

    readings: dict[str, Reading] = {}
    categories: dict[str, set[Any]] = {}
    for preparation in _preparations_in(model):
        for column in preparation.columns:
            if column.kind is Kind.CATEGORY:
                readings[column.name] = Reading.CATEGORY
                categories.setdefault(column.name, set()).update(preparation.categories[column.name].values)
            elif column.written is not None:
                readings[column.name] = Reading.WRITTEN
            elif column.kind is Kind.DATE:
                readings[column.name] = Reading.DATE
    return readings, categories


@dataclass(frozen=True, eq=False)
class ModelReader:
    """Reads the rows of a table as a fitted estimator takes them, with labels and columns to copy.

    `names` are the columns in the estimator's order, `readings` those of them that are read, and `takes_array` says
    whether all of these are plain numbers.
    """

    estimator: Any
    table: TableFile
    names: tuple[str, ...]
    readings: Mapping[str, Reading]
    categories: Mapping[str, Collection[Any]] = field(default_factory=dict)
    takes_array: bool = False
    target: str | None = None
    copied: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        estimator: Any,
        table: TableFile,
        features: Sequence[str] | None,
        target: str | None = None,
        copied: Sequence[str] = (),
        but: Collection[str] = (),
    ) -> ModelReader:
        """Match the model's features with columns: by name, or in order if it has no names (`but` are none then)."""
        from sepc.estimators.unwrapping import category_positions

        table.check_names([*copied, *([] if target is None else [target])])
        names = getattr(estimator, "feature_names_in_", None)
        if features or names is None:
            names = features or [name for name in table.names if name not in (target, *but)]
        n = estimator.n_features_in_
        if len(names) != n:
            raise InputError(
                f"The model has {n} features without names, but {table.source.name} has {len(names)} columns; "
                f"name the {n} with --features."
                if features is None
                else f"--features names {len(names)} columns; the model has {n} features."
            )
        chosen, left_out = tuple(map(str, names)), left_out_of(estimator)
        known, categories = _readings_of(estimator)
        takes_array = not known and not left_out
        known |= {chosen[j]: Reading.GROUP for j in category_positions(estimator)}
        readings = {name: known.get(name, Reading.NUMBER) for name in chosen if name not in left_out}
        table.check_names(list(readings))
        takes_array = takes_array and Reading.GROUP not in readings.values()
        return cls(estimator, table, chosen, readings, categories, takes_array, target, copied)

    @property
    def wanted(self) -> list[str]:
        """The columns to read."""
        return [*self.readings, *self.copied, *([] if self.target is None else [self.target])]

    @contextmanager
    def batches(
        self, options: argparse.Namespace, doing: str = "reading", *, in_memory: bool = False
    ) -> Iterator[Iterator[Batch]]:
        """Context manager: the batches of all rows, with a progress bar."""
        with batches_of(self.table, self.wanted, len(self.readings), options, doing, in_memory=in_memory) as batches:
            yield batches

    def arrays(self, batch: Batch) -> dict[str, NDArray[Any]]:
        """The features of a batch; raises if a cell cannot be read."""
        return {
            name: read_cells(self.table, batch, name, reading, self.categories.get(name, ()))
            for name, reading in self.readings.items()
        }

    def labels(self, batch: Batch) -> NDArray[Any]:
        """The labels of a batch."""
        assert self.target is not None
        return read_labels(self.table, batch, self.target, self.estimator.classes_.tolist())

    def rows(self, batch: Batch) -> ModelRows:
        """The rows of a batch, and what is known of them."""
        labels = None if self.target is None else self.labels(batch)
        kept = {name: objects(batch.columns[name].to_pylist()) for name in self.copied}
        return ModelRows(self, self.arrays(batch), labels, kept)

    def decide(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Decide on rows, given by their features."""
        from sepc.estimators.base import decide_rows

        return decide_rows(self.estimator, self.rows_for_model(arrays))

    def rows_for_model(self, arrays: Mapping[str, NDArray[Any]], *, named: bool = False) -> Any:
        """Features as the model takes them: an array if all are numbers and need not be `named`, else a DataFrame."""
        import numpy as np

        own = getattr(self.estimator, "feature_names_in_", self.names) if named else self.names
        if self.takes_array and not (named and hasattr(self.estimator, "feature_names_in_")):
            return np.stack(list(arrays.values())).T
        # Columns left out must be present, but only by name.
        return data_frame({str(name): arrays.get(given) for name, given in zip(own, self.names, strict=True)})


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Rows as a model takes them, and what is known of them."""

    reader: ModelReader
    arrays: Mapping[str, NDArray[Any]]
    labels: NDArray[Any] | None
    kept: Mapping[str, NDArray[Any]]

    @classmethod
    def joined(cls, parts: Sequence[ModelRows]) -> ModelRows:
        """All rows of several parts."""
        import numpy as np

        first = parts[0]
        arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in first.arrays}
        labels = None if first.labels is None else np.concatenate([part.labels for part in parts])
        kept = {name: np.concatenate([part.kept[name] for part in parts]) for name in first.kept}
        return cls(first.reader, arrays, labels, kept)

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    @cached_property
    def X(self) -> Any:
        """The features, with the model's own names if it knows them."""
        return self.reader.rows_for_model(self.arrays, named=True)

    def at(self, positions: Sequence[int]) -> Any:
        """The features of the rows at these positions."""
        return self.X.iloc[positions] if hasattr(self.X, "iloc") else self.X[positions]

    @cached_property
    def has_label(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        import numpy as np

        assert self.labels is not None
        return np.array([label is not None for label in self.labels], dtype=bool)

    def labelled(self) -> tuple[Any, NDArray[Any]]:
        """The features of the rows that have a label, and their labels."""
        import numpy as np

        assert self.labels is not None
        known, labels = self.has_label, self.labels[self.has_label]
        is_mixed = self.reader.estimator.classes_.dtype.kind == "O"
        return (self.X if known.all() else self.X[known]), labels if is_mixed else np.array(labels.tolist())


# Hexadecimal digits of a digest: half of a SHA-256 is enough, because nobody gains from a collision.
LETTERS = 32


class RowDigest:
    """A digest that identifies rows, whatever file they are in and however they are split into batches."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}
        self._labels = sha256()
        self.n_rows = 0

    def add(self, rows: ModelRows) -> None:
        """Add rows: their features and, if known, their labels."""
        for name, cells in rows.arrays.items():
            self._columns.setdefault(name, sha256()).update(_bytes(cells))
        if rows.labels is not None:
            self._labels.update(_bytes(rows.labels))
        self.n_rows += len(rows)

    def of_labels(self) -> str:
        """The digest of all rows so far with their labels."""
        return sha256(f"{self.of_rows()} {self._labels.hexdigest()}".encode()).hexdigest()[:LETTERS]

    def of_rows(self) -> str:
        """The digest of the features of all rows so far."""
        whole = sha256()
        for name, column in sorted(self._columns.items()):
            whole.update(f"{len(name)} {name} {column.hexdigest()}\n".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()[:LETTERS]


def _bytes(cells: NDArray[Any]) -> bytes:
    if cells.dtype.kind != "O":
        return cells.tobytes()
    return "".join(f"{len(text)} {text}\n" for text in map(repr, cells)).encode("utf-8", "surrogatepass")


def rows_in_batches(
    options: argparse.Namespace,
    estimator: Any,
    target: str | None,
    copied: Sequence[str] = (),
    *,
    in_memory: bool = False,
) -> Iterator[ModelRows]:
    """The rows of the table that the options name, some at a time."""
    reader = ModelReader.of(estimator, open_table(options), options.features, target, copied)
    with reader.batches(options, in_memory=in_memory) as batches:
        yield from map(reader.rows, batches)


def rows_in_memory(
    options: argparse.Namespace, estimator: Any, target: str | None, copied: Sequence[str] = ()
) -> ModelRows:
    """All rows of the table that the options name; raises if they do not fit in memory."""
    return ModelRows.joined(list(rows_in_batches(options, estimator, target, copied, in_memory=True)))


def digest_of(rows: ModelRows) -> str:
    """The digest of the features of some rows."""
    digest = RowDigest()
    digest.add(rows)
    return digest.of_rows()


def read_feedback(options: argparse.Namespace, estimator: Any) -> tuple[Any, Any]:
    """Rows and labels; rows without a label are left out with a warning."""
    rows = rows_in_memory(options, estimator, options.target)
    X, labels = rows.labelled()
    if not len(labels):
        raise InputError(f"{options.data}, column {options.target!r} holds no labels.")
    if len(labels) < len(rows):
        complain(f"warning: left out {counted(len(rows) - len(labels), 'row')} of {options.data} without a label")
    return X, labels
