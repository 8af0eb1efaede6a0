"""Recourse (counterfactual explanations): what would have to change for a row to be accepted with a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sepc._typing import FloatArray
from sepc.cards import Card, ShownAsCard, ShownInLists
from sepc.columns.preparation import Preparation
from sepc.columns.table import is_table
from sepc.decisions.decisions import Decision, frame_of
from sepc.decisions.kinds import Sentence, Shorter, join_sentences
from sepc.model.names import feature_name, value_in_words
from sepc.model.training_summary import ANYWHERE
from sepc.recourses._limits import Choice, Limits
from sepc.recourses.bounds import Leaf
from sepc.wording import cases_of, counted, decimal, deviations, listed, name_of, plain, shown, visible

if TYPE_CHECKING:
    import pandas as pd


# NumPy dtype kinds that hold only whole numbers.
WHOLE_KINDS = ("b", "i", "u")


def as_rows(row: Any) -> Any:
    """One row, or several, as a table or matrix; raises a ValueError if there are none."""
    if isinstance(row, dict):
        row = _pandas().DataFrame([row])
    if type(row).__name__ == "Series" and hasattr(row, "to_frame"):
        # In a Series, the columns of a mixed table have lost their types.
        row = row.to_frame().T.infer_objects()
    if not is_table(row):
        row = np.asarray(row)
        row = row[np.newaxis] if row.ndim == 1 else row
    if len(row) == 0:
        raise ValueError("Recourse needs at least one row; the table has none.")
    return row.to_pandas() if is_table(row) and not hasattr(row, "iloc") else row


@dataclass(frozen=True, eq=False)
class Tables:
    """Converts rows of the model to rows like the given one."""

    given: Any
    limits: Limits
    preparation: Preparation | None

    def of(self, rows: FloatArray) -> Any:
        """The given row, with the changes of each row of the model."""
        if not is_table(self.given):
            return rows[:, : self.limits.n_features]
        table = self.given.iloc[np.zeros(len(rows), dtype=int)].reset_index(drop=True)
        changed = set(self.limits.changed_in_any(rows))
        for j in changed.intersection(self.limits.free.tolist()):
            table[self.name(self.limits.model.feature_names[j])] = self._numbers(rows[:, j], j)
        for choice in self.limits.choices:
            if choice.features.start in changed:
                name = self.limits.model.feature_names[choice.features.start]
                values = self.values_of(name, self.limits.codes(rows, choice))
                column = table[self.name(name)]
                table[self.name(name)] = _pandas().Series(values, index=table.index, dtype=object).astype(column.dtype)
        return table

    def values_of(self, name: str, codes: FloatArray) -> list[Any]:
        """The categories of a column with these codes; for one not seen in training, that of the given row."""
        assert self.preparation is not None  # Otherwise there are no categories.
        known = self.preparation.categories[name].values
        given = self.given[self.name(name)].iloc[0]
        return [known[int(code)] if code < len(known) else given for code in codes]

    def _numbers(self, values: FloatArray, j: int) -> Any:
        name = self.limits.model.feature_names[j]
        column_type = self.given[self.name(name)].dtype
        kind = getattr(column_type, "kind", "")
        if kind == "m":
            # The table has durations, the model their seconds.
            return np.round(1e6 * values).astype("timedelta64[us]")
        if kind not in WHOLE_KINDS or not self.limits.is_whole[j]:
            return values
        # Types with gaps take no fractions, which the search tries on its way.
        whole = np.round(values)
        return _pandas().Series(whole.clip(0, 1) if kind == "b" else whole).astype(column_type)

    def name(self, name: str) -> Any:
        """The name of a column in the table, where it may not be a string."""
        return self._names[name]

    @cached_property
    def _names(self) -> dict[str, Any]:
        # Of columns with the same text, the first counts.
        return {str(column): column for column in reversed(list(self.given.columns))}


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Rows with column names need pandas; install it with 'pip install pandas'.") from error
    return pd


class Deviations(NamedTuple):
    """A feature before and after, and the middle 80 % of the label's cases, in standard deviations from the mean."""

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
    """

    tables: Tables
    rows: FloatArray
    decision: Decision
    changes: tuple[FeatureChange, ...]
    cost: float
    added: float

    @cached_property
    def row(self) -> Any:
        """The given row with the changes made: a DataFrame, or an array of shape (1, d)."""
        return self.tables.of(self.rows)

    def why(self) -> str:
        """What changes, in a sentence."""
        if not self.changes:
            return "Nothing has to change."
        return f"Change {listed(change.words for change in self.changes)}."

    @property
    def summary(self) -> str:
        """Cost and trust."""
        return f"cost {self.cost:.3g}, trust {decimal(self.decision.trust)}"

    def overlap(self, other: Answer) -> float:
        """The share of the squared cost that two answers have in common: same features, changed the same way."""
        one, two = self._shares(), other._shares()
        return sum(min(share, two.get(change, 0.0)) for change, share in one.items())

    def _shares(self) -> dict[tuple[str, Any], float]:
        total = sum(change.cost**2 for change in self.changes) or 1.0
        return {(change.feature, change.way): change.cost**2 / total for change in self.changes}

    def _card(self) -> Card:
        rows = tuple((change.feature, change.words, decimal(change.cost)) for change in self.changes)
        facts = (("trust", decimal(self.decision.trust)), ("cost", deviations(self.cost)))
        return Card(f"Answer with {counted(len(self.changes), 'change')}", facts, ("feature", "change", "cost"), rows)


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


# Changes that a sentence lists before it counts the rest.
MOST_CHANGES = (6, 4, 3, 2)


def sentences_about(recourse: Recourse) -> str:
    """The first answer, or why there is none, in at most 60 words."""
    if recourse.answers:
        return join_sentences(_answer(recourse))
    if not recourse.is_reachable:
        return join_sentences(_unreachable(recourse))
    if recourse.bound == recourse.accepting > 0.0:
        least = f"To be accepted as {shown(recourse.to)} takes at least {deviations(recourse.bound)}"
        return join_sentences([Sentence(f"{least}, and no such row was found.")])
    if recourse.bound == 0.0:
        like = f"It is like {cases_of(recourse.to)} already"
        return join_sentences([Sentence(f"{like}, but no change within the limits was found that the model accepts.")])
    least = f"To be like {cases_of(recourse.to)} takes at least {deviations(recourse.bound)}"
    return join_sentences([Sentence(f"{least}, and nothing was found there that the model accepts.")])


def _answer(recourse: Recourse) -> list[Sentence]:
    answer = recourse.answers[0]
    if not answer.changes:
        return [Sentence(f"It is accepted as {shown(recourse.to)} already.")]
    start = f"To be accepted as {shown(recourse.to)} with trust {decimal(answer.decision.trust)}"
    words = [change.words for change in answer.changes]
    first, *shorter = [f"{start}, change {listed(words, most)}." for most in MOST_CHANGES]
    return [Sentence(first, tuple(Shorter(2 + i, text) for i, text in enumerate(shorter))), _cost(recourse)]


def _cost(recourse: Recourse) -> Sentence:
    """The cost of the first answer, and the proven lower bound."""
    cost, bound, cases = recourse.answers[0].cost, recourse.bound, cases_of(recourse.to)
    is_of_acceptance = bound == recourse.accepting > 0.0
    if f"{cost:.3g}" == f"{bound:.3g}":
        dearer = f"nothing like {cases} that is accepted" if is_of_acceptance else f"nothing like {cases}"
        return Sentence(f"This costs {deviations(cost)}, and {dearer} costs less.")
    if is_of_acceptance:
        return Sentence(f"This costs {deviations(cost)}; acceptance takes at least {bound:.3g}.")
    whole = f"This costs {deviations(cost)}; to be like {cases} takes at least {bound:.3g}, and acceptance the rest."
    return Sentence(whole, (Shorter(1, f"This costs {deviations(cost)}, at least {bound:.3g}."),))


def _unreachable(recourse: Recourse) -> list[Sentence]:
    cases = cases_of(recourse.to)
    if not recourse.proof:
        return [Sentence(f"Training had too few {cases} to form an ellipsoid.")]
    why = f"since {listed(recourse.blocking, 4)}" if recourse.blocking else "even without limits"
    return [
        Sentence(f"Nothing like {cases} can be reached, {why}."),
        Sentence("This is proved for cases like those of training, not for others that the model may accept."),
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Recourse(ShownAsCard):
    """What would have to change for a row to be accepted with a label: counterfactuals and a lower bound on their cost.

    Attributes
    ----------
    to : object
        The target label.
    decision : Decision
        The model's decision on the row as given.
    answers : tuple of Answer
        Counterfactual rows that the model accepts with the label, within all limits and in an ellipsoid of the label;
        any two have less than half of their squared costs in common, and the cheapest comes first. Empty if none was
        found.
    bound : float
        A lower bound on the cost of all rows in an ellipsoid of the label within the limits; infinite if there are
        none. Rows outside these ellipsoids may still be accepted: the bound does not cover them. If the model has
        standalone features, such as monotone ones, it is a lower bound on the cost of those rows that are accepted.
    proof : sequence of Leaf
        The branches of the search for the cost of reaching an ellipsoid, each with a half-space that contains it.
    blocking : tuple of str
        If there are no such rows: limits that together rule them out, all of which are needed to do so. Empty if there
        would be no such rows even without these limits.
    loose : tuple of str
        Relations that the bound does not fully include, since they are not linear: all answers satisfy them, and the
        bound holds, but it may be lower than it would be with them.
    accepting : float
        If the model has standalone features: a lower bound on the cost of acceptance, from what all curves together can
        add to the log-odds; 0 otherwise. `bound` is the higher one of this and of the cost of reaching an ellipsoid.
    """

    to: Any
    decision: Decision
    answers: tuple[Answer, ...]
    bound: float
    proof: Sequence[Leaf]
    blocking: tuple[str, ...]
    loose: tuple[str, ...] = ()
    accepting: float = 0.0

    @property
    def is_reachable(self) -> bool:
        """Whether an ellipsoid of the label may be reached within the limits."""
        return bool(np.isfinite(self.bound))

    def why(self) -> str:
        """The first answer, or why there is none, in a few sentences."""
        return sentences_about(self)

    def to_frame(self) -> pd.DataFrame:
        """The answers as a pandas DataFrame with one row for each feature that changes."""
        each = [(i, change) for i, answer in enumerate(self.answers, start=1) for change in answer.changes]
        columns = {
            "answer": np.array([i for i, _ in each], dtype=np.int64),
            "feature": objects([change.feature for _, change in each]),
            "before": objects([change.before for _, change in each]),
            "after": objects([change.after for _, change in each]),
            "cost": np.array([change.cost for _, change in each], dtype=np.float64),
        }
        return frame_of(columns, None)

    def _card(self) -> Card:
        now = f"{name_of(self.decision.label)} with trust {decimal(self.decision.trust)}"
        facts = [
            ("now", now),
            ("cost at least", deviations(self.bound) if self.is_reachable else "unreachable"),
        ]
        if self.loose:
            facts.append(("bound leaves out", listed(self.loose, 2)))
        rows = tuple(line for i, answer in enumerate(self.answers, start=1) for line in _lines(i, answer))
        title = f"Recourse to {shown(self.to)}: {counted(len(self.answers), 'answer')}"
        head = ("answer", "cost", "trust", "change") if rows else ()
        return Card(title, tuple(facts), head, rows, note="print() shows all changes, and why() says it in words.")

    def __str__(self) -> str:
        """All answers with all their changes, the cheapest answer first."""
        card = self._card()
        lines = [visible(card.title), *(f"  {name}: {visible(value)}" for name, value in card.facts)]
        for i, answer in enumerate(self.answers, start=1):
            lines += [f"  {i}. {answer.summary}", *(f"     {visible(change.words)}" for change in answer.changes)]
            lines += [] if answer.changes else ["     nothing has to change"]
        return "\n".join(lines)


def _lines(i: int, answer: Answer) -> list[tuple[str, ...]]:
    """The lines of a card about an answer: the first with its cost, and one for each change."""
    words = [change.words for change in answer.changes] or ["nothing"]
    first = (str(i), f"{answer.cost:.3g}", decimal(answer.decision.trust))
    return [(*(first if n == 0 else ("", "", "")), text) for n, text in enumerate(words)]


def objects(values: Sequence[Any]) -> Any:
    """The values as a column of any types."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
