"""Erase training rows from a model: fit it again without them, and write a receipt that others can verify."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from sepc._typing import IntArray
from sepc.cards import Card, ShownAsCard
from sepc.estimators.base import DecidingClassifier, check_labels
from sepc.estimators.decided_rows import rows_digest
from sepc.estimators.given_rows import is_lazy
from sepc.estimators.unwrapping import edits_in, is_repaired, makes_promise, partition_in
from sepc.io.atomic_files import replacing
from sepc.lifecycle.receipts import Receipt, ReceiptError, Salts, digest_of_all, keyed_digest, salted_digests
from sepc.model.provenance import Provenance, running_versions
from sepc.model_files import to_bytes
from sepc.points.row_digest import Sums, add_sums, as_text, sums_in
from sepc.wording import counted

# Rows and labels of a part of a table.
Block = tuple[Any, NDArray[Any]]


def blocks_of(X: Any, y: Any) -> Iterator[Block]:
    """Rows and labels in memory; those of Parquet files block by block."""
    if isinstance(X, str | PathLike):
        from sepc.points.streams import labelled_tables

        yield from labelled_tables(X, y)
        return
    if is_lazy(X):
        raise TypeError("X is a Dask collection; erase rows from Parquet files or in memory. Give X.compute().")
    yield X, check_labels(y, "forget")


def positions_left(rows: ArrayLike, n_rows: int) -> tuple[IntArray, IntArray]:
    """The positions of the rows to erase, and of those that are left; raises if `rows` are not such positions."""
    given = np.asarray(rows)
    if given.dtype.kind == "b":
        if given.shape != (n_rows,):
            raise ValueError(f"rows is a mask of {given.size:,} entries, but there are {counted(n_rows, 'row')}.")
        given = np.flatnonzero(given)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise ValueError("rows must be positions of the rows to erase, or a mask of them, and name at least one.")
    erased = np.unique(given).astype(np.int64)
    if erased[0] < 0 or erased[-1] >= n_rows:
        raise ValueError(f"rows holds {given.min()} to {given.max()}, but positions go from 0 to {n_rows - 1:,}.")
    left = np.setdiff1d(np.arange(n_rows), erased)
    if not len(left):
        raise ValueError("rows names every row; delete the model instead.")
    return erased, left


def rows_left(X: Any, y: Any, left: IntArray, rest: str | PathLike[str] | None) -> tuple[Any, Any]:
    """The rows at these positions and their labels; those of Parquet files are written to the file `rest`."""
    if isinstance(X, str | PathLike):
        if rest is None:
            raise ValueError("X is a path, so give rest=..., the Parquet file to write the other rows to.")
        from sepc.points.streams import write_some

        with replacing(rest) as temporary:
            write_some(X, y, left, temporary)
        return rest, y
    if rest is not None:
        raise ValueError("rest is for Parquet files; rows in memory are not written.")
    return some(X, left), some(check_labels(y, "forget"), left)


def some(values: Any, left: IntArray) -> Any:
    """Some of the rows of a table, an array or a mapping of arrays; categories that none of them has are dropped."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: some(column, left) for name, column in values.items()}
    return _without_unused(_safe_indexing(values, left))


def _without_unused(values: Any) -> Any:
    """A pandas DataFrame without the categories that no row has, since its dtype would still name them."""
    dtypes = getattr(values, "dtypes", None)
    if not hasattr(values, "assign") or dtypes is None:
        return values
    named = [name for name, dtype in dtypes.items() if hasattr(dtype, "categories")]
    return values.assign(**{name: values[name].cat.remove_unused_categories() for name in named}) if named else values


NOT_ITS_ROWS = (
    "These are not the rows that the model was fitted to. Give exactly these rows and labels, read in the same way"
)


