"""Rows of a table as one or two fitted models take them, with true labels if a column holds them."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sepc.cli._memory import add_memory_argument
from sepc.cli._messages import InputError, complain
from sepc.cli._model_file import add_model_arguments
from sepc.cli.rows import Reading, RowReader, data_frame
from sepc.cli.source import add_table_arguments, open_table
from sepc.tables.table_file import Batch, TableFile
from sepc.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sepc.columns.preparation import Preparation


@dataclass(frozen=True)
class ModelColumns:
    """What a model takes from a table."""

    readings: dict[str, Reading] = field(default_factory=dict)
    categories: dict[str, set[Any]] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()


def columns_of_model(model: Any) -> ModelColumns:
    """The columns of a fitted estimator, from the preparations of all classifiers in it."""
    from sepc.columns.kinds import Kind

    readings: dict[str, Reading] = {}
    categories: dict[str, set[Any]] = {}
    used: set[str] = set()
    unused: set[str] = set()
    for preparation in preparations_in(model):
        for column in preparation.columns:
            (unused if column.kind is Kind.LEFT_OUT else used).add(column.name)
            if column.kind is Kind.CATEGORY:
                readings[column.name] = Reading.CATEGORY
                categories.setdefault(column.name, set()).update(preparation.categories[column.name].values)
            elif column.written is not None:
                readings[column.name] = Reading.WRITTEN
            elif column.kind is Kind.DATE:
                readings[column.name] = Reading.DATE
    left_out = frozenset(unused - used)
    return ModelColumns(readings | dict.fromkeys(left_out, Reading.GROUP), categories, left_out)


def left_out_of(model: Any) -> dict[str, str]:
    """The columns that no part of a model uses, and what they seem to be."""
    left_out = columns_of_model(model).left_out
    return {
        column.name: column.why
        for preparation in preparations_in(model)
        for column in preparation.columns
        if column.name in left_out
    }


def taken_as(model: Any, names: Sequence[str]) -> Preparation:
    """What the classifier for all rows uses each column as: a number, a category, a date, or nothing."""
    from sepc.columns.kinds import Column, Kind
    from sepc.columns.preparation import Preparation
    from sepc.estimators.unwrapping import category_positions

    kinds = {names[j]: Column(names[j], Kind.CATEGORY, "") for j in category_positions(model)}
    own = main_classifier(model).encoding_
    kinds |= {} if own is None else {column.name: column for column in own.columns}
    return Preparation(tuple(kinds.get(name, Column(name, Kind.NUMBER, "")) for name in names), (), ())


def main_classifier(model: Any) -> Any:
    """The `SEPClassifier` inside a model that `sepc fit` made."""
    from sepc.estimators.unwrapping import layers

    *_, last = layers(model)
    return last.classifier


def preparations_in(model: Any) -> Iterator[Any]:
    """The `Preparation` of each classifier inside a model; classifiers that take plain numbers have none."""
    from sepc.estimators.unwrapping import is_partition, models_in

    return (one.encoding_ for one in models_in(model) if is_partition(one) and one.encoding_ is not None)


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted estimator, and the columns of a table that it takes."""

    estimator: Any
    names: tuple[str, ...]
    columns: ModelColumns
    readings: dict[str, Reading]

    def reader(self, table: TableFile, target: str | None = None, copied: Sequence[str] = ()) -> RowReader:
        """A reader of these columns in a table, of labels and of columns to copy."""
        return RowReader(table, self.readings, self.columns.categories, target, self.estimator.classes_, copied)

    def decide(self, arrays: dict[str, Any]) -> Any:
        """Decide on rows, given by their features."""
        from sepc.estimators.base import decide_rows

        return decide_rows(self.estimator, self.table(arrays))

    def table(self, arrays: dict[str, Any]) -> Any:
        """Features as the model takes them: an array if all are numbers, else a DataFrame."""
        import numpy as np

        if not self.columns.readings and Reading.GROUP not in self.readings.values():
            return np.stack(list(arrays.values())).T
        # Columns left out must be present, but only by name.
        return data_frame({name: arrays.get(name) for name in self.names})

    def named_table(self, arrays: dict[str, Any]) -> Any:
        """Features as a DataFrame with the model's own names, if it knows them."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:
            return self.table(arrays)
        return data_frame({str(own): arrays.get(name) for own, name in zip(names, self.names, strict=True)})


def scorer_for(estimator: Any, table: TableFile, features: Sequence[str] | None, but: Collection[str] = ()) -> Scorer:
    """Match the model's features with the columns of a table: by name, or in order if the model has no names."""
    names = getattr(estimator, "feature_names_in_", None)
    if features or names is None:
        names = features or [name for name in table.names if name not in but]
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
    known = columns.readings | dict.fromkeys(by, Reading.GROUP)
    readings = {name: known.get(name, Reading.NUMBER) for name in chosen if name not in columns.left_out}
    table.check_names(list(readings))
    return Scorer(estimator, chosen, columns, readings)


