"""Spark: decisions on a Spark DataFrame, batch by batch on its executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sepc.columns.kinds import Kind
from sepc.decisions.decisions import frame_of
from sepc.estimators.base import decide_rows, empty_decisions
from sepc.estimators.unwrapping import column_kinds, fitted_names, group_columns, needed_columns, written_columns
from sepc.model_files import from_bytes, to_bytes

if TYPE_CHECKING:
    import pandas as pd

# Models that a worker process keeps in memory.
N_KEPT = 4

# Spark types of the columns of decisions, by NumPy kind; anything else is a string.
SPARK_TYPES = {"b": "boolean", "i": "bigint", "u": "bigint", "f": "double"}

# Prefixes of the names of Spark's numeric types, and of its dates.
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")
DATES = ("date", "timestamp")


def decide(estimator: Any, frame: Any, *, keep: Iterable[str] = ()) -> Any:
    """Decide on the rows of a Spark DataFrame.

    The model is sent to the executors as a safe model file; no row comes to the driver.

    Parameters
    ----------
    estimator : SEPClassifier, or a wrapper of one
        Fitted; it must not contain models of other libraries.
    frame : pyspark.sql.DataFrame
        It must have the columns that the estimator uses, including those that define the groups of a promise. For an
        estimator without feature names, all columns but those to keep are the features, in order. Null is a missing
        value.
    keep : names of columns, optional
        Columns to copy to the result, such as a key.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns to keep, in their order in `frame`, followed by those of ``decide(X).to_frame()``.

    Raises
    ------
    ValueError
        If a column is missing, has the wrong type, or has the name of a column of the result.

    Examples
    --------
    >>> import sepc.spark  # doctest: +SKIP
    >>> sepc.spark.decide(classifier, loans, keep=["id"]).write.parquet("decided")  # doctest: +SKIP
    """
    keep = list(keep)
    names = _features(estimator, frame.columns, keep)
    read = written_columns(estimator)
    _refuse_other_types(dict(frame.dtypes), _kinds(estimator), [name for name in names if name not in read])
    decided = empty_decisions(estimator).to_frame()
    clash = sorted(set(keep) & set(decided.columns))
    if clash:
        raise ValueError(f"Columns {', '.join(map(repr, clash))} are also columns of the decisions; rename them first.")
    kept = [f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema if field.name in keep]
    added = [f"`{name}` {SPARK_TYPES.get(decided[name].dtype.kind, 'string')}" for name in decided.columns]
    chosen = frame.select(*[field.name for field in frame.schema if field.name in keep], *_quote(names, keep))
    return chosen.mapInPandas(_Batches(to_bytes(estimator), keep, names), ", ".join([*kept, *added]))


def _features(estimator: Any, columns: list[str], keep: list[str]) -> list[str]:
    missing = [name for name in keep if name not in columns]
    names, needed = fitted_names(estimator), needed_columns(estimator)
    missing += [name for name in names or () if name not in columns and (needed is None or name in needed)]
    if missing:
        raise ValueError(f"The DataFrame has no column {', '.join(map(repr, missing))}; it has {', '.join(columns)}.")
    if names is not None:
        return [name for name in dict.fromkeys([*names, *group_columns(estimator)]) if name in columns]
    names = [name for name in columns if name not in keep]
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            f"The DataFrame has {len(names)} columns besides those to keep, but {type(estimator).__name__} expects "
            f"{estimator.n_features_in_} features."
        )
    return names


def _kinds(estimator: Any) -> dict[str, Kind]:
    """The kind of each column; a column that only defines groups may have any type."""
    features = dict.fromkeys(fitted_names(estimator) or (), Kind.NUMBER)
    return dict.fromkeys(group_columns(estimator), Kind.CATEGORY) | features | dict(column_kinds(estimator))


def _refuse_other_types(types: dict[str, str], kinds: Mapping[str, Kind], names: list[str]) -> None:
    """Raise if columns of numbers or dates have another type; anything can be a category."""
    for kind, known, words in ((Kind.NUMBER, NUMBERS, "numeric"), (Kind.DATE, DATES, "dates")):
        odd = [name for name in names if kinds.get(name, Kind.NUMBER) is kind and not types[name].startswith(known)]
        if odd:
            texts = ", ".join(f"{name!r} ({types[name]})" for name in odd)
            raise ValueError(f"The DataFrame has columns that are not {words}: {texts}. Cast or encode them first.")


def _quote(names: list[str], keep: list[str]) -> list[str]:
    return [f"`{name}`" for name in names if name not in keep]


class _Batches:
    """Decides on batches of rows on an executor."""

    def __init__(self, model: bytes, keep: list[str], names: list[str]) -> None:
        self.model, self.keep, self.names = model, keep, names

    def __call__(self, batches: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        estimator = _load(self.model)
        for batch in batches:
            if len(batch):
                decided = _decide(estimator, batch[self.names])
                kept = [name for name in batch.columns if name in self.keep]
                yield frame_of({**{name: batch[name] for name in kept}, **dict(decided.items())})


@lru_cache(N_KEPT)
def _load(model: bytes) -> Any:
    return from_bytes(model)


def _decide(estimator: Any, rows: pd.DataFrame) -> pd.DataFrame:
    if fitted_names(estimator) is None:
        return decide_rows(estimator, rows.to_numpy(dtype="float64")).to_frame()
    # Spark's dates and decimals are objects in pandas.
    kinds, types = _kinds(estimator), {Kind.NUMBER: "float64", Kind.DATE: "datetime64[us]"}
    read = written_columns(estimator)
    given = {name: types.get(kinds.get(name, Kind.NUMBER)) for name in rows.columns if name not in read}
    return decide_rows(estimator, rows.astype({name: kind for name, kind in given.items() if kind})).to_frame()
