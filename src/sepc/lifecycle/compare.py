"""Compare the decisions of two models, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray
from sepc.decisions.decisions import partition_behind
from sepc.estimators.given_rows import is_lazy
from sepc.estimators.selective.groups import group_description, keys_of, len_of
from sepc.lifecycle._changed_parts import ChangedRows, ModelPart, changed_parts, threshold_in_words
from sepc.lifecycle._paired_decisions import CountTally, PairedDecisions, decide_both, known_labels, masks_of
from sepc.lifecycle.comparison import Comparison
from sepc.model.names import NO_REGION, region_name
from sepc.reporting.facts import promise_of
from sepc.views.outcomes import is_right
from sepc.wording import name_of

# Rows decided at a time.
BATCH_ROWS = 2**17
ALL = "all rows"


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Rows to compare, with their true labels and groups if known."""

    X: Any
    y: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    by: tuple[str, ...] = ()
    X_new: Any = None


def compare(old: Any, new: Any, X: Any, y: ArrayLike | None = None, groups: Any = None) -> Comparison:
    """Compare two models: which decisions change, where, what that does to errors, and what it comes from.

    A decision changes if its label, its acceptance or the cause of abstaining is another. Trust alone is no decision.

    Parameters
    ----------
    old, new : fitted classifiers
        Estimators of this library, also in a pipeline, a search or a `FrozenEstimator`, or other classifiers with
        probabilities. They may differ in kind and in their columns, as long as both take the rows.
    X : array or DataFrame of n rows
        They are decided on some at a time, so memory beyond that of `X` only grows with the number of changes.
    y : array of shape (n,), optional
        True labels, as far as they are known: None or NaN where they are not. For an honest count of errors, neither
        model may have been trained on these rows.
    groups : str, tuple of two, array of n rows, DataFrame or mapping of names to arrays, optional
        Groups to count by: the name of a column of `X`, two such names, or the groups themselves.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import sepc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = (X[:, 0] + 0.5 * rng.normal(size=3000) > 0).astype(int)
    >>> old = sepc.SEPClassifier(min_trust=0.9).fit(X[:1000], y[:1000])
    >>> new = sepc.SEPClassifier(min_trust=0.95).fit(X[:1000], y[:1000])
    >>> found = sepc.compare(old, new, X[1000:], y[1000:])
    >>> sorted(found.parts)
    ['threshold']
    >>> bool((found.rows.label_before == found.rows.label_after).all())
    True
    """
    if is_lazy(X):
        raise TypeError(
            "X is a Dask collection; compare needs rows in memory. Give X.compute(), or one block at a time."
        )
    keys, by = group_keys(groups, X)
    n_rows = len_of(X)
    labels = None if y is None else known_labels(y, n_rows)[0]
    return compare_batches(old, new, _batches(X, labels, keys, by, n_rows))


def compare_batches(old: Any, new: Any, batches: Iterable[RowBatch]) -> Comparison:
    """`compare`, given the rows in batches."""
    for model in (old, new):
        check_is_fitted(model)
    parts = changed_parts(old, new)
    kept, first = [], 0
    tallies = {name: CountTally() for name in ("total", "region", "group", "class")}
    describe: Callable[[int], str] = _no_region
    by: tuple[str, ...] = ()
    for batch in batches:
        pair = _decided(old, new, batch)
        if first == 0:
            partition, by = partition_behind(pair.old), batch.by
            describe = describe if partition is None else partial(region_name, partition.model)
        known = np.zeros(len(pair.old), dtype=bool) if batch.y is None else known_labels(batch.y, len(pair.old))[1]
        masks = masks_of(pair, _rights(pair, batch.y, known), known)
        tallies["total"].add(np.zeros(len(known), dtype=np.int64), masks)
        tallies["region"].add(pair.old.region, masks)
        tallies["class"].add(pair.old.label, masks)
        if batch.groups is not None:
            tallies["group"].add(batch.groups, masks)
        part = _part_of_each(pair, np.flatnonzero(pair.differs), parts)
        kept.append(ChangedRows.of(pair, first, part, batch.groups, batch.y))
        first += len(known)
    if not kept:
        raise ValueError("There are no rows to compare the models on; X is empty.")
    return Comparison(
        total=tallies["total"].finish(lambda _: ALL),
        regions=tallies["region"].finish(describe),
        groups=tallies["group"].finish(lambda key: group_description(by, key)),
        classes=tallies["class"].finish(name_of),
        rows=ChangedRows.joined(kept),
        parts=frozenset(part.value for part in parts),
        thresholds=(threshold_in_words(old), threshold_in_words(new)),
        promises=(promise_of(old), promise_of(new)),
    )


