"""Relations that are formulas: linear for the bound where they can be, and ways to make them hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray
from sepc.recourses.formulas import FLIPPED, Formula, Linear
from sepc.recourses.relation_columns import RelationColumns, RowValues
from sepc.recourses.relations import GivenRelation, LinearRelation, Parts, Repair, pivot_repair

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
