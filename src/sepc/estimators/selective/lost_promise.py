"""What edits do to a promise: it holds for the model that it was made for, and for no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.frozen import FrozenEstimator

from sepc.estimators.editable import Editable, edits_in
from sepc.estimators.fitted_record import as_fitted
from sepc.estimators.selective.made_for import MadeFor
from sepc.estimators.unwrapping import unwrap
from sepc.model.edits import Edit

# The attributes that a promise consists of.
OF_PROMISE = (
    *("controls_", "groups_", "shift_", "threshold_", "coverage_"),
    *("risk_bound_", "mean_cost_", "confidence_", "n_calibration_", "n_erased_", "errors_by_label_"),
)

M = TypeVar("M", bound="EditablePromise")

LOST = (
    "There is no promise, and no row is accepted: the model was edited after its promise was made. Make a new one on "
    "rows that the model has not seen: SelectiveClassifier(FrozenEstimator(model.estimator_), ...).fit(X, y)."
)


@dataclass(frozen=True, eq=False)
class LostPromise:
    """A promise that does not hold for the model as it is.

    Attributes
    ----------
    edits : tuple of Edit
        The edits of the model that the promise was made for.
    promise : dict
        The attributes of that promise.
    """

    edits: tuple[Edit, ...]
    promise: dict[str, Any]


class EditablePromise(Editable):
    """What lets a `SelectiveClassifier` be edited: the classifier inside is, and the promise is lost."""

    estimator: Any
    estimator_: Any
    lost_promise_: LostPromise | None
    made_for_: MadeFor

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, which are signed; its promise is lost.

        If these are the edits that the model had when the promise was made, it holds again.
        """
        fitted = as_fitted(self)
        fitted.made_for_.check()
        is_frozen = isinstance(fitted.estimator_, FrozenEstimator)
        inside = fitted.estimator_.estimator if is_frozen else fitted.estimator_
        if not isinstance(inside, Editable):
            raise TypeError(
                f"{type(inside).__name__} inside the SelectiveClassifier cannot be edited; an SEPClassifier can."
            )
        held = fitted.lost_promise_ or LostPromise(fitted.edits_, promise_of(fitted))
        inside = inside.with_edits(edits)
        estimator = FrozenEstimator(inside) if is_frozen else inside
        edited = fitted.with_fitted(estimator_=estimator, made_for_=MadeFor(estimator))
        if fitted.estimator is fitted.estimator_:
            # So that `fit` calibrates the edited model.
            edited.estimator = edited.estimator_
        return with_promise(edited, held)


def with_promise(model: M, held: LostPromise) -> M:
    """A `SelectiveClassifier` with this promise if it was made for a model with the same edits; else with none."""
    if edits_in(model) == held.edits:
        return model.with_fitted(OF_PROMISE, lost_promise_=None, **held.promise)
    nothing: dict[str, Any] = {"controls_": {}, "groups_": None, "shift_": None, "threshold_": np.inf, "coverage_": 0.0}
    nothing |= {"errors_by_label_": None, "n_calibration_": 0, "n_erased_": 0}
    nothing["confidence_"] = held.promise["confidence_"]
    return model.with_fitted(OF_PROMISE, lost_promise_=held, **nothing)


def has_lost_promise(model: Any) -> bool:
    """Whether the classifier inside a model had a promise that an edit made void."""
    return isinstance(getattr(unwrap(model).classifier, "lost_promise_", None), LostPromise)


def promise_of(model: EditablePromise) -> dict[str, Any]:
    """The attributes of a promise."""
    return {name: getattr(model, name) for name in OF_PROMISE if hasattr(model, name)}
