"""Verify the receipt of an erasure, with the rows that are left."""

from __future__ import annotations

from typing import Any

from sepc.lifecycle.forget import blocks_of, model_digest_with, refit
from sepc.lifecycle.receipts import Receipt, ReceiptError, Salts, digest_of_all, salted_digests
from sepc.model.provenance import running_versions
from sepc.model_files import to_bytes


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
