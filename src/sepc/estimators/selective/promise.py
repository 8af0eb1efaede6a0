"""The promise in words: what is promised, for which rows, based on how many, and what voids it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import NO_REGIONS, Decisions, frame_of
from sepc.errors import NoPromiseWarning
from sepc.estimators.base import DecidingClassifier, check_labels
from sepc.estimators.fitted_record import FittedAtOnce, as_fitted
from sepc.estimators.selective._made_for import MadeFor
from sepc.estimators.selective.costs import CostControl, Costs
from sepc.estimators.selective.groups import HARM_SHARE, GroupComparison, Groups, Key, NoHarm, compare_groups
from sepc.estimators.selective.shift import Shift, ShiftCheck
from sepc.estimators.selective.thresholds import Control, decide_inside
from sepc.estimators.unwrapping import edits_in, unwrap
from sepc.model.edits import Edit
from sepc.records import number, parts, record, simple, whole
from sepc.statistics.rates import lower_bound, rows_needed
from sepc.wording import AS_SET, MOST_NAMES, counted, floored_percent, listed, p_in_short, percent, shown

if TYPE_CHECKING:
    import pandas as pd


WEIGH_MORE = (
    "To miss fewer rows of a label, give its errors a higher cost (max_risk=Costs(...)), fit with "
    "class_weight='balanced' (--class-weight balanced), or lower max_risk (--max-risk)."
)


@record
class LabelErrors:
    """Accepted calibration rows of a true label, and the wrong ones among them.

    Attributes
    ----------
    label : label
        The true label.
    n_accepted, n_errors : int
        Accepted calibration rows that truly have this label, and those of them that got another one.
    """

    label: Any = simple()
    n_accepted: int = whole(below=2**63)
    n_errors: int = whole(below=2**63)

    @property
    def share(self) -> float:
        """The share of the accepted rows that is wrong."""
        return self.n_errors / self.n_accepted

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything."""
        return None if self.n_errors <= self.n_accepted > 0 else "counts more errors than accepted rows, or no rows"


@record
class ErrorsByLabel:
    """The errors of each true label among accepted calibration rows, beside the largest error rate promised.

    Attributes
    ----------
    max_risk : float
        The largest error rate promised, for all rows, a predicted label or a group.
    labels : tuple of LabelErrors
        The true labels of accepted calibration rows, those with the highest error rate first.
    """

    max_risk: float = number(0.0, 1.0)
    labels: tuple[LabelErrors, ...] = parts(LabelErrors)

    @classmethod
    def of(cls, max_risk: Any, truth: NDArray[Any], wrong: BoolArray, accepted: BoolArray) -> ErrorsByLabel | None:
        """Count calibration rows; None if costs are promised instead of an error rate."""
        if isinstance(max_risk, Costs):
            return None
        labels, which = np.unique(truth[accepted], return_inverse=True)
        n_errors = np.bincount(which, weights=wrong[accepted], minlength=len(labels)).astype(np.int64)
        each = map(LabelErrors, labels.tolist(), np.bincount(which).tolist(), n_errors.tolist())
        most = max(max_risk.values()) if isinstance(max_risk, Mapping) else max_risk
        return cls(float(most), tuple(sorted(each, key=lambda errors: -errors.share)))

    def in_words(self) -> str:
        """The errors of each true label if one of them has more than promised; otherwise empty."""
        if all(errors.share <= self.max_risk for errors in self.labels):
            return ""
        each = [
            f"{errors.n_errors:,} of {errors.n_accepted:,} of {shown(errors.label)} ({percent(errors.share)})"
            for errors in self.labels
        ]
        return (
            f"Wrong among accepted calibration rows, by true label: {listed(each, MOST_NAMES)}. The promise of at most "
            f"{percent(self.max_risk, AS_SET)} does not hold for each true label."
        )


