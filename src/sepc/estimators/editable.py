"""Edited models: the methods that edit one and take edits off, and the edits of any model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sepc.estimators.fitted_record import FittedAtOnce, as_fitted
from sepc.estimators.unwrapping import unwrap
from sepc.model.edits import Edit

# Where models have other models inside.
HOLDERS = ("partition_", "estimator_", "pooled_")


class Editable(FittedAtOnce):
    """A fitted model that an expert may edit; each edit can be taken off again."""

    @property
    def edits_(self) -> tuple[Edit, ...]:
        """The edits of the model, in the order in which they were made; empty for most models."""
        return edits_in(as_fitted(self))

    def edited(self, *edits: Edit, author: str, reason: str, date: Any) -> Self:
        """A copy of the model with more edits; the model itself stays as it is.

        A promise made before does not hold for the copy: see `SelectiveClassifier.lost_promise_`.

        Parameters
        ----------
        *edits : Edit
            Applied in this order, after those that the model has already.
        author, reason : str
            Who edits the model, and why; kept in the model and its file.
        date : datetime.date or str
            The day of the edit, such as "2026-05-04".

        Returns
        -------
        model
            `edits_` lists its edits, and `without_edits` takes them off.
        """
        fitted = as_fitted(self)
        if not edits:
            raise ValueError("There is nothing to edit; give at least one Edit, such as Edit.flatten('age', 80).")
        return fitted.with_edits((*fitted.edits_, *(edit.signed(author, reason, date) for edit in edits)))

    def without_edits(self, *numbers: int) -> Self:
        """A copy of the model without some edits, given by their positions in `edits_`; by default without any.

        The others are applied again, in order. Without any, the model is the one that `fit` made, bit for bit.
        """
        fitted = as_fitted(self)
        edits = fitted.edits_
        for number in numbers:
            if not -len(edits) <= number < len(edits):
                raise ValueError(f"There is no edit {number}; the model has {len(edits)}, numbered from 0.")
        gone = {number % len(edits) for number in numbers}
        return fitted.with_edits([edit for i, edit in enumerate(edits) if numbers and i not in gone])

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, which are signed."""
        raise NotImplementedError


def edits_in(model: Any) -> tuple[Edit, ...]:
    """The edits of a fitted model, or of the model inside wrappers, pipelines and searches; empty for most."""
    classifier = unwrap(model).classifier
    layer = getattr(getattr(classifier, "model_", None), "edits", None)
    if layer is not None:
        made: tuple[Edit, ...] = layer.made
        return made
    inside = (edits_in(getattr(classifier, holder)) for holder in HOLDERS if hasattr(classifier, holder))
    return next((edits for edits in inside if edits), ())
