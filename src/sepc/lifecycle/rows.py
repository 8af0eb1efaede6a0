"""Rows for the lifecycle: where they lie, their bytes for digests, and training rows among supposedly new ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray, IntArray
from sepc.columns.table import column_names
from sepc.decisions.decisions import NO_REGIONS, Decisions
from sepc.estimators.base import decide_with_trust
from sepc.estimators.dask_scoring import is_lazy
from sepc.estimators.partition_behind import partition_behind
from sepc.estimators.repaired import RepairedDecisions
from sepc.estimators.selective.decisions import SelectiveDecisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import Unwrapped, region_layers
from sepc.model.names import region_name
from sepc.model.sep_model import SEPModel
from sepc.points.inputs import is_gap


def decide_in_memory(model: Any, X: Any) -> Decisions:
    """Decide on rows in memory, with any model that gives trust."""
    if is_lazy(X):
        raise TypeError(
            "X is a Dask collection; sepc.lifecycle needs rows in memory. Give X.compute(), or one block at a time."
        )
    return decide_with_trust(model, X, "wrap it in a TrustedClassifier")


def has_regions(decisions: Decisions) -> bool:
    """Whether the model behind the decisions has regions."""
    return not (decisions.region == NO_REGIONS).any()


@dataclass(frozen=True, eq=False)
class RowRegions:
    """The regions of some rows: their numbers, the share of all rows in each, and where each lies, in words."""

    number: IntArray
    share: FloatArray
    where: NDArray[Any]

    @classmethod
    def of(cls, number: IntArray, share: FloatArray, model: SEPModel) -> RowRegions:
        """Regions of a model, described in terms of its features."""
        regions, which = np.unique(number, return_inverse=True)
        words = np.array([region_name(model, int(region)) for region in regions], dtype=object)
        return cls(number, share, words[which])


def chosen_regions(decisions: Decisions, positions: IntArray) -> RowRegions | None:
    """The regions of chosen rows; None if the model has no regions."""
    partition = partition_behind(decisions)
    if partition is None:
        return None
    _, which, counts = np.unique(decisions.region, return_inverse=True, return_counts=True)
    share = (counts / max(len(which), 1))[which][positions]
    return RowRegions.of(decisions.region[positions], share, partition.model)


def feature_names(decisions: Decisions) -> tuple[str, ...]:
    """The features of the model that defines the regions, named as in the table; empty if there are no regions."""
    partition = partition_behind(decisions)
    return () if partition is None else partition.model.feature_names


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Decisions on rows, with the region of each row and its features in the model that defines the regions."""

    decisions: Decisions
    region: IntArray
    features: FloatArray
    names: tuple[str, ...]


def locate(estimator: Any, X: Any) -> LocatedRows:
    """Decide on rows, and locate them in the partition behind the decisions."""
    decisions = decide_in_memory(estimator, X)
    partition = partition_behind(decisions)
    assert partition is not None  # `sep_models` refuses all others.
    return LocatedRows(decisions, decisions.region, partition.features, partition.model.feature_names)


def sep_models(estimator: Any) -> list[SEPModel]:
    """The model that defines the regions inside an estimator, followed by those of repaired regions."""
    check_is_fitted(estimator)
    around = list(region_layers(estimator))
    model = getattr(around[-1].classifier, "model_", None)
    if not isinstance(model, SEPModel):
        kind = type(estimator).__name__
        raise TypeError(
            f"Monitor watches the regions of a fitted SEPClassifier, alone or in a wrapper; {kind} has none."
        )
    repaired = [one for layer in around for one in getattr(layer.classifier, "repaired_", {}).values()]
    return [_in_own_units(model, around), *(classifier.model_ for classifier in repaired)]


def _in_own_units(model: SEPModel, around: Sequence[Unwrapped]) -> SEPModel:
    """The model with its training summary in the features that went into the pipelines around it."""
    usual = model.usual
    for layer in reversed([layer for layer in around if layer.before]):
        usual = None if usual is None else usual.with_restore(layer.restore)
    return replace(model, usual=usual)


NUMBER = b"n"


def cells_by_column(X: Any) -> dict[str, list[bytes]]:
    """The cells of every column as bytes; named columns in the order of their names."""
    if not hasattr(X, "columns"):
        rows = np.asarray(X)
        return {f"x{j}": cells_in_bytes(rows[:, j]) for j in range(rows.shape[1])}
    values = {str(name): X[name] for name in column_names(X)}
    return {name: cells_in_bytes(np.asarray(values[name])) for name in sorted(values)}


def cells_in_bytes(values: NDArray[Any]) -> list[bytes]:
    """Every cell as bytes that begin with their kind and, for text, their length, so that joined cells stay apart."""
    if values.dtype.kind in "biuf":
        # Adding zero turns -0.0 into 0.0; every gap is the same NaN.
        doubles = values.astype(np.float64) + 0.0
        numbers = np.where(np.isnan(doubles), np.nan, doubles)
        return [NUMBER + cell for cell in np.ascontiguousarray(numbers).view("V8").tolist()]
    return [_cell(value) for value in values.tolist()]


def _cell(value: Any) -> bytes:
    if is_gap(value):
        return NUMBER + np.float64(np.nan).tobytes()
    if isinstance(value, bool | int | float):
        return NUMBER + np.float64(value + 0.0).tobytes()
    text = str(value).encode("utf-8", "surrogatepass")
    return f"t{len(text)} ".encode() + text


P = ParamSpec("P")
S = TypeVar("S", bound="SharedState")
R = TypeVar("R")


class SharedState:
    """An object with its own lock, which copies and pickles leave out and create afresh."""

    _lock: threading.RLock

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """A new object with its lock; `__init__` may be skipped."""
        made = super().__new__(cls)
        made._lock = threading.RLock()
        return made

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}


def synchronized(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let only one thread at a time run the decorated methods of an object."""

    @wraps(method)
    def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return guarded


def training_rows_again(decisions: Decisions) -> tuple[int, int]:
    """How many of the training rows that the models behind decisions remember are among these rows, of how many."""
    n_again, n_remembered = 0, 0
    for partition in _partitions(decisions):
        seen, usual = partition.model.seen_rows, partition.model.usual
        if seen is not None and usual is not None and len(partition):
            found = seen.n_again(partition.watched_rows, usual.displays)
            n_again, n_remembered = n_again + found, n_remembered + (len(seen.hashes) if found else 0)
    return n_again, n_remembered


def _partitions(decisions: Decisions) -> Iterator[SEPDecisions]:
    """The partition that defines the regions, followed by those of repaired regions."""
    partition = partition_behind(decisions)
    if partition is not None:
        yield partition
    while isinstance(decisions, SelectiveDecisions):
        decisions = decisions.inner
    if isinstance(decisions, RepairedDecisions):
        yield from decisions.parts.inner.values()
