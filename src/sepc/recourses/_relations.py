"""Relations between columns: sums, products and ratios, implications, combinations of values, and a user's function."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.columns.categories import category
from sepc.columns.table import is_table
from sepc.kernels.project import LinearRelations
from sepc.recourses._limits import Limits
from sepc.recourses._relation_columns import RelationColumns, RowValues
from sepc.recourses.given_row import Row
from sepc.wording import counted, listed, shown

# Sides of an equation are equal if they differ by no more than this share of their size.
EQUAL = 1e-9
# Repairing one relation may break another, so all are repaired this many times.
SWEEPS = 2
# A combination that undoes a change of the row is taken only if there is no other.
UNDOING = 1e6

Check = Callable[[RowValues], BoolArray]
Repair = Callable[[RowValues], None]


class Linear(NamedTuple):
    """``slopes @ columns + constant <= 0``, or ``== 0``."""

    slopes: Mapping[str, float]
    constant: float
    is_equal: bool


@dataclass(frozen=True, eq=False)
class Parts:
    """What one relation means for a row: for the bound, for every candidate, and for what follows from a change."""

    linear: Sequence[Linear] = ()
    checks: Sequence[Check] = ()
    repairs: Sequence[Repair] = ()
    is_exact: bool = True


@dataclass(frozen=True, eq=False)
class GivenRelation:
    """One relation, in the words of the user."""

    words: str

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        raise NotImplementedError

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        raise NotImplementedError


class Term(NamedTuple):
    """A number times powers of columns, now and before any change."""

    factor: float
    now: Mapping[str, float]
    before: Mapping[str, float]

    def of(self, values: RowValues) -> FloatArray:
        """Its value in each row."""
        result = np.full(len(values.rows), self.factor * self._constant(values.columns))
        for name, power in self.now.items():
            result = result * np.asarray(values.now(name), dtype=np.float64) ** power
        return result

    def _constant(self, columns: RelationColumns) -> float:
        with np.errstate(all="ignore"):
            return float(np.prod([np.float64(columns.before(name)) ** power for name, power in self.before.items()]))

    def within(self, columns: RelationColumns) -> Term:
        """The term with everything that cannot change as a number."""
        factor, moving = self.factor * self._constant(columns), {}
        for name, power in self.now.items():
            if columns.may_change(name) and name not in columns.choices:
                moving[name] = power
            else:
                with np.errstate(all="ignore"):
                    factor = float(factor * np.float64(columns.number(name)) ** power)
        return Term(factor, moving, {})


@dataclass(frozen=True, eq=False)
class Comparison(GivenRelation):
    """A sum, or a product of powers, that is equal to another one, or at most as large."""

    left: tuple[Term, ...]
    right: tuple[Term, ...]
    is_equal: bool

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return [name for term in (*self.left, *self.right) for name in (*term.now, *term.before)]

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        left, right = ([term.within(columns) for term in side] for side in (self.left, self.right))
        every = [*left, *(Term(-term.factor, term.now, {}) for term in right)]
        slopes: dict[str, float] = {}
        is_sum = all(not term.now or list(term.now.values()) == [1.0] for term in every)
        if is_sum:
            for term in every:
                for name in term.now:
                    slopes[name] = slopes.get(name, 0.0) + term.factor
            constants = [term.factor for term in every if not term.now]
            slopes = {name: slope for name, slope in slopes.items() if slope != 0.0}
            linear, is_exact = [Linear(slopes, sum(constants), self.is_equal)], True
            if not slopes:
                misses = abs(sum(constants)) if self.is_equal else sum(constants)
                is_missed = misses > EQUAL * (1.0 + sum(map(abs, constants)))
                linear = [Linear({}, 1.0, False)] if is_missed else []
        elif len(left) == len(right) == 1:
            for term, sign in ((left[0], 1.0), (right[0], -1.0)):
                for name, power in term.now.items():
                    slopes[name] = slopes.get(name, 0.0) + sign * power
            slopes = {name: power for name, power in slopes.items() if power != 0.0}
            # A numerator of one side only may have any sign when the denominators are multiplied out.
            either = [*left[0].now.items(), *right[0].now.items()]
            positive = {name for i, (name, power) in enumerate(either) if power != 1.0 or name in dict(either[:i])}
            linear, is_exact = _of_product(slopes, left[0].factor, right[0].factor, self.is_equal, columns, positive)
        else:
            raise ValueError("it is neither a sum of columns nor a product of columns on either side")
        self._holds(columns.values(columns.limits.row[np.newaxis]))  # Mistakes such as a category in a sum show here.
        return Parts(linear, [self._holds], [partial(self._repair, slopes, is_sum)] if slopes else [], is_exact)

    def _sides(self, values: RowValues) -> tuple[FloatArray, FloatArray]:
        with np.errstate(all="ignore"):
            left, right = (np.sum([term.of(values) for term in side], axis=0) for side in (self.left, self.right))
        return left, right

    def _holds(self, values: RowValues) -> BoolArray:
        left, right = self._sides(values)
        slack = EQUAL * (1.0 + np.abs(left) + np.abs(right))
        return np.asarray(np.abs(left - right) <= slack if self.is_equal else left <= right + slack)

    def _alone(self) -> str | None:
        """The column that is a side by itself."""
        for (first, *more), other in ((self.left, self.right), (self.right, self.left)):
            names = {name for term in other for name in term.now}
            if not more and first.factor == 1.0 and not first.before and list(first.now.values()) == [1.0]:
                return next((name for name in first.now if name not in names), None)
        return None

    def _repair(self, slopes: Mapping[str, float], is_sum: bool, values: RowValues) -> None:
        """Change the column that stands alone, else the cheapest of those that did not change and can follow."""
        columns, limits, alone = values.columns, values.columns.limits, self._alone()

        def price(name: str) -> tuple[bool, bool, float]:
            j = columns.features[name]
            return name != alone, bool(limits.is_whole[j]), abs(slopes[name]) * limits.model.scale[j] / limits.prices[j]

        for name in sorted(slopes, key=price):
            holds, (left, right), now = self._holds(values), self._sides(values), values.now(name)
            if holds.all():
                return
            j, slope, (low, high) = columns.features[name], slopes[name], columns.ends(name)
            with np.errstate(all="ignore"):
                target = now - (left - right) / slope if is_sum else now * (right / left) ** (1.0 / slope)
            if limits.is_whole[j] and not self.is_equal:
                target = np.floor(target + EQUAL) if slope > 0.0 else np.ceil(target - EQUAL)
            follows = (low <= target) & (target <= high) if name != alone else np.isfinite(target)
            values.set_number(name, ~holds & follows & ((now == columns.before(name)) | (name == alone)), target)


def _of_product(
    powers: Mapping[str, float],
    left: float,
    right: float,
    is_equal: bool,
    columns: RelationColumns,
    positive: Collection[str],
) -> tuple[list[Linear], bool]:
    """What ``left * product of powers <= right`` means for sums: all of it for a ratio of two columns, else less.

    Its logarithm is a sum. Within its range, the logarithm of a column lies above its chord and below its tangents.
    """
    if len(powers) == 2 and sorted(powers.values()) == [-1.0, 1.0]:
        above, below = sorted(powers, key=lambda name: -powers[name])
        if all(columns.ends(name)[0] >= 0.0 for name in powers if name in positive):
            return [Linear({above: left, below: -right}, 0.0, is_equal)], True
    if left <= 0.0 or right <= 0.0 or any(columns.ends(name)[0] <= 0.0 for name in powers):
        return [], False
    constant, linear = float(np.log(left) - np.log(right)), []
    for sign in (1.0, -1.0) if is_equal else (1.0,):
        slopes, offset = {}, sign * constant - EQUAL * (1.0 + abs(constant))
        for name, power in powers.items():
            low, high = columns.ends(name)
            at = low if sign * power > 0.0 else float(np.clip(columns.before(name), low, high))
            slope = float(np.log(high / low)) / (high - low) if sign * power > 0.0 else 1.0 / at
            slopes[name] = sign * power * slope
            offset += sign * power * (float(np.log(at)) - slope * at)
        linear.append(Linear(slopes, offset, False))
    return linear, False


@dataclass(frozen=True, eq=False)
class Membership(GivenRelation):
    """A column has one of some values, or none of them."""

    column: str
    wanted: tuple[Any, ...]
    is_in: bool = True

    @property
    def columns(self) -> list[str]:
        """The column."""
        return [self.column]

    def holds(self, values: RowValues) -> BoolArray:
        """Whether it holds in each row."""
        return np.array([(value in self.wanted) == self.is_in for value in values.now(self.column)], dtype=bool)

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""

        def choose(values: RowValues) -> None:
            wrong = ~self.holds(values)
            if self.column in columns.features:
                values.set_number(self.column, wrong, np.array(float(self.wanted[0])))
            else:
                values.set_category(self.column, wrong, codes[0])

        is_number, choices = self.column in columns.features, self.column in columns.choices
        codes = [code for value in self.wanted if choices for code in columns.codes(self.column, value)]
        can_choose = self.is_in and columns.may_change(self.column) and (is_number or bool(codes))
        return Parts((), [self.holds], [choose] if can_choose else [], is_exact=False)


@dataclass(frozen=True, eq=False)
class Implication(GivenRelation):
    """A relation that holds in rows with some categories."""

    condition: Membership
    conclusion: GivenRelation

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return [*self.condition.columns, *self.conclusion.columns]

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row: if the condition cannot change, all of the conclusion or nothing."""
        then = self.conclusion.parts(columns)
        if not columns.may_change(self.condition.column):
            return then if self.condition.holds(columns.values(columns.limits.row[np.newaxis]))[0] else Parts()

        def holds(values: RowValues) -> BoolArray:
            return np.asarray(then.checks[0](values) | ~self.condition.holds(values))

        def follow(values: RowValues) -> None:
            chosen = self.condition.holds(values)
            some = RowValues(columns, values.rows[chosen])
            for repair in then.repairs:
                repair(some)
            values.rows[chosen] = some.rows

        return Parts((), [holds], [follow], is_exact=False)


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
        try:
            cells = [
                np.array(own, dtype=np.float64 if name in columns.features else object)
                for name, own in zip(self.names, zip(*self.rows, strict=True), strict=True)
            ]
        except (TypeError, ValueError):
            raise ValueError("a column of numbers has a combination that is not a number") from None

        def differing(values: RowValues) -> list[BoolArray]:
            named = zip(self.names, cells, strict=True)
            return [np.asarray(values.now(name)[:, np.newaxis] != cell) for name, cell in named]

        def holds(values: RowValues) -> BoolArray:
            return np.asarray(~np.logical_or.reduce(differing(values)).all(axis=1))

        def take_nearest(values: RowValues) -> None:
            differs = differing(values)
            wrong = np.logical_or.reduce(differs).all(axis=1)
            if not wrong.any():
                return
            taken = self._costs(values, differs, cells).argmin(axis=1)
            for name, cell in zip(self.names, cells, strict=True):
                if name in columns.features:
                    values.set_number(name, wrong, cell[taken])
                    continue
                for value in dict.fromkeys(cell.tolist() if name in columns.choices else []):
                    for code in columns.codes(name, value):
                        values.set_category(name, wrong & (cell[taken] == value), code)

        return Parts((), [holds], [take_nearest], is_exact=False)

    def _costs(self, values: RowValues, differing: list[BoolArray], cells: list[Any]) -> FloatArray:
        """What it costs to take each combination in each row; much if it undoes a change."""
        columns, limits, costs = values.columns, values.columns.limits, np.zeros(differing[0].shape)
        for name, differs, cell in zip(self.names, differing, cells, strict=True):
            now = values.now(name)
            undoes = np.asarray(now != columns.before(name))[:, np.newaxis]
            if name in columns.features:
                j, (low, high) = columns.features[name], columns.ends(name)
                step = (limits.prices[j] * (now[:, np.newaxis] - cell) / limits.model.scale[j]) ** 2
                costs = costs + step + np.where((low <= cell) & (cell <= high), 0.0, np.inf)
            else:
                allowed = np.array([name in columns.choices and bool(columns.codes(name, value)) for value in cell])
                costs = costs + differs + np.where(allowed | ~differs, 0.0, np.inf)
            costs = costs + UNDOING * (differs & undoes)
        return np.asarray(costs)


