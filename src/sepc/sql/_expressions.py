"""Long expressions from short ones, never deeply nested: SQLite and DuckDB allow a depth of 1,000."""

from __future__ import annotations

from collections.abc import Sequence

# An SQL expression, or the name of a column.
SQL = str

# Arguments that a function may have in SQLite.
MOST_ARGUMENTS = 100


def total(terms: Sequence[SQL]) -> SQL:
    """The sum of some terms, in pairs of pairs.

    Examples
    --------
    >>> total(["a", "b", "c", "d"])
    '((a + b) + (c + d))'
    """
    return in_pairs(terms, "+") if terms else "0"


def in_pairs(terms: Sequence[SQL], operator: str) -> SQL:
    """Terms joined by an associative operator, in pairs of pairs."""
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) + 1) // 2
    return f"({in_pairs(terms[:middle], operator)} {operator} {in_pairs(terms[middle:], operator)})"


def extreme(function: str, terms: Sequence[SQL]) -> SQL:
    """The smallest or the largest of some terms, by a function that takes a limited number of them."""
    if len(terms) == 1:
        return terms[0]
    if len(terms) <= MOST_ARGUMENTS:
        return f"{function}({', '.join(terms)})"
    groups = [terms[start : start + MOST_ARGUMENTS] for start in range(0, len(terms), MOST_ARGUMENTS)]
    return extreme(function, [extreme(function, group) for group in groups])


def first_true(tests: Sequence[tuple[SQL, SQL]], otherwise: SQL) -> SQL:
    """The value of the first test that holds.

    Examples
    --------
    >>> first_true([("a = 1", "2")], "0")
    'CASE WHEN a = 1 THEN 2 ELSE 0 END'
    """
    if not tests:
        return otherwise
    return f"CASE {' '.join(f'WHEN {test} THEN {value}' for test, value in tests)} ELSE {otherwise} END"


def steps(column: SQL, knots: Sequence[SQL], levels: Sequence[SQL]) -> SQL:
    """A step function: the level below the first knot, or from each knot up, found by bisection.

    Examples
    --------
    >>> steps("x", ["1", "2"], ["10", "20", "30"])
    'CASE WHEN x < 2 THEN CASE WHEN x < 1 THEN 10 ELSE 20 END ELSE 30 END'
    """
    if len(set(levels)) == 1:
        return levels[0]
    middle = len(knots) // 2
    below = steps(column, knots[:middle], levels[: middle + 1])
    above = steps(column, knots[middle + 1 :], levels[middle + 1 :])
    return f"CASE WHEN {column} < {knots[middle]} THEN {below} ELSE {above} END"


def choose(position: SQL, values: Sequence[SQL]) -> SQL:
    """The value at a position, given by a column of integers from 0."""
    return steps(position, [str(i) for i in range(1, len(values))], values)
