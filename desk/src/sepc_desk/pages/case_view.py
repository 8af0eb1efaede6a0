"""What the page of a case shows: values beside what is usual, terms as bars, and the cases most like it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sepc_desk.columns import Column, Kind
from sepc_desk.deciding import Decided
from sepc_desk.models import Model
from sepc_desk.pages.rendering import typed_cell
from sepc_desk.reviewing.usual import Place, Recent
from sepc_desk.rows import Row

# The picture of a value among recent ones is this wide; nine of ten recent values lie between the quarter marks.
WIDTH, LEFT, RIGHT = 100.0, 20.0, 80.0
# Terms beyond these are shown as one.
MOST_TERMS = 10
# Columns of the table of similar cases.
MOST_COLUMNS = 6


@dataclass(frozen=True)
class Value:
    """A value of the case, for one line of the table.

    Attributes
    ----------
    column : Column
    cell : object
    typed : str
        As it stands in a form.
    place : Place
    marker : float or None
        Where it stands in the picture, from 0 to 100.
    middle : float or None
        Where the median stands.
    """

    column: Column
    cell: Any
    typed: str
    place: Place
    marker: float | None
    middle: float | None

    @property
    def kind(self) -> str:
        """The kind of field in a form."""
        return "number" if self.column.kind is Kind.NUMBER else "text"


@dataclass(frozen=True)
class Bar:
    """A term of the decision.

    Attributes
    ----------
    name : str
    value : float
        Log-odds for the label; negative if the term speaks against it.
    start, width : float
        Where the bar stands, from 0 to 100, with 50 in the middle.
    """

    name: str
    value: float
    start: float
    width: float


def values_of(model: Model, row: Row, recent: Recent) -> list[Value]:
    """A line for each column that the model reads."""
    found = []
    for column in model.columns:
        cell = row.get(column.name)
        place = recent.place(column, cell)
        marker = _position(place, place.at)
        found.append(Value(column, cell, typed_cell(cell), place, marker, _position(place, place.median)))
    return found


def _position(place: Place, at: float | None) -> float | None:
    """Where a number stands in the picture; beyond what is usual it comes ever closer to the edge."""
    if at is None or place.low is None or place.high is None:
        return None
    width = place.high - place.low
    if width <= 0:
        return WIDTH / 2 if at == place.low else RIGHT + 10 if at > place.low else LEFT - 10
    share = (at - place.low) / width
    if share < 0:
        return LEFT * 1 / (1 - share)
    if share > 1:
        return WIDTH - (WIDTH - RIGHT) / share
    return LEFT + share * (RIGHT - LEFT)


def bars_of(decided: Decided) -> list[Bar]:
    """The terms as bars, the largest first; empty if the model has none."""
    terms = sorted(decided.terms or [], key=lambda one: -abs(one[1]))
    shown, rest = terms[:MOST_TERMS], terms[MOST_TERMS:]
    if rest:
        shown.append(("", sum(value for _, value in rest)))
    longest = max((abs(value) for _, value in shown), default=0.0) or 1.0
    bars = []
    for name, value in shown:
        width = WIDTH / 2 * abs(value) / longest
        bars.append(Bar(name, value, WIDTH / 2 - (width if value < 0 else 0.0), width))
    return bars


def telling_columns(model: Model, decided: Decided) -> list[str]:
    """The columns that matter most for a decision, for a table that has room for a few."""
    names = [column.name for column in model.columns]
    weight = {name: abs(value) for name, value in decided.terms or []}
    return sorted(names, key=lambda name: -weight.get(name, 0.0))[:MOST_COLUMNS]
