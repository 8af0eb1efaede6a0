"""Relations between columns as a user gives them: formulas, combinations of values, and computed columns."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.columns.categories import category
from sepc.columns.table import is_table
from sepc.recourses._formulas import EQUAL, FLIPPED, Formula, Linear
from sepc.recourses._limits import DAYS, Limits
from sepc.recourses._pace import Pace, PaceRelation, Time, WithinRelation
from sepc.recourses._relation_columns import (
    GivenRelation,
    LinearRelation,
    Parts,
    RelationColumns,
    Relations,
    Repair,
    RowValues,
    pivot_repair,
)
from sepc.recourses.given_row import Row
from sepc.wording import counted, listed, shown

# How far past its limit a number goes if it must not be equal to it, in standard deviations; whole numbers go by one.
STRICTLY = 1e-3


@dataclass(frozen=True, eq=False)
class FormulaRelation(GivenRelation):
    """A comparison, or several, that hold always or under a condition."""

    formula: Formula
    condition: Formula | None = None

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return [*self.formula.columns, *(self.condition.columns if self.condition else [])]

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        condition, own = self.condition, columns.values(columns.limits.row[np.newaxis])
        if condition and not any(map(columns.may_change, condition.columns)):
            if not condition.holds(own, 1)[0]:
                return Parts()
            condition = None
        linear: list[LinearRelation] = []
        repairs: list[Repair] = []
        n_linear, conjuncts = 0, list(self.formula.conjuncts)
        for formula in conjuncts:
            found = _linear_relation(formula, columns)
            n_linear += found is not None
            always = [found] if found else []
            linear += [] if condition else always
            repairs += [_conditional(repair, condition) for repair in _repairs(formula, columns, found)]

        def holds(values: RowValues) -> BoolArray:
            n = len(values.rows)
            kept = self.formula.holds(values, n)
            return kept if condition is None else kept | ~condition.holds(values, n)

        holds(own)  # Mistakes such as an order of categories show here.
        return Parts(linear, [holds], repairs, condition is None and n_linear == len(conjuncts))


def _linear_relation(formula: Formula, columns: RelationColumns) -> LinearRelation | None:
    """A comparison as a linear relation; None if it is not one."""
    if not isinstance(formula.tree, ast.Compare):
        return None
    own = columns.values(columns.limits.row[np.newaxis])
    left, op, right = formula.sides
    if op not in FLIPPED or op is ast.NotEq:
        return None
    for one, kind, other in ((left, op, right), (right, FLIPPED[op], left)):
        ratio, limit = one.ratio(), other.linear(columns.known, own)
        if ratio and limit and not limit.slopes and one.linear(columns.known, own) is None:
            above, below = (part.linear(columns.known, own) for part in ratio)
            if above is None or below is None:
                return None
            low, high = below.range(columns.ends)
            # Multiplied by a denominator that does not change its sign, a limit of a ratio is linear.
            if low < 0.0 < high or low == high == 0.0:
                return None
            difference = above + below.times(-limit.constant)
            return _signed(difference if low >= 0.0 else difference.times(-1.0), kind)
    sides = left.linear(columns.known, own), right.linear(columns.known, own)
    return None if None in sides else _signed(sides[0] + sides[1].times(-1.0), op)  # type: ignore[union-attr,operator]


def _signed(difference: Linear, op: type[ast.cmpop]) -> LinearRelation:
    is_below = op in (ast.Lt, ast.LtE, ast.Eq)
    return LinearRelation(difference if is_below else difference.times(-1.0), op is ast.Eq)


def _repairs(formula: Formula, columns: RelationColumns, linear: LinearRelation | None) -> Iterator[Repair]:
    """Ways to make a comparison hold by changing one column."""
    if not isinstance(formula.tree, ast.Compare):
        return
    left, op, right = formula.sides
    if op in (ast.In, ast.NotIn):
        yield from _choose(columns, left, [Formula(part, right.names) for part in right.tree.elts], op)  # type: ignore[attr-defined]
        return
    for one, kind, other in ((left, op, right), (right, FLIPPED[op], left)):
        own = one.column
        if own is None or not columns.may_change(own[0]):
            continue
        if columns.is_category(own[0]):
            yield from _choose(columns, one, [other], ast.In if kind is ast.Eq else ast.NotIn)
            return
        if linear is None and kind is not ast.NotEq:
            yield _set_number(formula, own, kind, other)
            return
        if linear is not None:
            is_strict = kind in (ast.Lt, ast.Gt)
            yield from [_set_number(formula, own, kind, other)] if is_strict else pivot_repair(columns, linear, own[0])
            return
    if linear is not None:
        yield from pivot_repair(columns, linear, None)


def _choose(columns: RelationColumns, side: Formula, given: list[Formula], op: type[ast.cmpop]) -> Iterator[Repair]:
    """Choose the first category given, if it may be chosen; nothing is done if some are to be avoided."""
    own = side.column
    if own is None or op is not ast.In or not columns.is_category(own[0]):
        return
    column = own[0]
    wanted = [value.tree.value for value in given if isinstance(value.tree, ast.Constant)]
    codes = [code for value in wanted for code in columns.codes(column, value)]

    def choose(values: RowValues) -> None:
        wrong = np.array([now not in wanted for now in values.now(column)], dtype=bool)
        values.set_category(column, wrong, codes[0])

    if codes:
        yield choose


def _set_number(formula: Formula, own: tuple[str, bool], op: type[ast.cmpop], other: Formula) -> Repair:
    """Set a column to what the other side of a comparison says, where the comparison does not hold."""
    column, is_change = own

    def set_number(values: RowValues) -> None:
        limits, j = values.columns.limits, values.columns.feature(column)
        target = np.broadcast_to(other.of(values).astype(np.float64), (len(values.rows),))
        target = target + (float(values.before(column)) if is_change else 0.0)
        if op in (ast.Lt, ast.LtE) and limits.is_whole[j]:
            target = np.ceil(target) - 1.0 if op is ast.Lt else np.floor(target)
        elif op in (ast.Gt, ast.GtE) and limits.is_whole[j]:
            target = np.floor(target) + 1.0 if op is ast.Gt else np.ceil(target)
        elif op in (ast.Lt, ast.Gt):
            target = target + (STRICTLY if op is ast.Gt else -STRICTLY) * limits.model.scale[j]
        wrong = ~formula.holds(values, len(values.rows)) | (op is ast.Eq)
        values.set_number(column, wrong & np.isfinite(target), target)

    return set_number


def _conditional(repair: Repair, condition: Formula | None) -> Repair:
    """The same repair, only in rows in which a condition holds."""
    if condition is None:
        return repair

    def where(values: RowValues) -> None:
        chosen = condition.holds(values, len(values.rows))
        some = RowValues(values.columns, values.rows[chosen])
        repair(some)
        values.rows[chosen] = some.rows

    return where


# A combination that undoes a change of the row is taken only if there is no other.
UNDOING = 1e6


@dataclass(frozen=True, eq=False)
class OneOf(GivenRelation):
    """Columns of zeros and a single one: a category that was encoded before."""

    names: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return list(self.names)

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        for name in self.names:
            if columns.feature(name) is None or columns.before(name) not in (0.0, 1.0):
                raise ValueError(f"column {shown(name)} is not a number 0 or 1 that the model uses")
        function = Linear({}, -1.0)
        for name in self.names:
            known = columns.known(name)
            function = function + (Linear({name: 1.0}, 0.0) if known is None else Linear({}, known))

        def holds(values: RowValues) -> BoolArray:
            table = np.column_stack([values.now(name) for name in self.names])
            return np.asarray(np.isin(table, (0.0, 1.0)).all(axis=1) & (table.sum(axis=1) == 1.0))

        def leave_new_one(values: RowValues) -> None:
            table = np.column_stack([values.now(name) for name in self.names])
            before = np.array([float(values.before(name)) for name in self.names])
            new = (table == 1.0) & (before == 0.0)
            for name, is_new in zip(self.names, new.T, strict=True):
                values.set_number(name, new.any(axis=1) & ~is_new, np.zeros(len(table)))

        is_exact = all(columns.limits.is_whole[columns.feature(name)] for name in self.names)
        return Parts([LinearRelation(function, True)], [holds], [leave_new_one], is_exact)


@dataclass(frozen=True, eq=False)
class Combinations(GivenRelation):
    """The combinations of values that some columns can have."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return list(self.names)

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        known = [columns.feature(name) is not None for name in self.names]
        try:
            cells = [
                np.array([row[i] for row in self.rows], dtype=np.float64 if is_number else object)
                for i, is_number in enumerate(known)
            ]
        except (TypeError, ValueError):
            raise ValueError("a column of numbers has a combination that is not a number") from None

        def differs(values: RowValues) -> list[BoolArray]:
            return [
                np.asarray(values.now(name)[:, np.newaxis] != cell)
                for name, cell in zip(self.names, cells, strict=True)
            ]

        def holds(values: RowValues) -> BoolArray:
            return np.asarray(~np.logical_or.reduce(differs(values)).all(axis=1))

        def take_nearest(values: RowValues) -> None:
            differing = differs(values)
            wrong = np.logical_or.reduce(differing).all(axis=1)
            if wrong.any():
                self._set(values, wrong, self._costs(values, differing, cells).argmin(axis=1), cells)

        return Parts((), [holds], [take_nearest], is_exact=False)

    def _costs(self, values: RowValues, differing: list[BoolArray], cells: list[Any]) -> FloatArray:
        """What it costs to take each combination in each row; much if it undoes a change."""
        columns, costs = values.columns, np.zeros(differing[0].shape)
        for name, differs, cell in zip(self.names, differing, cells, strict=True):
            now, j = values.now(name), columns.feature(name)
            undoes = np.asarray(now != values.before(name))[:, np.newaxis]
            if j is None:
                step = np.asarray(differs, dtype=np.float64)
                allowed = [bool(columns.codes(name, value)) for value in cell] if columns.is_category(name) else False
                costs = costs + np.where(np.asarray(allowed) | ~differs, 0.0, np.inf)
            else:
                limits = columns.limits
                step = (limits.prices[j] * (now[:, np.newaxis] - cell) / limits.model.scale[j]) ** 2
                costs = costs + np.where((limits.low[j] <= cell) & (cell <= limits.high[j]), 0.0, np.inf)
            costs = costs + step + UNDOING * (differs & undoes)
        return np.asarray(costs)

    def _set(self, values: RowValues, wrong: BoolArray, taken: Any, cells: list[Any]) -> None:
        columns = values.columns
        for name, cell in zip(self.names, cells, strict=True):
            if columns.is_category(name):
                for value in dict.fromkeys(cell.tolist()):
                    for code in columns.codes(name, value):
                        values.set_category(name, wrong & (cell[taken] == value), code)
            elif columns.feature(name) is not None:
                values.set_number(name, wrong, cell[taken])


