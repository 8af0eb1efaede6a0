"""`Preparation` in a model file."""

from __future__ import annotations

from typing import Any

from sepc.columns.categories import Categories
from sepc.columns.kinds import Column, Kind
from sepc.columns.preparation import Preparation
from sepc.io.reader import Reader
from sepc.io.values import read_simple_value, simple_value
from sepc.io.writer import Node, Writer

# Encodings are log-odds, which are never larger.
MOST_ENCODING = 1e3


def preparation_to_node(preparation: Preparation, writer: Writer) -> Node:
    """Write what the columns of a table are."""
    for i, categories in enumerate(preparation.categories.values()):
        writer.under(f"categories/{i}").put(encodings=categories.encodings)
    return {
        "columns": [{"name": own.name, "kind": own.kind.value, "why": own.why} for own in preparation.columns],
        "categories": [
            {"name": name, "values": [simple_value(value) for value in categories.values]}
            for name, categories in preparation.categories.items()
        ],
        "seasons": list(preparation.seasons),
    }


def preparation_from(reader: Reader, n_columns: int) -> Preparation:
    """Read what the columns of a table are, and check that it fits together."""
    columns = tuple(map(_column_from, reader.parts("columns")))
    names = {column.name: column.kind for column in columns}
    categories = dict(_categories_from(part) for part in reader.parts("categories"))
    seasons = reader.texts("seasons")
    if len(columns) != n_columns or len(names) != n_columns:
        raise reader.wrong("has a number of columns that does not match its features")
    dates = [name for name, kind in names.items() if kind is Kind.DATE]
    if list(categories) != [name for name, kind in names.items() if kind is Kind.CATEGORY]:
        raise reader.wrong("has categories of a column that holds none, or none of one that does")
    if list(seasons) != [name for name in dates if name in seasons]:
        raise reader.wrong("has a time of year of a column that holds no dates")
    return Preparation(columns, categories, seasons)


def _column_from(reader: Reader) -> Column:
    kinds = {kind.value: kind for kind in Kind}
    kind = kinds.get(reader.text("kind"))
    if kind is None:
        raise reader.wrong("is a column of an unknown kind")
    return Column(reader.text("name"), kind, reader.text("why"))


def _categories_from(reader: Reader) -> tuple[str, Categories]:
    values: tuple[Any, ...] = tuple(read_simple_value(value, reader) for value in reader.value("values", list))
    encodings = reader.floats("encodings", len(values), None)
    if len(set(values)) < len(values) or not values or encodings.shape[1] == 0 or abs(encodings).max() > MOST_ENCODING:
        raise reader.wrong("has categories that are not distinct, or encodings that no category has")
    return reader.text("name"), Categories(values, encodings)
