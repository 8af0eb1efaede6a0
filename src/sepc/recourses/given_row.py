"""The row that a question is about, with what is known about its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sepc._typing import FloatArray
from sepc.columns.categories import Categories
from sepc.columns.kinds import Kind
from sepc.columns.preparation import Preparation
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import FeatureKind, TrainingSummary


@dataclass(frozen=True, eq=False)
class Row:
    """A row of a model, with what is known about its columns."""

    model: SEPModel
    values: FloatArray
    preparation: Preparation | None

    @property
    def usual(self) -> TrainingSummary:
        """The summary of the training rows."""
        assert self.model.usual is not None  # Every fitted model has it.
        return self.model.usual

    @property
    def columns(self) -> list[str]:
        """Names of the columns used as features."""
        return list(self.model.feature_names if self.preparation is None else self.preparation.used_columns)

    @property
    def left_out(self) -> list[str]:
        """Names of columns that the model does not use."""
        columns = () if self.preparation is None else self.preparation.columns
        return [column.name for column in columns if column.kind is Kind.LEFT_OUT]

    def feature(self, column: str) -> int:
        """The first feature of a column."""
        return self.model.feature_names.index(column)

    def kind(self, column: str) -> FeatureKind:
        """The kind of a column."""
        return self.usual.displays[self.feature(column)].kind

    def categories(self, column: str) -> Categories:
        """The categories of a column."""
        return self._all_categories[column]

    def code(self, column: str) -> int:
        """The category that the row has in a column."""
        return int(self.values[len(self.model.shift) + list(self._all_categories).index(column)])

    @property
    def _all_categories(self) -> Mapping[str, Categories]:
        return {} if self.preparation is None else self.preparation.categories

    def value(self, column: str) -> float:
        """The number that the row has in a column."""
        return float(self.values[self.feature(column)])
