"""Formulas between columns, as a user writes them: parsed without running any code, evaluated, and made linear."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.wording import listed

# Sides of an equation are equal if they differ by no more than this share of their size.
EQUAL = 1e-9

BEFORE, CHANGE = "before", "change"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "max": np.maximum,
    "min": np.minimum,
    "round": lambda values, digits=0: np.round(values, int(digits)),
    "sqrt": np.sqrt,
}
ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
ALLOWED = (
    *(ast.Name, ast.BoolOp, ast.List, ast.Tuple),
    *(ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop),
)
# Quoted texts and names in backticks are left alone; a single equals sign elsewhere means equality.
QUOTED_OR_EQUALS = re.compile(r"(`[^`]*`|'[^']*'|\"[^\"]*\")|(?<![<>=!])=(?!=)|\^")
PLACEHOLDER = "quoted_column_{}"


class Values(Protocol):
    """Where formulas get their values: the rows to evaluate, and the row before any change."""

    def now(self, column: str) -> NDArray[Any]:
        """The values of a column in the rows."""

    def before(self, column: str) -> Any:
        """The value of a column before any change."""


class Linear(NamedTuple):
    """A linear function of columns."""

    slopes: dict[str, float]
    constant: float

    def __add__(self, other: Any) -> Linear:
        slopes = dict(self.slopes)
        for name, slope in other.slopes.items():
            slopes[name] = slopes.get(name, 0.0) + slope
        return Linear({name: slope for name, slope in slopes.items() if slope != 0.0}, self.constant + other.constant)

    def times(self, factor: float) -> Linear:
        """The function, times a number."""
        return Linear(
            {name: factor * slope for name, slope in self.slopes.items() if factor != 0.0}, factor * self.constant
        )

    def range(self, ends: Callable[[str], tuple[float, float]]) -> tuple[float, float]:
        """The least and the largest value of the function within the ranges of its columns."""
        low = high = self.constant
        for name, slope in self.slopes.items():
            first, second = sorted(slope * end for end in ends(name))
            low, high = low + first, high + second
        return low, high


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula that was parsed."""

    tree: ast.expr
    names: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Parse a formula; raises a ValueError that says what is not understood."""
        names: dict[str, str] = {}

        def plain(found: re.Match[str]) -> str:
            quoted = found.group(1)
            if quoted is None:
                return "**" if found.group() == "^" else "=="
            if not quoted.startswith("`"):
                return quoted
            placeholder = PLACEHOLDER.format(len(names))
            names[placeholder] = quoted[1:-1]
            return placeholder

        try:
            tree = ast.parse(QUOTED_OR_EQUALS.sub(plain, text).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            message = "it is not a formula; write names of columns with other characters in backticks"
            raise ValueError(message) from error
        _check(tree)
        return cls(tree, names)

    @property
    def columns(self) -> list[str]:
        """The columns it names, in order."""
        functions = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        named = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in functions]
        return list(dict.fromkeys(map(self._column, named)))

    @property
    def conjuncts(self) -> Iterator[Formula]:
        """The comparisons that all have to hold: ``a < b < c`` is two, and ``and`` separates them."""
        yield from self._split(self.tree)

    def _split(self, node: ast.expr) -> Iterator[Formula]:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for part in node.values:
                yield from self._split(part)
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            left = node.left
            for op, right in zip(node.ops, node.comparators, strict=True):
                yield Formula(ast.Compare(left, [op], [right]), self.names)
                left = right
        else:
            yield Formula(node, self.names)

    @property
    def is_condition(self) -> bool:
        """Whether it is true or false, not a number."""
        tree = self.tree
        return isinstance(tree, ast.Compare | ast.BoolOp) or (
            isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
        )

    @property
    def sides(self) -> tuple[Formula, type[ast.cmpop], Formula]:
        """The two sides of a comparison."""
        assert isinstance(self.tree, ast.Compare)
        left, (op,), (right,) = self.tree.left, self.tree.ops, self.tree.comparators
        return Formula(left, self.names), type(op), Formula(right, self.names)

    @property
    def column(self) -> tuple[str, bool] | None:
        """The column, if the formula is just that, or just its change; and whether it is the change."""
        if isinstance(self.tree, ast.Name):
            return self._column(self.tree), False
        if _is_call_of(self.tree, CHANGE):
            return self._column(self.tree.args[0]), True  # type: ignore[attr-defined]
        return None

    def of(self, values: Values) -> NDArray[Any]:
        """The value of the formula in each row; conditions are False where they are undefined."""
        with np.errstate(all="ignore"):
            return np.asarray(self._of(self.tree, values))

    def holds(self, values: Values, n: int) -> BoolArray:
        """Whether a condition holds in each of `n` rows."""
        return np.broadcast_to(self.of(values).astype(bool), (n,))

    def _of(self, node: ast.expr, values: Values) -> Any:
        if isinstance(node, ast.Constant):
            return float(node.value) if isinstance(node.value, int | float) else node.value
        if isinstance(node, ast.Name):
            return values.now(self._column(node))
        if isinstance(node, ast.BinOp):
            return ARITHMETIC[type(node.op)](self._number(node.left, values), self._number(node.right, values))
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return ~np.asarray(self._of(node.operand, values), dtype=bool)
            return -self._number(node.operand, values)
        if isinstance(node, ast.BoolOp):
            parts = [np.asarray(self._of(part, values), dtype=bool) for part in node.values]
            together = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
            return together.reduce(np.broadcast_arrays(*parts))
        if isinstance(node, ast.Compare):
            return np.logical_and.reduce(
                np.broadcast_arrays(*(_compare(part, self._of, values) for part in self._comparisons(node)))
            )
        return self._call(node, values)

    def _comparisons(self, node: ast.Compare) -> Iterator[ast.Compare]:
        for part in self._split(node):
            assert isinstance(part.tree, ast.Compare)
            yield part.tree

    def _number(self, node: ast.expr, values: Values) -> FloatArray:
        try:
            return np.asarray(self._of(node, values), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{listed(self.columns)}: a category cannot be used as a number") from None

    def _call(self, node: ast.expr, values: Values) -> Any:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        if node.func.id in (BEFORE, CHANGE):
            column = self._column(node.args[0])
            before = values.before(column)
            return before if node.func.id == BEFORE else self._number(node.args[0], values) - float(before)
        return FUNCTIONS[node.func.id](*(self._number(part, values) for part in node.args))

    def linear(self, known: Callable[[str], float | None], values: Values) -> Linear | None:
        """The formula as a linear function, with columns that cannot change as numbers; None if it is not linear."""
        try:
            return self._linear(self.tree, known, values)
        except (KeyError, ZeroDivisionError, OverflowError):
            return None

    def _linear(self, node: ast.expr, known: Callable[[str], float | None], values: Values) -> Linear | None:
        if isinstance(node, ast.Constant):
            return None if isinstance(node.value, str) else Linear({}, float(node.value))  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            value = known(self._column(node))
            return Linear({self._column(node): 1.0}, 0.0) if value is None else Linear({}, value)
        if _is_call_of(node, CHANGE):
            inside = self._linear(node.args[0], known, values)  # type: ignore[attr-defined]
            before = float(values.before(self._column(node.args[0])))  # type: ignore[attr-defined]
            return None if inside is None else inside + Linear({}, -before)
        if _is_call_of(node, BEFORE):
            known(self._column(node.args[0]))  # type: ignore[attr-defined]
            return Linear({}, float(values.before(self._column(node.args[0]))))  # type: ignore[attr-defined]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inside = self._linear(node.operand, known, values)
            return None if inside is None else inside.times(-1.0)
        if isinstance(node, ast.Call):
            parts = [self._linear(part, known, values) for part in node.args]
            if any(part is None or part.slopes for part in parts):
                return None
            return Linear({}, float(FUNCTIONS[node.func.id](*(part.constant for part in parts if part))))  # type: ignore[attr-defined]
        return self._linear_operation(node, known, values) if isinstance(node, ast.BinOp) else None

    def _linear_operation(self, node: ast.BinOp, known: Callable[[str], float | None], values: Values) -> Linear | None:
        left, right = (self._linear(part, known, values) for part in (node.left, node.right))
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add | ast.Sub):
            return left + right.times(1.0 if isinstance(node.op, ast.Add) else -1.0)
        if not left.slopes and not right.slopes:
            value = ARITHMETIC[type(node.op)](left.constant, right.constant)
            return Linear({}, float(value)) if isinstance(value, float) else None
        if isinstance(node.op, ast.Mult) and not (left.slopes and right.slopes):
            return right.times(left.constant) if right.slopes else left.times(right.constant)
        if isinstance(node.op, ast.Div) and not right.slopes:
            return left.times(1.0 / right.constant)
        return left if isinstance(node.op, ast.Pow) and right == Linear({}, 1.0) else None

    def ratio(self) -> tuple[Formula, Formula] | None:
        """Numerator and denominator, if the formula is a ratio."""
        if isinstance(self.tree, ast.BinOp) and isinstance(self.tree.op, ast.Div):
            return Formula(self.tree.left, self.names), Formula(self.tree.right, self.names)
        return None

    def _column(self, node: ast.expr) -> str:
        assert isinstance(node, ast.Name)
        return self.names.get(node.id, node.id)


def _compare(node: ast.Compare, of: Callable[[ast.expr, Values], Any], values: Values) -> BoolArray:
    left, op, right = of(node.left, values), node.ops[0], node.comparators[0]
    if isinstance(op, ast.In | ast.NotIn):
        assert isinstance(right, ast.List | ast.Tuple)
        found = np.isin(np.asarray(left, dtype=object), np.array([of(part, values) for part in right.elts], object))
        return np.asarray(found if isinstance(op, ast.In) else ~found)
    other = of(right, values)
    if _is_text(left) or _is_text(other):
        same = np.asarray(np.asarray(left, dtype=object) == np.asarray(other, dtype=object))
        if isinstance(op, ast.Eq | ast.NotEq):
            return same if isinstance(op, ast.Eq) else ~same
        raise ValueError("categories have no order; compare them with = or !=")
    one, two = np.asarray(left, dtype=np.float64), np.asarray(other, dtype=np.float64)
    slack = EQUAL * (1.0 + np.abs(one) + np.abs(two))
    return np.asarray(
        {
            ast.Eq: np.abs(one - two) <= slack,
            ast.NotEq: np.abs(one - two) > slack,
            ast.Lt: one < two,
            ast.LtE: one <= two + slack,
            ast.Gt: one > two,
            ast.GtE: one >= two - slack,
        }[type(op)]
    )


def _is_text(values: Any) -> bool:
    return isinstance(values, str) or np.asarray(values).dtype.kind in "OUS"


def _is_call_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _check(tree: ast.expr) -> None:
    """Raise a ValueError unless the formula has only names, numbers, texts, operators and known functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in (BEFORE, CHANGE):
                if len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
                    raise ValueError(f"{name}() takes the name of a column")
            elif name not in FUNCTIONS:
                known = listed(sorted([*FUNCTIONS, BEFORE, CHANGE]))
                raise ValueError(f"there is no function {name or 'of that form'}; the functions are {known}")
            if node.keywords or not node.args or any(isinstance(part, ast.Starred) for part in node.args):
                raise ValueError(f"{name}() takes plain arguments only")
        elif isinstance(node, ast.Compare):
            for op, right in zip(node.ops, node.comparators, strict=True):
                is_list = isinstance(op, ast.In | ast.NotIn)
                if is_list != isinstance(right, ast.List | ast.Tuple) or isinstance(op, ast.Is | ast.IsNot):
                    raise ValueError("compare with =, !=, <, <=, >, >= or 'in [...]'")
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, str | int | float):
                raise ValueError(f"{node.value!r} is neither a number nor a text")
        elif isinstance(node, ast.BinOp):
            if type(node.op) not in ARITHMETIC:
                raise ValueError("the operators are +, -, *, / and ^ for powers")
        elif isinstance(node, ast.UnaryOp):
            if not isinstance(node.op, ast.USub | ast.Not):
                raise ValueError("the operators are +, -, *, / and ^ for powers")
        elif not isinstance(node, ALLOWED):
            raise ValueError("it may hold only names, numbers, quoted texts, operators and functions")
