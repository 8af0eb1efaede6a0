"""The columns that a model was fitted to, and those of a table that it takes for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sepc.cli.column_reading import array_of, categories, data_frame, objects
from sepc.cli.messages import InputError
from sepc.cli.source import Source, is_number
from sepc.cli.tables import Batch, Reading, Table, check_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sepc.columns.preparation import Preparation


@dataclass(frozen=True)
class ModelColumns:
    """What a model takes from a table.

    Attributes
    ----------
    readings : dict of name to Reading
        Columns that are no numbers.
    categories : dict of name to set
        Those of training, of every column of categories.
    left_out : set of names
        Columns that no part of the model looks at.
    """

    readings: dict[str, Reading] = field(default_factory=dict)
    categories: dict[str, set[Any]] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()


def columns_of_model(model: Any) -> ModelColumns:
    """The columns of a fitted estimator, from the preparations of all classifiers in it."""
    from sepc.columns.kinds import Kind

    readings: dict[str, Reading] = {}
    categories: dict[str, set[Any]] = {}
    used: set[str] = set()
    unused: set[str] = set()
    for preparation in preparations_in(model):
        for column in preparation.columns:
            (unused if column.kind is Kind.LEFT_OUT else used).add(column.name)
            if column.kind is Kind.CATEGORY:
                readings[column.name] = Reading.TEXT
                categories.setdefault(column.name, set()).update(preparation.categories[column.name].values)
            elif column.kind is Kind.DATE:
                readings[column.name] = Reading.DATE
    left_out = frozenset(unused - used)
    return ModelColumns(readings | dict.fromkeys(left_out, Reading.FOUND), categories, left_out)


def left_out_of(model: Any) -> dict[str, str]:
    """The columns that no part of a model looks at, and what they seem to be."""
    left_out = columns_of_model(model).left_out
    return {
        column.name: column.why
        for preparation in preparations_in(model)
        for column in preparation.columns
        if column.name in left_out
    }


def taken_as(model: Any, names: Sequence[str]) -> Preparation:
    """What each column was taken as by the classifier that saw all rows."""
    from sepc.columns.kinds import Column, Kind
    from sepc.columns.preparation import Preparation
    from sepc.estimators.unwrapping import category_positions

    kinds = {names[j]: Column(names[j], Kind.CATEGORY) for j in category_positions(model)}
    own = main_classifier(model).preparation_
    kinds |= {} if own is None else {column.name: column for column in own.columns}
    return Preparation(tuple(kinds.get(name, Column(name, Kind.NUMBER)) for name in names), {}, ())


def main_classifier(model: Any) -> Any:
    """The `SEPClassifier` inside a model that `sepc fit` made."""
    from sepc.estimators.unwrapping import unwrap

    classifier = unwrap(model).classifier
    for name in ("estimator_", "pooled_"):
        if hasattr(classifier, name):
            return main_classifier(getattr(classifier, name))
    return classifier


def preparations_in(model: Any) -> Iterator[Any]:
    """How each classifier inside a model makes features of a table; those that take numbers as they are have none."""
    from sepc.estimators.unwrapping import unwrap

    classifier = unwrap(model).classifier
    if getattr(classifier, "preparation_", None) is not None:
        yield classifier.preparation_
    inner = [getattr(classifier, name) for name in ("estimator_", "partition_", "pooled_") if hasattr(classifier, name)]
    for part in [*inner, *getattr(classifier, "estimators_", {}).values()]:
        yield from preparations_in(part)


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted estimator, and the columns of a table that it takes.

    Attributes
    ----------
    estimator : estimator
    features : tuple of str
        Columns of the table, in the model's order.
    by : tuple of str
        Those of them whose values have models of their own.
    columns : ModelColumns
    """

    estimator: Any
    features: tuple[str, ...]
    by: tuple[str, ...]
    columns: ModelColumns

    @cached_property
    def used(self) -> list[str]:
        """The features that the model looks at."""
        return [name for name in self.features if name not in self.columns.left_out]

    @cached_property
    def readings(self) -> dict[str, Reading]:
        """What each of them is read as."""
        known = self.columns.readings | dict.fromkeys(self.by, Reading.FOUND)
        return {name: known.get(name, Reading.NUMBER) for name in self.used}

    def arrays(self, source: Source, batch: Batch) -> dict[str, Any]:
        """The features of a batch that the model looks at; a cell that cannot be one is an error."""
        return {name: self._array(source, name, batch) for name in self.used}

    def decide(self, arrays: dict[str, Any]) -> Any:
        """Decide on rows, given by their features."""
        from sepc.estimators.base import decide_rows

        return decide_rows(self.estimator, self.table(arrays))

    def table(self, arrays: dict[str, Any]) -> Any:
        """Features as the model takes them: an array if all are numbers, else a DataFrame."""
        import numpy as np

        if not self.by and not self.columns.readings:
            return np.stack(list(arrays.values())).T
        # What is left out must be there, by its name only.
        return data_frame({name: arrays.get(name) for name in self.features})

    def named_table(self, arrays: dict[str, Any]) -> Any:
        """Features as a DataFrame with the model's own names, if it knows them."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:
            return self.table(arrays)
        return data_frame({str(own): arrays.get(name) for own, name in zip(names, self.features, strict=True)})

    def _array(self, source: Source, name: str, batch: Batch) -> Any:
        column = batch.columns[name]
        if name in self.by:
            return categories(column)
        cells = array_of(source, name, column, self.readings[name], batch.first_row)
        return matched(cells, self.columns.categories[name]) if name in self.columns.categories else cells


def scorer_for(estimator: Any, table: Table, features: Sequence[str] | None, but: Collection[str] = ()) -> Scorer:
    """Match the model's features with the columns of a table: by name, or in order if the model knows no names.

    The columns of `but` are no features, unless they are named.
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
    scorer = Scorer(estimator, chosen, by, columns)
    check_names(table, scorer.used)
    return scorer


def matched(cells: NDArray[Any], known: Collection[Any]) -> NDArray[Any]:
    """The category of each text: itself, or the only one that is the same number or truth value.

    A column of codes may be text in one file and numbers in another: "0171" is then 171, and 3 may be 3.0. What matches
    no category stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array(["171", "A", None], dtype=object), ["0171", "A"]).tolist()
    ['0171', 'A', None]
    """
    exact = {value for value in known if isinstance(value, str)}
    times = Counter(_meaning(value) for value in known)
    by_meaning = {_meaning(value): value for value in known if value is not None and times[_meaning(value)] == 1}
    found = {cell: cell if cell in exact else by_meaning.get(_meaning(cell), cell) for cell in set(cells.tolist())}
    return objects([found[cell] for cell in cells.tolist()])


def _meaning(value: Any) -> Any:
    """What a category means, whether it is text, a number or a truth value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if value is None:
        return None
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    return float(text) if is_number(text) else text