def check_can_be_fitted_again(model: Any) -> None:
    """Raise if rows cannot be erased from a model by fitting it again, and say what to do instead."""
    check_is_fitted(model)
    kind = type(model).__name__
    if not isinstance(model, DecidingClassifier):
        raise TypeError(f"{kind} is not an estimator of sepc that can be fitted again; SEPClassifier is one.")
    if is_repaired(model):
        raise TypeError(
            "The model was repaired with further rows. Erase the rows from the model before the repair, "
            "model.default_, and repair that again with the feedback that is left."
        )
    if any(makes_promise(value) for value in model.get_params().values()):
        raise TypeError(f"The {kind} has a SelectiveClassifier inside; make the promise outermost instead.")
    if edits_in(model):
        raise ValueError(
            "The model has edits, which an expert signed for this model. Take them off with model.without_edits(), "
            "erase the rows, and edit the new model."
        )
    promise = getattr(model, "promise_", None)
    if promise is not None and promise.sites:
        raise ValueError("The promise was made from the counts of sites; erase the row at its site and count again.")
    if promise is not None and promise.shift is not None:
        raise ValueError(
            "The promise is for the mix of regions in X_target, which the model does not keep. Erase the rows from "
            "model.estimator_, and make the promise again with fit(X, y, X_target=...)."
        )


def refit(model: Any, X: Any, y: Any, groups: Any = None, n_erased: int = 0) -> Any:
    """Fit a model to these rows with the parameters of another one; `n_erased` rows count against its promise."""
    fresh = clone(model)
    drawn = [name for name, value in fresh.get_params().items() if name.endswith("random_state") and value is None]
    fresh.set_params(**dict.fromkeys(drawn, 0))
    if makes_promise(fresh):
        return fresh.fit_after_erasure(X, y, n_erased, groups=groups)
    if groups is not None:
        raise ValueError("groups are for a SelectiveClassifier with promises for groups.")
    return fresh.fit(X, y)


def n_erased_before(model: Any) -> int:
    """How many erased rows the promise of a model counts already."""
    return int(model.promise_.n_erased) if makes_promise(model) else 0


def check_rows_of(model: Any, blocks: Iterable[Block], fit_to_all: Callable[[], Any]) -> int:
    """Raise unless a model was fitted to these rows; returns how many they are."""
    known, n_known = _digest_in(model)
    inside = model.inner if makes_promise(model) else model
    sums: list[Sums] = []
    n_rows = 0
    for X, labels in blocks:
        n_rows += len(labels)
        if known:
            sums.append(sums_in(rows_digest(inside, X, labels)))
    if n_known is not None and n_rows != n_known:
        raise ValueError(f"{NOT_ITS_ROWS}: it was fitted to {counted(n_known, 'row')}, and these are {n_rows:,}.")
    if known and as_text(add_sums(sums)) != known:
        raise ValueError(f"{NOT_ITS_ROWS}: their digest is not that in the model.")
    if not known and _is_repeatable(model) and to_bytes(fit_to_all()) != to_bytes(model):
        raise ValueError(f"{NOT_ITS_ROWS}, in the same order: a fit to these rows gives another model.")
    return n_rows


def _digest_in(model: Any) -> tuple[str, int | None]:
    """The digest of all rows that were given to `fit`, empty if it is not known, and their number."""
    made = getattr(model, "provenance_", None)
    if not makes_promise(model) or isinstance(model.estimator_, FrozenEstimator):
        return ("", None) if made is None else (made.rows, made.n_rows)
    inner: Provenance | None = getattr(model.estimator_, "provenance_", None)
    if made is None or inner is None:
        return "", None
    # Digests of strata are computed from other columns, so they cannot be added.
    is_sum = made.rows and inner.rows and partition_in(model.estimator_) is not None
    return as_text(add_sums([sums_in(made.rows), sums_in(inner.rows)])) if is_sum else "", made.n_rows + inner.n_rows


def _is_repeatable(model: Any) -> bool:
    parameters = clone(model).get_params()
    return not any(name.endswith("random_state") and value is None for name, value in parameters.items())


STILL_TO_DO = (
    "What else may hold the rows, and is not touched: the table and its backups, the model before and its exports, "
    "reports, files of decisions, change plans, and the log of a desk. Monitors and review queues of the model before "
    "hold no rows, but must be started again."
)