@dataclass(frozen=True, eq=False)
class Derived(GivenRelation):
    """A column that a function of the user computes from a table."""

    column: str
    function: Callable[[Any], Any]

    @property
    def columns(self) -> list[str]:
        """The columns it is known to be about."""
        return [self.column]

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        if columns.feature(self.column) is None:
            raise ValueError(f"column {shown(self.column)} is not a number that the model uses")

        def computed(values: RowValues) -> FloatArray:
            table = columns.tables.of(columns.limits.encode_categories(values.rows.copy()))
            try:
                result = np.asarray(self.function(table), dtype=np.float64).reshape(-1)
            except Exception as error:
                raise ValueError(f"The function that computes {shown(self.column)} failed: {error!r}.") from error
            if len(result) not in (1, len(values.rows)):
                given, returned = counted(len(values.rows), "row"), counted(len(result), "value")
                raise ValueError(f"The function for {shown(self.column)} was given {given} and returned {returned}.")
            return np.broadcast_to(result, (len(values.rows),))

        def holds(values: RowValues) -> BoolArray:
            own, other = values.now(self.column), computed(values)
            return np.asarray(np.abs(own - other) <= EQUAL * (1.0 + np.abs(own) + np.abs(other)))

        def compute(values: RowValues) -> None:
            values.set_number(self.column, np.ones(len(values.rows), dtype=bool), computed(values))

        return Parts((), [holds], [compute] if columns.may_change(self.column) else [], is_exact=False)


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
