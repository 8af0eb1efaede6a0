"""SelectiveClassifier: accept labels only where a promise about their errors can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray, FloatArray
from sepc.decisions.decisions import NO_REGIONS, Decisions
from sepc.estimators.base import decide_with_trust, empty_decisions
from sepc.estimators.checks import checked_labels
from sepc.estimators.kept_labels import KeptLabels
from sepc.estimators.selective.certificates import Certificates
from sepc.estimators.selective.cost_control import CostControl, choose_cheapest
from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.decisions import SelectiveDecisions, columns_for
from sepc.estimators.selective.promise import cost_sentence, risk_sentence
from sepc.estimators.selective.risk_control import Control, choose_threshold
from sepc.statistics.binomial import lower_bound, upper_bound
from sepc.statistics.fixed_sequence import fixed_grid, quantile_grid
from sepc.statistics.splits import random_parts, stratified_folds
from sepc.wording import AS_SET, listed, percent, shown

N_FOLDS = 3

# The labels and the trust of some rows.
Answers: TypeAlias = tuple[NDArray[Any], FloatArray]


class SelectiveClassifier(MetaEstimatorMixin, KeptLabels[SelectiveDecisions]):
    """Accept the labels of any classifier only where a promise about their errors holds.

    The promise: with probability `confidence` over the calibration rows, at most a share `max_risk` of the rows
    accepted later is wrong, as long as they come from the same distribution as the calibration rows.

    An unfitted estimator is fitted on one part of the rows given to `fit`, and the threshold is chosen on the others,
    the calibration rows. The split is random and looks at no label, so a rare label may be missing from training, as it
    may be from any sample; its rows then count as errors, as they will later. With a `FrozenEstimator`, all rows are
    calibration rows; it must not have been trained on them.

    Parameters
    ----------
    estimator : classifier
        Trust comes from its `decide`, also at the end of a `Pipeline`; otherwise it is the probability of the label.
    max_risk : float, mapping of label to float, or Costs, default=0.02
        The largest error rate among accepted rows. A mapping makes a promise for each label it names, about the
        accepted rows *predicted* as that label: an overall 2 % can hide that every accepted positive is wrong. All
        these promises hold together with `confidence`. Rows predicted as a label not named are never accepted, nor are
        those of a named label that training did not have. `Costs` promise that an accepted row costs no more on
        average than its review; among the thresholds that keep this promise, the one with the lowest total cost of
        errors and reviews is chosen. They must know every label of `y`.
    confidence : float, default=0.95
        Probability with which the promise is kept. Values nearer to 1 accept fewer rows.
    calibration_size : float, default=0.5
        Share of the rows used for calibration. More of them make a promise easier to keep; fewer leave more rows to
        train the classifier.
    random_state : int, RandomState or None, default=None
        For the split, and for the folds that place the thresholds.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : array
        Its labels, those of `y` and those that `Costs` name. What it does not know has the probability 0.
    threshold_ : float or dict of label to float
        Rows with at least this trust are accepted; infinite if no threshold can keep the promise.
    coverage_ : float
        Share of the calibration rows that are accepted.
    risk_bound_ : float or dict of label to float
        The Clopper-Pearson upper bound on the error rate at the threshold, 1 if that accepts no rows. What is promised
        is `max_risk`: the bound does not account for the threshold having been chosen on the same errors. Not set with
        `Costs`.
    mean_cost_ : float
        Only with `Costs`: the mean cost of errors and reviews per calibration row. The threshold was chosen to make it
        small, so expect a little more on new rows.
    n_calibration_ : int
        Number of calibration rows.
    controls_ : dict of label to Control or CostControl
        What each threshold is based on: rows, and errors or costs among them. The key None stands for all labels.
    confidence_ : float
        The `confidence` of the promise, as it was when `fit` was called.

    Notes
    -----
    Thresholds are tested from strict to generous, up to the first that fails, with exact binomial tests; with `Costs`
    of several sizes, with the bets of Waudby-Smith and Ramdas (2024). They must not be taken from the calibration rows.
    For an unfitted estimator, they are 200 quantiles of the trust in its training rows, from three-fold cross-fitting.
    The training rows of a frozen estimator are not available; its thresholds are 200 fixed numbers from 0 to 1, half of
    them above 0.9 and ever closer towards 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sepc import SelectiveClassifier
    >>> X, y = make_classification(4000, class_sep=1.5, flip_y=0, random_state=0)
    >>> classifier = SelectiveClassifier(LogisticRegression(), max_risk=0.02, random_state=0).fit(X[:3000], y[:3000])
    >>> print(classifier.summary())
    At most 2 % of accepted rows are wrong, with 95 % confidence: accepts trust >= ..., ... % of 1,500 calibration rows.
    >>> decisions = classifier.decide(X[3000:])
    >>> bool((decisions.label != y[3000:])[decisions.accepted].mean() < 0.02)
    True
    """

    def __init__(
        self,
        estimator: Any,
        max_risk: float | Mapping[Any, float] | Costs = 0.02,
        confidence: float = 0.95,
        *,
        calibration_size: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.max_risk = max_risk
        self.confidence = confidence
        self.calibration_size = calibration_size
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the estimator, unless it is frozen, and choose the threshold.

        Parameters
        ----------
        X : array, DataFrame or whatever the estimator takes, of n rows
        y : array of shape (n,)
            Labels.

        Returns
        -------
        self
        """
        self.check_parameters()
        X, labels = indexable(X, checked_labels(y, "SelectiveClassifier"))
        given = np.unique(labels)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            decided = None
        else:
            random = check_random_state(self.random_state)
            training, calibration = random_parts(labels, self.calibration_size, random)
            part, part_labels = _safe_indexing(X, training), labels[training]
            self.estimator_ = clone(self.estimator).fit(part, part_labels)
            decided = _decide_left_out(self.estimator, part, part_labels, random)
            X, labels = _safe_indexing(X, calibration), labels[calibration]
        known = np.union1d(self.estimator_.classes_, given)
        self.classes_ = self.max_risk.with_named(known) if isinstance(self.max_risk, Costs) else known
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self._calibrate(X, labels, decided)
        return self

    def _calibrate(self, X: Any, labels: NDArray[Any], training: Answers | None) -> None:
        decided = _decided(self.estimator_, X) if len(labels) else empty_decisions(self.estimator_)
        self.controls_: dict[Any, Control | CostControl] = {}
        for stale in {"mean_cost_", "risk_bound_"} & set(vars(self)):
            delattr(self, stale)
        if isinstance(self.max_risk, Costs):
            self._control_cost(self.max_risk, decided, labels, _grid(training, None))
        else:
            self._control_risk(decided, labels, training)
        self.confidence_ = self.confidence
        self.n_calibration_ = len(labels)
        self.coverage_ = sum(control.n_accepted for control in self.controls_.values()) / max(len(labels), 1)
        thresholds = {label: control.threshold for label, control in self.controls_.items()}
        self.threshold_: float | dict[Any, float] = self._one_or_several(thresholds)

    def _control_cost(self, costs: Costs, decided: Decisions, labels: NDArray[Any], grid: FloatArray) -> None:
        possible = costs.matrix(self.classes_).ravel()
        each = costs.of(labels, decided.label, self.classes_)
        control = choose_cheapest(decided.trust, each, grid, possible, costs.review, self.confidence)
        self.controls_[None] = control
        self.mean_cost_ = control.cost

    def _control_risk(self, decided: Decisions, labels: NDArray[Any], training: Answers | None) -> None:
        risks, wrong = self._risks(), decided.label != labels
        confidence = 1.0 - (1.0 - self.confidence) / len(risks)
        bounds = {}
        for label, risk in risks.items():
            rows = _about(decided.label, label)
            control = choose_threshold(decided.trust[rows], wrong[rows], _grid(training, label), risk, confidence)
            self.controls_[label] = control
            bounds[label] = float(upper_bound(control.n_errors, control.n_accepted, confidence))
        self.risk_bound_: float | dict[Any, float] = self._one_or_several(bounds)

    def _one_or_several(self, values: dict[Any, float]) -> float | dict[Any, float]:
        return values if isinstance(self.max_risk, Mapping) else values[None]

    def _decide(self, X: Any) -> SelectiveDecisions:
        return self.covered(_decided(self.estimator_, X))

    def empty_decisions(self) -> SelectiveDecisions:
        """Decisions on zero rows, with all columns and their types."""
        return self.covered(empty_decisions(self.estimator_))

    def covered(self, decided: Decisions) -> SelectiveDecisions:
        """The decisions of the estimator, accepted where the promise covers them."""
        accepted = np.zeros(len(decided), dtype=bool)
        for label, control in self.controls_.items():
            accepted |= _about(decided.label, label) & (decided.trust >= control.threshold)
        return SelectiveDecisions.of(decided, accepted, self.classes_)

    def _probabilities(self, X: Any) -> FloatArray:
        known = np.asarray(self.estimator_.classes_)
        return columns_for(super()._probabilities(X), known, self.classes_)

    def summary(self) -> str:
        """What is promised: a sentence for every promise, or why it cannot be made."""
        check_is_fitted(self)
        confidence, lines = self.confidence_, []
        for label, control in self.controls_.items():
            whom = "" if label is None else f" predicted as {shown(label)}"
            if isinstance(control, CostControl):
                lines.append(cost_sentence(control, confidence))
            else:
                lines.append(risk_sentence(control, whom, confidence))
        if len(lines) > 1:
            lines.append(f"The {percent(confidence, AS_SET)} are for all of this together.")
        unnamed = [shown(label) for label in self.classes_ if label not in self.controls_]
        if unnamed and None not in self.controls_:
            lines.append(f"Rows predicted as {listed(unnamed)} are never accepted: nothing was asked of them.")
        missing = [shown(label) for label in np.setdiff1d(self.classes_, self.estimator_.classes_)]
        if missing:
            lines.append(f"The classifier does not know {listed(missing)}; such rows count as errors.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "controls_") else repr(self)

    def certificates(self, X: ArrayLike, y: ArrayLike) -> Certificates:
        """Lower bounds on the estimator's accuracy in each of its regions, from held-out rows.

        All bounds hold together with `confidence` (Bonferroni), so a reader may pick out the best. They are about all
        rows of a region, accepted or not.

        Parameters
        ----------
        X, y : rows and their labels
            The estimator must not have been trained on any of them.

        Returns
        -------
        Certificates
        """
        check_is_fitted(self)
        decided = _decided(self.estimator_, X)
        if (decided.region == NO_REGIONS).any():
            kind = type(self.estimator_).__name__
            raise TypeError(f"{kind} has no regions to certify; use an SEPClassifier.")
        wrong = decided.label != checked_labels(y, "SelectiveClassifier")
        region, which, n_rows = np.unique(decided.region, return_inverse=True, return_counts=True)
        n_errors = np.bincount(which, weights=wrong, minlength=len(region)).astype(np.int64)
        each = 1.0 - (1.0 - self.confidence) / len(region)
        return Certificates(region, n_rows, n_errors, lower_bound(n_rows - n_errors, n_rows, each), self.confidence)

    def _risks(self) -> dict[Any, float]:
        """The largest error rate for each label; the key None stands for all rows."""
        if not isinstance(self.max_risk, Mapping):
            return {None: cast(float, self.max_risk)}
        unknown = [label for label in self.max_risk if label not in self.classes_]
        if unknown:
            known = listed(map(shown, self.classes_))
            raise ValueError(f"max_risk names {listed(map(shown, unknown))}; the classes are {known}.")
        return dict(self.max_risk)

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value; `fit` calls this first."""
        risks: dict[Any, Any] = dict(self.max_risk) if isinstance(self.max_risk, Mapping) else {None: self.max_risk}
        if not risks:
            raise ValueError("max_risk names no label; give a number, or a mapping of labels to numbers.")
        if isinstance(self.max_risk, Costs):
            risks = {}
        elif np.ndim(cast(Any, self.max_risk)):
            raise TypeError("max_risk is an array; a cost matrix goes into Costs(matrix, review=...).")
        shares = {f"max_risk[{label!r}]" if label is not None else "max_risk": risk for label, risk in risks.items()}
        shares |= {"confidence": self.confidence, "calibration_size": self.calibration_size}
        for name, share in shares.items():
            if not 0.0 < share < 1.0:
                raise ValueError(f"{name} is {share!r}; it must lie strictly between 0 and 1.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def _decided(estimator: Any, X: Any) -> Decisions:
    return decide_with_trust(estimator, X, "wrap it in a CalibratedClassifierCV")


def _decide_left_out(estimator: Any, X: Any, labels: NDArray[Any], random: np.random.RandomState) -> Answers | None:
    """Labels and trust of training rows, by cross-fitting; None if every class has a single row."""
    folds = stratified_folds(labels, N_FOLDS, random)
    parts = []
    for fold in np.unique(folds[folds >= 0]):
        left_in, left_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted = clone(estimator).fit(_safe_indexing(X, left_in), labels[left_in])
        parts.append(_decided(fitted, _safe_indexing(X, left_out)))
    if not parts:
        return None
    return np.concatenate([part.label for part in parts]), np.concatenate([part.trust for part in parts])


def _about(labels: NDArray[Any], label: Any) -> BoolArray:
    """The rows that the promise for `label` is about."""
    return np.ones(len(labels), dtype=bool) if label is None else np.asarray(labels == label)


def _grid(training: Answers | None, label: Any) -> FloatArray:
    if training is None or not (rows := _about(training[0], label)).any():
        return fixed_grid()
    return quantile_grid(training[1][rows])
