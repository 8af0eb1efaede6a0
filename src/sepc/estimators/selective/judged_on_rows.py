"""What other rows show about a `SelectiveClassifier`: certificates of regions, and a comparison of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepc.decisions.decisions import NO_REGIONS, Decisions
from sepc.estimators.checks import check_labels
from sepc.estimators.fitted_record import FittedAtOnce, as_fitted
from sepc.estimators.selective.calibration import decide_inside
from sepc.estimators.selective.certificates import Certificates
from sepc.estimators.selective.cost_control import CostControl
from sepc.estimators.selective.group_comparison import GroupComparison, compare_groups
from sepc.estimators.selective.group_control import Groups
from sepc.estimators.selective.groups import Key
from sepc.estimators.selective.risk_control import Control


class JudgedOnRows(FittedAtOnce):
    """The methods of a `SelectiveClassifier` that judge it on other rows."""

    confidence: float
    estimator_: Any
    controls_: Mapping[Any, Control | CostControl]
    groups_: Groups | None
    decide: Any

    def certificates(self, X: ArrayLike, y: ArrayLike) -> Certificates:
        """Lower bounds on the estimator's accuracy in each of its regions, from held-out rows.

        All bounds hold simultaneously with `confidence` (Bonferroni), so a reader may pick out the best. They cover all
        rows of a region, accepted or not.

        Parameters
        ----------
        X, y : rows and their labels
            The estimator must not have been trained on any of them.

        Returns
        -------
        Certificates
        """
        fitted = as_fitted(self)
        decided = decide_inside(fitted.estimator_, X)
        check_regions(fitted.estimator_, decided, "Certificates are for regions")
        wrong = decided.label != check_labels(y, "SelectiveClassifier")
        return Certificates.of(decided.region, wrong, fitted.confidence)

    def compare_groups(self, X: ArrayLike, y: ArrayLike | None = None, *, groups: Any = None) -> GroupComparison:
        """Compare groups on other rows: how many are accepted (coverage), and how many of these are wrong (risk).

        Parameters
        ----------
        X : array or DataFrame of n rows
        y : array of shape (n,), optional
            True labels; without them, acceptance alone is compared.
        groups : array of n rows, DataFrame or mapping of names to arrays, optional
            The columns `by`, if they are not in `X`.

        Returns
        -------
        GroupComparison
        """
        fitted = as_fitted(self)
        if fitted.groups_ is None:
            raise ValueError("There are no groups to compare; name the columns that define them in by.")
        decisions, keys = fitted.decide(X, groups=groups), fitted.groups_.of(X, groups)
        right = None if y is None else np.asarray(decisions.label == check_labels(y, "SelectiveClassifier"))
        return compare_groups(decisions, right, keys, fitted.groups_.name, fitted.promised_groups())

    def promised_groups(self) -> list[Key]:
        """The groups whose rows may be accepted."""
        return [key for key, control in self.controls_.items() if np.isfinite(control.threshold)]


def check_regions(estimator: Any, decided: Decisions, what: str) -> None:
    """Raise if the estimator behind decisions has no regions, which `what` needs."""
    if (decided.region == NO_REGIONS).any():
        raise TypeError(f"{what}, but {type(estimator).__name__} has none; use an SEPClassifier.")
