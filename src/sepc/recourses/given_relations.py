"""Relations as a user gives them: texts, combinations of values, and columns computed by a function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sepc.columns.categories import category
from sepc.columns.table import is_table
from sepc.recourses.column_relations import Combinations, Derived, OneOf
from sepc.recourses.durations import DAYS
from sepc.recourses.formula_relations import FormulaRelation
from sepc.recourses.formulas import Formula
from sepc.recourses.given_row import Row
from sepc.recourses.limits import Limits
from sepc.recourses.pace import Pace, PaceRelation, Time, WithinRelation
from sepc.recourses.relation_columns import RelationColumns
from sepc.recourses.relations import GivenRelation, Relations
from sepc.wording import listed, shown

NAME = r"(?:`(?P<quoted>[^`]+)`|(?P<plain>\w+))"
UNIT = r"(?P<unit>day|week|month|year)s?"
AMOUNT = r"(?P<amount>\d+(?:\.\d+)?(?:/\d+)?)"
PACE = re.compile(rf"{NAME}\s+(?P<way>rises|falls)\s+by\s+(?P<most>at most\s+)?{AMOUNT}\s+(?:a|an|per)\s+{UNIT}")
WITHIN = re.compile(rf"within\s+{AMOUNT}\s+{UNIT}")
ONE_OF = re.compile(r"(?:exactly\s+)?one of\s+(?P<names>.+)")
CONDITION = re.compile(r"if\s+(?P<condition>.+?)\s+then\s+(?P<formula>.+)", re.DOTALL)
LISTED_NAME = re.compile(r"`([^`]+)`|([^,`]+)")


def given_relations(relations: Sequence[Any]) -> list[GivenRelation]:
    """Parse relations; raises a ValueError that quotes the relation."""
    if isinstance(relations, str) or not isinstance(relations, Sequence):
        raise ValueError(f"relations is {relations!r}; give a list, such as ['total = a + b'].")
    return [_relation(given) for given in relations]


def bind(given: Sequence[GivenRelation], row: Row, table: Any, limits: Limits) -> Relations:
    """The relations under given limits, for a row given as a table; raises a ValueError that quotes the relation."""
    columns, parts = RelationColumns(row, table, limits), []
    under = partial(bind, given, row, table)
    for relation in given:
        try:
            for name in relation.columns:
                columns.check(name)
            parts.append(relation.parts(columns))
        except ValueError as error:
            raise ValueError(f"Relation {shown(relation.words)}: {error}.") from error
    paces = [relation.pace for relation in given if isinstance(relation, PaceRelation)]
    if not paces:
        return Relations(columns, given, parts, under)
    within = min((relation.days for relation in given if isinstance(relation, WithinRelation)), default=None)
    time = Time(columns, paces, within, paces[0].unit)
    return Relations(columns, given, [*parts, time.parts()], under, time.duration)


def _relation(given: Any) -> GivenRelation:
    if isinstance(given, str):
        try:
            return _from_text(given.strip())
        except ValueError as error:
            raise ValueError(f"Relation {shown(given)}: {error}.") from error
    if isinstance(given, tuple) and len(given) == 2 and callable(given[1]):
        column = str(given[0])
        return Derived(f"{column} is computed by {getattr(given[1], '__name__', 'a function')}", column, given[1])
    if is_table(given) or isinstance(given, Mapping):
        return _combinations(given)
    raise ValueError(
        f"A relation is {given!r}; give a text, a table of combinations, or a pair of a column and a function."
    )


def _combinations(given: Any) -> Combinations:
    """The combinations in the rows of a table, or in lists of equal length by column."""
    names = list(given) if isinstance(given, Mapping) else list(given.columns)
    cells = [[category(value) for value in np.asarray(given[name], dtype=object)] for name in names]
    if len({len(column) for column in cells}) > 1:
        raise ValueError(f"The combinations of {listed(map(shown, names))} are lists of different lengths.")
    rows = tuple(dict.fromkeys(zip(*cells, strict=True)))
    if not rows:
        raise ValueError("A table of combinations is empty; give the combinations that can occur.")
    return Combinations(f"{listed(map(str, names))} go together", tuple(map(str, names)), rows)


def _from_text(text: str) -> GivenRelation:
    found = PACE.fullmatch(text)
    if found:
        rate = _amount(found["amount"]) / DAYS[found["unit"]] * (1.0 if found["way"] == "rises" else -1.0)
        if rate == 0.0:
            raise ValueError("the rate must be positive; fix the column instead")
        name = found["quoted"] or found["plain"]
        return PaceRelation(text, Pace(name, rate, found["most"] is None, found["unit"]))
    found = WITHIN.fullmatch(text)
    if found:
        return WithinRelation(text, _amount(found["amount"]) * DAYS[found["unit"]])
    found = ONE_OF.fullmatch(text)
    if found:
        names = [quoted or plain.strip() for quoted, plain in LISTED_NAME.findall(found["names"])]
        return OneOf(text, tuple(name for name in names if name))
    found = CONDITION.fullmatch(text)
    condition = Formula.parse(found["condition"]) if found else None
    formula = Formula.parse(found["formula"] if found else text)
    if not formula.is_condition or (condition is not None and not condition.is_condition):
        raise ValueError("it compares nothing; write it with =, !=, <, <=, > or >=")
    return FormulaRelation(text, formula, condition)


def _amount(text: str) -> float:
    first, _, second = text.partition("/")
    return float(first) / float(second or 1.0)