def promise_in_words(
    controls: Mapping[Any, Control | CostControl],
    confidence: float,
    groups: Groups | None,
    shift: Shift | None,
    max_risk: float | Mapping[Any, float] | Costs,
    classes: Iterable[Any],
    unknown: Iterable[Any],
    sites: Sequence[str] = (),
    n_erased: int = 0,
    by_label: ErrorsByLabel | None = None,
) -> str:
    """A sentence for every promise, for labels it does not name, and for labels the classifier does not know."""
    unnamed = [label for label in classes if label not in controls] if isinstance(max_risk, Mapping) else []
    missed = "" if by_label is None else by_label.in_words()
    lines = [f"{missed} {WEIGH_MORE}"] if missed else []
    if groups is not None and not controls:
        # All groups are promised the same risk.
        lines.append(_no_group_sentences(groups, cast(float, max_risk), confidence))
    for key, control in controls.items():
        if isinstance(control, CostControl):
            lines.append(cost_sentence(control, confidence))
        elif shift is not None:
            lines += _shift_sentences(control, confidence, shift)
        elif groups is not None:
            lines.append(_group_sentences(control, confidence, groups, key))
        else:
            lines.append(risk_sentence(control, "" if key is None else f" predicted as {shown(key)}", confidence))
    if len(controls) > 1:
        lines.append(f"The {percent(confidence, AS_SET)} confidence holds for all of this jointly.")
    lines += [] if groups is None else _about_groups(groups, has_promise=bool(controls))
    if never := listed(map(shown, unnamed)):
        lines.append(f"Rows predicted as {never} are never accepted: max_risk does not name them.")
    if missing := listed(map(shown, unknown)):
        lines.append(f"The classifier does not know {missing}; such rows count as errors.")
    if len(sites) > 1:
        lines.append(f"It is for rows from {listed(sites, MOST_NAMES)} in the mix in which they were counted.")
    elif sites:
        lines.append(f"It is for rows from {sites[0]}.")
    if n_erased:
        counts = "counts as a wrong calibration row" if n_erased == 1 else "count as wrong calibration rows"
        lines.append(f"{counted(n_erased, 'erased row')} {counts}, because nobody knows any more what was in them.")
    return "\n".join(lines)


def warn_of_no_promise(controls: Mapping[Any, Control | CostControl], in_words: str) -> None:
    """Warn the caller of `fit` if no row will be accepted, in the words of the promise."""
    if not any(np.isfinite(control.threshold) for control in controls.values()):
        warnings.warn(" ".join(in_words.splitlines()), NoPromiseWarning, stacklevel=5)


def risk_sentence(control: Control, whom: str, confidence: float) -> str:
    """The promise about errors; `whom` says for which rows, empty for all rows."""
    goal = _goal(control, whom, confidence)
    if not np.isfinite(control.threshold):
        return _no_risk_sentence(control, whom, goal)
    return f"A{goal[1:]}, {_as_calibration(control, whom)}: {_accepts(control, whom)}."


