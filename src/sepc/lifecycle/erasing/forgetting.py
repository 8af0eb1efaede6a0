"""Erase training rows from a model: fit it again without them, and write a receipt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from sepc._typing import IntArray
from sepc.cards import Card, ShownAsCard
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.lifecycle.erasing.receipt import Receipt, digest_of_all, keyed_digest
from sepc.lifecycle.erasing.refitting import check_can_be_fitted_again, check_rows_of, n_erased_before, refit
from sepc.lifecycle.erasing.rows_left import Block, blocks_of, positions_left, rows_left, some
from sepc.lifecycle.erasing.salted_rows import salted_digests
from sepc.lifecycle.erasing.salts import Salts
from sepc.model.provenance import running_versions
from sepc.model_files import to_bytes
from sepc.wording import counted

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
        if isinstance(self.model, SelectiveClassifier):
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
        The rows and labels that the model was fitted to, in the same order: arrays, a table, a Dask collection, or the
        path of Parquet files and the name of their label column.
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
    """Fit the model to the rows that are left, and write the receipt.

    Parameters
    ----------
    model : fitted estimator
        The model before.
    after, before : Salts
        Of the rows that are left, and of all rows.
    X, y, groups
        The rows that are left.
    gone : sequence of bytes
        The salted digests of the erased rows.
    reading : mapping, optional
        How the rows were read.
    """
    is_promise = isinstance(model, SelectiveClassifier)
    n_erased = n_erased_before(model) + len(gone) if is_promise else 0
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
