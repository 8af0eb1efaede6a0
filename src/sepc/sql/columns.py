"""The columns of a table as features and codes of categories: mirrors `sepc.columns.preparation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sepc.columns.categories import Categories
from sepc.columns.kinds import Column, Kind
from sepc.columns.preparation import DAYS_A_YEAR, Preparation
from sepc.columns.written import Written
from sepc.estimators.exported import Exported, are_texts
from sepc.sql.expressions import SQL, first_true, in_pairs
from sepc.sql.query import Query
from sepc.wording import listed, shown

# The name of the export target in messages.
TARGET = "SQL"

# The largest double; what exceeds it is infinite.
LARGEST = float(np.finfo(np.float64).max)
# Days beyond all finite dates of a database; PostgreSQL refuses the sine of an infinite one.
FARTHEST_DAY = 1e9

# Whether a row can be decided, in the column `state`.
COMPLETE, HAS_GAPS, IS_INFINITE = 0, 1, 2


@dataclass(frozen=True)
class GivenColumn:
    """A column of the table that features come from."""

    name: str
    kind: Kind
    categories: Categories | None = None
    has_season: bool = False
    written: Written | None = None

    @property
    def is_text(self) -> bool:
        """Whether it holds categories that are text."""
        return self.categories is not None and are_texts(self.name, self.categories, TARGET)


def given_columns(exported: Exported) -> list[GivenColumn]:
    """The columns of the table that the model uses, in order."""
    preparation = exported.decider.encoding_
    if preparation is None:
        return [GivenColumn(name, Kind.NUMBER) for name in exported.model.feature_names]
    used = [column for column in preparation.columns if column.kind is not Kind.LEFT_OUT]
    return [_given_column(column, preparation) for column in used]


def _given_column(column: Column, preparation: Preparation) -> GivenColumn:
    categories, has_season = preparation.categories.get(column.name), column.name in preparation.seasons
    given = GivenColumn(column.name, column.kind, categories, has_season, column.written)
    odd = [] if given.categories is None else [value for value in given.categories.values if not _is_plain(value)]
    if odd:
        raise TypeError(
            f"Column {shown(column.name)} has the category {shown(odd[0])}, for which {TARGET} has no type."
        )
    return given


def text_column_comment(columns: list[GivenColumn]) -> SQL:
    """A comment that names the columns that were text in training but hold numbers or dates here; may be empty."""
    read = [f"{shown(column.name)} ({column.written.named()})" for column in columns if column.written is not None]
    if not read:
        return ""
    named = listed(read).replace("*/", "* /").replace("/*", "/ *")
    return f"/* In training these columns were text; here they hold the numbers or dates it stands for: {named}. */\n"


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def add_features(query: Query, columns: list[GivenColumn], typical: Mapping[int, float]) -> tuple[list[SQL], list[SQL]]:
    """Add stages that compute the features `x0`, `x1`, ..., and `state`; returns them and the codes of categories.

    The features and codes of dropped columns have `typical` values, by position in a row.
    """
    given = {query.prefixed(f"g{i}"): column for i, column in enumerate(columns)}
    query.begin({name: _read(query, column) for name, column in given.items()})
    codes = {name: query.prefixed(f"c{name.removeprefix(query.prefixed('g'))}") for name in given}
    with_codes = {name: column for name, column in given.items() if column.categories is not None}
    query.add("coded", {codes[name]: _code(query, name, column) for name, column in with_codes.items()})
    values = [value for name, column in given.items() for value in _features(query, name, codes[name], column)]
    values = [query.dialect.number(typical[i]) if i in typical else value for i, value in enumerate(values)]
    features = {query.prefixed(f"x{i}"): value for i, value in enumerate(values)}
    # Values of a dropped column may be missing.
    numbers = [name for name in given if name not in with_codes and name in values]
    query.add("features", features | {query.prefixed("state"): _state(query, numbers)})
    known = [str(int(typical.get(len(values) + q, -1))) for q in range(len(with_codes))]
    return list(features), [codes[name] if code == "-1" else code for name, code in zip(with_codes, known, strict=True)]


def _read(query: Query, column: GivenColumn) -> SQL:
    dialect = query.dialect
    # With the table's name in front: SQLite reads a quoted name that is not a column as text.
    name = f"{query.alias}.{dialect.name(column.name)}"
    if column.kind is Kind.DATE:
        return dialect.given_days(name)
    return dialect.given_text(name) if column.is_text else dialect.given_number(name)


def _code(query: Query, name: SQL, column: GivenColumn) -> SQL:
    """The position of a value among the categories; their number for one not seen in training."""
    values = () if column.categories is None else column.categories.values
    dialect, unseen = query.dialect, str(len(values))
    is_gap = f"{name} IS NULL OR TRIM({name}) = ''" if column.is_text else f"{name} IS NULL"
    tests = [(is_gap, str(values.index(None)) if None in values else unseen)]
    for code, value in enumerate(values):
        if value is not None:
            literal = dialect.text(str(value)) if column.is_text else dialect.number(float(value))
            tests.append((f"{name} = {literal}", str(code)))
    return first_true(tests, unseen)


def _features(query: Query, name: SQL, code: SQL, column: GivenColumn) -> Iterator[SQL]:
    if column.categories is not None:
        for encodings in column.categories.encodings.T:
            yield query.dialect.look_up([*encodings, 0.0], code)
        return
    yield name
    if column.has_season:
        number = query.dialect.number
        days = query.dialect.clip(name, -FARTHEST_DAY, FARTHEST_DAY)
        angle = f"{days} * {number(2.0 * np.pi)} / {number(DAYS_A_YEAR)}"
        yield f"sin({angle})"
        yield f"cos({angle})"


def _state(query: Query, numbers: list[SQL]) -> SQL:
    if not numbers:
        return str(COMPLETE)
    has_gaps = in_pairs([f"{name} IS NULL" for name in numbers], "OR")
    is_infinite = in_pairs([f"abs({name}) > {query.dialect.number(LARGEST)}" for name in numbers], "OR")
    return first_true([(has_gaps, str(HAS_GAPS)), (is_infinite, str(IS_INFINITE))], str(COMPLETE))
