"""Features of a case in words: its value beside what is usual among cases like it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sepc._typing import FloatArray
from sepc.estimators.sep.telling_features import Scored, TellingFeatures
from sepc.model.names import feature_name, told_value
from sepc.model.usual import ANYWHERE, FeatureKind, UsualValues
from sepc.wording import cases_of, name_of, percent, short

LONGEST_CATEGORY = 30
# Features that say at least this part of what the first one says are strong.
STRONG = 1.0 / 3.0
# A value shows what a feature says if it is this many times as frequent.
CLEARLY_MORE = 1.5
# Less frequent values are unusual.
RARE = 0.05


@dataclass(frozen=True, eq=False)
class ToldFeatures:
    """Speaks of the features of one row."""

    telling: TellingFeatures

    @property
    def usual(self) -> UsualValues:
        """What is usual among training rows."""
        return self.telling.usual

    def name(self, j: int) -> str:
        """The name of a feature."""
        return feature_name(self.telling.model, j)

    def value(self, j: int) -> str:
        """A feature and its value; the name alone if the value is not known in the user's own units."""
        if self._is_category(j):
            return f"{self.name(j)} {self._category(j)}"
        return self.name(j) if self._own is None else f"{self.name(j)} {self._told(j, self._own[j])}"

    def compared(self, j: int, owners: Sequence[int], is_first: bool) -> str:
        """A feature, its value and what is usual for cases of some classes like it."""
        if self._own is None and self._share(j, 0) is None:
            return self.name(j)
        usual = [self._usual(j, owner, is_first and i == 0) for i, owner in enumerate(owners)]
        return f"{self.value(j)} ({', '.join(usual)})"

    def showing(self, features: Sequence[Scored], owners: Sequence[int]) -> list[int]:
        """The stronger features whose values show what they say, the strongest first.

        A value shows it if it is nearer to what is usual for the first class than for the second: what a feature says
        depends on all others too.
        """
        return [j for j, score in features if score >= STRONG * features[0][1] and self._shows(j, *owners) > 0]

    def usual_for_both(self, features: Sequence[Scored], owners: Sequence[int]) -> list[int]:
        """The strongest feature whose value is usual for both classes, if there is one."""
        return [j for j, _ in features if self._shows(j, *owners) == 0][:1]

    def is_outside(self, j: int, group: int) -> bool:
        """Whether the value is not usual in a group."""
        share = self._share(j, group)
        if share is not None:
            return share < RARE
        return self._distance(j, group) > 0.0

    def set_against_all(self, j: int, nearest: int, is_first: bool) -> str:
        """A feature, its value and the range of all training cases or, if it lies within, what is usual in a group."""
        share = self._share(j, nearest)
        if share is not None:
            return f"{self.value(j)} ({percent(share, 0)} of the nearest{' cases' if is_first else ''})"
        if self._own is None:
            return self.name(j)
        lowest, highest = self.usual.overall[j, 0], self.usual.overall[j, -1]
        if not lowest <= self._own[j] <= highest:
            everyone = "all training cases" if is_first else "all cases"
            return f"{self.value(j)} ({everyone} {self._range(j, lowest, highest)})"
        return f"{self.value(j)} ({'the nearest cases' if is_first else 'nearest'} {self._usual_range(j, nearest)})"

    def _shows(self, j: int, owner: int, other: int) -> int:
        """1 if the value is nearer to what is usual for the first class than for the second, 0 if in both, else -1."""
        like_it, unlike_it = self.telling.group_like_it(owner), self.telling.group_like_it(other)
        share, rival = self._share(j, like_it), self._share(j, unlike_it)
        if share is None or rival is None:
            own, apart = self._distance(j, like_it), self._distance(j, unlike_it)
            return int(own < apart) if own < apart or own == 0.0 else -1
        if share == 0.0 or rival >= CLEARLY_MORE * share:
            return -1
        return int(share >= CLEARLY_MORE * rival)

    def _distance(self, j: int, group: int) -> float:
        """How far the value lies outside what is usual in a group, infinity at the end of all numbers; 0 within."""
        low, high = map(float, self.usual.ranges[group, j])
        # Without a way back, both are in the model's features.
        value = float(self.telling.row[j] if self._own is None else self._own[j])
        return max(low - value, value - high, 0.0)

    def _usual(self, j: int, owner: int, is_first: bool) -> str:
        group = self.telling.group_like_it(owner)
        label, share = self.telling.model.classes[owner], self._share(j, group)
        like_it = " like it" if is_first and self.usual.ellipsoid[group] != ANYWHERE else ""
        if share is not None:
            return f"{percent(share, 0)} of {cases_of(label, like_it) if is_first else name_of(label)}"
        return f"{cases_of(label, like_it) if is_first else _those(label)} {self._usual_range(j, group)}"

    def _share(self, j: int, group: int) -> float | None:
        """How frequent the value is in a group; None if the feature has many values."""
        if self._is_category(j):
            return self.usual.category_share(group, j, self._code(j))
        return self.usual.level_share(group, j, float(self.telling.row[j]))

    def _usual_range(self, j: int, group: int) -> str:
        return self._range(j, *self.usual.ranges[group, j])

    def _range(self, j: int, low: float, high: float) -> str:
        first, last = self._told(j, low), self._told(j, high)
        return first if first == last else f"{first} to {last}"

    def _told(self, j: int, value: float) -> str:
        return told_value(self.usual, j, float(value))

    def _is_category(self, j: int) -> bool:
        return self.usual.spoken[j].kind is FeatureKind.CATEGORY

    def _code(self, j: int) -> int:
        return int(self.telling.row[len(self.usual.spoken) + self.usual.code_column(j)])

    def _category(self, j: int) -> str:
        names, code = self.usual.spoken[j].categories, self._code(j)
        return short(names[code], LONGEST_CATEGORY) if code < len(names) else "unknown"

    @cached_property
    def _own(self) -> FloatArray | None:
        """The row in the user's own features; None if there is no way back to these."""
        own = self.usual.in_own_units(self.telling.row[None, : len(self.usual.spoken)])
        return None if own is None else own[0]


def _those(label: Any) -> str:
    return name_of(label) if isinstance(label, str) else f"of {name_of(label)}:"
