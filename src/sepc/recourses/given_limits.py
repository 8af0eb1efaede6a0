"""The limits that a user gives, in the names and values of the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.columns.categories import category
from sepc.model.training_summary import FeatureKind
from sepc.recourses._limits import Choice, Limits
from sepc.recourses._relations import GivenRelation, bind
from sepc.recourses.given_row import Row
from sepc.wording import MOST_NAMES, check_number, listed, name_of, quantity, shown

DIRECTIONS = ("up", "down")


@dataclass(frozen=True)
class GivenLimit:
    """One limit of a column: the least and the largest value, or the categories allowed."""

    column: str
    words: str
    low: float = -np.inf
    high: float = np.inf
    allowed: frozenset[int] | None = None


@dataclass(frozen=True, eq=False)
class GivenLimits:
    """What a user allows to change in a row, and at what price."""

    row: Row
    given: Sequence[GivenLimit]
    prices: Mapping[str, float] = field(default_factory=dict)
    relations: Sequence[GivenRelation] = ()
    table: Any = None

    def limits(self, without: Collection[GivenLimit | GivenRelation] = ()) -> Limits:
        """The limits of the row's features, ignoring limits and relations in `without`."""
        row, given = self.row, [limit for limit in self.given if limit not in without]
        low, high = self._ends(given)
        prices = np.array([self.prices.get(column, 1.0) for column in self._column_of_feature()])
        choices = self._choices(given)
        for choice in choices:
            prices[choice.features] = 0.0
        is_whole = _whole_numbers(row) & (prices > 0.0)
        low[is_whole], high[is_whole] = np.ceil(low[is_whole]), np.floor(high[is_whole])
        self._check(low, high, prices > 0.0)
        limits = Limits(row.model, row.values, low, high, prices, is_whole, choices)
        relations = [relation for relation in self.relations if relation not in without]
        return replace(limits, relations=bind(relations, row, self.table, limits)) if relations else limits

    def _ends(self, given: Iterable[GivenLimit]) -> tuple[FloatArray, FloatArray]:
        """The ranges of numbers: as in training, or as the user gives them; dates are fixed."""
        row, values = self.row, self.row.values[: len(self.row.model.shift)]
        low = np.minimum(row.usual.overall[:, 0], values)
        high = np.maximum(row.usual.overall[:, -1], values)
        fixed = [display.kind in (FeatureKind.DATE, FeatureKind.PART) for display in row.usual.displays]
        low[fixed], high[fixed] = values[fixed], values[fixed]
        for limit in given:
            if limit.allowed is None:
                j = row.feature(limit.column)
                low[j] = limit.low if np.isfinite(limit.low) else min(low[j], limit.high)
                high[j] = limit.high if np.isfinite(limit.high) else max(high[j], limit.low)
        return low, high

    def _choices(self, given: Iterable[GivenLimit]) -> list[Choice]:
        row, d = self.row, len(self.row.model.shift)
        columns = () if row.preparation is None else row.preparation.categories
        return [
            self._choice(name, i, int(row.values[d + i]), [limit for limit in given if limit.column == name])
            for i, name in enumerate(columns)
        ]

    def _choice(self, name: str, i: int, current: int, given: Iterable[GivenLimit]) -> Choice:
        model, categories, first = self.row.model, self.row.categories(name), self.row.feature(name)
        features = slice(first, first + categories.encodings.shape[1])
        encodings = np.concatenate([categories.encodings, np.zeros((1, categories.encodings.shape[1]))])
        codes = {code for code, value in enumerate(categories.values) if value is not None} | {current}
        for limit in given:
            codes = set(limit.allowed or ()) if limit.allowed is not None else codes
        allowed = np.array(sorted(codes, key=lambda code: (encodings[code, 0], code)), dtype=np.int64)
        price = self.prices.get(name, 1.0)
        return Choice(features, i, encodings, model.shift[features], model.scale[features], current, allowed, price)

    def _column_of_feature(self) -> list[str]:
        preparation = self.row.preparation
        return (
            list(self.row.model.feature_names)
            if preparation is None
            else [column for column, _ in preparation.features]
        )

    def _check(self, low: FloatArray, high: FloatArray, numbers: BoolArray) -> None:
        """Raise a ValueError if no value is left, such as between 0.2 and 0.8 if training had only whole numbers."""
        for j in np.flatnonzero((low > high) & numbers).tolist():
            name = self.row.model.feature_names[j]
            raise ValueError(f"The limits of {shown(name)} contain no whole number; in training it was always one.")