@dataclass(frozen=True, eq=False)
class Own(GivenRelation):
    """What a function of the user says about a table: which rows can be, or what a column is in them."""

    function: Callable[[Any], Any]
    column: str | None = None

    @property
    def columns(self) -> list[str]:
        """The column that it computes, if it does."""
        return [] if self.column is None else [self.column]

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        name = self.column
        if name is not None and name not in columns.features:
            raise ValueError(f"column {shown(name)} is not a number that the model uses")

        def holds(values: RowValues) -> BoolArray:
            told = self._told(values)
            if name is None:
                return told.astype(bool)
            return np.asarray(np.abs(values.now(name) - told) <= EQUAL * (1.0 + 2.0 * np.abs(told)))

        def compute(values: RowValues) -> None:
            if name is not None and len(values.rows):
                values.set_number(name, np.ones(len(values.rows), dtype=bool), self._told(values))

        repairs = [compute] if name is not None and columns.may_change(name) else []
        return Parts((), [holds], repairs, is_exact=False)

    def _told(self, values: RowValues) -> FloatArray:
        columns = values.columns
        table = columns.tables.of(columns.limits.encode_categories(values.rows.copy()))
        try:
            told = np.asarray(self.function(table), dtype=np.float64).reshape(-1)
        except Exception as error:
            raise ValueError(f"Relation {shown(self.words)}: the function failed: {error!r}.") from error
        if len(told) not in (1, len(values.rows)):
            given, returned = counted(len(values.rows), "row"), counted(len(told), "value")
            raise ValueError(f"Relation {shown(self.words)}: the function was given {given} and returned {returned}.")
        return np.broadcast_to(told, (len(values.rows),))


