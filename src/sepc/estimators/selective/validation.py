"""Validate the parameters of a `SelectiveClassifier`: rates between 0 and 1, and compatible promises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.groups import Key, len_of, names_in
from sepc.wording import check_number, listed, shown

MaxRisk = float | Mapping[Any, float] | Costs


def check_promise(max_risk: MaxRisk, by: Any, parents: Mapping[Key, Key] | None, one_threshold: bool) -> None:
    """Raise if the parameters do not define a promise."""
    risks: dict[Any, Any] = dict(max_risk) if isinstance(max_risk, Mapping) else {None: max_risk}
    if not risks:
        raise ValueError("max_risk names no label; give a number, or a mapping of labels to numbers.")
    if isinstance(max_risk, Costs):
        risks = {}
    elif np.ndim(cast(Any, max_risk)):
        raise TypeError("max_risk is an array; a cost matrix goes into Costs(matrix, review=...).")
    if by is not None:
        names_in(by)
        if isinstance(max_risk, Mapping | Costs):
            raise ValueError("If `by` is given, max_risk must be one number for all groups, not a mapping or Costs.")
        if not isinstance(parents, Mapping | None):
            raise ValueError(f"parents is {parents!r}; it must be a mapping of groups to the groups they belong to.")
    elif parents is not None or one_threshold:
        raise ValueError("parents and one_threshold are for groups; name the columns that define these in by.")
    for label, risk in risks.items():
        check_number("max_risk" if label is None else f"max_risk[{label!r}]", risk, above=0, below=1)


def check_fit_arguments(max_risk: MaxRisk, by: Any, groups: Any, X_target: Any) -> None:
    """Raise if the arguments of `fit` are not compatible."""
    if groups is not None and by is None:
        raise ValueError("groups are given, but by names no column; name their columns, as in by='sex'.")
    if X_target is None:
        return
    if by is not None or isinstance(max_risk, Mapping | Costs):
        raise ValueError("With X_target, max_risk must be one number for all rows: no by, no mapping and no Costs.")
    if len(np.shape(X_target)) == 0 or len_of(X_target) == 0:
        raise ValueError("X_target has no rows; give rows from the population that the promise is for.")


def risks_of_labels(max_risk: MaxRisk, classes: NDArray[Any]) -> dict[Any, float]:
    """The largest error rate for each label; the key None stands for all rows."""
    if not isinstance(max_risk, Mapping):
        return {None: cast(float, max_risk)}
    unknown = [label for label in max_risk if label not in classes]
    if unknown:
        known = listed(map(shown, classes))
        raise ValueError(f"max_risk names {listed(map(shown, unknown))}; the classes are {known}.")
    return dict(max_risk)