# Hexadecimal digits of a digest: half of a SHA-256 is enough, because nobody gains from a collision.
LETTERS = 32


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Rows, and what is known of them."""

    X: Any
    labels: NDArray[Any] | None
    kept: Mapping[str, list[Any]]
    kind: str

    def __len__(self) -> int:
        return len(self.X)

    def take(self, positions: Any) -> Any:
        """The rows at these positions, as the model takes them."""
        return self.X.iloc[positions] if hasattr(self.X, "iloc") else self.X[positions]

    def labelled(self) -> tuple[Any, NDArray[Any]]:
        """The rows that have a label, and their labels."""
        import numpy as np

        assert self.labels is not None
        known = np.array([label is not None for label in self.labels], dtype=bool)
        labels = self.labels[known]
        return (self.X if known.all() else self.X[known]), labels if self.kind == "O" else np.array(labels.tolist())


class RowDigest:
    """A digest that identifies rows, whatever file they are in and however they are split into batches."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}
        self._labels = sha256()
        self.n_rows = 0

    def add(self, arrays: Mapping[str, NDArray[Any]], labels: NDArray[Any] | None) -> None:
        """Add rows: their features and, if known, their labels."""
        for name, cells in arrays.items():
            self._columns.setdefault(name, sha256()).update(_bytes(cells))
        if labels is not None:
            self._labels.update(_bytes(labels))
        self.n_rows += len(next(iter(arrays.values())))

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


def beside(options: argparse.Namespace, data: str) -> argparse.Namespace:
    """The same options for another table, in the same format as the first."""
    return argparse.Namespace(**vars(options) | {"data": data})


def rows_in_memory(
    options: argparse.Namespace, estimator: Any, target: str | None, copied: Sequence[str] = ()
) -> tuple[ModelRows, str]:
    """All rows of the table that the options name, and their digest; raises if they do not fit in memory."""
    digest = RowDigest()
    scorer, rows = _reader(options, estimator, target, copied)
    with rows.batches(options, ahead=True, in_memory=True) as batches:
        parts = [part_of(rows, batch, digest) for batch in batches]
    return _model_rows(scorer, joined(parts)), digest.of_rows()


def rows_in_batches(
    options: argparse.Namespace, estimator: Any, target: str | None, digest: RowDigest, copied: Sequence[str] = ()
) -> Generator[ModelRows, None, None]:
    """The rows of the table that the options name, some at a time; all are added to `digest`."""
    scorer, rows = _reader(options, estimator, target, copied)
    with rows.batches(options, ahead=True) as batches:
        for batch in batches:
            yield _model_rows(scorer, part_of(rows, batch, digest))


def add_feedback_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that read feedback."""
    add_model_arguments(parser)
    add_table_arguments(parser, what="feedback")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of true labels")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed; 0 by default")
    add_memory_argument(parser)


def read_feedback(options: argparse.Namespace, estimator: Any) -> tuple[Any, Any]:
    """Rows and labels; rows without a label are left out with a warning."""
    rows, _ = rows_in_memory(options, estimator, options.target)
    X, labels = rows.labelled()
    if not len(labels):
        raise InputError(f"{options.data}, column {options.target!r} holds no labels.")
    if len(labels) < len(rows):
        complain(f"warning: left out {counted(len(rows) - len(labels), 'row')} of {options.data} without a label")
    return X, labels


@dataclass(frozen=True, eq=False)
class Part:
    """Columns of some rows: features, true labels and columns to copy."""

    arrays: dict[str, Any]
    labels: Any
    kept: dict[str, list[Any]]


def _reader(
    options: argparse.Namespace, estimator: Any, target: str | None, copied: Sequence[str]
) -> tuple[Scorer, RowReader]:
    table, asked = open_table(options), [] if target is None else [target]
    table.check_names([*asked, *copied])
    scorer = scorer_for(estimator, table, options.features, but=asked)
    return scorer, scorer.reader(table, target, copied)


def part_of(rows: RowReader, batch: Batch, digest: RowDigest | None = None) -> Part:
    """The columns of a batch; they are added to `digest`, if given."""
    labels = None if rows.target is None else rows.labels(batch)
    arrays = rows.arrays(batch)
    if digest is not None:
        digest.add(arrays, labels)
    return Part(arrays, labels, {name: batch.columns[name].to_pylist() for name in rows.copied})


def joined(parts: list[Part]) -> Part:
    """All rows of several parts."""
    import numpy as np

    first = parts[0]
    arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in first.arrays}
    labels = None if first.labels is None else np.concatenate([part.labels for part in parts])
    kept = {name: [cell for part in parts for cell in part.kept[name]] for name in first.kept}
    return Part(arrays, labels, kept)


def _model_rows(scorer: Scorer, part: Part) -> ModelRows:
    return ModelRows(scorer.named_table(part.arrays), part.labels, part.kept, scorer.estimator.classes_.dtype.kind)
