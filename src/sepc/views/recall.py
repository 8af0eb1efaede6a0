"""Recall of each class, and whether most accepted rows of a rare class have another label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.wording import counted, name_of, shown

# A class with a smaller share of the rows is rare.
RARE_SHARE = 0.05


@dataclass(frozen=True)
class Recall:
    """The recall of a class, on all rows and on the accepted ones.

    Attributes
    ----------
    name : str
    n_rows, n_accepted : int
        Rows of the class, by their true labels, and how many of them were accepted.
    n_found, n_found_accepted : int
        How many of these two got the right label.
    is_rare : bool
        Whether it has less than 5 % of the rows.
    """

    name: str
    n_rows: int
    n_accepted: int
    n_found: int
    n_found_accepted: int
    is_rare: bool

    @property
    def share(self) -> float:
        """The share of its rows that got the right label."""
        return self.n_found / self.n_rows

    @property
    def is_missed(self) -> bool:
        """Whether the class is rare, and most of its accepted rows have another label."""
        return self.is_rare and 2 * self.n_found_accepted < self.n_accepted


def recalls(label: NDArray[Any], accepted: BoolArray, truth: NDArray[Any], classes: NDArray[Any]) -> tuple[Recall, ...]:
    """The recall of every class that occurs, in the order of the classes."""
    found = np.asarray(label == truth)
    each = [(cls, np.asarray(truth == cls)) for cls in classes]
    return tuple(
        Recall(
            name_of(cls),
            int(is_of_class.sum()),
            int((is_of_class & accepted).sum()),
            int((is_of_class & found).sum()),
            int((is_of_class & found & accepted).sum()),
            bool(is_of_class.mean() < RARE_SHARE),
        )
        for cls, is_of_class in each
        if is_of_class.any()
    )


def warnings_of(classes: Sequence[Recall], advice: str = "class_weight='balanced'") -> tuple[str, ...]:
    """A sentence for every rare class most of whose accepted rows have another label."""
    return tuple(
        f"{shown(recall.name)} is rare ({counted(recall.n_rows, 'row')}), and most of it is missed: of its "
        f"{recall.n_accepted:,} accepted rows, {recall.n_accepted - recall.n_found_accepted:,} got another label. "
        f"Give it more weight, for example with {advice}."
        for recall in classes
        if recall.is_missed
    )