@dataclass(frozen=True, eq=False)
class Relations:
    """Relations between the columns of a row, under given limits."""

    columns: RelationColumns
    given: Sequence[GivenRelation]
    parts: Sequence[Parts]
    under: Callable[[Limits], Relations]

    @cached_property
    def linear(self) -> LinearRelations | None:
        """The linear relations, in standardised features; None if there are none."""
        every = sorted((own for part in self.parts for own in part.linear), key=lambda own: not own.is_equal)
        if not every:
            return None
        model, rows, ends = self.columns.limits.model, np.zeros((len(every), self.columns.limits.n_features)), []
        for row, own in zip(rows, every, strict=True):
            features = [self.columns.features[name] for name in own.slopes]
            slopes = np.array(list(own.slopes.values()))
            row[features] = slopes * model.scale[features]
            size = float(np.linalg.norm(row)) or 1.0
            row /= size
            ends.append(-(own.constant + float(slopes @ model.shift[features])) / size)
        return LinearRelations(rows, np.array(ends), sum(own.is_equal for own in every))

    @property
    def loose(self) -> tuple[str, ...]:
        """The relations, in words, of which the bound does not know all."""
        return tuple(own.words for own, part in zip(self.given, self.parts, strict=True) if not part.is_exact)

    def allow(self, rows: FloatArray) -> BoolArray:
        """Whether all relations hold in each row."""
        holds, values = np.ones(len(rows), dtype=bool), self.columns.values(rows)
        for part in self.parts:
            for check in part.checks:
                if holds.any():
                    holds &= check(values)
        return holds

    def repair(self, rows: FloatArray) -> FloatArray:
        """Change rows, in place, so that relations hold in more of them; returns the rows."""
        values = self.columns.values(rows)
        for _ in range(SWEEPS if len(rows) else 0):
            for part in self.parts:
                for repair in part.repairs:
                    repair(values)
        return rows


