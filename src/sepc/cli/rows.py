"""The row reader: opens a table, and yields features as a model or a fit takes them, labels, and columns to copy."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from sepc.cli._memory import MemoryLimit, ProgressBar
from sepc.cli._messages import InputError
from sepc.cli.source import Source
from sepc.cli.tables import Batch, ColumnType, Features, Table, check_names, matched, objects
from sepc.wording import MOST_NAMES, listed, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

# Longest label, in characters; an array of labels takes the memory of the longest for every row.
LONGEST_LABEL = 1_000

END = object()


@contextmanager
def open_table(source: Source) -> Iterator[Table]:
    """Open a table and read its column names; an Excel sheet is read as CSV."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError('Reading tables needs pyarrow: pip install "sepc[table]"') from error
    from sepc.cli._csv_table import CsvTable
    from sepc.cli._parquet_table import ParquetTable

    kind = ParquetTable if source.format == "parquet" else CsvTable
    with source.opened() as stream:
        yield kind.of(source, stream)


@dataclass(frozen=True, eq=False)
class RowReader:
    """Reads the rows of a table in batches, and turns cells into features and labels."""

    table: Table
    features: Features
    target: str | None = None
    classes: Any = None
    copied: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_names(self.table, self._beside)

    @property
    def source(self) -> Source:
        """Where the table comes from."""
        return self.table.source

    @property
    def _beside(self) -> list[str]:
        return [*self.copied, *([] if self.target is None else [self.target])]

    @contextmanager
    def batches(
        self, options: argparse.Namespace, doing: str = "reading", *, ahead: bool = False, in_memory: bool = False
    ) -> Iterator[Iterator[Batch]]:
        """Context manager: the batches of all rows, with a progress bar."""
        limit = MemoryLimit.of(options.max_memory) if in_memory else MemoryLimit(None, "")
        limit.refuse(self.source.name, self.table.n_rows or 1, len(self.features.readings))
        with (
            ProgressBar(f"{doing} {self.source.name}", quiet=options.quiet) as bar,
            closing(self._read(bar, limit, ahead)) as batches,
        ):
            yield batches

    def _read(self, bar: ProgressBar, limit: MemoryLimit, ahead: bool) -> Generator[Batch, None, None]:
        n_features = len(self.features.readings)
        wanted = list(dict.fromkeys([*self.features.readings, *self._beside]))
        batches = self.table.batches(wanted, dict.fromkeys(self.copied, ColumnType.TEXT) | self.features.readings)
        for batch in read_ahead(batches) if ahead else batches:
            limit.refuse(self.source.name, batch.last_row, n_features, batch.share)
            yield batch
            bar.update_rows(batch.last_row, self.table.n_rows, batch.share)

    def arrays(self, batch: Batch) -> dict[str, Any]:
        """The features of a batch; raises `InputError` if a cell cannot be read."""
        return self.features.arrays(self.source, batch)

    def labels(self, batch: Batch) -> NDArray[Any]:
        """The labels of a batch, as objects, with None for empty cells."""
        assert self.target is not None
        cells = _labels_in(self.source, self.target, batch.columns[self.target])
        if self.classes is None:
            return objects(cells)
        return _labels_of_model(self.source, self.target, cells, self.classes.tolist())


def _labels_in(source: Source, name: str, column: Any) -> list[Any]:
    """Labels, with None for empty cells and those of --na; fractions and long texts are refused."""
    labels = [label.strip() if isinstance(label, str) else label for label in column.to_pylist()]
    for label in labels:
        if isinstance(label, str) and len(label) > LONGEST_LABEL:
            raise InputError(
                f"{source.name}, column {name!r} holds a text of {len(label):,} characters; is it the target?"
            )
        if isinstance(label, float) and label == label and not label.is_integer():
            raise InputError(
                f"{source.name}, column {name!r} holds {label!r}; labels are text or whole numbers, not measurements."
            )
    # The usual texts for a missing value may be labels: NA can be a continent, and None an answer.
    gaps = {None, "", *source.na, *source.gap_numbers}
    return [None if label in gaps or label != label else label for label in labels]


def _labels_of_model(source: Source, name: str, cells: list[Any], own: list[Any]) -> NDArray[Any]:
    """Labels of a table: the model's own where they mean the same, else unchanged."""
    texts = {label for label in own if isinstance(label, str)}
    quoted = {f"'{text}": text for text in texts}
    labels = matched(objects([quoted.get(cell, cell) for cell in cells]), own)
    for label in labels:
        if label is not None and isinstance(label, str) != bool(texts):
            known = listed(map(shown, own), MOST_NAMES)
            raise InputError(f"{source.name}, column {name!r} holds {label!r}; the labels of the model are {known}.")
    return labels


def read_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The same items; a thread fetches the next one in advance."""
    ready: Queue[Any] = Queue(1)
    is_over = Event()
    Thread(target=_fill, args=(items, ready, is_over), daemon=True).start()
    try:
        while (item := ready.get()) is not END:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_over.set()
        with suppress(Empty):
            ready.get_nowait()


def _fill(items: Iterator[Any], ready: Queue[Any], is_over: Event) -> None:
    try:
        for item in items:
            ready.put(item)
            if is_over.is_set():
                return
        ready.put(END)
    except BaseException as error:  # noqa: BLE001 - raised again by `read_ahead`
        ready.put(error)
