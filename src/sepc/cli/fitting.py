"""A fit that shows how far it has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sepc.cli.labelled_rows import LabelledRows
from sepc.cli.progress_bar import ProgressBar

if TYPE_CHECKING:
    from sepc.partition.sequence import Round


def fitted(estimator: Any, rows: LabelledRows, *, quiet: bool) -> Any:
    """Fit, with rounds and rows left on the terminal."""
    from sepc.estimators.sep.progress import listen_to_rounds

    with ProgressBar("fitting", quiet=quiet) as bar:
        bar.tell(f"{len(rows.y):,} rows")
        with listen_to_rounds(RoundNotes(bar).tell):
            return estimator.fit(rows.X, rows.y)


class RoundNotes:
    """Turns rows left after each round into notes; more rows than before mean that another partition began."""

    def __init__(self, bar: ProgressBar) -> None:
        self.bar = bar
        self.n_partition, self.n_round, self.n_rows, self.n_left = 0, 0, 0, -1

    def tell(self, left: Round) -> None:
        """A round has ended with so many rows left."""
        n_left = left.n_pos + left.n_neg
        if n_left > self.n_left:
            self.n_partition, self.n_round, self.n_rows = self.n_partition + 1, 0, n_left
        self.n_round, self.n_left = self.n_round + 1, n_left
        first = f"partition {self.n_partition}, " if self.n_partition > 1 else ""
        self.bar.tell(f"{first}round {self.n_round}, {n_left:,} rows left")
