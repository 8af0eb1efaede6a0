"""The columns that a model takes, from the attributes that its estimator documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What the cells of a column hold."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"  # numbers, dates or durations that training read from text, as "€ 12.50"


@dataclass(frozen=True)
class Column:
    """A column of the rows that a model decides on.

    Attributes
    ----------
    name : str
    kind : Kind
    is_needed : bool
        Whether a row without it is refused. Only columns that tell groups of promises apart may be missing.
    """

    name: str
    kind: Kind
    is_needed: bool = True


def columns_of(model: Any) -> tuple[Column, ...]:
    """The columns that a model reads, in the order of training; without those that training left out."""
    kinds = dict(_kinds(model))
    named = getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(model.n_features_in_)] if named is None else [str(name) for name in named]
    used = [name for name in names if kinds.get(name, Kind.NUMBER) is not None]
    groups = [name for name in _group_names(model) if name not in used]
    columns = [Column(name, kinds.get(name) or Kind.NUMBER) for name in used]
    return (*columns, *(Column(name, Kind.CATEGORY, is_needed=False) for name in groups))


def _kinds(model: Any) -> Iterator[tuple[str, Kind | None]]:
    """Names and kinds of columns that are not plain numbers; None for those that training left out."""
    inner = _without_freeze(model)
    if hasattr(inner, "strata_"):
        yield from _kinds(inner.pooled_)
        yield from ((str(name), Kind.CATEGORY) for name in inner.strata_.by)
    elif hasattr(inner, "preparation_"):
        for column in () if inner.preparation_ is None else inner.preparation_.columns:
            yield column.name, _kind_of(column)
    elif hasattr(inner, "estimator_"):
        yield from _kinds(inner.estimator_)


def _kind_of(column: Any) -> Kind | None:
    if str(column.kind) == "left out":
        return None
    return Kind.TEXT if column.written is not None else Kind(str(column.kind))


def _group_names(model: Any) -> list[str]:
    groups = getattr(_without_freeze(model), "groups_", None)
    return [] if groups is None else [name for name in groups.by if isinstance(name, str)]


def _without_freeze(model: Any) -> Any:
    """The model in scikit-learn's `FrozenEstimator`, if it is in one."""
    return model.estimator if type(model).__name__ == "FrozenEstimator" else model
