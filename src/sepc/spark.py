"""Spark: decisions on a Spark DataFrame, batch by batch on its executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.decisions.frames import frame_of
from sepc.estimators.base import decide_rows
from sepc.model_files import from_bytes, to_bytes

if TYPE_CHECKING:
    import pandas as pd

# Models an executor's process keeps at a time.
N_KEPT = 4

# What columns of decisions are in Spark, by the kind of their NumPy type; anything else is text.
SPARK_TYPES = {"b": "boolean", "i": "bigint", "u": "bigint", "f": "double"}

# How the names of Spark's types of numbers begin.
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")


def decide(estimator: Any, frame: Any, *, keep: Iterable[str] = ()) -> Any:
    """The decisions of a fitted estimator on the rows of a Spark DataFrame.

    The model travels as the safe model file, once to each executor; no row comes to the driver.

    Parameters
    ----------
    estimator : SEPClassifier, or a wrapper of one
        Fitted; everything inside must be ours.
    frame : pyspark.sql.DataFrame
        With the columns that the estimator was fitted on, or, if these had no names, with as many columns of numbers
        beside those to keep.
    keep : names of columns, optional
        Columns that stand before the decisions, such as the key of a row.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns kept, and those of the estimator's ``decide(X).to_frame()``.

    Examples
    --------
    >>> import sepc.spark  # doctest: +SKIP
    >>> sepc.spark.decide(classifier, loans, keep=["id"]).write.parquet("decided")  # doctest: +SKIP
    """
    keep = list(keep)
    names = _features(estimator, frame.columns, keep)
    _refuse_text(dict(frame.dtypes), names)
    decided = _decided(estimator, frame_of(dict.fromkeys(names, np.zeros(1))))
    clash = sorted(set(keep) & set(decided.columns))
    if clash:
        raise ValueError(f"Columns {', '.join(map(repr, clash))} have the names of decisions; rename them first.")
    kept = [f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema if field.name in keep]
    own = [f"`{name}` {SPARK_TYPES.get(decided[name].dtype.kind, 'string')}" for name in decided.columns]
    chosen = frame.select(*[field.name for field in frame.schema if field.name in keep], *_quoted(names, keep))
    return chosen.mapInPandas(_Batches(to_bytes(estimator), keep, names), ", ".join([*kept, *own]))


def _features(estimator: Any, columns: list[str], keep: list[str]) -> list[str]:
    missing = [name for name in keep if name not in columns]
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    missing += [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"The DataFrame has no column {', '.join(map(repr, missing))}; it has {', '.join(columns)}.")
    names = names or [name for name in columns if name not in keep]
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"The DataFrame has {len(names)} columns beside those to keep, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features."
        )
    return names


def _refuse_text(types: dict[str, str], names: list[str]) -> None:
    text = [name for name in names if not types[name].startswith(NUMBERS)]
    if text:
        told = ", ".join(f"{name!r} ({types[name]})" for name in text)
        raise ValueError(f"The DataFrame has columns that are not numbers: {told}. Cast or encode them first.")


def _quoted(names: list[str], keep: list[str]) -> list[str]:
    return [f"`{name}`" for name in names if name not in keep]


class _Batches:
    """Decides on batches of rows, where they are."""

    def __init__(self, model: bytes, keep: list[str], names: list[str]) -> None:
        self.model, self.keep, self.names = model, keep, names

    def __call__(self, batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        estimator = _loaded(self.model)
        for batch in batches:
            if len(batch):
                decided = _decided(estimator, batch[self.names])
                kept = [name for name in batch.columns if name in self.keep]
                yield frame_of({**{name: batch[name] for name in kept}, **dict(decided.items())})


@lru_cache(N_KEPT)
def _loaded(model: bytes) -> Any:
    return from_bytes(model)


def _decided(estimator: Any, rows: pd.DataFrame) -> pd.DataFrame:
    n_empty = rows.isna().sum()
    if n_empty.any():
        told = ", ".join(f"{name!r} ({n:,} of {len(rows):,} rows of this batch)" for name, n in n_empty.items() if n)
        raise ValueError(f"Cells without a number in {told}. Fill them, or drop these rows with frame.dropna().")
    named = hasattr(estimator, "feature_names_in_")
    return decide_rows(estimator, rows if named else rows.to_numpy()).to_frame()
