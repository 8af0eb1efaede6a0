"""The columns that a model was fitted to, and the matching columns of a table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sepc.cli.column_reading import Features, data_frame
from sepc.cli.messages import InputError
from sepc.cli.tables import ColumnType, Table, check_names

if TYPE_CHECKING:
    from sepc.columns.preparation import Preparation


@dataclass(frozen=True)
class ModelColumns:
    """What a model takes from a table.

    Attributes
    ----------
    readings : dict of name to ColumnType
        What each column that does not hold numbers is read as.
    categories : dict of name to set
        The categories seen in training, for every categorical column.
    left_out : set of names
        Columns that no part of the model uses.
    """

    readings: dict[str, ColumnType] = field(default_factory=dict)
    categories: dict[str, set[Any]] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()


def columns_of_model(model: Any) -> ModelColumns:
    """The columns of a fitted estimator, from the preparations of all classifiers in it."""
    from sepc.columns.kinds import Kind

    readings: dict[str, ColumnType] = {}
    categories: dict[str, set[Any]] = {}
    used: set[str] = set()
    unused: set[str] = set()
    for preparation in preparations_in(model):
        for column in preparation.columns:
            (unused if column.kind is Kind.LEFT_OUT else used).add(column.name)
            if column.kind is Kind.CATEGORY:
                readings[column.name] = ColumnType.TEXT
                categories.setdefault(column.name, set()).update(preparation.categories[column.name].values)
            elif column.written is not None:
                readings[column.name] = ColumnType.WRITTEN
            elif column.kind is Kind.DATE:
                readings[column.name] = ColumnType.DATE
    left_out = frozenset(unused - used)
    return ModelColumns(readings | dict.fromkeys(left_out, ColumnType.FOUND), categories, left_out)


def left_out_of(model: Any) -> dict[str, str]:
    """The columns that no part of a model uses, and what they seem to be."""
    left_out = columns_of_model(model).left_out
    return {
        column.name: column.why
        for preparation in preparations_in(model)
        for column in preparation.columns
        if column.name in left_out
    }


def taken_as(model: Any, names: Sequence[str]) -> Preparation:
    """What the classifier for all rows uses each column as: a number, a category, a date, or nothing."""
    from sepc.columns.kinds import Column, Kind
    from sepc.columns.preparation import Preparation
    from sepc.estimators.unwrapping import category_positions

    kinds = {names[j]: Column(names[j], Kind.CATEGORY, "") for j in category_positions(model)}
    own = main_classifier(model).encoding_
    kinds |= {} if own is None else {column.name: column for column in own.columns}
    return Preparation(tuple(kinds.get(name, Column(name, Kind.NUMBER, "")) for name in names), (), ())


def main_classifier(model: Any) -> Any:
    """The `SEPClassifier` inside a model that `sepc fit` made."""
    from sepc.estimators.unwrapping import unwrap

    classifier = unwrap(model).classifier
    for name in ("estimator_", "pooled_"):
        if hasattr(classifier, name):
            return main_classifier(getattr(classifier, name))
    return classifier


def preparations_in(model: Any) -> Iterator[Any]:
    """The `Preparation` of each classifier inside a model; classifiers that take plain numbers have none."""
    from sepc.estimators.unwrapping import unwrap

    classifier = unwrap(model).classifier
    if getattr(classifier, "encoding_", None) is not None:
        yield classifier.encoding_
    inner = [getattr(classifier, name) for name in ("estimator_", "partition_", "pooled_") if hasattr(classifier, name)]
    for part in [*inner, *getattr(classifier, "estimators_", {}).values()]:
        yield from preparations_in(part)


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted estimator, and the columns of a table that it takes.

    Attributes
    ----------
    estimator : estimator
    names : tuple of str
        Columns of the table, in the model's order.
    columns : ModelColumns
    features : Features
        The columns that the model uses.
    """

    estimator: Any
    names: tuple[str, ...]
    columns: ModelColumns
    features: Features

    def decide(self, arrays: dict[str, Any]) -> Any:
        """Decide on rows, given by their features."""
        from sepc.estimators.base import decide_rows

        return decide_rows(self.estimator, self.table(arrays))

    def table(self, arrays: dict[str, Any]) -> Any:
        """Features as the model takes them: an array if all are numbers, else a DataFrame."""
        import numpy as np

        if not self.features.by and not self.columns.readings:
            return np.stack(list(arrays.values())).T
        # Columns left out must be present, but only by name.
        return data_frame({name: arrays.get(name) for name in self.names})

    def named_table(self, arrays: dict[str, Any]) -> Any:
        """Features as a DataFrame with the model's own names, if it knows them."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:
            return self.table(arrays)
        return data_frame({str(own): arrays.get(name) for own, name in zip(names, self.names, strict=True)})


def scorer_for(estimator: Any, table: Table, features: Sequence[str] | None, but: Collection[str] = ()) -> Scorer:
    """Match the model's features with the columns of a table: by name, or in order if the model has no feature names.

    If given, `features` names them instead; without any names, all columns are taken except those in `but`.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if features or names is None:
        names = features or [name for name in table.names if name not in but]
    n = estimator.n_features_in_
    if len(names) != n:
        raise InputError(
            f"The model has {n} features without names, but {table.source.name} has {len(names)} columns; "
            f"name the {n} with --features."
            if features is None
            else f"--features names {len(names)} columns; the model has {n} features."
        )
    chosen, columns = tuple(map(str, names)), columns_of_model(estimator)
    from sepc.estimators.unwrapping import category_positions

    by = tuple(chosen[j] for j in category_positions(estimator))
    known = columns.readings | dict.fromkeys(by, ColumnType.FOUND)
    readings = {name: known.get(name, ColumnType.NUMBER) for name in chosen if name not in columns.left_out}
    check_names(table, list(readings))
    return Scorer(estimator, chosen, columns, Features(readings, by, columns.categories))
