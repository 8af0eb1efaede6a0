"""What turns blocks of a table that has not only numbers into rows."""

from __future__ import annotations

from typing import Any, Protocol

from sepc._typing import FloatArray


class TableEncoder(Protocol):
    """Turns every block of a table into rows in the same way: first the features, then the code of every category."""

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the columns that it reads."""
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
        """Rows of a block, with NaN for gaps in numbers."""
        ...


def n_columns(encoder: TableEncoder) -> int:
    """Columns of the rows: features and codes."""
    return len(encoder.feature_names) + encoder.n_codes
