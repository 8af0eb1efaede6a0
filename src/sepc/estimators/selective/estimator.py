"""SelectiveClassifier: selective classification with a guarantee on the selective risk."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray, FloatArray, LazyTable, RowsLike
from sepc.decisions.decisions import LATER, NO_REGIONS, Decisions
from sepc.errors import NoPromiseWarning
from sepc.estimators.base import (
    LabelPreservingWrapper,
    check_given,
    check_labels,
    empty_decisions,
    take_features,
)
from sepc.estimators.decided_rows import provenance_of_decided
from sepc.estimators.fitted_record import as_fitted, at_once
from sepc.estimators.given_rows import decide_as_given, is_lazy
from sepc.estimators.selective._made_for import CHANGED, MadeFor
from sepc.estimators.selective.costs import Costs, choose_cheapest
from sepc.estimators.selective.decisions import Lack, SelectiveDecisions, columns_for
from sepc.estimators.selective.groups import (
    Certificates,
    Groups,
    Key,
    codes_of,
    control_groups,
    has_columns,
    keys_of,
    largest_first,
    len_of,
    names_in,
)
from sepc.estimators.selective.promise import CostMatrix, Promise, errors_by_label
from sepc.estimators.selective.shift import Rows, check_shift, choose_for_target
from sepc.estimators.selective.thresholds import (
    Answers,
    Control,
    choose_threshold,
    decide_inside,
    decide_left_out,
    grid_of,
)
from sepc.estimators.unwrapping import edits_in
from sepc.io.codec import Node, Reader, Writer, labels_from, labels_to_node, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, check_inner, fields_to_node, restore_fields
from sepc.model.edits import Edit
from sepc.statistics.rates import random_parts
from sepc.wording import check_number, listed, shown

MaxRisk = float | Mapping[Any, float] | Costs


def check_promise(max_risk: MaxRisk, by: Any, parents: Mapping[Key, Key] | None, one_threshold: bool) -> None:
    """Raise if the parameters do not define a promise."""
    if by is not None:
        names_in(by)
        if isinstance(max_risk, Mapping | Costs):
            raise ValueError("If `by` is given, max_risk must be one number for all groups, not a mapping or Costs.")
        if not isinstance(parents, Mapping | None):
            raise ValueError(f"parents is {parents!r}; it must be a mapping of groups to the groups they belong to.")
    elif parents is not None or one_threshold:
        raise ValueError("parents and one_threshold are for groups; name the columns that define these in by.")
    if isinstance(max_risk, Costs):
        return
    risks: dict[Any, Any] = dict(max_risk) if isinstance(max_risk, Mapping) else {None: max_risk}
    if not risks:
        raise ValueError("max_risk names no label; give a number, or a mapping of labels to numbers.")
    if np.ndim(risks.get(None, 0.0)):
        raise TypeError("max_risk is an array; a cost matrix goes into Costs(matrix, review=...).")
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


class SelectiveClassifier(LabelPreservingWrapper[SelectiveDecisions]):
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
        That of the promise; infinite if no threshold can keep it.
    coverage_ : float
        Share of the calibration rows that are accepted; with `X_target`, of the target rows.
    promise_ : Promise
        What is promised, for which rows and from what; `str` puts it in words.
    provenance_ : Provenance or None
        A digest of the calibration rows, and versions; None if read from a file of 0.1.0.
    made_for_ : MadeFor
        The model that the promise was made for. Once that is fitted again or changed in another way, `decide` and
        `save` raise an error.

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
        self._calibrate(X, labels, decided, keys, X_target, random, n_erased)
        if not self.promise_.covered:
            warnings.warn(" ".join(self.summary().splitlines()), NoPromiseWarning, stacklevel=4)
        return self

    def _calibrate(
        self, X: Any, labels: NDArray[Any], training: Answers | None, keys: Any, X_target: Any, random: Any, n: int
    ) -> None:
        """Choose the thresholds on calibration rows, with `n` erased ones."""
        made_for = MadeFor(self.estimator_)
        decided = decide_inside(self.estimator_, X) if len(labels) else empty_decisions(self.estimator_)
        self.made_for_ = made_for.after_deciding()
        self.provenance_ = provenance_of_decided(decided, X, labels)
        trust, wrong, max_risk = decided.trust, np.asarray(decided.label != labels), self.max_risk
        controls: dict[Any, Control]
        costs, groups, shift, each = None, None, None, self.confidence
        risks = {} if isinstance(max_risk, Costs) else risks_of_labels(max_risk, self.classes_)
        if isinstance(max_risk, Costs):
            costs = CostMatrix(max_risk.matrix(self.classes_), float(max_risk.review))
            paid, possible = max_risk.of(labels, decided.label, self.classes_), costs.matrix.ravel()
            controls = {None: choose_cheapest(trust, paid, grid_of(training), possible, costs.review, each, n)}
        elif X_target is not None:
            target = decide_inside(self.estimator_, X_target)
            check_regions(self.estimator_, target, "X_target is about regions")
            rows = Rows(decided.region, trust, wrong)
            check = check_shift(X, X_target, rows, target.region, target.trust)
            found = choose_for_target(
                rows, target.region, target.trust, grid_of(training), risks[None], each, random, check
            )
            controls, shift = {None: found[0]}, found[1]
        elif keys is not None:
            sizes = largest_first(keys)
            code = codes_of(keys, list(sizes))
            controls, no_harm, each = control_groups(
                trust, wrong, code, sizes, grid_of(training), risks[None], each, self.one_threshold, n
            )
            small = {key: size for key, size in sizes.items() if key not in controls}
            groups = Groups(names_in(self.by), small, no_harm, dict(self.parents or {}), self.one_threshold)
        else:
            controls, each = {}, 1.0 - (1.0 - each) / len(risks)
            for label, risk in risks.items():
                about, grid = _about(decided.label, label), grid_of(training, label)
                controls[label] = choose_threshold(trust[about], wrong[about], grid, risk, each, n)
        n_accepted = sum(max(control.n_accepted - n, 0) for control in controls.values())
        self.promise_ = Promise(
            risks={label: float(risk) for label, risk in risks.items()},
            confidence=self.confidence,
            confidence_each=each,
            controls=controls,
            n_rows=len(labels),
            coverage=n_accepted / max(len(labels), 1) if shift is None else shift.n_target_accepted / shift.n_target,
            sites=(),
            n_erased=n,
            costs=costs,
            groups=groups,
            shift=shift,
            edits=edits_in(self),
        )
        if costs is None:
            by_label = errors_by_label(labels, wrong, self.covered(decided, keys).accepted)
            self.promise_ = replace(self.promise_, by_label=by_label)

    @classmethod
    def of_promise(cls, fitted: Any, promise: Promise) -> Self:
        """A classifier around a fitted one, from a promise that was made from counts."""
        groups = promise.groups
        by = None if groups is None else (groups.by[0] if len(groups.by) == 1 else list(groups.by))
        selective = cls(FrozenEstimator(fitted), promise.max_risk, promise.confidence, by=by)
        selective.check_parameters()
        selective.estimator_, selective.made_for_ = selective.estimator, MadeFor(selective.estimator)
        selective.classes_ = np.asarray(fitted.classes_)
        take_features(selective, fitted)
        selective.promise_ = replace(promise, edits=edits_in(fitted))
        return selective

    @property
    def threshold_(self) -> float | dict[Any, float]:
        """Rows with at least this trust are accepted."""
        return as_fitted(self).promise_.threshold

    @property
    def coverage_(self) -> float:
        """The share of the calibration rows that is accepted; with `X_target`, of the target rows."""
        return as_fitted(self).promise_.coverage

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """Raise: a promise is about the decisions of its model as it is."""
        raise TypeError(
            "A SelectiveClassifier cannot be edited: its promise is about the decisions of the model inside as it is. "
            "Edit that model, and make a promise on rows that neither it nor the expert has seen: "
            "SelectiveClassifier(FrozenEstimator(edited), ...).fit(X, y)."
        )

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
        if fitted.promise_.groups is None:
            raise ValueError("groups are given, but there are no promises for groups; name them in by, and refit.")
        if is_lazy(X):
            raise TypeError("groups are for rows in memory; a Dask collection must have the columns named in by.")
        return decide_as_given(fitted, X, lambda rows: fitted._decide(rows, groups), warns=True)

    def _decide(self, X: Any, groups: Any = None) -> SelectiveDecisions:
        known, keys = self.promise_.groups, None
        if known is not None and (known.affect_acceptance or groups is not None or has_columns(known.by, X)):
            keys = known.of(X, groups)
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
        promise = self.promise_
        thresholds = np.full(len(decided), np.inf)
        lack = np.full(len(decided), Lack.TRUST)
        if promise.groups is None or keys is None:
            for label, control in promise.controls.items():
                # Groups that share a threshold need not be distinguished.
                rows = _about(decided.label, None if promise.groups is not None else label)
                thresholds[rows] = control.threshold
        else:
            code = codes_of(keys, list(promise.controls))
            thresholds = np.array([*(control.threshold for control in promise.controls.values()), np.inf])[code]
            lack[code < 0] = Lack.GROUP
        if promise.shift is not None:
            covers = promise.shift.covers(decided.region)
            thresholds[~covers], lack[~covers] = np.inf, Lack.REGION
        return SelectiveDecisions(
            classes=self.classes_,
            label=decided.label,
            trust=decided.trust,
            accepted=decided.trust >= thresholds,
            cause=LATER,
            probabilities=columns_for(decided.probabilities, decided.classes, self.classes_),
            region=decided.region,
            by="SelectiveClassifier",
            inner=decided,
            lack=lack,
            missed=promise.errors_in_words(),
        )

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

    def _probabilities(self, X: Any) -> FloatArray:
        known = np.asarray(self.estimator_.classes_)
        return columns_for(super()._probabilities(X), known, self.classes_)

    def summary(self) -> str:
        """The promises in words: a sentence for each one, or why it cannot be made."""
        fitted = as_fitted(self)
        if not fitted.made_for_.is_unchanged():
            return CHANGED
        unknown = np.setdiff1d(fitted.classes_, fitted.estimator_.classes_)
        return fitted.promise_.in_words(fitted.classes_, unknown)

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "promise_") else repr(self)

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


def check_regions(estimator: Any, decided: Decisions, what: str) -> None:
    """Raise if the estimator behind decisions has no regions, which `what` needs."""
    if (decided.region == NO_REGIONS).any():
        raise TypeError(f"{what}, but {type(estimator).__name__} has none; use an SEPClassifier.")


def write(selective: SelectiveClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier and its promise."""
    selective.made_for_.check()
    return fields_to_node(selective, without=("estimator", "max_risk", "by", "parents")) | {
        "classes": labels_to_node(selective.classes_),
        "estimator": inner.to_node(selective.estimator_, writer.under("estimator")),
        "promise": record_to_node(selective.promise_, writer.under("promise")),
    }


def read(reader: Reader, inner: InnerModels) -> SelectiveClassifier:
    """Read a classifier and its promise."""
    estimator, classes = inner.from_node(reader.part("estimator")), labels_from(reader.part("classes"))
    promise = record_from(Promise, reader.part("promise"), {"C": len(classes)})
    by = None if promise.groups is None else list(promise.groups.by)
    selective = restore_fields(SelectiveClassifier(estimator, by=by[0] if by and len(by) == 1 else by), reader)
    if promise.groups is not None:
        if promise.groups.one_threshold is not selective.one_threshold:
            raise reader.wrong("has promises that do not match its groups")
        selective.parents = dict(promise.groups.parents) or None
    selective.max_risk = promise.max_risk
    selective.estimator_, selective.classes_, selective.made_for_ = estimator, classes, MadeFor(estimator)
    check_inner(estimator, reader, selective.n_features_in_, classes, all_classes=False)
    if promise.groups is None and not set(promise.controls) <= {None, *classes.tolist()}:
        raise reader.wrong("has promises that do not match its max_risk")
    if promise.edits != edits_in(estimator):
        raise reader.wrong("has a promise that was made for a model with other edits")
    selective.promise_ = promise
    return selective
