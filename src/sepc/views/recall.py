"""Recall of each class, and which classes are missed by the labels that are accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.statistics.binomial import p_value
from sepc.wording import counted, name_of, percent, shown

# A class with a smaller share of the rows is rare.
RARE_SHARE = 0.05
# Of a class that is not rare, fewer wrong rows than this may be chance.
FEWEST_WRONG = 5
# Significance level for more errors than promised, divided among all classes (Bonferroni).
LEVEL = 0.05


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
    def n_wrong_accepted(self) -> int:
        """How many of its accepted rows got another label."""
        return self.n_accepted - self.n_found_accepted

    @property
    def in_words(self) -> str:
        """How many of its accepted rows got another label."""
        share = percent(self.n_wrong_accepted / self.n_accepted)
        return f"{self.n_wrong_accepted:,} of {self.n_accepted:,} of {shown(self.name)} ({share})"


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


def missed(classes: Sequence[Recall], promised: float | None = None) -> tuple[Recall, ...]:
    """The classes whose accepted rows mostly got another label, or more of them than promised and chance explains.

    Of classes that are not rare, a few accepted rows with another label do not count.
    """

    def is_missed(own: Recall) -> bool:
        least = 0 if own.is_rare else FEWEST_WRONG
        if own.n_wrong_accepted >= least and 2 * own.n_found_accepted < own.n_accepted:
            return True
        found, rows = np.asarray(own.n_found_accepted), np.asarray(own.n_accepted)
        return promised is not None and float(p_value(found, rows, 1.0 - promised)) <= LEVEL / len(classes)

    return tuple(own for own in classes if is_missed(own))


def warnings_of(missed_classes: Sequence[Recall], advice: str = "class_weight='balanced'") -> tuple[str, ...]:
    """A sentence for every class that is missed."""
    return tuple(
        f"{shown(own.name)} ({counted(own.n_rows, 'row')}) is missed: of its {own.n_accepted:,} accepted rows, "
        f"{own.n_wrong_accepted:,} got another label. Give it more weight, for example with {advice}."
        for own in missed_classes
    )
