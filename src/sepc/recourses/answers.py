"""Answers: counterfactual rows that would be accepted, and their changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from sepc._typing import FloatArray
from sepc.cards import Card, ShownInLists
from sepc.decisions.decisions import Decision
from sepc.model.names import feature_name, value_in_words
from sepc.model.training_summary import ANYWHERE
from sepc.plain_values import plain
from sepc.recourses.choices import Choice
from sepc.recourses.durations import Duration
from sepc.recourses.limits import Limits
from sepc.recourses.tables import Tables
from sepc.wording import counted, decimal, deviations, listed, name_of, percent


class Deviations(NamedTuple):
    """A feature before and after, and the middle 80 % of the label's cases, in standard deviations from the mean.

    The range is NaN for categories, whose positions are their shares of labels in training.
    """

    before: float
    after: float
    low: float
    high: float


class FeatureChange(NamedTuple):
    """A feature that changes.

    Attributes
    ----------
    feature : str
    before, after : number or category
    cost : float
        In standard deviations, times the price of the feature; changing a category costs its price.
    words : str
        The change as worded in a sentence.
    deviations : Deviations
    """

    feature: str
    before: Any
    after: Any
    cost: float
    words: str
    deviations: Deviations

    @property
    def way(self) -> Any:
        """Where the change leads: to a category, or for a number, up or down."""
        is_number = not np.isnan(self.deviations.low)
        return self.after > self.before if is_number else self.after


@dataclass(frozen=True, eq=False, repr=False)
class Answer(ShownInLists):
    """A counterfactual: a row that would be accepted with the label.

    Attributes
    ----------
    tables : Tables
    rows : (1, d + Q) array
        The row in the model's features.
    decision : Decision
        The model's decision on this row.
    changes : tuple of FeatureChange
        The most expensive first.
    cost : float
        The root of the sum of the squared costs of the changes.
    added : float
        The cost above the bound: what acceptance takes, beyond reaching an ellipsoid of the label.
    takes : Duration or None
        How long the changes take, if relations say how fast columns change; ``str`` puts it in words.
    usual : float or None
        If changes of other rows are known: the share of them that are at least as unusual as this one.
    """

    tables: Tables
    rows: FloatArray
    decision: Decision
    changes: tuple[FeatureChange, ...]
    cost: float
    added: float
    takes: Duration | None = None
    usual: float | None = None

    @cached_property
    def row(self) -> Any:
        """The given row with the changes made: a DataFrame, or an array of shape (1, d)."""
        return self.tables.of(self.rows)

    def why(self) -> str:
        """What changes, in a sentence."""
        if not self.changes:
            return "Nothing has to change."
        changes = f"Change {listed(change.words for change in self.changes)}."
        return changes if self.takes is None else f"{changes} This takes {self.takes}."

    @property
    def summary(self) -> str:
        """Cost, trust, how long it takes and how usual it is."""
        parts = [f"cost {self.cost:.3g}", f"trust {decimal(self.decision.trust)}"]
        if self.takes is not None:
            parts.append(f"takes {self.takes}")
        if self.usual is not None:
            parts.append(f"as usual as {percent(self.usual, 0)} of known changes")
        return ", ".join(parts)

    def overlap(self, other: Answer) -> float:
        """The share of the squared cost that two answers have in common: same features, changed the same way."""
        one, two = self._shares(), other._shares()
        return sum(min(share, two.get(change, 0.0)) for change, share in one.items())

    def _shares(self) -> dict[tuple[str, Any], float]:
        total = sum(change.cost**2 for change in self.changes) or 1.0
        return {(change.feature, change.way): change.cost**2 / total for change in self.changes}

    def _card(self) -> Card:
        rows = tuple((change.feature, change.words, decimal(change.cost)) for change in self.changes)
        facts = [("trust", decimal(self.decision.trust)), ("cost", deviations(self.cost))]
        facts += [] if self.takes is None else [("takes", str(self.takes))]
        facts += [] if self.usual is None else [("as usual as", f"{percent(self.usual, 0)} of known changes")]
        return Card(
            f"Answer with {counted(len(self.changes), 'change')}", tuple(facts), ("feature", "change", "cost"), rows
        )


def changes_of(limits: Limits, owner: int, tables: Tables, row: FloatArray) -> tuple[FeatureChange, ...]:
    """The changes from the given row to `row`, the most expensive first; `owner` is the class of the target label."""
    places, columns = (
        limits.model.standardize(row[np.newaxis])[0],
        {choice.features.start: choice for choice in limits.choices},
    )
    changes = []
    for j in limits.changed(row):
        if j in columns:
            (before, after), in_words = _categories(limits, tables, row, columns[j]), _category_in_words
            low = high = np.nan
        else:
            before, after, in_words = float(limits.row[j]), float(row[j]), partial(value_in_words, limits.usual, j)
            low, high = _usual_range(limits, owner, j)
        name = feature_name(limits.model, j)
        words = f"{name} from {in_words(before)} to {in_words(after)}"
        span = Deviations(float(limits.start[j]), float(places[j]), low, high)
        changes.append(FeatureChange(name, before, after, limits.price_paid(row, j), words, span))
    return tuple(sorted(changes, key=lambda change: -change.cost))


def _categories(limits: Limits, tables: Tables, row: FloatArray, choice: Choice) -> tuple[Any, Any]:
    name, code = limits.model.feature_names[choice.features.start], row[limits.n_features + choice.column]
    before, after = tables.values_of(name, np.array([choice.current, code]))
    return plain(before), plain(after)


def _usual_range(limits: Limits, owner: int, j: int) -> tuple[float, float]:
    """The middle 80 % of a feature's values in a class, in standardised units."""
    group = limits.usual.group(ANYWHERE, owner)
    assert group is not None  # Every class has a group of all its rows.
    low, high = (limits.usual.ranges[group, j] - limits.model.shift[j]) / limits.model.scale[j]
    return float(low), float(high)


def _category_in_words(value: Any) -> str:
    return "missing" if value is None else name_of(value)
