"""Groups of rows: thresholds that keep the error rate in each, and how groups and regions differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import frame_of
from sepc.estimators.base import categories_of, column_names, column_positions
from sepc.estimators.selective.thresholds import Control, choose_threshold, choose_together
from sepc.records import flag, lists, number, pairs, parts_by_key, record, whole
from sepc.statistics.rates import fewer_p_value, lower_bound, rows_needed
from sepc.wording import AS_SET, counted, floored_percent, listed, name_of, percent, plain, shown

if TYPE_CHECKING:
    import pandas as pd


MOST_COLUMNS = 2
MISSING = "missing"

# The group of a row: a value of the column, or a pair of values of the two.
Key = Any


def names_in(by: Any) -> tuple[Any, ...]:
    """The columns that `by` names, one or two."""
    names = tuple(by) if isinstance(by, Iterable) and not isinstance(by, str) else (by,)
    are_names = all(isinstance(name, str | int | np.integer) for name in names)
    if not (are_names and 1 <= len(set(names)) == len(names) <= MOST_COLUMNS):
        raise ValueError(f"by is {by!r}; it must name one column, or two different ones.")
    return names


def keys_of(by: Any, X: Any, groups: Any = None, parents: Mapping[Key, Key] | None = None) -> NDArray[Any]:
    """The group of each row, as an array of objects; a missing value counts as the value "missing"."""
    names = names_in(by)
    cells = _cells(names, X) if groups is None else _given_cells(names, groups)
    if len(cells) != len_of(X):
        raise ValueError(f"groups has {len(cells):,} rows, but X has {len_of(X):,}.")
    joined = dict(parents or {})
    keys = np.empty(len(cells), dtype=object)
    for i, row in enumerate(cells):
        values = tuple(MISSING if cell is None else plain(cell) for cell in row)
        key = values if len(names) > 1 else values[0]
        keys[i] = joined.get(key, key)
    return keys


def codes_of(keys: NDArray[Any], known: Sequence[Key]) -> IntArray:
    """The position of each row's group among the known ones; -1 for an unknown group."""
    position = {key: i for i, key in enumerate(known)}
    return np.fromiter((position.get(key, -1) for key in keys), dtype=np.int64, count=len(keys))


def largest_first(keys: NDArray[Any]) -> dict[Key, int]:
    """The number of rows of each group, the largest first."""
    return dict(Counter(keys.tolist()).most_common())


def group_description(by: Any, key: Key) -> str:
    """A group in words, such as "sex = Female, race = Black"; a group that others were merged into, by its name."""
    names = names_in(by)
    values = key if isinstance(key, tuple) and len(key) == len(names) else (key,)
    if len(values) != len(names):
        return name_of(key)
    columns = [f"x{name}" if isinstance(name, int | np.integer) else name_of(name) for name in names]
    return ", ".join(f"{column} = {name_of(value)}" for column, value in zip(columns, values, strict=True))


