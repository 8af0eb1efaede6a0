"""A fit that shows how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sepc.cli.labelled_rows import LabelledRows
from sepc.cli.progress_bar import ProgressBar


def fitted(estimator: Any, rows: LabelledRows, *, quiet: bool) -> Any:
    """Fit, with rounds and rows left on the terminal."""
    with ProgressBar("fitting", quiet=quiet) as bar:
        bar.tell(f"{len(rows.y):,} rows")
        with _told_of_rounds(RoundNotes(bar).tell):
            return estimator.fit(rows.X, rows.y)


class RoundNotes:
    """Turns rows left after each round into notes; more rows than before mean that another partition began."""

    def __init__(self, bar: ProgressBar) -> None:
        self.bar = bar
        self.n_partition, self.n_round, self.n_rows, self.n_left = 0, 0, 0, -1

    def tell(self, n_left: int) -> None:
        """A round has ended with so many rows left."""
        if n_left > self.n_left:
            self.n_partition, self.n_round, self.n_rows = self.n_partition + 1, 0, n_left
        self.n_round, self.n_left = self.n_round + 1, n_left
        first = f"partition {self.n_partition}, " if self.n_partition > 1 else ""
        self.bar.tell(f"{first}round {self.n_round}, {n_left:,} rows left")


@contextmanager
def _told_of_rounds(tell: Callable[[int], None]) -> Iterator[None]:
    """While this lasts, every partition in this process tells of its rounds, also those inside wrappers."""
    from sepc.estimator.progress import Progress

    step = Progress.step

    def told(self: Any, left: Any) -> None:
        step(self, left)
        tell(left.n_pos + left.n_neg)

    Progress.step = told  # type: ignore[method-assign]
    try:
        yield
    finally:
        Progress.step = step  # type: ignore[method-assign]
