"""SelectiveClassifier: accept labels only where a promise about their errors can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from sepc._typing import BoolArray, FloatArray
from sepc.selective._risk_control import (
    Control,
    choose_threshold,
    error_bound,
    fixed_grid,
    quantile_grid,
    stratified_folds,
    stratified_parts,
)
from sepc.selective.accepted import Certificates, SelectiveDecisions

N_FOLDS = 3


class SelectiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Accept the labels of any classifier only where a promise about their errors holds.

    The promise: with probability `confidence` over the calibration rows, at most a share `max_risk` of the rows that
    are accepted later is wrong, as long as later rows come from where the calibration rows came from.

    An unfitted estimator is fitted on one part of the rows given to `fit`, and the threshold is chosen on the others,
    the calibration rows; both parts have the same shares of classes. For an estimator in a `FrozenEstimator`, all rows
    given calibrate; it must not have been trained on them.

    Parameters
    ----------
    estimator : classifier
        Trust is that of its `decide`, also at the end of a `Pipeline`; or else its largest class probability.
    max_risk : float or mapping of label to float, default=0.02
        The largest error rate among accepted rows. A mapping makes a promise for each label it names, about the
        accepted rows *predicted* as that label: an overall 2 % can hide that every accepted positive is wrong. All
        these promises hold together with `confidence`. Rows predicted as a label not named are never accepted.
    confidence : float, default=0.95
        Probability with which the promise is kept. Nearer to 1 accepts fewer rows.
    calibration_share : float, default=0.5
        Share of the rows that calibrate. More of them makes a promise easier to keep; fewer makes a better classifier.
    random_state : int, RandomState or None, default=None
        For the split, and for the folds that place the thresholds.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : array
        Its labels.
    threshold_ : float or dict of label to float
        Rows with at least this trust are accepted; infinite where no threshold can keep the promise.
    coverage_ : float
        Share of the calibration rows that are accepted.
    risk_bound_ : float or dict of label to float
        Clopper and Pearson's upper bound on the error rate at the threshold, 1 if that accepts no rows. What is
        promised is `max_risk`: the threshold was chosen with a look at the errors, and the bound does not know.
    n_calibration_ : int
        Number of calibration rows.

    Notes
    -----
    Thresholds are tested from strict to generous with exact binomial tests, up to the first that fails. They must not
    be taken from the calibration rows. For an unfitted estimator, they are 200 quantiles of the trust of its training
    rows, each decided by one of three fits without it. The training rows of a frozen estimator are not at hand; its
    thresholds are 200 fixed numbers from 0 to 1, half of them above 0.9 and ever closer towards 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sepc import SelectiveClassifier
    >>> X, y = make_classification(4000, class_sep=1.5, flip_y=0, random_state=0)
    >>> classifier = SelectiveClassifier(LogisticRegression(), max_risk=0.02, random_state=0).fit(X[:3000], y[:3000])
    >>> print(classifier.promise())
    At most 2 % of accepted rows are wrong, with 95 % confidence: accepts trust >= ..., ... % of 1,500 calibration rows.
    >>> decisions = classifier.decide(X[3000:])
    >>> (decisions.label != y[3000:])[decisions.accepted].mean() < 0.02
    np.True_
    """

    def __init__(
        self,
        estimator: Any,
        max_risk: float | Mapping[Any, float] = 0.02,
        confidence: float = 0.95,
        *,
        calibration_share: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.max_risk = max_risk
        self.confidence = confidence
        self.calibration_share = calibration_share
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
        self._check_parameters()
        X, labels = indexable(X, _checked_labels(y))
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            decided = None
        else:
            random = check_random_state(self.random_state)
            training, calibration = stratified_parts(labels, self.calibration_share, random)
            part, part_labels = _safe_indexing(X, training), labels[training]
            self.estimator_ = clone(self.estimator).fit(part, part_labels)
            decided = _decide_left_out(self.estimator, part, part_labels, random)
            X, labels = _safe_indexing(X, calibration), labels[calibration]
        self.classes_ = np.asarray(self.estimator_.classes_)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self._calibrate(X, labels, decided)
        return self

    def _calibrate(self, X: Any, labels: NDArray[Any], training: SelectiveDecisions | None) -> None:
        risks = self._risks()
        confidence = 1.0 - (1.0 - self.confidence) / len(risks)
        decided = _decide(self.estimator_, X) if len(labels) else _no_decisions(self.classes_)
        wrong = decided.label != labels
        self._controls: dict[Any, Control] = {}
        for label, risk in risks.items():
            rows = _about(decided, label)
            grid = fixed_grid() if training is None else _grid(training, label)
            self._controls[label] = choose_threshold(decided.trust[rows], wrong[rows], grid, risk, confidence)
        self._promised_confidence = self.confidence
        self.n_calibration_ = len(labels)
        self.coverage_ = sum(one.n_accepted for one in self._controls.values()) / max(len(labels), 1)
        thresholds = {label: one.threshold for label, one in self._controls.items()}
        bounds = {
            label: float(error_bound(one.n_errors, one.n_accepted, confidence)) for label, one in self._controls.items()
        }
        several = isinstance(self.max_risk, Mapping)
        self.threshold_: float | dict[Any, float] = thresholds if several else thresholds[None]
        self.risk_bound_: float | dict[Any, float] = bounds if several else bounds[None]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The estimator's labels of all rows; `decide` says which of them to use."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The estimator's probabilities of the classes, of shape (n, C)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def decide(self, X: ArrayLike) -> SelectiveDecisions:
        """Label and trust of every row, and whether the promise covers it."""
        check_is_fitted(self)
        decided = _decide(self.estimator_, X)
        accepted = np.zeros(len(decided), dtype=bool)
        for label, control in self._controls.items():
            accepted |= _about(decided, label) & (decided.trust >= control.threshold)
        return SelectiveDecisions(decided.label, decided.trust, accepted, decided.inner)

    def promise(self) -> str:
        """What is promised, in words: a sentence for every promise made, or why none can be made."""
        check_is_fitted(self)
        confidence = self._promised_confidence
        if None in self._controls:
            return _sentence(self._controls[None], "", confidence)
        lines = [_sentence(one, f" predicted as {_shown(label)}", confidence) for label, one in self._controls.items()]
        if len(lines) > 1:
            lines.append(f"The {_percent(confidence)} are for all of this together.")
        unnamed = [_shown(label) for label in self.classes_ if label not in self._controls]
        if unnamed:
            lines.append(f"Rows predicted as {', '.join(unnamed)} are never accepted: nothing was asked of them.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.promise() if hasattr(self, "_controls") else repr(self)

    def certificates(self, X: ArrayLike, y: ArrayLike) -> Certificates:
        """Lower bounds on the estimator's accuracy in each of its regions, from rows held out.

        All bounds hold together with `confidence` (Bonferroni), so a reader may pick out the best. They are about all
        rows of a region, accepted or not.

        Parameters
        ----------
        X, y : rows and their labels
            None of them may have trained the estimator.

        Returns
        -------
        Certificates
        """
        check_is_fitted(self)
        decided = _decide(self.estimator_, X)
        if not hasattr(decided.inner, "region"):
            kind = type(self.estimator_).__name__
            raise TypeError(f"{kind} knows no regions, so none can be certified; use an SEPClassifier.")
        wrong = decided.label != _checked_labels(y)
        region, which, n_rows = np.unique(decided.inner.region, return_inverse=True, return_counts=True)
        n_errors = np.bincount(which, weights=wrong, minlength=len(region)).astype(np.int64)
        each = 1.0 - (1.0 - self.confidence) / len(region)
        return Certificates(region, n_rows, n_errors, 1.0 - error_bound(n_errors, n_rows, each), self.confidence)

    def _risks(self) -> dict[Any, float]:
        """The promises asked for, by label; the label of a promise about all rows is None."""
        if not isinstance(self.max_risk, Mapping):
            return {None: self.max_risk}
        unknown = [label for label in self.max_risk if label not in self.classes_]
        if unknown:
            known = ", ".join(map(_shown, self.classes_))
            raise ValueError(f"max_risk names {', '.join(map(_shown, unknown))}; the classes are {known}.")
        return dict(self.max_risk)

    def _check_parameters(self) -> None:
        risks = dict(self.max_risk) if isinstance(self.max_risk, Mapping) else {None: self.max_risk}
        if not risks:
            raise ValueError("max_risk names no label; give a number, or a mapping of labels to numbers.")
        shares = {f"max_risk[{label!r}]" if label is not None else "max_risk": risk for label, risk in risks.items()}
        shares |= {"confidence": self.confidence, "calibration_share": self.calibration_share}
        for name, share in shares.items():
            if not 0.0 < share < 1.0:
                raise ValueError(f"{name} is {share!r}; it must lie strictly between 0 and 1.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def _checked_labels(y: ArrayLike) -> NDArray[Any]:
    if y is None:
        raise ValueError("SelectiveClassifier requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return np.asarray(labels)


def _decide(estimator: Any, X: Any) -> SelectiveDecisions:
    """Labels and trust, with nothing accepted yet."""
    inner = _inner_decisions(estimator, X)
    if inner is not None:
        label, trust = inner.label, inner.trust
    elif hasattr(estimator, "predict_proba"):
        label, trust = estimator.predict(X), np.max(estimator.predict_proba(X), axis=1)
    else:
        kind = type(estimator).__name__
        raise TypeError(f"{kind} has neither decide nor predict_proba; wrap it in a CalibratedClassifierCV.")
    trust = np.asarray(trust, dtype=np.float64)
    return SelectiveDecisions(np.asarray(label), trust, np.zeros(len(trust), dtype=bool), inner)


def _inner_decisions(estimator: Any, X: Any) -> Any:
    """What `decide` says, of the estimator itself or of the last step of a pipeline; None if there is no `decide`."""
    if isinstance(estimator, FrozenEstimator):
        return _inner_decisions(estimator.estimator, X)
    if isinstance(estimator, Pipeline):
        last = estimator[-1]
        if not hasattr(last, "decide"):
            return None
        return last.decide(estimator[:-1].transform(X) if len(estimator) > 1 else X)
    return estimator.decide(X) if hasattr(estimator, "decide") else None


def _decide_left_out(
    estimator: Any, X: Any, labels: NDArray[Any], random: np.random.RandomState
) -> SelectiveDecisions | None:
    """Decisions on training rows by fits without them; None if every class has a single row."""
    folds = stratified_folds(labels, N_FOLDS, random)
    parts = []
    for fold in np.unique(folds[folds >= 0]):
        left_in, left_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted = clone(estimator).fit(_safe_indexing(X, left_in), labels[left_in])
        parts.append(_decide(fitted, _safe_indexing(X, left_out)))
    if not parts:
        return None
    label, trust = (np.concatenate([getattr(part, name) for part in parts]) for name in ("label", "trust"))
    return SelectiveDecisions(label, trust, np.zeros(len(trust), dtype=bool))


def _no_decisions(classes: NDArray[Any]) -> SelectiveDecisions:
    return SelectiveDecisions(classes[:0], np.empty(0), np.empty(0, dtype=bool))


def _about(decided: SelectiveDecisions, label: Any) -> BoolArray:
    """Rows that the promise for `label` speaks of."""
    return np.ones(len(decided), dtype=bool) if label is None else np.asarray(decided.label == label)


def _grid(training: SelectiveDecisions, label: Any) -> FloatArray:
    rows = _about(training, label)
    return quantile_grid(training.trust[rows]) if rows.any() else fixed_grid()


def _sentence(control: Control, whom: str, confidence: float) -> str:
    """The promise in words, about the rows `whom` (empty for all rows)."""
    risk = _percent(control.max_risk)
    goal = f"at most {risk} of accepted rows{whom} are wrong, with {_percent(confidence)} confidence"
    if np.isfinite(control.threshold):
        share = _percent(control.n_accepted / control.n_rows, coarse=True)
        shown = f"{control.threshold:.3f}"
        shown = f"{control.threshold:.10g}" if shown == "1.000" else shown
        return f"A{goal[1:]}: accepts trust >= {shown}, {share} of {control.n_rows:,} calibration rows{whom}."
    why = (
        f"there are only {control.n_rows:,} calibration rows{whom}"
        if control.n_rows < control.n_needed
        else f"of the {control.n_tried:,} most trusted{whom}, {control.n_tried_errors:,} were wrong"
    )
    return (
        f"No threshold can keep the promise that {goal}, so no row{whom} is accepted: it takes at least "
        f"{control.n_needed:,} accepted calibration rows without an error, or more with few errors, and {why}."
    )


def _percent(share: float, *, coarse: bool = False) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if coarse and percent >= 9.5 else f"{percent:.{2 if coarse else 4}g} %"


def _shown(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
