"""Fit a model again from its parameters, and check that rows are those that it was fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sepc.estimators.decided_rows import rows_digest
from sepc.estimators.editable import edits_in
from sepc.estimators.repaired.estimator import RepairedClassifier
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.stratified.estimator import StratifiedClassifier
from sepc.estimators.trusted.estimator import TrustedClassifier
from sepc.lifecycle.erasing.rows_left import Block
from sepc.model.provenance import Provenance
from sepc.model_files import to_bytes
from sepc.points.row_digest import Sums, add_sums, as_text, sums_in
from sepc.wording import counted

FITTED_AGAIN = (SEPClassifier, SelectiveClassifier, StratifiedClassifier, TrustedClassifier)

NOT_ITS_ROWS = (
    "These are not the rows that the model was fitted to. Give exactly these rows and labels, read in the same way"
)


def check_can_be_fitted_again(model: Any) -> None:
    """Raise if rows cannot be erased from a model by fitting it again, and say what to do instead."""
    check_is_fitted(model)
    kind = type(model).__name__
    if isinstance(model, RepairedClassifier):
        raise TypeError(
            "The model was repaired with further rows. Erase the rows from the model before the repair, "
            "model.estimator_, and repair that again with the feedback that is left."
        )
    if not isinstance(model, FITTED_AGAIN):
        raise TypeError(f"{kind} is not an estimator of sepc that can be fitted again; SEPClassifier is one.")
    inner = [value for value in model.get_params().values() if isinstance(value, SelectiveClassifier)]
    if inner:
        raise TypeError(f"The {kind} has a SelectiveClassifier inside; make the promise outermost instead.")
    if edits_in(model):
        raise ValueError(
            "The model has edits, which an expert signed for this model. Take them off with model.without_edits(), "
            "erase the rows, and edit the new model."
        )
    if getattr(model, "sites_", ()):
        raise ValueError("The promise was made from the counts of sites; erase the row at its site and count again.")
    if getattr(model, "shift_", None) is not None:
        raise ValueError(
            "The promise is for the mix of regions in X_target, which the model does not keep. Erase the rows from "
            "model.estimator_, and make the promise again with fit(X, y, X_target=...)."
        )


def refit(model: Any, X: Any, y: Any, groups: Any = None, n_erased: int = 0) -> Any:
    """Fit a model to these rows with the parameters of another one; `n_erased` rows count against its promise.

    A `random_state` of None becomes 0, so that others can repeat the fit.
    """
    fresh = clone(model)
    drawn = [name for name, value in fresh.get_params().items() if name.endswith("random_state") and value is None]
    fresh.set_params(**dict.fromkeys(drawn, 0))
    if isinstance(fresh, SelectiveClassifier):
        return fresh.fit_after_erasure(X, y, n_erased, groups=groups)
    if groups is not None:
        raise ValueError("groups are for a SelectiveClassifier with promises for groups.")
    return fresh.fit(X, y)


def n_erased_before(model: Any) -> int:
    """How many erased rows the promise of a model counts already."""
    return int(getattr(model, "n_erased_", 0))


def check_rows_of(model: Any, blocks: Iterable[Block], fit_to_all: Callable[[], Any]) -> int:
    """Raise unless a model was fitted to these rows; returns how many they are.

    The digest of the rows is compared with that in the model. A model without a digest is fitted again to all rows, by
    `fit_to_all`, and must be the same; if its fit cannot be repeated, only the number of rows is compared.
    """
    known, n_known = _digest_in(model)
    inside = model.estimator_ if isinstance(model, SelectiveClassifier) else model
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
    if not isinstance(model, SelectiveClassifier) or isinstance(model.estimator_, FrozenEstimator):
        return ("", None) if made is None else (made.rows, made.n_rows)
    inner: Provenance | None = getattr(model.estimator_, "provenance_", None)
    if made is None or inner is None:
        return "", None
    # Digests of strata are computed from other columns, so they cannot be added.
    is_sum = made.rows and inner.rows and isinstance(model.estimator_, SEPClassifier | TrustedClassifier)
    return as_text(add_sums([sums_in(made.rows), sums_in(inner.rows)])) if is_sum else "", made.n_rows + inner.n_rows


def _is_repeatable(model: Any) -> bool:
    parameters = clone(model).get_params()
    return not any(name.endswith("random_state") and value is None for name, value in parameters.items())
