"""The promise in words."""

from __future__ import annotations

import numpy as np

from sepc.estimators.selective.cost_control import CostControl
from sepc.estimators.selective.risk_control import Control
from sepc.wording import AS_SET, percent


def risk_sentence(control: Control, whom: str, confidence: float) -> str:
    """The promise about errors; `whom` says for which rows, empty for all rows."""
    goal = (
        f"at most {percent(control.max_risk, AS_SET)} of accepted rows{whom} are wrong, "
        f"with {percent(confidence, AS_SET)} confidence"
    )
    if np.isfinite(control.threshold):
        return f"A{goal[1:]}: {_accepts(control, whom)}."
    why = (
        f"there are only {control.n_rows:,} calibration rows{whom}"
        if control.n_rows < control.n_needed
        else f"of the {control.n_tried:,} most trusted{whom}, {control.n_tried_errors:,} were wrong"
    )
    return (
        f"No threshold can keep the promise that {goal}, so no row{whom} is accepted: it takes at least "
        f"{control.n_needed:,} accepted calibration rows without an error, or more with few errors, and {why}."
    )


def cost_sentence(control: CostControl, confidence: float) -> str:
    """The promise about costs, and the estimated savings."""
    goal = (
        f"an accepted row costs at most {control.review:.4g} on average, the cost of a review, "
        f"with {percent(confidence, AS_SET)} confidence"
    )
    if np.isfinite(control.threshold):
        saved = f"{control.review - control.cost:.3g}"
        return (
            f"A{goal[1:]}: {_accepts(control, '')}. Errors and reviews together cost about {control.cost:.3g} a row, "
            f"{saved} less than a review of every row."
        )
    why = (
        f"there are only {control.n_rows:,} calibration rows"
        if control.n_rows < control.n_needed
        else f"the {control.n_tried:,} most trusted cost {control.tried_cost:.3g} on average"
    )
    return (
        f"No threshold can keep the promise that {goal}, so no row is accepted: it takes at least "
        f"{control.n_needed:,} accepted calibration rows without a cost, or more with few costs, and {why}."
    )


def _accepts(control: Control | CostControl, whom: str) -> str:
    share = percent(control.n_accepted / control.n_rows)
    threshold = f"{control.threshold:.3f}"
    threshold = f"{control.threshold:.10g}" if threshold == "1.000" else threshold
    return f"accepts trust >= {threshold}, {share} of {control.n_rows:,} calibration rows{whom}"
