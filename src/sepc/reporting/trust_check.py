"""Whether held-out rows contradict what a model says about the labels it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.base import MIN_TRUST
from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.groups import codes_of
from sepc.estimators.unwrapping import makes_promise, unwrap
from sepc.statistics.betting import mean_p_value
from sepc.statistics.rates import p_value
from sepc.wording import AS_SET, counted, percent, shown

# A true claim is called contradicted with at most this probability.
LEVEL = 0.05


@dataclass(frozen=True)
class TrustCheck:
    """A claim about the accepted rows, and what held-out rows say about it."""

    claim: str
    about: str | None
    n_accepted: int
    claimed: float
    seen: float | None
    p_value: float
    level: float
    is_contradicted: bool
    head: str
    text: str


class Whose(NamedTuple):
    """Which rows a promise is about: in short, after "rows accepted", and after "the promise"."""

    about: str | None
    rows: str
    promise: str


def checks_of(
    estimator: Any, decisions: Decisions, y: NDArray[Any], right: BoolArray, keys: NDArray[Any] | None = None
) -> tuple[TrustCheck, ...]:
    """The check of every claim that a fitted model makes about the rows it accepts; `keys` are the groups of rows."""
    classifier = unwrap(estimator).classifier
    accepted = np.asarray(decisions.accepted)
    if not makes_promise(classifier):
        return (_check_trust(int(accepted.sum()), int((accepted & right).sum()), min_trust_of(estimator)),)
    checks = []
    promise, groups = classifier.promise_, classifier.promise_.groups
    level = LEVEL / max(len(promise.controls), 1)
    code = None if groups is None or keys is None else codes_of(keys, list(promise.controls))
    for i, (key, control) in enumerate(promise.controls.items()):
        if groups is not None:
            about = accepted if code is None else accepted & (code == i)
            whose = Whose(groups.name(key), f" with {groups.name(key)}", f" for {groups.name(key)}")
        elif key is not None:
            about = accepted & (decisions.label == key)
            whose = Whose(str(key), f" as {shown(key)}", f" for {shown(key)}")
        else:
            about, whose = accepted, Whose(None, "", "")
        if promise.costs is not None:
            checks += _check_costs(promise.max_risk, classifier.classes_, decisions[about], y[about], level)
        else:
            n, n_right = int(about.sum()), int((about & right).sum())
            checks.append(_check_promise(n, n_right, control.limit, whose, level))
    return tuple(checks)


def out_of_fold_check(estimator: Any, y_train: NDArray[Any]) -> TrustCheck | None:
    """The check of trust on training rows by their out-of-fold probabilities; None if there are none."""
    classifier = unwrap(estimator).classifier
    found = getattr(classifier, "out_of_fold_", None)
    if found is None:
        return None
    if len(found) != len(y_train):
        raise ValueError(f"y_train has {len(y_train):,} labels, but the model was fitted to {len(found):,} rows.")
    judged = ~np.isnan(found[:, 0])
    label, trust = classifier.classes_[found[judged].argmax(axis=1)], found[judged].max(axis=1)
    accepted, least = trust >= classifier.min_trust, float(classifier.min_trust)
    n, n_right = int(accepted.sum()), int((accepted & (label == y_train[judged])).sum())
    p = _chance(n, n_right, least)
    is_contradicted = n > 0 and p <= LEVEL
    if n == 0:
        head, text = "No training row is accepted.", "So they do not show whether trust is calibrated."
    else:
        n_judged = counted(int(judged.sum()), "training row")
        text = f"Of {n_judged}, each decided by a model fitted on other rows, {n:,} are accepted"
        text += f", and {n_right:,} of these ({percent(n_right / n)}) are right"
        if is_contradicted:
            head = "Do not rely on trust: training rows contradict it."
            text += f". {_how_likely('trust were right', 'right', p, LEVEL)}"
        else:
            head = "Training rows agree."
            text += f"{_within_chance(p, LEVEL, n_right < least * n)}."
    return _check("trust", "training rows", n, n_right, least, p, LEVEL, is_contradicted, head, text)


def alarms(checks: Sequence[TrustCheck]) -> tuple[str, ...]:
    """The claims that rows contradict, in words."""
    return tuple(f"{check.head} {check.text}" for check in checks if check.is_contradicted)


def min_trust_of(estimator: Any) -> float:
    """The minimum trust at which a fitted model accepts labels; the default if it has no `min_trust`."""
    classifier = unwrap(estimator).classifier
    if hasattr(classifier, "min_trust"):
        return float(classifier.min_trust)
    inner = getattr(classifier, "inner", None)
    return MIN_TRUST if inner is None else min_trust_of(inner)


def threshold_of(estimator: Any) -> float:
    """The trust above which a fitted model accepts labels: that of its promise if there is one for all rows."""
    threshold = getattr(unwrap(estimator).classifier, "threshold_", None)
    return min(threshold, 1.0) if isinstance(threshold, float) else min_trust_of(estimator)


def _check_trust(n: int, n_right: int, least: float) -> TrustCheck:
    p = _chance(n, n_right, least)
    is_contradicted = n > 0 and p <= LEVEL
    says = f"Trust says that at least {percent(least, AS_SET)} of the accepted labels are right"
    if n == 0:
        head, text = "No row is accepted.", "So these rows do not show whether trust is calibrated."
    elif is_contradicted:
        head = "Do not rely on trust for rows like these."
        text = f"{says}, but only {_of(n_right, n)} are. {_how_likely('trust were right', 'right', p, LEVEL)} "
        text += "Let a person look at accepted rows too, and fit the model again with rows like these."
    else:
        head = "These rows do not contradict trust."
        text = f"{says}, and {_of(n_right, n)} are{_within_chance(p, LEVEL, n_right < least * n)}."
    return _check("trust", None, n, n_right, least, p, LEVEL, is_contradicted, head, text)


def _check_promise(n: int, n_right: int, max_risk: float, whose: Whose, level: float) -> TrustCheck:
    p = _chance(n, n_right, 1.0 - max_risk)
    is_contradicted = n > 0 and p <= level
    says = f"At most {percent(max_risk, AS_SET)} of the rows accepted{whose.rows} may be wrong"
    if n == 0:
        head, text = f"No row is accepted{whose.rows}.", "So these rows do not show whether the promise is kept."
    elif is_contradicted:
        head = f"These rows contradict the promise{whose.promise}."
        text = f"{says}, but {_of(n - n_right, n)} are. {_how_likely('the promise held', 'wrong', p, level)} "
        text += "They differ from the calibration rows: calibrate again with rows like these."
    else:
        head = f"These rows agree with the promise{whose.promise}."
        text = f"{says}, and {_of(n - n_right, n)} are{_within_chance(p, level, n - n_right > max_risk * n)}."
    return _check("promise", whose.about, n, n_right, 1.0 - max_risk, p, level, is_contradicted, head, text)


def _check_costs(
    costs: Costs, classes: NDArray[Any], accepted: Decisions, y: NDArray[Any], level: float
) -> list[TrustCheck]:
    """The check of a promise about costs; none if a true label has no cost."""
    n = len(y)
    if not np.isin(y, classes).all():
        return []
    paid = costs.of(y, accepted.label, classes)
    mean = float(paid.mean()) if n else None
    p = _chance_of_costs(paid, np.unique(costs.matrix(classes)), costs.review, level)
    is_contradicted = mean is not None and p <= level
    says = f"An accepted row may cost at most {costs.review:.4g} on average"
    if mean is None:
        head, text = "No row is accepted.", "So these rows do not show whether the promise is kept."
    elif is_contradicted:
        head = "These rows contradict the promise."
        text = f"{says}, but {counted(n, 'row')} cost {mean:.3g}. If the promise held, this would have probability "
        text += f"at most {percent(p)} (a betting test at level {percent(level, AS_SET)}). "
        text += "They differ from the calibration rows: calibrate again with rows like these."
    else:
        head = "These rows agree with the promise."
        chance = ", which may be chance" if mean > costs.review else ""
        text = f"{says}, and {counted(n, 'row')} cost {mean:.3g}{chance}."
    return [TrustCheck("promise", None, n, costs.review, mean, p, level, is_contradicted, head, text)]


def _chance(n: int, n_right: int, least: float) -> float:
    """The probability that at most `n_right` of `n` labels are right if, on average, a share `least` of them is."""
    return float(p_value(np.array(n_right), np.array(n), least)) if n else 1.0


def _chance_of_costs(paid: NDArray[Any], possible: NDArray[Any], review: float, level: float) -> float:
    """The probability of costs as high as these if their mean were at most that of a review."""
    # The test looks for means that are too low, so costs are measured down from the highest.
    saved, most = np.unique(possible.max() - possible), float(possible.max())
    counts = (np.asarray(most - paid)[:, np.newaxis] == saved).sum(axis=0)
    return float(mean_p_value(counts[np.newaxis], saved, most - review, 1.0 - level)[0])


def _check(
    claim: str,
    about: str | None,
    n: int,
    n_right: int,
    claimed: float,
    p: float,
    level: float,
    is_contradicted: bool,
    head: str,
    text: str,
) -> TrustCheck:
    return TrustCheck(claim, about, n, claimed, n_right / n if n else None, p, level, is_contradicted, head, text)


def _of(n_some: int, n: int) -> str:
    return f"{n_some:,} of {n:,} ({percent(n_some / n)})"


def _how_likely(claim: str, what: str, p: float, level: float) -> str:
    return (
        f"If {claim}, the probability of so {'few' if what == 'right' else 'many'} {what} labels would be {percent(p)} "
        f"(exact binomial test at level {percent(level, AS_SET)})."
    )


def _within_chance(p: float, level: float, is_below: bool) -> str:
    if not is_below:
        return ""
    return f", which is within chance (probability {percent(p)}, exact binomial test at level {percent(level, AS_SET)})"
