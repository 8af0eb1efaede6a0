"""Cells of a column of categories, matched with those of training whatever type they have now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from sepc.cli.source import is_number

if TYPE_CHECKING:
    from numpy.typing import NDArray


def matched(cells: NDArray[Any], known: Collection[Any]) -> NDArray[Any]:
    """The category of each text: itself, or the only one that is the same number or truth value.

    A column of codes may be text in one file and numbers in another: "0171" is then 171, and 3 may be 3.0. What matches
    no category stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array(["171", "A", None], dtype=object), ["0171", "A"]).tolist()
    ['0171', 'A', None]
    """
    import numpy as np

    exact = {value for value in known if isinstance(value, str)}
    times = Counter(_meaning(value) for value in known)
    by_meaning = {_meaning(value): value for value in known if value is not None and times[_meaning(value)] == 1}
    found = {cell: cell if cell in exact else by_meaning.get(_meaning(cell), cell) for cell in set(cells.tolist())}
    result = np.empty(len(cells), dtype=object)
    result[:] = [found[cell] for cell in cells.tolist()]
    return result


def _meaning(value: Any) -> Any:
    """What a category means, whether it is text, a number or a truth value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if value is None:
        return None
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    return float(text) if is_number(text) else text
