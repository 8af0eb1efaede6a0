"""Rows of a table as a fitted model takes them, with their true labels where a column holds some."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sepc.cli.category_matching import matched
from sepc.cli.labelled_rows import labels_in
from sepc.cli.memory import MemoryLimit
from sepc.cli.messages import InputError
from sepc.cli.model_file import Scorer, pandas_package, scorer_for
from sepc.cli.open_table import open_table
from sepc.cli.option_values import names_in
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.read_ahead import read_ahead
from sepc.cli.row_digest import RowDigest
from sepc.cli.source import Source, source_from
from sepc.cli.tables import Batch, Reading, Table, check_names
from sepc.wording import MOST_NAMES, listed, shown, visible

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Rows, and what is known of them.

    Attributes
    ----------
    X : DataFrame or array
        As the model takes them; a DataFrame if it knows the names of its features.
    labels : array of objects, or None
        True labels, None where the cell is empty; None if no column was asked for.
    kept : dict of name to list
        Columns to copy, as text.
    kind : str
        The kind of array that holds the model's labels; those of the rows come in the same.
    """

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


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, and the option for models that know no names."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    parser.add_argument(
        "--features", type=names_in, metavar="A,B,C", help="the columns to use as features, if the model knows no names"
    )


def beside(options: argparse.Namespace, data: str) -> argparse.Namespace:
    """The same options for another table, which is written as the first one is."""
    return argparse.Namespace(**vars(options) | {"data": data})


def rows_in_memory(
    options: argparse.Namespace, estimator: Any, target: str | None, keep: Sequence[str] = ()
) -> tuple[ModelRows, str]:
    """All rows of the table that the options name, and their digest; too many for the memory are refused."""
    digest, memory = RowDigest(), MemoryLimit.of(options.max_memory)
    with open_table(source_from(options)) as table:
        reading = _Reading.of(table, estimator, options.features, target, keep)
        memory.refuse(table.source, table.n_rows or 1, len(reading.scorer.used))
        parts = []
        for batch, part in reading.parts(options.quiet):
            memory.refuse(table.source, batch.last_row, len(reading.scorer.used), batch.share)
            digest.add(part.arrays, part.labels)
            parts.append(part)
    return reading.rows(_joined(parts)), digest.of_rows()


def rows_in_batches(
    options: argparse.Namespace, estimator: Any, target: str | None, digest: RowDigest
) -> Iterator[ModelRows]:
    """The rows of the table that the options name, some at a time; `digest` takes them all."""
    with open_table(source_from(options)) as table:
        reading = _Reading.of(table, estimator, options.features, target)
        for _, part in reading.parts(options.quiet):
            digest.add(part.arrays, part.labels)
            yield reading.rows(part)


def in_words(result: Any, estimator: Any) -> str:
    """A result's summary; names with line breaks are put on one line, so that none can forge a line of the summary."""
    text = str(result.summary())
    names = [*map(str, getattr(estimator, "feature_names_in_", ())), *map(str, estimator.classes_)]
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, visible(name)) if visible(name) != name else text
    return text


def true_labels(source: Source, target: str, column: Any, classes: Any) -> NDArray[Any]:
    """A column of labels: the model's own where they mean the same, None where a cell is empty, and else as it is.

    A label may be text in the file and a number in the model, and a spreadsheet needs an apostrophe before some texts.
    """
    import numpy as np

    own, cells = classes.tolist(), labels_in(source, target, column)
    texts = {label for label in own if isinstance(label, str)}
    labels = np.empty(len(cells), dtype=object)
    labels[:] = [_without_apostrophe(cell, texts) for cell in cells]
    labels = matched(labels, own)
    for label in labels:
        if label is not None and isinstance(label, str) != bool(texts):
            known = listed(map(shown, own), MOST_NAMES)
            raise InputError(f"{source.name}, column {target!r} holds {label!r}; the labels of the model are {known}.")
    return labels


def _without_apostrophe(cell: Any, texts: Collection[str]) -> Any:
    return cell[1:] if isinstance(cell, str) and cell[:1] == "'" and cell[1:] in texts else cell


@dataclass(frozen=True, eq=False)
class _Part:
    """Columns of some rows: features, true labels and what is copied."""

    arrays: dict[str, Any]
    labels: Any
    kept: dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class _Reading:
    """How the rows of a table are read for a model."""

    table: Table
    scorer: Scorer
    target: str | None
    keep: tuple[str, ...]

    @classmethod
    def of(
        cls, table: Table, estimator: Any, features: Sequence[str] | None, target: str | None, keep: Sequence[str] = ()
    ) -> _Reading:
        asked = [] if target is None else [target]
        check_names(table, [*asked, *keep])
        names = [name for name in table.names if name not in asked]
        return cls(table, scorer_for(estimator, table, features, names), target, tuple(keep))

    def parts(self, quiet: bool) -> Iterator[tuple[Batch, _Part]]:
        """Read the table in batches."""
        scorer, asked = self.scorer, [] if self.target is None else [self.target]
        wanted = list(dict.fromkeys([*scorer.used, *asked, *self.keep]))
        copied = {name: Reading.TEXT for name in self.keep if name not in asked}
        readings = copied | {name: scorer.readings[name] for name in scorer.used}
        with ProgressBar(f"reading {self.table.source.name}", quiet=quiet) as bar:
            for batch in read_ahead(self.table.batches(wanted, readings)):
                yield batch, self._part(batch)
                bar.update_rows(batch.last_row, self.table.n_rows, batch.share)

    def _part(self, batch: Batch) -> _Part:
        labels = None
        if self.target is not None:
            column, classes = batch.columns[self.target], self.scorer.estimator.classes_
            labels = true_labels(self.table.source, self.target, column, classes)
        kept = {name: batch.columns[name].to_pylist() for name in self.keep}
        return _Part(self.scorer.arrays(self.table.source, batch), labels, kept)

    def rows(self, part: _Part) -> ModelRows:
        """Rows as the model takes them."""
        estimator = self.scorer.estimator
        names, kind = getattr(estimator, "feature_names_in_", None), estimator.classes_.dtype.kind
        if names is None:
            return ModelRows(self.scorer.table(part.arrays), part.labels, part.kept, kind)
        columns = {str(own): part.arrays.get(name) for own, name in zip(names, self.scorer.features, strict=True)}
        return ModelRows(pandas_package().DataFrame(columns), part.labels, part.kept, kind)


def _joined(parts: list[_Part]) -> _Part:
    import numpy as np

    first = parts[0]
    arrays = {name: np.concatenate([part.arrays[name] for part in parts]) for name in first.arrays}
    labels = None if first.labels is None else np.concatenate([part.labels for part in parts])
    kept = {name: [cell for part in parts for cell in part.kept[name]] for name in first.kept}
    return _Part(arrays, labels, kept)
