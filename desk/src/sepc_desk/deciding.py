"""Decide on rows with a model, and collect what the log stores of each decision."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import sepc

from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.rows import Row, plain

CAUSES = {int(cause): cause.name for cause in sepc.Cause}


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision on one row, as JSON has it.

    Attributes
    ----------
    label : object
    accepted : bool
    cause : str
    trust : float or None
        None if the model gives none.
    probabilities : list of float
        In the order of the model's classes.
    region : int
    reason : str or None
    terms : list of pairs, or None
        Names and log-odds, if they were asked for and the model has them.
    """

    label: Any
    accepted: bool
    cause: str
    trust: float | None
    probabilities: list[float]
    region: int
    reason: str | None = None
    terms: list[tuple[str, float]] | None = None

    def private(self, row: Row) -> dict[str, Any]:
        """The private part of an entry, which an erasure removes."""
        part: dict[str, Any] = {
            "row": row,
            "trust": self.trust,
            "probabilities": self.probabilities,
            "region": self.region,
        }
        if self.reason is not None:
            part["reason"] = self.reason
        if self.terms is not None:
            part["terms"] = self.terms
        return part

    @property
    def label_text(self) -> str:
        """The label as JSON."""
        return orjson.dumps(self.label).decode()


def decide_rows(model: Model, rows: Sequence[Row], explain: bool = False) -> list[Decided]:
    """Decisions on rows that have been typed by the columns of the model."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decisions = sepc.decide(model.estimator, model.table(rows))
    except (ValueError, TypeError, KeyError) as error:
        raise RequestError(422, "refused_by_model", str(error)) from error
    columns = (
        decisions.label.tolist(),
        decisions.accepted.tolist(),
        decisions.cause.tolist(),
        decisions.trust.tolist(),
        decisions.probabilities.tolist(),
        decisions.region.tolist(),
    )
    reasons = decisions.why() if explain else [None] * len(rows)
    terms = [_terms(decisions, i) for i in range(len(rows))] if explain else [None] * len(rows)
    return [
        Decided(
            plain(label),
            accepted,
            CAUSES[cause],
            None if math.isnan(trust) else trust,
            probabilities,
            region,
            reason,
            own,
        )
        for label, accepted, cause, trust, probabilities, region, reason, own in zip(
            *columns, reasons, terms, strict=True
        )
    ]


def _terms(decisions: sepc.Decisions, i: int) -> list[tuple[str, float]] | None:
    """The terms of row `i`; None if the model has none."""
    one: Any = decisions[i]
    if not hasattr(one, "terms"):
        return None
    try:
        return [(name, float(value)) for name, value in one.terms().named()]
    except (ValueError, TypeError, AttributeError):
        return None
