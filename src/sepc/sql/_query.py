"""A query in stages, each a common table expression with more columns, and how databases write its expressions."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepc.columns.preparation import DAY
from sepc.estimators.exported import check_encodable
from sepc.wording import shown

# An SQL expression, or the name of a column.
SQL = str

# Arguments that a function may have in SQLite.
MOST_ARGUMENTS = 100


def total(terms: Sequence[SQL]) -> SQL:
    """The sum of some terms, in pairs of pairs."""
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
    """The value of the first test that holds."""
    if not tests:
        return otherwise
    return f"CASE {' '.join(f'WHEN {test} THEN {value}' for test, value in tests)} ELSE {otherwise} END"


def steps(column: SQL, knots: Sequence[SQL], levels: Sequence[SQL]) -> SQL:
    """A step function: the level below the first knot, or from each knot up, found by bisection."""
    if len(set(levels)) == 1:
        return levels[0]
    middle = len(knots) // 2
    below = steps(column, knots[:middle], levels[: middle + 1])
    above = steps(column, knots[middle + 1 :], levels[middle + 1 :])
    return f"CASE WHEN {column} < {knots[middle]} THEN {below} ELSE {above} END"


def choose(position: SQL, values: Sequence[SQL]) -> SQL:
    """The value at a position, given by a column of integers from 0."""
    return steps(position, [str(i) for i in range(1, len(values))], values)


MICROSECONDS_A_DAY = int(DAY / np.timedelta64(1, "us"))
# Smaller coefficients add nothing to a sum of coordinates, but PostgreSQL raises an error if a product underflows.
SMALLEST = 1e-80


@dataclass(frozen=True)
class Dialect:
    """How a database writes SQL: names of types and functions, and templates in which a column or table is put."""

    double: str
    text_type: str
    collation: str = ""
    number_form: str = "{}"
    microseconds: str = "epoch_us({column})"
    # What the query carries along, so that it can output all columns of the table at the end; and these columns.
    whole_row: str = "{table}"
    all_columns: str = "{row}.*"
    greatest: str = "greatest"
    least: str = "least"
    fence: str = ""
    last_stage: str = ""
    tells_case_apart: bool = False
    most_columns: int = sys.maxsize
    has_lists: bool = False

    def name(self, name: str) -> SQL:
        """A quoted name of a table or column."""
        return _quote(name, '"')

    def text(self, text: str) -> SQL:
        """A text literal."""
        return _quote(text, "'")

    def boolean(self, value: bool) -> SQL:
        """A Boolean literal."""
        return str(value).upper()

    def number(self, value: float) -> SQL:
        """A double literal with all its digits."""
        digits = repr(value)
        return self.number_form.format(digits if "e" in digits or self.number_form != "{}" else f"{digits}e0")

    def numbers(self, values: ArrayLike) -> list[SQL]:
        """Double literals."""
        return [self.number(value) for value in np.asarray(values, dtype=np.float64).tolist()]

    def given_number(self, column: SQL) -> SQL:
        """A column of any numeric type as doubles; NULL for a missing value."""
        return f"NULLIF(CAST({column} AS {self.double}), CAST('NaN' AS {self.double}))"

    def given_text(self, column: SQL) -> SQL:
        """A column as texts that are equal only if all their characters are."""
        return f"CAST({column} AS {self.text_type}){self.collation}"

    def given_days(self, column: SQL) -> SQL:
        """A column of dates as days since 1970, with their fraction."""
        microseconds = self.microseconds.format(column=column)
        return f"CAST({microseconds} AS {self.double}) / {self.number(float(MICROSECONDS_A_DAY))}"

    def clip(self, column: SQL, low: float, high: float) -> SQL:
        """A column clipped to these limits; in DuckDB this is faster than `greatest` and `least`."""
        below, above = self.number(low), self.number(high)
        return first_true([(f"{column} < {below}", below), (f"{column} > {above}", above)], column)

    def at_least_zero(self, column: SQL) -> SQL:
        """A column with zero as its minimum, for values that are negative only by rounding."""
        return first_true([(f"{column} < {self.number(0.0)}", self.number(0.0))], column)

    def look_up(self, values: ArrayLike, position: SQL) -> SQL:
        """The number at a position, counted from 0."""
        return choose(position, self.numbers(values))

    def vector(self, name: SQL, values: Sequence[SQL]) -> dict[SQL, SQL]:
        """The columns that hold a vector for `item` and `dot`."""
        return {f"{name}{i}": value for i, value in enumerate(values)}

    def item(self, name: SQL, i: int) -> SQL:
        """A number of a vector."""
        return f"{name}{i}"

    def dot(self, name: SQL, coefficients: ArrayLike, constant: float = 0.0) -> SQL:
        """The sum of the numbers of a vector times these coefficients, plus a constant."""
        terms = [] if constant == 0.0 else [self.number(constant)]
        for i, coefficient in enumerate(np.asarray(coefficients, dtype=np.float64).tolist()):
            if abs(coefficient) > SMALLEST:
                terms.append(f"{self.item(name, i)} * {self.number(coefficient)}")
        return total(terms) if terms else self.number(0.0)

    def source(self, last: SQL, row: SQL, table: SQL, alias: SQL) -> SQL:
        """Where the columns of the last SELECT come from."""
        return last


@dataclass(frozen=True)
class DuckDB(Dialect):
    """DuckDB."""

    double: str = "DOUBLE"
    text_type: str = "VARCHAR"
    collation: str = ' COLLATE "binary"'
    has_lists: bool = True
    last_stage: str = "MATERIALIZED "

    def vector(self, name: SQL, values: Sequence[SQL]) -> dict[SQL, SQL]:
        """One column: a list."""
        return {name: f"[{', '.join(values)}]"}

    def item(self, name: SQL, i: int) -> SQL:
        """A number of a vector."""
        return f"{name}[{i + 1}]"

    def look_up(self, values: ArrayLike, position: SQL) -> SQL:
        """The number at a position, counted from 0."""
        return f"[{', '.join(self.numbers(values))}][{position} + 1]"

    def dot(self, name: SQL, coefficients: ArrayLike, constant: float = 0.0) -> SQL:
        """An inner product of lists, which DuckDB computes faster than a sum of products."""
        product = f"list_inner_product({name}, [{', '.join(self.numbers(coefficients))}])"
        return product if constant == 0.0 else f"({product} + {self.number(constant)})"


@dataclass(frozen=True)
class Postgres(Dialect):
    """PostgreSQL."""

    double: str = "double precision"
    text_type: str = "text"
    collation: str = ' COLLATE "C"'
    # Without the type it would be a decimal number, whose arithmetic is slow.
    number_form: str = "'{}'::float8"
    microseconds: str = "(EXTRACT(EPOCH FROM {column}) * 1000000)"
    all_columns: str = "({row}).*"
    fence: str = " OFFSET 0"
    tells_case_apart: bool = True
    most_columns: int = 1664

    def text(self, text: str) -> SQL:
        """A text literal."""
        return postgres_text(text)


# Date functions of SQLite resolve only milliseconds, so what follows the seconds is read as a fraction.
OF_TEXT = (
    "CASE WHEN {column} GLOB '[0-9][0-9][0-9][0-9]-*' AND substr({column}, 12) NOT GLOB '*[-+]*' THEN "
    "1000000 * CAST(strftime('%s', substr({column}, 1, 19)) AS INTEGER) + "
    "CAST(round(1e6 * CAST('0' || substr({column}, 20, 7) AS REAL)) AS INTEGER) END"
)


@dataclass(frozen=True)
class SQLite(Dialect):
    """SQLite 3.35 or later, built with its mathematical functions."""

    double: str = "REAL"
    text_type: str = "TEXT"
    collation: str = " COLLATE BINARY"
    microseconds: str = OF_TEXT
    # The number of the row, since SQLite has no type for rows. Rows of a view have none, which must be an error.
    whole_row: str = "COALESCE({table}._rowid_, abs(-9223372036854775807 - 1))"
    all_columns: str = "{table}.*"
    greatest: str = "max"
    least: str = "min"
    fence: str = " LIMIT -1 OFFSET 0"
    most_columns: int = 2000

    def given_number(self, column: SQL) -> SQL:
        """A column of numbers; anything else in it is a missing value, where a cast would make it zero."""
        return f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN CAST({column} AS REAL) END"

    def source(self, last: SQL, row: SQL, table: SQL, alias: SQL) -> SQL:
        """The decisions, and for each of them its row, which is read again by its number."""
        return f"{last} CROSS JOIN {table} AS {alias} ON {alias}._rowid_ = {last}.{row}"


# As local wall-clock time without a time zone, as pandas reads it.
LOCAL = "CAST({column} AS TIMESTAMP_NTZ)"


@dataclass(frozen=True)
class Spark(Dialect):
    """Spark SQL."""

    double: str = "DOUBLE"
    text_type: str = "STRING"
    number_form: str = "{}D"
    microseconds: str = (
        f"({MICROSECONDS_A_DAY}L * unix_date(CAST({LOCAL} AS DATE)) + 3600000000L * hour({LOCAL}) + "
        f"60000000L * minute({LOCAL}) + CAST(1000000 * extract(SECOND FROM {LOCAL}) AS BIGINT))"
    )
    whole_row: str = "struct({table}.*)"

    def name(self, name: str) -> SQL:
        """A quoted name, in which ``${name}`` would be replaced by a variable even between quotes."""
        if "${" in name:
            raise ValueError(f"Spark takes ${{ in {shown(name)} as the beginning of a variable; rename the column.")
        return _quote(name, "`")

    def text(self, text: str) -> SQL:
        """A text literal."""
        return spark_text(text)


DIALECTS: Mapping[str, Dialect] = {"duckdb": DuckDB(), "postgres": Postgres(), "sqlite": SQLite(), "spark": Spark()}


def check_text(text: str) -> str:
    """Return the text, or raise ValueError if a database cannot hold it."""
    if "\0" in text:
        raise ValueError(f"{shown(text)} has a null character, which SQL cannot hold.")
    return check_encodable(text, "SQL")


def _quote(text: str, quote: str) -> str:
    """The text between quotes, with quotes inside doubled."""
    return quote + check_text(text).replace(quote, 2 * quote) + quote


def postgres_text(text: str) -> str:
    r"""A text literal of PostgreSQL, which does not depend on `standard_conforming_strings`."""
    if "\\" not in text:
        return _quote(text, "'")
    return "E" + _quote(text.replace("\\", "\\\\"), "'")


def spark_text(text: str) -> str:
    r"""A text literal of Spark; given as bytes if a setting could change the text."""
    if any(character in text for character in "\\'${"):
        return f"CAST(X'{check_text(text).encode().hex()}' AS STRING)"
    return _quote(text, "'")


@dataclass(frozen=True)
class Stage:
    """One stage: its name, the columns it adds, and its FROM clause."""

    name: SQL
    columns: Mapping[SQL, SQL]
    source: SQL


class Query:
    """A query being built. All names that it adds begin with the prefix, and none of them needs quotes."""

    def __init__(self, dialect: Dialect, prefix: str, table: SQL) -> None:
        self.dialect, self.prefix, self.table = dialect, prefix, table
        self.alias, self.row = self.prefixed("table"), self.prefixed("row")
        self._stages: list[Stage] = []
        self._constants: list[SQL] = []

    def prefixed(self, name: str) -> SQL:
        """A name with the prefix."""
        return f"{self.prefix}{name}"

    def constant(self, name: SQL, columns: Collection[SQL], rows: Collection[Collection[int]]) -> None:
        """Add a small table of whole numbers."""
        values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
        self._constants.append(f"{name}({', '.join(columns)}) AS (VALUES {values})")

    def begin(self, columns: Mapping[SQL, SQL]) -> None:
        """Add the first stage, which reads the table."""
        whole = {self.row: self.dialect.whole_row.format(table=self.alias)}
        self._stages.append(Stage(self.prefixed("given"), whole | dict(columns), f"{self.table} AS {self.alias}"))

    def add(self, name: str, columns: Mapping[SQL, SQL], join: SQL = "") -> None:
        """Add columns, computed from those of the stages before."""
        if columns:
            self._stages.append(Stage(self.prefixed(name), columns, f"{self._stages[-1].name}{join}"))

    def finish(self, outputs: Mapping[SQL, SQL]) -> SQL:
        """The text of the query, whose result has all columns of the table and these `outputs`."""
        last = self._stages[-1].name
        needed = {self.row} | self._names_in(outputs.values(), self._stages)
        parts = []
        for i, stage in reversed(list(enumerate(self._stages))):
            new = {name: value for name, value in stage.columns.items() if name in needed}
            kept = sorted(needed - set(new))
            parts.append(self._write(stage, kept, new))
            needed = set(kept) | self._names_in([*new.values(), stage.source], self._stages[:i])
        added = ", ".join(f"{value} AS {self.prefixed(name)}" for name, value in outputs.items())
        source = self.dialect.source(last, self.row, self.table, self.alias)
        columns = self.dialect.all_columns.format(row=self.row, table=self.alias)
        stages = ",\n".join([*self._constants, *reversed(parts)])
        return f"WITH {stages}\nSELECT {columns}, {added}\nFROM {source}\n"

    def _write(self, stage: Stage, kept: Collection[SQL], new: Mapping[SQL, SQL]) -> SQL:
        n_columns, most = len(kept) + len(new), self.dialect.most_columns
        if n_columns > most:
            raise ValueError(
                f"The statement would have {n_columns:,} columns in a SELECT, where the database allows {most:,}. Fit "
                "with fewer features or max_ellipsoids, or export to DuckDB or Spark."
            )
        columns = ", ".join([*kept, *(f"{value} AS {name}" for name, value in new.items())])
        kind = self.dialect.last_stage if stage is self._stages[-1] else ""
        return f"{stage.name} AS {kind}(SELECT {columns} FROM {stage.source}{self.dialect.fence})"

    def _names_in(self, texts: Iterable[SQL], stages: Sequence[Stage]) -> set[SQL]:
        """The columns of stages that expressions use, and any whose name occurs only in a text literal."""
        known = {name for stage in stages for name in stage.columns}
        return {name for text in texts for name in re.findall(rf"\b{self.prefix}\w+", text)} & known