def bind(given: Sequence[GivenRelation], row: Row, table: Any, limits: Limits) -> Relations:
    """The relations under given limits, for a row given as a table; raises a ValueError that quotes the relation."""
    columns, parts = RelationColumns(row, table, limits), []
    for relation in given:
        with _quoting(relation.words):
            for name in relation.columns:
                columns.check(name)
            parts.append(relation.parts(columns))
    return Relations(columns, given, parts, partial(bind, given, row, table))


@contextmanager
def _quoting(words: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"Relation {shown(words)}: {error}.") from error


NAME = r"(?:`[^`]+`|[^\W\d]\w*)"
NUMBER = r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
TOKEN = re.compile(
    rf"\s*(?:(?P<number>{NUMBER})|(?P<of>change|before)\s*\(\s*(?P<own>{NAME})\s*\)|(?P<name>{NAME})|(?P<op>[-+*/^]))"
)
COMPARISON = re.compile(r"(?<![<>=!])(<=|>=|=)(?!=)")
MEMBERSHIP = re.compile(
    rf"\s*(?P<name>{NAME})\s*(?P<op>=|!=|\bnot\s+in\b|\bin\b)\s*(?P<values>['\"\[].*|-?(?:{NUMBER}))\s*", re.DOTALL
)
IMPLICATION = re.compile(r"\s*if\s+(?P<condition>.+?)\s+then\s+(?P<conclusion>.+)", re.DOTALL)


