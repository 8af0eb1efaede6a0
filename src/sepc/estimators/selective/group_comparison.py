"""Coverage and selective risk of groups, and the regions that differ most between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import NO_REGIONS, Decisions
from sepc.decisions.frames import frame_of
from sepc.estimators.selective.groups import codes_of, largest_first
from sepc.wording import counted, percent, points

if TYPE_CHECKING:
    import pandas as pd

# Regions named for each group, those that make the largest difference.
N_REGIONS = 3
HEAD = ("group", "rows", "accepted", "wrong of these", "wrong of the others")


@dataclass(frozen=True)
class Difference:
    """A region's contribution to the difference between a group and all rows; they add up to the whole difference.

    Attributes
    ----------
    region : int
    accepted : float
        The share of the group's rows that lie there and are accepted, less that of all rows.
    wrong : float or None
        The share of the group's accepted rows that lie there and are wrong, less that of all accepted rows.
    """

    region: int
    accepted: float
    wrong: float | None


@dataclass(frozen=True)
class GroupRow:
    """A group of rows.

    Attributes
    ----------
    name : str
    n_rows, n_accepted : int
    n_wrong, n_refused_wrong : int or None
        Wrong rows among the accepted and among the others; None without true labels.
    has_promise : bool
    regions : tuple of Difference
        The regions that make the largest difference in acceptance, the largest first; empty for models without
        regions, and for groups without accepted rows.
    """

    name: str
    n_rows: int
    n_accepted: int
    n_wrong: int | None
    n_refused_wrong: int | None
    has_promise: bool
    regions: tuple[Difference, ...]

    @property
    def accepted(self) -> float:
        """The share of rows that is accepted."""
        return self.n_accepted / self.n_rows

    @property
    def wrong(self) -> float | None:
        """The share of accepted rows that is wrong; None without labels, or if no row is accepted."""
        return None if self.n_wrong is None or not self.n_accepted else self.n_wrong / self.n_accepted

    @property
    def refused_wrong(self) -> float | None:
        """The share of the other rows that is wrong."""
        n = self.n_rows - self.n_accepted
        return None if self.n_refused_wrong is None or not n else self.n_refused_wrong / n


@dataclass(frozen=True, repr=False)
class GroupComparison(ShownAsCard):
    """Coverage and selective risk of groups of rows, the largest first.

    Attributes
    ----------
    rows : tuple of GroupRow
    everyone : GroupRow
        All rows together.
    """

    rows: tuple[GroupRow, ...]
    everyone: GroupRow

    def summary(self) -> str:
        """A sentence for each group, with the regions where it differs most from all rows."""
        return "\n".join(_sentence(row, self.everyone) for row in self.rows)

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self) -> pd.DataFrame:
        """The groups as a pandas DataFrame."""
        names = ("n_rows", "n_accepted", "n_wrong", "n_refused_wrong", "accepted", "wrong", "refused_wrong")
        columns: dict[str, Any] = {"group": [row.name for row in self.rows]}
        columns |= {name: [getattr(row, name) for row in self.rows] for name in (*names, "has_promise")}
        return frame_of(columns)

    def _card(self) -> Card:
        rows = tuple(
            (row.name, f"{row.n_rows:,}", percent(row.accepted), _share(row.wrong), _share(row.refused_wrong))
            for row in self.rows
        )
        facts = (
            ("all rows", f"{percent(self.everyone.accepted)} accepted, {_share(self.everyone.wrong)} of these wrong"),
        )
        return Card(counted(len(self.rows), "group"), facts, HEAD, rows, "In words: summary()")


def compare_groups(
    decisions: Decisions, right: BoolArray | None, keys: NDArray[Any], names: Any, promised: Sequence[Any]
) -> GroupComparison:
    """Compare groups of rows that were decided on.

    Parameters
    ----------
    decisions : Decisions
    right : (n,) array of bool, or None
        Whether labels are right, if that is known.
    keys : (n,) array
        The group of each row.
    names : function
        Gives the name of a group.
    promised : sequence of groups
        Those that have a promise.
    """
    known = list(largest_first(keys))
    code, every = codes_of(keys, known), np.ones(len(keys), dtype=bool)
    rows = (
        _row(decisions, right, code == i, names(key), key in promised, with_regions=True) for i, key in enumerate(known)
    )
    return GroupComparison(tuple(rows), _row(decisions, right, every, "all rows", True, with_regions=False))


def _row(
    decisions: Decisions, right: BoolArray | None, is_in: BoolArray, name: str, has_promise: bool, *, with_regions: bool
) -> GroupRow:
    accepted = np.asarray(decisions.accepted)
    n_wrong = None if right is None else int((is_in & accepted & ~right).sum())
    n_others = None if right is None else int((is_in & ~accepted & ~right).sum())
    with_regions = with_regions and bool((is_in & accepted).any())
    differences = _differences(np.asarray(decisions.region), accepted, right, is_in) if with_regions else ()
    return GroupRow(name, int(is_in.sum()), int((is_in & accepted).sum()), n_wrong, n_others, has_promise, differences)


def _differences(
    region: IntArray, accepted: BoolArray, right: BoolArray | None, is_in: BoolArray
) -> tuple[Difference, ...]:
    if (region == NO_REGIONS).any():
        return ()
    ids, which = np.unique(region, return_inverse=True)

    def shares(chosen: BoolArray, out_of: BoolArray) -> NDArray[np.float64]:
        return np.bincount(which[chosen], minlength=len(ids)) / max(int(out_of.sum()), 1)

    every = np.ones(len(is_in), dtype=bool)
    gained = shares(is_in & accepted, is_in) - shares(accepted, every)
    wrong = (
        None
        if right is None
        else shares(is_in & accepted & ~right, is_in & accepted) - shares(accepted & ~right, accepted)
    )
    largest = [i for i in np.argsort(-np.abs(gained), kind="stable")[:N_REGIONS].tolist() if gained[i]]
    return tuple(Difference(int(ids[i]), float(gained[i]), None if wrong is None else float(wrong[i])) for i in largest)


def _sentence(row: GroupRow, everyone: GroupRow) -> str:
    promise = "" if row.has_promise else " It has no promise."
    rates = f"{percent(row.accepted)} of {counted(row.n_rows, 'row')} accepted (overall {percent(everyone.accepted)})"
    if row.wrong is not None and everyone.wrong is not None:
        rates += f"; {percent(row.wrong)} of these wrong (overall {percent(everyone.wrong)})"
    if row.refused_wrong is not None:
        others = f"{percent(row.refused_wrong)} of the others"
        rates += f"; {others} wrong" if row.wrong is None else f", against {others}"
    where = f" Most of the difference in acceptance, in points: {regions_in_words(row)}." if row.regions else ""
    return f"{row.name}: {rates}.{where}{promise}"


def regions_in_words(row: GroupRow) -> str:
    """The regions that make the largest difference, as in "region 4 (+6.1), region 9 (-2.0)"."""
    return ", ".join(f"region {one.region} ({points(one.accepted)})" for one in row.regions)


def _share(value: float | None) -> str:
    return "-" if value is None else percent(value)
