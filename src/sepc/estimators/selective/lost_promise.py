"""What edits do to a promise: it holds for the model that it was made for, and for no other."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.frozen import FrozenEstimator

from sepc.estimators.editable import Editable, edits_in
from sepc.estimators.unwrapping import unwrap
from sepc.model.edits import Edit

# The attributes that a promise consists of.
OF_PROMISE = (
    *("controls_", "groups_", "shift_", "threshold_", "coverage_"),
    *("risk_bound_", "mean_cost_", "confidence_", "n_calibration_", "n_erased_", "errors_by_label_"),
)

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
    lost_promise_: LostPromise | None = None

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, which are signed; its promise is lost.

        If these are the edits that the model had when the promise was made, it holds again.
        """
        is_frozen = isinstance(self.estimator_, FrozenEstimator)
        inside = self.estimator_.estimator if is_frozen else self.estimator_
        if not isinstance(inside, Editable):
            raise TypeError(
                f"{type(inside).__name__} inside the SelectiveClassifier cannot be edited; an SEPClassifier can."
            )
        held = self.lost_promise_ or LostPromise(self.edits_, promise_of(self))
        edited = copy(self)
        edited.estimator_ = FrozenEstimator(inside.with_edits(edits)) if is_frozen else inside.with_edits(edits)
        if self.estimator is self.estimator_:
            # So that `fit` calibrates the edited model.
            edited.estimator = edited.estimator_
        set_promise(edited, held)
        return edited


def set_promise(model: EditablePromise, held: LostPromise) -> None:
    """Give a `SelectiveClassifier` this promise if it was made for a model with the same edits; else none."""
    for name in (*OF_PROMISE, "lost_promise_"):
        vars(model).pop(name, None)
    if edits_in(model) == held.edits:
        put_promise(model, held)
        return
    nothing: dict[str, Any] = {"controls_": {}, "groups_": None, "shift_": None, "threshold_": np.inf, "coverage_": 0.0}
    vars(model).update(nothing, n_calibration_=0, confidence_=held.promise["confidence_"], lost_promise_=held)


def has_lost_promise(model: Any) -> bool:
    """Whether the classifier inside a model had a promise that an edit made void."""
    return isinstance(getattr(unwrap(model).classifier, "lost_promise_", None), LostPromise)


def put_promise(model: EditablePromise, held: LostPromise) -> None:
    """Set the attributes of a promise, whether it holds or not."""
    for name, value in held.promise.items():
        setattr(model, name, value)


def promise_of(model: EditablePromise) -> dict[str, Any]:
    """The attributes of a promise."""
    return {name: vars(model)[name] for name in OF_PROMISE if name in vars(model)}
