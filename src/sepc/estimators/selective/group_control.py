"""Thresholds that keep the error rate in every group of rows at once, and whether abstaining harms any of them.

The significance level is split between two questions. Most of it goes to the error rate. One threshold for all groups
needs no further correction, since it must pass in each of them (`choose_together`). Separate thresholds divide the
level among the groups that are large enough, which depends on their sizes and not on labels.

The rest goes to *no harm*: within a group, accepted rows are wrong less often than rejected ones. The threshold was
chosen on the same rows, so the test is corrected for all thresholds of all groups: its p-value is multiplied by their
number (Bonferroni). That needs no assumption about trust, and where abstaining helps, the difference is large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimators.selective.groups import Key, group_description, has_columns, keys_of
from sepc.estimators.selective.risk_control import Control, choose_threshold, choose_together
from sepc.records import flag, number, record, whole
from sepc.statistics.binomial import fewer_p_value, rows_needed

# The share of the significance level that goes to "no harm".
HARM_SHARE = 0.2


@record
class NoHarm:
    """Whether the accepted rows of a group are wrong less often than its rejected ones.

    Attributes
    ----------
    n_accepted, n_errors : int
        Accepted calibration rows, and the wrong ones.
    n_refused, n_refused_errors : int
        The same for rejected rows.
    p_value : float
        Adjusted for all groups and thresholds.
    is_shown : bool
        Whether this is significant, simultaneously with all other promises.
    """

    n_accepted: int = whole()
    n_errors: int = whole()
    n_refused: int = whole()
    n_refused_errors: int = whole()
    p_value: float = number(0.0, 1.0)
    is_shown: bool = flag()

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything: more errors than rows."""
        is_possible = self.n_errors <= self.n_accepted and self.n_refused_errors <= self.n_refused
        return None if is_possible else "counts more errors than rows"


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that promises were requested for.

    Attributes
    ----------
    by : tuple of str or int
        The columns that define them.
    small : dict of group to int
        Groups too small for any promise, whose rows are not accepted, and the number of their calibration rows.
    no_harm : dict of group to NoHarm
        For the groups that have a promise.
    parents : dict of group to group
        Groups that were merged into another one and have no promise of their own.
    one_threshold : bool
        Whether they share a threshold.
    """

    by: tuple[Any, ...]
    small: Mapping[Key, int]
    no_harm: Mapping[Key, NoHarm]
    parents: Mapping[Key, Key]
    one_threshold: bool

    @property
    def affect_acceptance(self) -> bool:
        """Whether acceptance of a row depends on its group."""
        return bool(self.small) or not self.one_threshold

    def of(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """The group of each row, from columns of `X` or as given."""
        return keys_of(self.by, X, groups, self.parents)

    def keys_if_needed(self, X: Any, groups: Any = None) -> NDArray[Any] | None:
        """The group of each row; None if groups do not affect acceptance and are not given."""
        is_used = self.affect_acceptance or groups is not None or has_columns(self.by, X)
        return self.of(X, groups) if is_used else None

    def name(self, key: Key) -> str:
        """A group in words."""
        return group_description(self.by, key)


def control_groups(
    trust: FloatArray,
    wrong: BoolArray,
    code: IntArray,
    sizes: Mapping[Key, int],
    grid: FloatArray,
    max_risk: float,
    confidence: float,
    one_threshold: bool,
    n_assumed: int = 0,
) -> tuple[dict[Key, Control], dict[Key, NoHarm], float]:
    """A threshold for each large enough group, whether it does no harm, and the confidence of each test.

    Parameters
    ----------
    trust, wrong, code : (n,) arrays
        Of the calibration rows; `code` is the position of each row's group in `sizes`.
    sizes : mapping of group to int
        The rows of each group, the largest first.
    grid, max_risk, confidence
        As for `choose_threshold`.
    one_threshold : bool
        Whether all groups share a threshold.
    n_assumed : int, default=0
        Further rows of every group, which are not known and count as accepted and wrong at every threshold.
    """
    level = 1.0 - confidence
    large, each = large_enough(list(sizes.values()), max_risk, (1.0 - HARM_SHARE) * level, one_threshold)
    keys = list(sizes)[:large]
    rows = [(trust[code == i], wrong[code == i]) for i in range(large)]
    if one_threshold:
        found = choose_together(rows, grid, max_risk, 1.0 - each, n_assumed) if rows else []
    else:
        found = [choose_threshold(*group, grid, max_risk, 1.0 - each, n_assumed) for group in rows]
    n_tests = max(large, 1) * len(np.unique(grid))
    harm = [
        _no_harm(control, int(group[1].sum()) + n_assumed, n_tests, HARM_SHARE * level)
        for control, group in zip(found, rows, strict=True)
    ]
    return dict(zip(keys, found, strict=True)), dict(zip(keys, harm, strict=True)), 1.0 - each


def large_enough(sizes: list[int], max_risk: float, level: float, one_threshold: bool) -> tuple[int, float]:
    """How many groups, largest first, have enough rows for a promise, and the significance level of each.

    Examples
    --------
    >>> large_enough([1000, 190, 150, 20], 0.02, 0.05, one_threshold=False)
    (2, 0.025)
    >>> large_enough([1000, 190, 150, 20], 0.02, 0.05, one_threshold=True)
    (3, 0.05)
    """
    for n in range(len(sizes), 0, -1):
        each = level if one_threshold else level / n
        if sizes[n - 1] >= rows_needed(max_risk, 1.0 - each):
            return n, each
    return 0, level


def _no_harm(control: Control, n_errors: int, n_tests: int, level: float) -> NoHarm:
    n_refused, n_wrong = control.n_rows - control.n_accepted, n_errors - control.n_errors
    p = fewer_p_value(control.n_errors, control.n_accepted, n_wrong, n_refused)
    p = min(1.0, n_tests * p)
    return NoHarm(control.n_accepted, control.n_errors, n_refused, n_wrong, p, p <= level)
