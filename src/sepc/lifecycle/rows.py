"""What the lifecycle asks of rows and models: regions, digests, locks, and training rows among new ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from hashlib import sha256
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray, IntArray
from sepc.columns.table import column_names
from sepc.decisions.decisions import NO_REGIONS, Decisions, partition_behind, routed_behind
from sepc.estimators.base import decide_with_trust
from sepc.estimators.given_rows import is_lazy
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import Unwrapped, partition_in, region_layers
from sepc.io.codec import Writer, record_to_node
from sepc.model.names import region_name
from sepc.model.sep_model import SEPModel
from sepc.model_files import to_bytes
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
    def chosen(cls, decisions: Decisions, positions: IntArray) -> RowRegions | None:
        """The regions of chosen rows; None if the model has no regions."""
        partition = partition_behind(decisions)
        if partition is None:
            return None
        _, which, counts = np.unique(decisions.region, return_inverse=True, return_counts=True)
        share = (counts / max(len(which), 1))[which][positions]
        return cls.of(decisions.region[positions], share, partition.model)

    @classmethod
    def of(cls, number: IntArray, share: FloatArray, model: SEPModel) -> RowRegions:
        """Regions of a model, described in terms of its features."""
        regions, which = np.unique(number, return_inverse=True)
        words = np.array([region_name(model, int(region)) for region in regions], dtype=object)
        return cls(number, share, words[which])


def sep_models(estimator: Any) -> list[SEPModel]:
    """The model that defines the regions inside an estimator, followed by those of repaired regions."""
    check_is_fitted(estimator)
    around, partition = list(region_layers(estimator)), partition_in(estimator)
    if partition is None:
        kind = type(estimator).__name__
        raise TypeError(
            f"Monitor watches the regions of a fitted SEPClassifier, alone or in a wrapper; {kind} has none."
        )
    routes = [getattr(layer.classifier, "routes_", {}) for layer in around]
    return [_in_own_units(partition.model_, around), *(one.model_ for each in routes for one in each.values())]


def _in_own_units(model: SEPModel, around: Sequence[Unwrapped]) -> SEPModel:
    """The model with its training summary in the features that went into the pipelines around it."""
    usual = model.usual
    for layer in reversed([layer for layer in around if layer.before]):
        usual = None if usual is None else usual.with_restore(layer.restore)
    return replace(model, usual=usual)


def file_digest(model: Any) -> str:
    """The SHA-256 of the file that a model would be saved to."""
    return sha256(to_bytes(model)).hexdigest()


def record_digest(record: Any) -> str:
    """A digest of what a model file would store for a record."""
    writer = Writer()
    found = sha256(json.dumps(record_to_node(record, writer), sort_keys=True).encode())
    for name, array in sorted(writer.arrays.items()):
        found.update(f"{name} {array.shape} {array.dtype}".encode() + array.tobytes())
    return found.hexdigest()


def fingerprint_of(models: Sequence[SEPModel]) -> str:
    """A digest of the partitions in a model, whatever stands around them; empty if there are none."""
    return (
        sha256("".join(record_digest(replace(one, usual=None)) for one in models).encode()).hexdigest()
        if models
        else ""
    )


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
    routed = routed_behind(decisions)
    if routed is not None:
        yield from routed.of_repaired()
