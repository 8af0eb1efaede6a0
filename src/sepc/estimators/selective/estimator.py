"""SelectiveClassifier: selective classification with a guarantee on the selective risk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray, FloatArray, LazyTable, RowsLike
from sepc.decisions.decisions import Decisions
from sepc.estimators.base import LabelPreservingWrapper, check_given, check_labels, empty_decisions, take_features
from sepc.estimators.dask_scoring import is_lazy
from sepc.estimators.decided_rows import provenance_of_decided
from sepc.estimators.fitted_record import as_fitted, at_once
from sepc.estimators.given_rows import decide_as_given
from sepc.estimators.selective._made_for import CHANGED, MadeFor
from sepc.estimators.selective.costs import CostControl, Costs, choose_cheapest
from sepc.estimators.selective.decisions import Lack, SelectiveDecisions, columns_for
from sepc.estimators.selective.groups import (
    Groups,
    Key,
    codes_of,
    control_groups,
    keys_of,
    largest_first,
    len_of,
    names_in,
)
from sepc.estimators.selective.promise import (
    LOST,
    EditablePromise,
    ErrorsByLabel,
    JudgedOnRows,
    check_regions,
    promise_in_words,
    warn_of_no_promise,
)
from sepc.estimators.selective.shift import Rows, Shift, check_shift, choose_for_target
from sepc.estimators.selective.thresholds import (
    Answers,
    Control,
    choose_threshold,
    decide_inside,
    decide_left_out,
    grid_of,
)
from sepc.statistics.rates import random_parts
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


class SelectiveClassifier(EditablePromise, JudgedOnRows, LabelPreservingWrapper[SelectiveDecisions]):
    """Selective classification: accept the labels of any classifier only where a promise about their errors holds.

    The promise is a bound on the selective risk: with probability `confidence` over the calibration rows, at most a
    share `max_risk` of the rows accepted later is wrong, as long as they come from the same distribution.

    An unfitted estimator is fitted on one part of the rows given to `fit`, and the threshold is chosen on the others,
    the calibration rows. The split is random and ignores labels, so a rare label may be missing from training, as from
    any sample; its rows then count as errors, as they will later. With a `FrozenEstimator`, all rows are
    calibration rows; it must not have been trained on them.

    Parameters
    ----------
    estimator : classifier
        Trust comes from its `decide`, even at the end of a `Pipeline`; otherwise it is the probability of the label.
    max_risk : float, mapping of label to float, or Costs, default=0.02
        The largest error rate among accepted rows. A mapping makes a promise for each label it names, about the
        accepted rows *predicted* as that label: an overall 2 % can hide that every accepted positive is wrong. All
        these promises hold together with `confidence`. Rows predicted as a label that is not named are never accepted,
        nor are those of a named label missing from training. `Costs` promise that an accepted row costs no more on
        average than its review; among the thresholds that keep this promise, the one with the lowest total cost of
        errors and reviews is chosen. They must cover every label of `y`.
    confidence : float, default=0.95
        Probability that the promise is kept. Values closer to 1 accept fewer rows.
    by : str, int, or a list of two, optional
        One or two columns whose values define groups: the error rate is then kept in every group, simultaneously with
        `confidence`. Names of columns of a DataFrame, positions in an array, or names of columns in
        `groups`. Rows of groups too small for any promise are not accepted.
    one_threshold : bool, default=False
        With `by`, whether all groups share a threshold. If not, each has its own, and `decide` needs the groups.
    parents : mapping of group to group, optional
        With `by`, groups to merge into another one, which may be a new name; they have no promise of their own. A group
        is the value of its column, or the pair of values of the two.
    calibration_size : float, default=0.5
        Share of the rows used for calibration. More of them make a promise easier to keep; fewer leave more rows to
        train the classifier.
    random_state : int, RandomState or None, default=None
        For the split, and for the folds that the grid of thresholds comes from.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : array
        Its labels, those of `y` and those named in `Costs`. Labels it does not know have probability 0.
    threshold_ : float, or dict of label or group to float
        Rows with at least this trust are accepted; infinite if no threshold can keep the promise.
    coverage_ : float
        Coverage: share of the calibration rows that are accepted; with `X_target`, of the target rows.
    risk_bound_ : float, or dict of label or group to float
        The Clopper-Pearson upper bound on the error rate at the threshold, 1 if that accepts no rows. The promise is
        `max_risk`: the bound ignores that the threshold was chosen on the same errors. Not set with `Costs` or with
        `X_target`.
    mean_cost_ : float
        Only with `Costs`: the mean cost of errors and reviews per calibration row. The threshold was chosen to make it
        small, so expect a little more on new rows.
    n_calibration_ : int
        Number of calibration rows.
    provenance_ : Provenance or None
        A digest of the calibration rows, and versions; None if read from a file of 0.1.0.
    controls_ : dict of label or group to Control or CostControl
        What each threshold is based on: rows, and errors or costs among them. The key None stands for all rows.
    groups_ : Groups or None
        With `by`: the groups without a promise, and whether accepted rows are wrong less often than rejected ones.
    errors_by_label_ : ErrorsByLabel or None
        The errors of each true label among accepted calibration rows; None with `Costs`, or if only counts are known.
    shift_ : Shift or None
        With `X_target`: the regions covered, and the outcome of checking the assumption.
    max_risk_, confidence_
        The `max_risk` and the `confidence` of the promise when `fit` was called.
    lost_promise_ : LostPromise or None
        After `edited`: the promise of the model before. It no longer holds, and no row is accepted until a new `fit`.
    made_for_ : MadeFor
        The model that the promise was made for. Once that is fitted again or changed in another way, `decide` and
        `save` raise an error.
    sites_ : tuple of str
        The sites of the calibration rows, if `sepc.lifecycle.sites.certify` made the promise from their counts; else
        empty.
    n_erased_ : int
        Rows that `sepc.lifecycle.forget` erased, each of which counts as a wrong calibration row; 0 for most models.

    Notes
    -----
    Thresholds are tested in a fixed sequence from strict to lenient, up to the first that fails, with exact binomial
    tests; with `Costs` of several sizes, with the betting tests of Waudby-Smith and Ramdas (2024). They must not
    be taken from the calibration rows. For an unfitted estimator, they are 200 quantiles of the trust in its training
    rows, from three-fold cross-fitting. The training rows of a frozen estimator are not available; its thresholds are
    200 fixed numbers from 0 to 1, half of them above 0.9 and increasingly dense towards 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sepc import SelectiveClassifier
    >>> X, y = make_classification(4000, class_sep=1.5, flip_y=0, random_state=0)
    >>> classifier = SelectiveClassifier(LogisticRegression(), max_risk=0.02, random_state=0).fit(X[:3000], y[:3000])
    >>> print(classifier.summary())
    At most 2 % of accepted rows are wrong, with 95 % confidence, if new rows are drawn like the 1,500 calibration ...
    >>> decisions = classifier.decide(X[3000:])
    >>> bool((decisions.label != y[3000:])[decisions.accepted].mean() < 0.02)
    True
    """

    makes_promise = True

    def __init__(
        self,
        estimator: Any,
        max_risk: float | Mapping[Any, float] | Costs = 0.02,
        confidence: float = 0.95,
        *,
        by: Any = None,
        one_threshold: bool = False,
        parents: Mapping[Key, Key] | None = None,
        calibration_size: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.max_risk = max_risk
        self.confidence = confidence
        self.by = by
        self.one_threshold = one_threshold
        self.parents = parents
        self.calibration_size = calibration_size
        self.random_state = random_state

    @at_once
    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: Any = None, X_target: Any = None) -> Self:
        """Fit the estimator, unless it is frozen, and choose the threshold.

        Parameters
        ----------
        X : array, DataFrame or whatever the estimator takes, of n rows
        y : array of shape (n,)
            Labels.
        groups : array of n rows, DataFrame or mapping of names to arrays, optional
            The columns `by`, if they are not in `X`: an array has them in the order of `by`.
        X_target : array, DataFrame or whatever the estimator takes, optional
            Unlabelled rows, not in `X`, whose mix of regions the promise is for (covariate shift). Within regions, rows
            and labels must be distributed as in calibration. The estimator must have regions, like `SEPClassifier`.

        Returns
        -------
        self
        """
        return self._fit_parts(X, y, groups, X_target, 0)

    @at_once
    def fit_after_erasure(self, X: ArrayLike, y: ArrayLike, n_erased: int, *, groups: Any = None) -> Self:
        """Fit to the rows that an erasure left, with a promise that does not depend on why the others were erased.

        Rows that were erased may have been more often right, or wrong, than others. So each of them counts as a further
        calibration row that is accepted and wrong, at every threshold, for every label and in every group.

        Parameters
        ----------
        X, y, groups
            As in `fit`, without the erased rows.
        n_erased : int
            How many rows were erased, in this erasure and in earlier ones.

        Returns
        -------
        self
        """
        check_number("n_erased", n_erased, least=0, whole=True)
        return self._fit_parts(X, y, groups, None, n_erased)

    def _fit_parts(self, X: Any, y: Any, groups: Any, X_target: Any, n_erased: int) -> Self:
        self.check_parameters()
        check_fit_arguments(self.max_risk, self.by, groups, X_target)
        check_given(X, y)
        self.n_erased_ = n_erased
        X, labels = indexable(X, check_labels(y, "SelectiveClassifier"))
        keys = None if self.by is None else keys_of(self.by, X, groups, self.parents)
        given, random = np.unique(labels), check_random_state(self.random_state)
        if isinstance(self.estimator, FrozenEstimator):
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            decided = None
        else:
            training, calibration = random_parts(labels, self.calibration_size, random)
            part, part_labels = _safe_indexing(X, training), labels[training]
            self.estimator_ = clone(self.estimator).fit(part, part_labels)
            decided = decide_left_out(self.estimator, part, part_labels, random)
            X, labels = _safe_indexing(X, calibration), labels[calibration]
            keys = None if keys is None else keys[calibration]
        known = np.union1d(self.estimator_.classes_, given)
        self.classes_ = self.max_risk.with_named(known) if isinstance(self.max_risk, Costs) else known
        take_features(self, self.estimator_)
        self._calibrate(X, labels, decided, keys, X_target, random)
        warn_of_no_promise(self.controls_, self.summary())
        return self

    def _calibrate(
        self, X: Any, labels: NDArray[Any], training: Answers | None, keys: Any, X_target: Any, random: Any
    ) -> None:
        made_for = MadeFor(self.estimator_)
        decided = decide_inside(self.estimator_, X) if len(labels) else empty_decisions(self.estimator_)
        self.made_for_ = made_for.after_deciding()
        self.provenance_ = provenance_of_decided(decided, X, labels)
        self.controls_: dict[Any, Control | CostControl] = {}
        self.groups_: Groups | None = None
        self.shift_: Shift | None = None
        self.sites_: tuple[str, ...] = ()
        self.lost_promise_ = self.errors_by_label_ = None
        self.max_risk_, self.confidence_ = self.max_risk, self.confidence
        self.n_calibration_ = len(labels)
        if isinstance(self.max_risk, Costs):
            self._control_cost(self.max_risk, decided, labels, grid_of(training))
        elif X_target is not None:
            self._control_shift(X, decided, labels, grid_of(training), X_target, random)
        elif keys is not None:
            self._control_groups(decided, labels, grid_of(training), keys)
        else:
            self._control_risk(decided, labels, training)
        if self.shift_ is None:
            n_accepted = sum(max(control.n_accepted - self.n_erased_, 0) for control in self.controls_.values())
            self.coverage_ = n_accepted / max(len(labels), 1)
        else:
            self.coverage_ = self.shift_.n_target_accepted / self.shift_.n_target
        thresholds = {key: control.threshold for key, control in self.controls_.items()}
        self.threshold_: float | dict[Any, float] = self._one_or_several(thresholds)
        accepted, wrong = self.covered(decided, keys).accepted, np.asarray(decided.label != labels)
        self.errors_by_label_ = ErrorsByLabel.of(self.max_risk, labels, wrong, accepted)

    def _control_cost(self, costs: Costs, decided: Decisions, labels: NDArray[Any], grid: FloatArray) -> None:
        possible = costs.matrix(self.classes_).ravel()
        each = costs.of(labels, decided.label, self.classes_)
        control = choose_cheapest(decided.trust, each, grid, possible, costs.review, self.confidence, self.n_erased_)
        self.controls_[None], self.mean_cost_ = control, control.cost

    def _control_risk(self, decided: Decisions, labels: NDArray[Any], training: Answers | None) -> None:
        risks, wrong = risks_of_labels(self.max_risk, self.classes_), decided.label != labels
        confidence, controls = 1.0 - (1.0 - self.confidence) / len(risks), {}
        for label, risk in risks.items():
            rows, grid = _about(decided.label, label), grid_of(training, label)
            controls[label] = choose_threshold(decided.trust[rows], wrong[rows], grid, risk, confidence, self.n_erased_)
        self.controls_ |= controls
        self._bound_risks(controls, confidence)

    def _control_groups(self, decided: Decisions, labels: NDArray[Any], grid: FloatArray, keys: NDArray[Any]) -> None:
        sizes = largest_first(keys)
        wrong, code = np.asarray(decided.label != labels), codes_of(keys, list(sizes))
        controls, no_harm, confidence = control_groups(
            decided.trust,
            wrong,
            code,
            sizes,
            grid,
            cast(float, self.max_risk),
            self.confidence,
            self.one_threshold,
            self.n_erased_,
        )
        self.controls_ |= controls
        small = {key: n for key, n in sizes.items() if key not in controls}
        self.groups_ = Groups(names_in(self.by), small, no_harm, dict(self.parents or {}), self.one_threshold)
        self._bound_risks(controls, confidence)

    def _control_shift(
        self, X: Any, decided: Decisions, labels: NDArray[Any], grid: FloatArray, X_target: Any, random: Any
    ) -> None:
        target = decide_inside(self.estimator_, X_target)
        check_regions(self.estimator_, target, "X_target is about regions")
        rows = Rows(decided.region, decided.trust, np.asarray(decided.label != labels))
        found = choose_for_target(rows, target.region, grid, cast(float, self.max_risk), self.confidence, random)
        trust, region = np.append(decided.trust, target.trust), np.append(decided.region, target.region)
        check = check_shift(X, X_target, trust, np.repeat([False, True], [len(decided), len(target)]), region)
        self.controls_[None] = found.control
        self.shift_ = found.with_check(target.region, target.trust, check)

    def _bound_risks(self, controls: Mapping[Any, Control], confidence: float) -> None:
        bounds = {key: control.risk_bound(confidence) for key, control in controls.items()}
        self.risk_bound_: float | dict[Any, float] = self._one_or_several(bounds)

    def _one_or_several(self, values: dict[Any, float]) -> float | dict[Any, float]:
        return values if isinstance(self.max_risk, Mapping) or self.by is not None else values[None]

    @overload
    def decide(self, X: LazyTable, *, groups: None = None) -> Any: ...

    @overload
    def decide(self, X: RowsLike, *, groups: Any = None) -> SelectiveDecisions: ...

    def decide(self, X: Any, *, groups: Any = None) -> Any:
        """Label, trust, cause and region of every row, and whether the promise covers it.

        Parameters
        ----------
        X : array or DataFrame of n rows, one row as a dict or a Series, a list of such rows, or Dask collection
        groups : array of n rows, DataFrame or mapping of names to arrays, optional
            The columns `by`, if they are not in `X`. Needed if groups have their own thresholds, or if some have no
            promise.

        Returns
        -------
        SelectiveDecisions
            For a Dask collection, a lazy Dask DataFrame with the columns of ``SelectiveDecisions.to_frame``.
        """
        if groups is None:
            return super().decide(X)
        fitted = as_fitted(self)
        if fitted.groups_ is None:
            raise ValueError("groups are given, but there are no promises for groups; name them in by, and refit.")
        if is_lazy(X):
            raise TypeError("groups are for rows in memory; a Dask collection must have the columns named in by.")
        return decide_as_given(fitted, X, lambda rows: fitted._decide(rows, groups), warns=True)

    def _decide(self, X: Any, groups: Any = None) -> SelectiveDecisions:
        keys = None if self.groups_ is None else self.groups_.keys_if_needed(X, groups)
        try:
            decided = decide_inside(self.estimator_, X)
        finally:
            self.made_for_.check()
        return self.covered(decided, keys)

    def empty_decisions(self) -> SelectiveDecisions:
        """Decisions on zero rows, with all columns and their types."""
        return self.covered(empty_decisions(self.estimator_), np.empty(0, dtype=object))

    def covered(self, decided: Decisions, keys: NDArray[Any] | None = None) -> SelectiveDecisions:
        """The decisions of the estimator, accepted where the promise covers them; `keys` are the groups of the rows."""
        thresholds = np.full(len(decided), np.inf)
        lack = np.full(len(decided), Lack.TRUST if self.lost_promise_ is None else Lack.EDITED)
        if self.groups_ is None or keys is None:
            for label, control in self.controls_.items():
                # Groups that share a threshold need not be distinguished.
                rows = _about(decided.label, None if self.groups_ is not None else label)
                thresholds[rows] = control.threshold
        else:
            code = codes_of(keys, list(self.controls_))
            thresholds = np.array([*(control.threshold for control in self.controls_.values()), np.inf])[code]
            lack[code < 0] = Lack.GROUP
        if self.shift_ is not None:
            covers = self.shift_.covers(decided.region)
            thresholds[~covers], lack[~covers] = np.inf, Lack.REGION
        return SelectiveDecisions.of(decided, decided.trust >= thresholds, self.classes_, lack, self.errors_by_label_)

    def _probabilities(self, X: Any) -> FloatArray:
        known = np.asarray(self.estimator_.classes_)
        return columns_for(super()._probabilities(X), known, self.classes_)

    def summary(self) -> str:
        """The promises in words: a sentence for each one, or why it cannot be made."""
        fitted = as_fitted(self)
        if fitted.lost_promise_ is not None:
            return LOST
        if not fitted.made_for_.is_unchanged():
            return CHANGED
        classes, made = fitted.classes_, (fitted.controls_, fitted.confidence_, fitted.groups_, fitted.shift_)
        unknown = np.setdiff1d(classes, fitted.estimator_.classes_)
        counted = (fitted.sites_, fitted.n_erased_, fitted.errors_by_label_)
        return promise_in_words(*made, fitted.max_risk_, classes, unknown, *counted)

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "controls_") else repr(self)

    def check_parameters(self) -> None:
        """Raise if a parameter has an invalid value; `fit` calls this first."""
        check_promise(self.max_risk, self.by, self.parents, self.one_threshold)
        for name in ("confidence", "calibration_size"):
            check_number(name, getattr(self, name), above=0, below=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _about(labels: NDArray[Any], label: Any) -> BoolArray:
    """The rows that the promise for `label` is about: those predicted as it; all rows for None."""
    return np.ones(len(labels), dtype=bool) if label is None else np.asarray(labels == label)