@dataclass(frozen=True, eq=False, repr=False)
class Erasure(ShownAsCard):
    """What `forget` made.

    Attributes
    ----------
    model : fitted estimator
        The model without the rows: the same, byte for byte, as one that was fitted without them.
    receipt : Receipt
        For anyone. It tells nothing about the erased rows.
    salts : Salts
        For those who hold the rows that are left; secret.
    """

    model: Any
    receipt: Receipt
    salts: Salts

    def summary(self) -> str:
        """What was done, and what may still hold the rows."""
        receipt = self.receipt
        lines = [
            f"Erased {counted(receipt.n_erased, 'row')} of {receipt.n_before:,}, and fitted the model again to the "
            f"other {receipt.n_after:,}."
        ]
        if makes_promise(self.model):
            lines.append(self.model.summary())
        return "\n".join([*lines, STILL_TO_DO])

    def _card(self) -> Card:
        receipt = self.receipt
        facts = (
            ("rows left", f"{receipt.n_after:,} of {receipt.n_before:,}"),
            ("model", type(self.model).__name__),
            ("date", receipt.date),
        )
        return Card(f"Erasure of {counted(receipt.n_erased, 'row')}", facts, note="summary() says what is left to do.")


def forget(
    model: Any,
    X: Any,
    y: Any,
    rows: ArrayLike,
    *,
    groups: Any = None,
    rest: str | PathLike[str] | None = None,
    salts: Salts | None = None,
) -> Erasure:
    """Erase training rows from a model, with a receipt.

    The model is fitted again, with the same parameters, to the rows that are left. A `SelectiveClassifier` makes its
    promise again, and counts every erased row as a wrong calibration row: rows may have been erased because they were
    wrong.

    Parameters
    ----------
    model : SEPClassifier or another estimator of this library
        Not changed. A model that was edited or repaired is refused.
    X, y
        The rows and labels that the model was fitted to, in the same order: arrays, a table, or the path of Parquet
        files and the name of their label column.
    rows : array of int or bool
        Positions of the rows to erase, from 0, or a mask.
    groups : array, DataFrame or mapping, optional
        As in `SelectiveClassifier.fit`, for all rows.
    rest : str or Path, optional
        For Parquet files: where to write the rows that are left.
    salts : Salts, optional
        Those of the last erasure from this model, so that the two receipts form a chain; `X` are then the rows that it
        left. Delete them afterwards.

    Returns
    -------
    Erasure
        The model, the receipt and the salts of the rows that are left. The salts of erased rows exist nowhere.

    Raises
    ------
    ValueError
        If `X` and `y` are not the rows of the model.
    TypeError
        If the model cannot be fitted again.

    Examples
    --------
    >>> import sepc
    >>> from sepc.lifecycle import forget, verify_receipt
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sepc.SEPClassifier().fit(X, y)
    >>> erasure = forget(model, X, y, rows=[7, 70])
    >>> erasure.receipt
    Receipt for the erasure of 2 rows...
    """
    check_can_be_fitted_again(model)
    n_rows = check_rows_of(model, blocks_of(X, y), lambda: refit(model, X, y, groups, n_erased_before(model)))
    erased, left = positions_left(rows, n_rows)
    before = salts_before(salts, blocks_of(X, y), n_rows)
    X_left, y_left = rows_left(X, y, left, rest)
    gone = digests_at(erased, blocks_of(X, y), before)
    return erasure_of(model, before.left_after(left), X_left, y_left, some(groups, left), gone, before)