def given_limits(
    row: Row,
    cost: Mapping[Any, float] | None,
    fixed: Collection[Any],
    bounds: Mapping[Any, Any] | None,
    direction: Mapping[Any, str] | None,
) -> GivenLimits:
    """Parse what a user allows to change; raises a ValueError that names the user's columns."""
    fixed_columns = [name for name in (_column(row, key, may_be_unused=True) for key in fixed) if name in row.columns]
    bounded = {_column(row, key): given for key, given in (bounds or {}).items()}
    directed = {_column(row, key): given for key, given in (direction or {}).items()}
    twice = [name for name in fixed_columns if name in bounded or name in directed]
    if twice:
        raise ValueError(f"Column {shown(twice[0])} is fixed, but also has bounds or a direction; give only one.")
    given = [_fixed_limit(row, name) for name in dict.fromkeys(fixed_columns)]
    for name in dict.fromkeys([*bounded, *directed]):
        given += _limits_of(row, name, bounded.get(name), directed.get(name))
    prices = {_column(row, key): _price(key, price) for key, price in (cost or {}).items()}
    return GivenLimits(row, given, prices)


def _column(row: Row, key: Any, may_be_unused: bool = False) -> str:
    """The name of a column, given by its name or, if the features have no names, by its position."""
    if str(key) in row.columns:
        return str(key)
    if isinstance(key, int) and not isinstance(key, bool) and row.preparation is None and 0 <= key < len(row.columns):
        return row.columns[key]
    if str(key) in row.left_out:
        if may_be_unused:
            return str(key)
        raise ValueError(f"Column {shown(key)} is not used by the model, so changing it changes nothing.")
    raise ValueError(f"There is no column {shown(key)}; there are {listed(map(shown, row.columns), MOST_NAMES)}.")


def _fixed_limit(row: Row, name: str) -> GivenLimit:
    words = f"{name_of(name)} is fixed"
    if row.kind(name) is FeatureKind.CATEGORY:
        return GivenLimit(name, words, allowed=frozenset([row.code(name)]))
    return GivenLimit(name, words, low=row.value(name), high=row.value(name))


def _limits_of(row: Row, name: str, bounds: Any, direction: str | None) -> list[GivenLimit]:
    if row.kind(name) is FeatureKind.CATEGORY:
        if direction is not None:
            raise ValueError(f"Column {shown(name)} holds categories, which have no direction; give bounds instead.")
        return [_allowed(row, name, bounds)]
    if row.kind(name) is FeatureKind.DATE:
        raise ValueError(f"Column {shown(name)} holds dates, which are never changed; give no limits for it.")
    low, high = _ends(name, bounds)
    if direction is not None:
        low, high = _ends_in_direction(row, name, direction, low, high)
    ends = []
    if np.isfinite(low):
        ends.append(GivenLimit(name, f"{name_of(name)} is at least {quantity(low)}", low=low))
    if np.isfinite(high):
        ends.append(GivenLimit(name, f"{name_of(name)} is at most {quantity(high)}", high=high))
    return ends


def _ends(name: str, bounds: Any) -> tuple[float, float]:
    if bounds is None:
        return -np.inf, np.inf
    try:
        low, high = (given if given is None else float(given) for given in bounds)
    except (TypeError, ValueError):
        raise ValueError(
            f"The bounds of {shown(name)} are {bounds!r}; give numbers (low, high), with None for an open end."
        ) from None
    low, high = -np.inf if low is None else low, np.inf if high is None else high
    if not low <= high:
        raise ValueError(f"The bounds of {shown(name)} are {bounds!r}; the first must not exceed the second.")
    return low, high


def _ends_in_direction(row: Row, name: str, direction: str, low: float, high: float) -> tuple[float, float]:
    if direction not in DIRECTIONS:
        raise ValueError(f"The direction of {shown(name)} is {direction!r}; it must be 'up' or 'down'.")
    value = row.value(name)
    low, high = (max(low, value), high) if direction == "up" else (low, min(high, value))
    if low > high:
        raise ValueError(
            f"{shown(name)} is {quantity(value)}, which may only go {direction}, so its bounds leave no value."
        )
    return low, high


def _allowed(row: Row, name: str, given: Any) -> GivenLimit:
    values = row.categories(name).values
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"Column {shown(name)} holds categories; give a list of those that are allowed.")
    plain = [category(value) for value in given]
    unknown = [value for value in plain if value not in values]
    if unknown or not plain:
        known = listed(map(shown, values), MOST_NAMES)
        what = (
            f"{shown(unknown[0])} is not a category of {shown(name)} seen in training"
            if unknown
            else f"No category of {shown(name)} is allowed"
        )
        raise ValueError(f"{what}; the categories are {known}.")
    words = f"{name_of(name)} is one of {listed(map(name_of, plain), MOST_NAMES)}"
    return GivenLimit(name, words, allowed=frozenset(values.index(value) for value in plain))


def _price(key: Any, price: float) -> float:
    check_number(f"The cost of {shown(key)}", price, above=0)
    return float(price)


def _whole_numbers(row: Row) -> BoolArray:
    """Which features are whole numbers, both in the summary of training rows and in the row itself."""
    values = row.values[: len(row.model.shift)]
    is_number = np.array([display.kind is FeatureKind.NUMBER for display in row.usual.displays])
    return np.asarray(is_number & (row.usual.overall % 1.0 == 0.0).all(axis=1) & (values % 1.0 == 0.0))
