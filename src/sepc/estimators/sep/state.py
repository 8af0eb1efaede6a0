"""`SEPClassifier` in a model file."""

from __future__ import annotations

from typing import Any

from sepc.columns.categories import Categories
from sepc.columns.kinds import Column, Kind
from sepc.columns.preparation import Preparation, spoken_features
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.fitted import FittedEllipsoids, History, RowsUsed
from sepc.estimators.sep.regions import Regions
from sepc.io.estimator_fields import fields_to_node, restore_fields
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.values import read_simple_value, simple_value
from sepc.io.writer import Node, Writer
from sepc.model.sep_model import SEPModel
from sepc.model.usual import Spoken
from sepc.plain_values import plain
from sepc.records import MOST

# Encodings are log-odds, which are never larger.
MOST_ENCODING = 1e3


def write(classifier: SEPClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier with the history of its fit."""
    preparation = classifier.preparation_
    prepared = None if preparation is None else _preparation_to_node(preparation, writer.under("preparation"))
    return fields_to_node(classifier) | {
        "preparation": prepared,
        "model": record_to_node(classifier.model_, writer.under("model")),
        **record_to_node(classifier.ellipsoids_, writer),
        "rows_used": record_to_node(classifier.rows_used_, writer),
        "history": [
            {"rows_left": [list(left) for left in history.rows_left], "stopped_because": history.stopped_because}
            for history in classifier.history_
        ],
    }


def read(reader: Reader, inner: InnerModels) -> SEPClassifier:
    """Read a classifier."""
    classifier = restore_fields(SEPClassifier(), reader)
    preparation = _preparation_from(reader, classifier)
    model = _model_from(reader.part("model"), preparation)
    _check_features(reader, model, preparation, classifier.n_features_in_)
    classifier.preparation_ = preparation
    classifier.model_, classifier.classes_ = model, model.classes
    sizes = {"K": model.n_ellipsoids, "d": len(model.feature_names)}
    classifier.ellipsoids_ = record_from(FittedEllipsoids, reader, sizes, model=model)
    if len(reader.value("history", list)) > len(model.classes):
        raise reader.wrong("has more partitions than classes")
    classifier.history_ = tuple(map(_history_from, reader.parts("history"), model.classes))
    classifier.rows_used_ = record_from(RowsUsed, reader.part("rows_used"))
    classifier.regions_ = Regions(model)
    return classifier


def _preparation_from(reader: Reader, classifier: SEPClassifier) -> Preparation | None:
    """The preparation of tables, or None if there is none; it must have the columns of the classifier."""
    if not reader.has("preparation"):
        return None
    preparation = _prepared_columns(reader.part("preparation"), classifier.n_features_in_)
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None and [column.name for column in preparation.columns] != names.tolist():
        raise reader.wrong("has other columns than its names of features")
    return preparation


def _model_from(reader: Reader, preparation: Preparation | None) -> SEPModel:
    """The model; its features are spoken of as the preparation says, and as numbers without one."""
    spoken = (Spoken(),) * len(reader.texts("feature_names")) if preparation is None else spoken_features(preparation)
    return record_from(SEPModel, reader, spoken=tuple(spoken))


def _check_features(reader: Reader, model: SEPModel, preparation: Preparation | None, n_columns: int) -> None:
    """Raise if the model has other features or categories than the preparation gives."""
    if preparation is None:
        if len(model.feature_names) != n_columns or model.n_codes:
            raise reader.wrong("has a model with another number of features")
        return
    weights = model.weights
    sizes = [len(own.values) for own in preparation.categories.values()]
    if weights is not None and (
        weights.n_categories.tolist() != sizes
        or weights.category_features.tolist() != preparation.category_features.tolist()
    ):
        raise reader.wrong("has a model with other categories than its columns")
    if preparation.feature_names != model.feature_names:
        raise reader.wrong("has a model with other features than its columns give")


def _history_from(reader: Reader, label: Any) -> History:
    left = reader.value("rows_left", list)
    if not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair)) for pair in left):
        raise reader.wrong("has rows_left that are not pairs of integers")
    return History(plain(label), tuple((pair[0], pair[1]) for pair in left), reader.text("stopped_because"))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < MOST


def _preparation_to_node(preparation: Preparation, writer: Writer) -> Node:
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


def _prepared_columns(reader: Reader, n_columns: int) -> Preparation:
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
