"""What accepted rows are promised, for which rows, by which test and from what, in a record and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.groups import HARM_SHARE, Groups, Key, NoHarm
from sepc.estimators.selective.shift import Shift
from sepc.estimators.selective.thresholds import Control
from sepc.model.edits import Edit
from sepc.records import floats, number, pairs, part, parts, parts_by_key, record, simple, texts, whole
from sepc.statistics.rates import rows_needed
from sepc.wording import AS_SET, MOST_NAMES, counted, listed, p_in_short, percent, shown

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


def errors_by_label(truth: NDArray[Any], wrong: BoolArray, accepted: BoolArray) -> tuple[LabelErrors, ...]:
    """The errors of each true label among accepted rows, the highest share first."""
    labels, which = np.unique(truth[accepted], return_inverse=True)
    n_errors = np.bincount(which, weights=wrong[accepted], minlength=len(labels)).astype(np.int64)
    each = map(LabelErrors, labels.tolist(), np.bincount(which).tolist(), n_errors.tolist())
    return tuple(sorted(each, key=lambda errors: -errors.share))


@record
class CostMatrix:
    """What errors and reviews cost.

    Attributes
    ----------
    matrix : (C, C) array
        The costs of errors: a row for each true label, a column for each predicted label.
    review : float
        The cost of a review.
    """

    matrix: FloatArray = floats("C", "C", low=0.0)
    review: float = number(0.0)

    def flaw(self) -> str | None:
        """What is wrong with the costs, if anything."""
        return None if self.matrix.max() > self.review > 0.0 else "holds invalid costs"


@record
class Promise:
    """What accepted rows are promised, for which rows, by which test, what was seen, and what voids it.

    Thresholds are tested with exact binomial tests; with `costs` of several sizes, with betting tests.

    Attributes
    ----------
    risks : mapping of label to float
        The largest error rate among the accepted rows predicted as each label; the key None stands for all rows, or
        for each group. Empty with `costs`.
    confidence : float
        Probability that the promise is kept.
    confidence_each : float
        The confidence of the test of each control.
    controls : mapping of label or group to Control
        The threshold for the rows of each label or group, and what was seen of them; the key None stands for all rows.
    n_rows : int
        Calibration rows.
    coverage : float
        The share of the calibration rows that is accepted; with `shift`, of the target rows.
    sites : tuple of str
        The sites of the calibration rows, if the promise was made from their counts.
    n_erased : int
        Erased rows, each of which counts as a wrong calibration row.
    costs : CostMatrix or None
        With costs: an accepted row costs no more on average than its review.
    groups : Groups or None
        The groups that the promise is for.
    shift : Shift or None
        The basis of a promise for another mix of regions.
    by_label : tuple of LabelErrors
        The errors of each true label among accepted calibration rows.
    edits : tuple of Edit
        The edits of the model that the promise was made for; with any others, it does not hold.
    """

    risks: Mapping[Any, float] = pairs()
    confidence: float = number(0.0, 1.0)
    confidence_each: float = number(0.0, 1.0)
    controls: Mapping[Key, Control] = parts_by_key(Control)
    n_rows: int = whole(below=2**63)
    coverage: float = number(0.0, 1.0)
    sites: tuple[str, ...] = texts("S")
    n_erased: int = whole(below=2**63)
    costs: CostMatrix | None = part(CostMatrix, default=None)
    groups: Groups | None = part(Groups, default=None)
    shift: Shift | None = part(Shift, default=None)
    by_label: tuple[LabelErrors, ...] = parts(LabelErrors, default=())
    edits: tuple[Edit, ...] = parts(Edit, default=())

    def flaw(self) -> str | None:
        """What is wrong with the promise, if anything: what it is for does not match what was seen."""
        controls, groups = self.controls, self.groups
        if not all(type(risk) is float and 0.0 <= risk <= 1.0 for risk in self.risks.values()):
            return "holds risks that are not shares"
        if self.costs is None and any(control.loss > control.n_accepted for control in controls.values()):
            return "counts more errors than accepted rows"
        if groups is not None:
            is_single = set(self.risks) == {None} and self.costs is None and self.shift is None and None not in controls
            is_shared = not groups.one_threshold or len({control.threshold for control in controls.values()}) < 2
            is_matched = is_single and is_shared and controls.keys() == groups.no_harm.keys()
            return None if is_matched else "has promises that do not match its groups"
        asked = {None} if self.costs is not None else set(self.risks)
        is_asked = set(controls) == asked and bool(self.costs) is not bool(self.risks)
        is_plain = self.shift is None or set(self.risks) == {None}
        return None if is_asked and is_plain else "has promises that do not match its max_risk"

    @property
    def max_risk(self) -> Any:
        """What was asked for: a number, a mapping of labels to numbers, or `Costs`."""
        if self.costs is not None:
            return Costs(self.costs.matrix, self.costs.review)
        return dict(self.risks) if None not in self.risks else self.risks[None]

    @property
    def highest_risk(self) -> float | None:
        """The largest error rate promised for any label; None with costs, or if labels were not counted."""
        return None if self.sites else max(self.risks.values(), default=None)

    @property
    def threshold(self) -> float | dict[Any, float]:
        """The threshold for all rows, or those of labels or groups; infinite where nothing is promised."""
        thresholds = {key: control.threshold for key, control in self.controls.items()}
        return thresholds.get(None, thresholds) if thresholds or self.groups is not None else math.inf

    @property
    def risk_bound(self) -> float | dict[Any, float] | None:
        """The Clopper-Pearson upper bound on the error rate at the threshold, 1 if that accepts no rows.

        The promise is `max_risk`: the bound ignores that the threshold was chosen on the same errors. None with costs,
        with another mix of regions, and without a promise.
        """
        if self.costs is not None or self.shift is not None or not (self.controls or self.groups):
            return None
        bounds = {key: control.risk_bound(self.confidence_each) for key, control in self.controls.items()}
        return bounds.get(None, bounds)

    @property
    def covered(self) -> list[Key]:
        """The labels or groups whose rows may be accepted."""
        return [key for key, control in self.controls.items() if math.isfinite(control.threshold)]

    def errors_in_words(self) -> str:
        """The errors of each true label if one of them has more than promised; otherwise empty."""
        most = max(self.risks.values(), default=0.0)
        if all(errors.share <= most for errors in self.by_label):
            return ""
        each = [
            f"{errors.n_errors:,} of {errors.n_accepted:,} of {shown(errors.label)} ({percent(errors.share)})"
            for errors in self.by_label
        ]
        return (
            f"Wrong among accepted calibration rows, by true label: {listed(each, MOST_NAMES)}. The promise of at most "
            f"{percent(most, AS_SET)} does not hold for each true label."
        )

    def __str__(self) -> str:
        return self.in_words((), ())

    def in_words(self, classes: Iterable[Any], unknown: Iterable[Any]) -> str:
        """A sentence for every promise, for labels it does not name, and for labels the classifier does not know."""
        controls, confidence, groups = self.controls, self.confidence, self.groups
        missed = self.errors_in_words()
        lines = [f"{missed} {WEIGH_MORE}"] if missed else []
        if groups is not None and not controls:
            lines.append(_no_group_sentences(groups, self.risks[None], confidence))
        for key, control in controls.items():
            if self.costs is not None:
                lines.append(_cost_sentence(control, confidence))
            elif self.shift is not None:
                lines += _shift_sentences(control, confidence, self.shift)
            elif groups is not None:
                lines.append(_group_sentences(control, confidence, groups, key))
            else:
                lines.append(_risk_sentence(control, "" if key is None else f" predicted as {shown(key)}", confidence))
        if len(controls) > 1:
            lines.append(f"The {percent(confidence, AS_SET)} confidence holds for all of this jointly.")
        lines += [] if groups is None else _about_groups(groups, has_promise=bool(controls))
        is_by_label = bool(self.risks) and None not in self.risks
        if is_by_label and (never := listed(shown(label) for label in classes if label not in controls)):
            lines.append(f"Rows predicted as {never} are never accepted: max_risk does not name them.")
        if missing := listed(map(shown, unknown)):
            lines.append(f"The classifier does not know {missing}; such rows count as errors.")
        if len(self.sites) > 1:
            lines.append(f"It is for rows from {listed(self.sites, MOST_NAMES)} in the mix in which they were counted.")
        elif self.sites:
            lines.append(f"It is for rows from {self.sites[0]}.")
        if self.n_erased:
            counts = "counts as a wrong calibration row" if self.n_erased == 1 else "count as wrong calibration rows"
            erased = counted(self.n_erased, "erased row")
            lines.append(f"{erased} {counts}, because nobody knows any more what was in them.")
        return "\n".join(lines)


def _goal(control: Control, whom: str, confidence: float) -> str:
    return (
        f"at most {percent(control.limit, AS_SET)} of accepted rows{whom} are wrong, "
        f"with {percent(confidence, AS_SET)} confidence"
    )


def _risk_sentence(control: Control, whom: str, confidence: float) -> str:
    goal = _goal(control, whom, confidence)
    return _kept(control, goal, whom) if np.isfinite(control.threshold) else _not_kept(control, goal, whom)


def _cost_sentence(control: Control, confidence: float) -> str:
    goal = (
        f"an accepted row costs at most {control.limit:.4g} on average, the cost of a review, "
        f"with {percent(confidence, AS_SET)} confidence"
    )
    if np.isfinite(control.threshold):
        saved = f"{control.limit - control.mean_cost:.3g}"
        return (
            f"{_kept(control, goal)} Errors and reviews together cost about {control.mean_cost:.3g} a row, {saved} "
            "less than a review of every row."
        )
    mean = f"{control.tried_loss / max(control.n_tried, 1):.3g}"
    tried = f"the {control.n_tried:,} most trusted cost {mean} on average"
    return _not_kept(control, goal, without="a cost, or more with few costs", tried=tried)


def _kept(control: Control, goal: str, whom: str = "") -> str:
    new, old = ("such new rows", "these") if whom else ("new rows", "the")
    return (
        f"A{goal[1:]}, if {new} are drawn like the {control.n_rows:,} calibration rows{whom}: accepts trust >= "
        f"{_threshold(control)}, {percent(control.n_accepted / control.n_rows)} of {old} calibration rows."
    )


def _not_kept(
    control: Control,
    goal: str,
    whom: str = "",
    rows: str = "calibration rows",
    without: str = "an error, or more with few errors",
    tried: str = "",
) -> str:
    tried = tried or f"of the {control.n_tried:,} most trusted{whom}, {control.tried_loss:,.0f} were wrong"
    why = f"there are only {control.n_rows:,} {rows}{whom}" if control.n_rows < control.n_needed else tried
    return (
        f"No threshold can keep the promise that {goal}, so no row{whom} is accepted: it takes at least "
        f"{control.n_needed:,} accepted {rows} without {without}, and {why}."
    )


def _threshold(control: Control) -> str:
    threshold = f"{control.threshold:.3f}"
    return f"{control.threshold:.10g}" if threshold == "1.000" else threshold


def _group_sentences(control: Control, confidence: float, groups: Groups, key: Any) -> str:
    name = groups.name(key)
    whom = f" with {name}" if "=" in name else f" in {name}"
    promised = _risk_sentence(control, whom, confidence)
    return f"{promised} {_harm_sentence(groups.no_harm[key], whom)}" if control.n_accepted else promised


def _harm_sentence(harm: NoHarm, whom: str) -> str:
    if not harm.n_refused:
        return f"No row{whom} is refused."
    rates = (
        f"{percent(harm.n_errors / harm.n_accepted)} of {harm.n_accepted:,} accepted ones were wrong, "
        f"{percent(harm.n_refused_errors / harm.n_refused)} of {harm.n_refused:,} refused ones"
    )
    said = "No harm: among" if harm.is_shown else "Not shown: that among"
    return f"{said} such rows, accepted ones are wrong less often than refused ones ({rates})."


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
        first = _not_kept(control, goal, rows="pairs of a target and a calibration row")
    rows = (
        f"It is based on {counted(control.n_rows, 'pair')} of a target row and a calibration row of the same region, "
        f"in {counted(len(shift.regions), 'region')}; {shift.n_planning:,} other target rows were used to plan them."
    )
    uncovered = (
        "Rows in regions that calibration has not seen, or has seen too rarely, are not accepted: "
        f"{percent(shift.n_target_uncovered / shift.n_target)} of the target rows."
    )
    check = shift.check
    if check.is_sign:
        seen = (
            f"Beware: within regions, {check.column} differs between target and calibration rows ("
            f"p {p_in_short(check.p_value, '= ')} after {check.n_tests} tests), so the assumption may not hold."
        )
    else:
        seen = (
            f"Within regions, no difference between target and calibration rows is seen ({check.n_tests} tests); a "
            "change of labels cannot be seen without labels."
        )
    return [first, rows, uncovered, seen]