def erasure_of(
    model: Any,
    after: Salts,
    X: Any,
    y: Any,
    groups: Any,
    gone: Sequence[bytes],
    before: Salts,
    reading: Mapping[str, Any] | None = None,
) -> Erasure:
    """Fit the model to the rows that are left, and write the receipt."""
    n_erased = n_erased_before(model) + len(gone) if makes_promise(model) else 0
    new = refit(model, X, y, groups, n_erased)
    digests = salted_digests(blocks_of(X, y), after.rows)
    after = replace(after, of=digest_of_all(digests))
    receipt = Receipt(
        date=datetime.now(UTC).date().isoformat(),
        n_before=len(digests) + len(gone),
        n_erased=len(gone),
        n_after=len(digests),
        n_counted_wrong=n_erased,
        rows_before=digest_of_all([*digests, *gone]),
        rows_after=after.of,
        model_before=model_digest_with(before, model),
        model_after=model_digest_with(after, new),
        erased=tuple(sorted(one.hex() for one in gone)),
        versions=running_versions(),
        reading=dict(reading or {}),
    )
    return Erasure(new, receipt.sealed(after.seal), after)


def salts_before(salts: Salts | None, blocks: Iterable[Block], n_rows: int) -> Salts:
    """The salts of all rows: those of the last erasure, if they belong to these rows, or new ones."""
    if salts is None:
        return Salts.new(n_rows)
    if len(salts.rows) != n_rows or digest_of_all(salted_digests(blocks, salts.rows)) != salts.of:
        raise ValueError("The salts do not belong to these rows: give the rows that the last erasure left, in order.")
    return salts


def digests_at(positions: IntArray, blocks: Iterable[Block], salts: Salts) -> list[bytes]:
    """The salted digests of the rows at these positions."""
    digests = salted_digests(blocks, salts.rows)
    return [digests[i] for i in positions]


def model_digest_with(salts: Salts, model: Any) -> str:
    """The salted digest of a model file."""
    return keyed_digest(salts.model, sha256(to_bytes(model)).digest())


def verify_receipt(
    receipt: Receipt, model: Any, X: Any, y: Any, salts: Salts, *, groups: Any = None, refit_model: bool = True
) -> None:
    """Verify that a model was fitted to the rows that an erasure left, and to no others.

    The receipt must be unchanged, the rows must be those that were left, in the same order, and the model must be the
    one of the receipt. Then the model is fitted again to these rows, and must be the same byte for byte, so that it
    cannot hold anything of other rows.

    Parameters
    ----------
    receipt : Receipt
    model : fitted estimator
        The model after the erasure.
    X, y
        The rows that are left and their labels, as for `forget`.
    salts : Salts
        Those of the erasure.
    groups : array, DataFrame or mapping, optional
        As in `SelectiveClassifier.fit`, for these rows.
    refit_model : bool, default=True
        Whether to fit the model again. Without it, nothing shows that the model was fitted to these rows only.

    Raises
    ------
    ReceiptError
        If something does not match; the message says what.
    """
    if not receipt.is_sealed_with(salts.seal):
        raise ReceiptError("The receipt was changed, or the salts are those of another one.")
    if receipt.n_before - receipt.n_erased != receipt.n_after or len(receipt.erased) != receipt.n_erased:
        raise ReceiptError("The numbers of rows in the receipt do not add up.")
    digests = salted_digests(blocks_of(X, y), salts.rows)
    if len(digests) != receipt.n_after:
        raise ReceiptError(f"There are {len(digests):,} rows, but the erasure left {receipt.n_after:,}.")
    if digest_of_all(digests) != receipt.rows_after:
        raise ReceiptError("These are not the rows that the erasure left, or they are in another order.")
    if digest_of_all([*digests, *map(bytes.fromhex, receipt.erased)]) != receipt.rows_before:
        raise ReceiptError("The rows before are not those that are left and those that were erased.")
    if model_digest_with(salts, model) != receipt.model_after:
        raise ReceiptError("The model is not the one that the erasure made.")
    if refit_model and to_bytes(refit(model, X, y, groups, receipt.n_counted_wrong)) != to_bytes(model):
        raise ReceiptError(f"A fit to these rows gives another model.{_other_versions(receipt)}")


def _other_versions(receipt: Receipt) -> str:
    running = running_versions()
    if receipt.versions == running:
        return ""
    return f" It was fitted with {', '.join(receipt.versions)}; these are {', '.join(running)}."