def cost_sentence(control: CostControl, confidence: float) -> str:
    """The promise about costs, and the estimated savings."""
    goal = (
        f"an accepted row costs at most {control.review:.4g} on average, the cost of a review, "
        f"with {percent(confidence, AS_SET)} confidence"
    )
    if np.isfinite(control.threshold):
        saved = f"{control.review - control.cost:.3g}"
        return (
            f"A{goal[1:]}, {_as_calibration(control, '')}: {_accepts(control, '')}. Errors and reviews together cost "
            f"about {control.cost:.3g} a row, {saved} less than a review of every row."
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


def _goal(control: Control, whom: str, confidence: float) -> str:
    return (
        f"at most {percent(control.max_risk, AS_SET)} of accepted rows{whom} are wrong, "
        f"with {percent(confidence, AS_SET)} confidence"
    )


def _no_risk_sentence(control: Control, whom: str, goal: str, rows: str = "calibration rows") -> str:
    why = (
        f"there are only {control.n_rows:,} {rows}{whom}"
        if control.n_rows < control.n_needed
        else f"of the {control.n_tried:,} most trusted{whom}, {control.n_tried_errors:,} were wrong"
    )
    return (
        f"No threshold can keep the promise that {goal}, so no row{whom} is accepted: it takes at least "
        f"{control.n_needed:,} accepted {rows} without an error, or more with few errors, and {why}."
    )


def _as_calibration(control: Control | CostControl, whom: str) -> str:
    new = "such new rows" if whom else "new rows"
    return f"if {new} are drawn like the {control.n_rows:,} calibration rows{whom}"


def _accepts(control: Control | CostControl, whom: str) -> str:
    rows = "these calibration rows" if whom else "the calibration rows"
    return f"accepts trust >= {_threshold(control)}, {percent(control.n_accepted / control.n_rows)} of {rows}"


def _threshold(control: Control | CostControl) -> str:
    threshold = f"{control.threshold:.3f}"
    return f"{control.threshold:.10g}" if threshold == "1.000" else threshold


def _group_sentences(control: Control, confidence: float, groups: Groups, key: Any) -> str:
    name = groups.name(key)
    whom = f" with {name}" if "=" in name else f" in {name}"
    promised = risk_sentence(control, whom, confidence)
    return f"{promised} {_harm_sentence(groups.no_harm[key], whom)}" if control.n_accepted else promised


def _harm_sentence(harm: NoHarm, whom: str) -> str:
    if not harm.n_refused:
        return f"No row{whom} is refused."
    rates = (
        f"{percent(harm.n_errors / harm.n_accepted)} of {harm.n_accepted:,} accepted ones were wrong, "
        f"{percent(harm.n_refused_errors / harm.n_refused)} of {harm.n_refused:,} refused ones"
    )
    if harm.is_shown:
        return f"No harm: among such rows, accepted ones are wrong less often than refused ones ({rates})."
    return f"Not shown: that among such rows, accepted ones are wrong less often than refused ones ({rates})."


def _no_group_sentences(groups: Groups, max_risk: float, confidence: float) -> str:
    """The sentence if every group is too small."""
    n_needed = rows_needed(max_risk, 1.0 - (1.0 - HARM_SHARE) * (1.0 - confidence))
    largest = max(groups.small, key=lambda key: groups.small[key], default=None)
    has = "there is none" if largest is None else f"{groups.name(largest)}, the largest, has {groups.small[largest]:,}"
    return (
        f"No threshold can keep the promise that at most {percent(max_risk, AS_SET)} of accepted rows in every group "
        f"are wrong, with {percent(confidence, AS_SET)} confidence, so no row is accepted: it takes a group of at "
        f"least {n_needed:,} calibration rows, and {has}. Calibrate with more rows, or merge groups with parents."
    )


def _about_groups(groups: Groups, *, has_promise: bool) -> list[str]:
    lines = []
    if has_promise:
        lines.append(
            "It holds whatever the groups' shares are, as long as new rows within each group are drawn like its "
            "calibration rows; groups that calibration has not seen have no promise."
        )
    if groups.small:
        named = listed([f"{groups.name(key)} ({counted(n, 'row')})" for key, n in groups.small.items()], MOST_NAMES)
        lines.append(f"Too small for a promise{', and not accepted' if has_promise else ''}: {named}.")
    if groups.parents:
        joined = [f"{groups.name(child)} in {groups.name(parent)}" for child, parent in groups.parents.items()]
        lines.append(f"Without a promise of their own: {listed(joined, MOST_NAMES)}.")
    return lines


def _shift_sentences(control: Control, confidence: float, shift: Shift) -> list[str]:
    goal = _goal(control, "", confidence)
    goal += f", if rows have the mix of regions of the {shift.n_target:,} target rows"
    if np.isfinite(control.threshold):
        accepted = percent(shift.n_target_accepted / shift.n_target)
        first = (
            f"A{goal[1:]} and those of a region are drawn like its calibration rows: accepts trust >= "
            f"{_threshold(control)}, {accepted} of the target rows."
        )
    else:
        first = _no_risk_sentence(control, "", goal, "pairs of a target and a calibration row")
    rows = (
        f"It is based on {counted(control.n_rows, 'pair')} of a target row and a calibration row of the same region, "
        f"in {counted(len(shift.regions), 'region')}; {shift.n_planning:,} other target rows were used to plan them."
    )
    uncovered = (
        "Rows in regions that calibration has not seen, or has seen too rarely, are not accepted: "
        f"{percent(shift.n_target_uncovered / shift.n_target)} of the target rows."
    )
    return [first, rows, uncovered, _check_sentence(shift.check)]


def _check_sentence(check: ShiftCheck) -> str:
    if check.is_sign:
        return (
            f"Beware: within regions, {check.column} differs between target and calibration rows ("
            f"p {p_in_short(check.p_value, '= ')} after {check.n_tests} tests), so the assumption may not hold."
        )
    return (
        f"Within regions, no difference between target and calibration rows is seen ({check.n_tests} tests); a "
        "change of labels cannot be seen without labels."
    )


# The attributes that a promise consists of.
OF_PROMISE = (
    *("controls_", "groups_", "shift_", "threshold_", "coverage_"),
    *("risk_bound_", "mean_cost_", "confidence_", "n_calibration_", "n_erased_", "errors_by_label_"),
)

M = TypeVar("M", bound="EditablePromise")

LOST = (
    "There is no promise, and no row is accepted: the model was edited after its promise was made. Make a new one on "
    "rows that the model has not seen: SelectiveClassifier(FrozenEstimator(model.estimator_), ...).fit(X, y)."
)


@dataclass(frozen=True, eq=False)
class LostPromise:
    """A promise that does not hold for the model as it is."""

    edits: tuple[Edit, ...]
    promise: dict[str, Any]


class EditablePromise(FittedAtOnce):
    """What lets a `SelectiveClassifier` be edited: the classifier inside is, and the promise is lost."""

    estimator: Any
    estimator_: Any
    lost_promise_: LostPromise | None
    made_for_: MadeFor

    def with_edits(self, edits: Sequence[Edit]) -> Self:
        """A copy of the model with exactly these edits, which are signed; its promise is lost.

        If these are the edits that the model had when the promise was made, it holds again.
        """
        fitted = as_fitted(self)
        fitted.made_for_.check()
        is_frozen = isinstance(fitted.estimator_, FrozenEstimator)
        inside = fitted.estimator_.estimator if is_frozen else fitted.estimator_
        if not isinstance(inside, DecidingClassifier):
            raise TypeError(
                f"{type(inside).__name__} inside the SelectiveClassifier cannot be edited; an SEPClassifier can."
            )
        held = fitted.lost_promise_ or LostPromise(edits_in(fitted), promise_of(fitted))
        inside = inside.with_edits(edits)
        estimator = FrozenEstimator(inside) if is_frozen else inside
        edited = fitted.with_fitted(estimator_=estimator, made_for_=MadeFor(estimator))
        if fitted.estimator is fitted.estimator_:
            # So that `fit` calibrates the edited model.
            edited.estimator = edited.estimator_
        return with_promise(edited, held)


def with_promise(model: M, held: LostPromise) -> M:
    """A `SelectiveClassifier` with this promise if it was made for a model with the same edits; else with none."""
    if edits_in(model) == held.edits:
        return model.with_fitted(OF_PROMISE, lost_promise_=None, **held.promise)
    nothing: dict[str, Any] = {"controls_": {}, "groups_": None, "shift_": None, "threshold_": np.inf, "coverage_": 0.0}
    nothing |= {"errors_by_label_": None, "n_calibration_": 0, "n_erased_": 0}
    nothing["confidence_"] = held.promise["confidence_"]
    return model.with_fitted(OF_PROMISE, lost_promise_=held, **nothing)


def has_lost_promise(model: Any) -> bool:
    """Whether the classifier inside a model had a promise that an edit made void."""
    return isinstance(getattr(unwrap(model).classifier, "lost_promise_", None), LostPromise)


def promise_of(model: EditablePromise) -> dict[str, Any]:
    """The attributes of a promise."""
    return {name: getattr(model, name) for name in OF_PROMISE if hasattr(model, name)}


HEAD = ("region", "rows", "wrong", "right at least")


@dataclass(frozen=True, eq=False, repr=False)
class Certificates(ShownAsCard):
    """Lower bounds on the accuracy in each region, which hold together with probability `confidence`.

    `str` gives a sentence for each region.

    Attributes
    ----------
    region : array of int
        The regions that have held-out rows, as `apply` numbers them; -1 stands for all unseen combinations together.
    n_rows, n_errors : array of int
        Held-out rows there, and how many of them were wrong.
    accuracy_at_least : array of float
        The lower bounds.
    confidence : float
        Probability that no bound is too high.
    """

    region: IntArray
    n_rows: IntArray
    n_errors: IntArray
    accuracy_at_least: FloatArray
    confidence: float

    @classmethod
    def of(cls, regions: IntArray, wrong: BoolArray, confidence: float) -> Self:
        """Bounds from held-out rows, given the region of each and whether its label was wrong."""
        region, which, n_rows = np.unique(regions, return_inverse=True, return_counts=True)
        n_errors = np.bincount(which, weights=wrong, minlength=len(region)).astype(np.int64)
        each = 1.0 - (1.0 - confidence) / len(region)
        return cls(region, n_rows, n_errors, lower_bound(n_rows - n_errors, n_rows, each), confidence)

    def __len__(self) -> int:
        return len(self.region)

    def summary(self) -> str:
        """The certificates as sentences, the region with the most rows first."""
        lines = [
            f"Region {self.region[i]}: at least {floored_percent(self.accuracy_at_least[i])} right, "
            f"{percent(self.confidence, AS_SET)} confidence, {counted(self.n_rows[i], 'row')}."
            for i in np.argsort(-self.n_rows, kind="stable")
        ]
        together = (
            f"The {percent(self.confidence, AS_SET)} confidence holds for all of this jointly. " if lines[1:] else ""
        )
        return "\n".join([*lines, f"{together}It holds for new rows drawn like these held-out rows."])

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self) -> pd.DataFrame:
        """The certificates as a pandas DataFrame, a row for each region."""
        names = ("region", "n_rows", "n_errors", "accuracy_at_least")
        return frame_of({name: getattr(self, name) for name in names})

    def _card(self) -> Card:
        bounds = [floored_percent(bound) for bound in self.accuracy_at_least]
        rows = tuple(
            (f"{self.region[i]}", f"{self.n_rows[i]:,}", f"{self.n_errors[i]:,}", bounds[i])
            for i in np.argsort(-self.n_rows, kind="stable").tolist()
        )
        facts = (
            ("confidence", f"{percent(self.confidence, AS_SET)}, for all of them together"),
            ("held-out rows", f"{self.n_rows.sum():,}, {self.n_errors.sum():,} of them wrong"),
        )
        return Card(f"Certificates of {counted(len(self), 'region')}", facts, HEAD, rows, "As a DataFrame: to_frame()")


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