def _no_region(region: int) -> str:
    """The name of what models without regions give."""
    return NO_REGION


def _decided(old: Any, new: Any, batch: RowBatch) -> PairedDecisions:
    columns = None if batch.groups is None else group_columns_of(batch.groups, batch.by)
    return decide_both(old, new, batch.X, columns, X_new=batch.X_new)


def _rights(pair: PairedDecisions, y: NDArray[Any] | None, known: BoolArray) -> tuple[BoolArray, BoolArray]:
    right = np.zeros((2, len(known)), dtype=bool)
    if known.any():
        assert y is not None
        labels = y[known]
        labels = np.array(labels.tolist()) if labels.dtype.kind == "O" else labels
        for own, decisions in zip(right, (pair.old, pair.new), strict=True):
            own[known] = is_right(decisions.label[known], labels)
    return right[0], right[1]


def _part_of_each(pair: PairedDecisions, rows: NDArray[Any], parts: frozenset[ModelPart]) -> NDArray[Any]:
    """The part of the model that each of these changes comes from."""
    rest = ModelPart.WEIGHTS if ModelPart.WEIGHTS in parts else ModelPart.MODEL
    found = np.full(len(rows), rest.value, dtype=object)
    if ModelPart.REGIONS in parts:
        found[pair.is_repaired[rows]] = ModelPart.REGIONS.value
    if ModelPart.THRESHOLD in parts:
        same = (pair.old.trust[rows] == pair.new.trust[rows]) & ~pair.label_differs[rows]
        found[same] = ModelPart.THRESHOLD.value
    return found


def group_keys(groups: Any, X: Any) -> tuple[NDArray[Any] | None, tuple[str, ...]]:
    """The group of every row, and the names of the columns that the groups come from."""
    if groups is None:
        return None, ()
    if isinstance(groups, str) or (isinstance(groups, tuple) and all(isinstance(name, str) for name in groups)):
        by = (groups,) if isinstance(groups, str) else groups
        return keys_of(by, X), by
    names = groups if hasattr(groups, "keys") and not hasattr(groups, "name") else getattr(groups, "columns", None)
    if names is not None:
        by = tuple(names)
        return keys_of(by, X, groups), by
    name = getattr(groups, "name", None)
    by = (name if isinstance(name, str) else "group",)
    return keys_of(by, X, np.asarray(groups, dtype=object)), by


def group_columns_of(keys: NDArray[Any], by: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The columns that groups come from, given the group of every row."""
    cells = [(key,) for key in keys.tolist()] if len(by) == 1 else keys.tolist()
    return {name: np.array([cell[j] for cell in cells], dtype=object) for j, name in enumerate(by)}


def _batches(
    X: Any, y: NDArray[Any] | None, keys: NDArray[Any] | None, by: tuple[str, ...], n_rows: int
) -> Iterator[RowBatch]:
    for start in range(0, n_rows, BATCH_ROWS):
        block = slice(start, start + BATCH_ROWS)
        rows = X if n_rows <= BATCH_ROWS else _safe_indexing(X, block)
        yield RowBatch(rows, None if y is None else y[block], None if keys is None else keys[block], by)