def len_of(X: Any) -> int:
    """How many rows there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def has_columns(by: Any, X: Any) -> bool:
    """Whether the rows have the columns that define groups."""
    return not _lacking_columns(names_in(by), X)


def _lacking_columns(names: tuple[Any, ...], X: Any) -> list[Any]:
    """The named columns that the rows do not have; all of them if rows have no columns."""
    if not hasattr(X, "shape") or len(X.shape) != 2:
        return list(names)
    return [one for one in names if not isinstance(one, int | np.integer) and one not in column_names(X)]


def _cells(names: tuple[Any, ...], X: Any) -> NDArray[Any]:
    if lacking := _lacking_columns(names, X):
        raise ValueError(
            f"by names {listed(map(shown, lacking))}, which X does not have: pass a DataFrame with it, or the groups "
            "as groups=..., both here and in decide."
        )
    return categories_of(X, column_positions(list(names), X))


def _given_cells(names: tuple[Any, ...], groups: Any) -> NDArray[Any]:
    if isinstance(groups, Mapping) or hasattr(groups, "columns"):
        known = tuple(groups) if isinstance(groups, Mapping) else column_names(groups)
        if lacking := [name for name in names if name not in known]:
            raise ValueError(f"groups lacks {listed(map(shown, lacking))}, which by names.")
        values = np.column_stack([np.asarray(groups[name], dtype=object) for name in names])
    else:
        values = np.asarray(groups, dtype=object)
        values = values[:, np.newaxis] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(names):
            raise ValueError(f"groups has shape {values.shape}; by names {len(names)}, so it needs a column for each.")
    return categories_of(values, np.arange(len(names)))


REGIONS_HEAD = ("region", "rows", "wrong", "right at least")


@dataclass(frozen=True, eq=False, repr=False)
class Certificates(ShownAsCard):
    """Lower bounds on the accuracy in each region, which hold together with probability `confidence`.

    `str` gives a sentence for each region.

    Attributes
    ----------
    region : array of int
        The regions that have held-out rows, as `apply` numbers them; -1 stands for all unseen combinations together.
    n_rows, n_errors : array of int
        Held-out rows there, and how many of them were wrong.
    accuracy_at_least : array of float
        The lower bounds.
    confidence : float
        Probability that no bound is too high.
    """

    region: IntArray
    n_rows: IntArray
    n_errors: IntArray
    accuracy_at_least: FloatArray
    confidence: float

    @classmethod
    def of(cls, regions: IntArray, wrong: BoolArray, confidence: float) -> Self:
        """Bounds from held-out rows, given the region of each and whether its label was wrong."""
        region, which, n_rows = np.unique(regions, return_inverse=True, return_counts=True)
        n_errors = np.bincount(which, weights=wrong, minlength=len(region)).astype(np.int64)
        each = 1.0 - (1.0 - confidence) / len(region)
        return cls(region, n_rows, n_errors, lower_bound(n_rows - n_errors, n_rows, each), confidence)

    def __len__(self) -> int:
        return len(self.region)

    def summary(self) -> str:
        """The certificates as sentences, the region with the most rows first."""
        lines = [
            f"Region {self.region[i]}: at least {floored_percent(self.accuracy_at_least[i])} right, "
            f"{percent(self.confidence, AS_SET)} confidence, {counted(self.n_rows[i], 'row')}."
            for i in np.argsort(-self.n_rows, kind="stable")
        ]
        together = (
            f"The {percent(self.confidence, AS_SET)} confidence holds for all of this jointly. " if lines[1:] else ""
        )
        return "\n".join([*lines, f"{together}It holds for new rows drawn like these held-out rows."])

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self) -> pd.DataFrame:
        """The certificates as a pandas DataFrame, a row for each region."""
        names = ("region", "n_rows", "n_errors", "accuracy_at_least")
        return frame_of({name: getattr(self, name) for name in names})

    def _card(self) -> Card:
        bounds = [floored_percent(bound) for bound in self.accuracy_at_least]
        rows = tuple(
            (f"{self.region[i]}", f"{self.n_rows[i]:,}", f"{self.n_errors[i]:,}", bounds[i])
            for i in np.argsort(-self.n_rows, kind="stable").tolist()
        )
        facts = (
            ("confidence", f"{percent(self.confidence, AS_SET)}, for all of them together"),
            ("held-out rows", f"{self.n_rows.sum():,}, {self.n_errors.sum():,} of them wrong"),
        )
        title = f"Certificates of {counted(len(self), 'region')}"
        return Card(title, facts, REGIONS_HEAD, rows, "As a DataFrame: to_frame()")


# The significance level is split between two questions. Most of it goes to the error rate. One threshold for all groups
# needs no further correction, since it must pass in each of them (`choose_together`). Separate thresholds divide the
# level among the groups that are large enough, which depends on their sizes and not on labels.
#
# The rest goes to *no harm*: within a group, accepted rows are wrong less often than rejected ones. The threshold was
# chosen on the same rows, so the test is corrected for all thresholds of all groups: its p-value is multiplied by their
# number (Bonferroni). That needs no assumption about trust, and where abstaining helps, the difference is large.


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

    @classmethod
    def tested(cls, control: Control, n_refused: int, n_refused_errors: int, n_tests: int, level: float) -> Self:
        """Test this with Fisher's exact test, corrected for all thresholds of all groups."""
        n_errors = int(control.loss)
        p = min(1.0, n_tests * fewer_p_value(n_errors, control.n_accepted, n_refused_errors, n_refused))
        return cls(control.n_accepted, n_errors, n_refused, n_refused_errors, p, p <= level)

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything: more errors than rows."""
        is_possible = self.n_errors <= self.n_accepted and self.n_refused_errors <= self.n_refused
        return None if is_possible else "counts more errors than rows"


@record
class Groups:
    """The groups that promises were requested for.

    Attributes
    ----------
    by : tuple of str or int
        The columns that define groups.
    small : mapping of group to int
        Groups too small for a promise, and their calibration rows.
    no_harm : mapping of group to NoHarm
        For each group with a promise, whether accepted rows are wrong less often than rejected ones.
    parents : mapping of group to group
        Groups, and those they were merged into.
    one_threshold : bool
        Whether all groups share a threshold.
    """

    by: tuple[Any, ...] = lists("G")
    small: Mapping[Key, int] = pairs()
    no_harm: Mapping[Key, NoHarm] = parts_by_key(NoHarm)
    parents: Mapping[Key, Key] = pairs()
    one_threshold: bool = flag()

    def flaw(self) -> str | None:
        """What is wrong with the groups, if anything."""
        are_columns = all(isinstance(name, str) or (type(name) is int and abs(name) < 2**31) for name in self.by)
        if not are_columns or not 1 <= len(self.by) <= MOST_COLUMNS or len(set(map(str, self.by))) < len(self.by):
            return "names no column, too many of them, or one twice"
        if not all(type(n) is int and 0 <= n < 2**63 for n in self.small.values()):
            return "holds an invalid number of rows"
        return "has groups that are promised and too small" if self.small.keys() & self.no_harm.keys() else None

    @property
    def affect_acceptance(self) -> bool:
        """Whether acceptance of a row depends on its group."""
        return bool(self.small) or not self.one_threshold

    def of(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """The group of each row, from columns of `X` or as given."""
        return keys_of(self.by, X, groups, self.parents)

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
    """A threshold for each large enough group, whether it does no harm, and the confidence of each test."""
    level = 1.0 - confidence
    large, each = large_enough(list(sizes.values()), max_risk, (1.0 - HARM_SHARE) * level, one_threshold)
    keys = list(sizes)[:large]
    rows = [(trust[code == i], wrong[code == i]) for i in range(large)]
    if one_threshold:
        found = choose_together(rows, grid, max_risk, 1.0 - each, n_assumed) if rows else []
    else:
        found = [choose_threshold(*group, grid, max_risk, 1.0 - each, n_assumed) for group in rows]
    n_tests = max(large, 1) * len(np.unique(grid))
    harm = {}
    for key, control, (_, errors) in zip(keys, found, rows, strict=True):
        n_refused, n_wrong = control.n_rows - control.n_accepted, int(errors.sum()) + n_assumed - int(control.loss)
        harm[key] = NoHarm.tested(control, n_refused, n_wrong, n_tests, HARM_SHARE * level)
    return dict(zip(keys, found, strict=True)), harm, 1.0 - each


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
