"""The interface that turns blocks of a mixed-type table into rows of numbers."""

from __future__ import annotations

from typing import Any, Protocol

from sepc._typing import FloatArray


class TableEncoder(Protocol):
    """Turns every block of a table into rows in the same way: features first, then the code of every category."""

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the columns it reads."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        ...

    @property
    def n_codes(self) -> int:
        """How many codes follow the features."""
        ...

    def rows_of(self, X: Any, /) -> FloatArray:
        """Rows of a block, with NaN for missing numbers."""
        ...


def n_columns(encoder: TableEncoder) -> int:
    """Number of columns of the rows: features and codes."""
    return len(encoder.feature_names) + encoder.n_codes