def given_relations(relations: Sequence[Any]) -> list[GivenRelation]:
    """Parse relations; raises a ValueError that quotes the relation."""
    if isinstance(relations, str) or not isinstance(relations, Sequence):
        raise ValueError(f"relations is {relations!r}; give a list, such as ['total = a + b'].")
    return [_relation(given) for given in relations]


def _relation(given: Any) -> GivenRelation:
    if isinstance(given, str):
        with _quoting(given):
            return _from_text(given.strip())
    column, function = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
    if callable(function):
        name = getattr(function, "__name__", "a function")
        words = f"{name} holds" if column is None else f"{column} is computed by {name}"
        return Own(words, function, None if column is None else str(column))
    if is_table(given) or isinstance(given, Mapping):
        return _combinations(given)
    raise ValueError(
        f"A relation is {given!r}; give a text, a table of combinations, a function, or a pair of a column and one."
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
    found = IMPLICATION.fullmatch(text)
    if found:
        condition = _membership(found["condition"])
        if condition is None:
            raise ValueError("the condition must say which categories a column has, such as job = 'none'")
        return Implication(text, condition, _membership(found["conclusion"]) or _from_text(found["conclusion"]))
    sides = COMPARISON.split(text)
    if len(sides) != 3:
        own = _membership(text)
        if own is None:
            raise ValueError("it needs one of =, <= and >=")
        return own
    left, right = (_side(side) for side in (sides[0], sides[2]))
    return Comparison(text, *((right, left) if sides[1] == ">=" else (left, right)), sides[1] == "=")


def _membership(text: str) -> Membership | None:
    found = MEMBERSHIP.fullmatch(text)
    if not found:
        return None
    try:
        values = ast.literal_eval(found["values"])
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{found['values']} is neither a text nor a list of texts") from error
    wanted = tuple(category(value) for value in (values if isinstance(values, list) else [values]))
    return Membership(text, found["name"].strip("`"), wanted, found["op"] in ("=", "in"))


def _side(text: str) -> tuple[Term, ...]:
    """The terms of a sum of products."""
    tokens, at = [], 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if not found:
            raise ValueError(f"{text[at:].strip()!r} is not understood; names with other characters go in backticks")
        tokens.append(found)
        at = found.end()
    terms: list[Term] = []
    while tokens:
        sign = 1.0
        if tokens[0]["op"] in ("+", "-") and (terms or tokens[0]["op"] == "-"):
            sign = -1.0 if tokens.pop(0)["op"] == "-" else 1.0
        elif terms:
            raise ValueError(f"{tokens[0].group().strip()!r} does not follow an operator")
        terms += _product(sign, tokens)
    if not terms:
        raise ValueError("a side of it is empty")
    return tuple(terms)


def _product(factor: float, tokens: list[re.Match[str]]) -> list[Term]:
    """The term at the start of some tokens, which it takes; two of them, if it has a change."""
    now: dict[str, float] = {}
    before: dict[str, float] = {}
    changed, power = None, 1.0
    while True:
        if not tokens or tokens[0]["op"]:
            raise ValueError("a number or a column is missing")
        token, raised = tokens.pop(0), 1.0
        if len(tokens) > 1 and tokens[0]["op"] == "^" and tokens[1]["number"]:
            raised = float(tokens[1]["number"])
            del tokens[:2]
        name = (token["own"] or token["name"] or "").strip("`")
        if token["number"]:
            factor *= float(token["number"]) ** (power * raised)
        elif token["of"] == "change":
            if changed is not None or power * raised != 1.0:
                raise ValueError("a change cannot be in a denominator, a power or a product with another one")
            changed = name
        else:
            own = before if token["of"] else now
            own[name] = own.get(name, 0.0) + power * raised
        if not tokens or tokens[0]["op"] not in ("*", "/"):
            break
        power = 1.0 if tokens.pop(0)["op"] == "*" else -1.0
    if changed is None:
        return [Term(factor, now, before)]
    after = {**now, changed: now.get(changed, 0.0) + 1.0}
    return [Term(factor, after, before), Term(-factor, now, {**before, changed: before.get(changed, 0.0) + 1.0})]
