"""Every number a report shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from sepc._typing import BoolArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import Decisions, partition_behind, replace_columns, weighed_behind
from sepc.decisions.kinds import Cause
from sepc.documents.document import Figure
from sepc.estimators.base import decide_rows, decide_with_trust
from sepc.estimators.selective.groups import has_columns
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import classifier_name, makes_promise, partition_in, unwrap
from sepc.landscape.landscape import LandscapeFigures
from sepc.looking.findings import Finding
from sepc.reporting._actions import ENOUGH_CASES, Action, Known, actions_of
from sepc.reporting._held_out import (
    Confusion,
    Group,
    HeldOut,
    Histogram,
    Thresholds,
    by_cause,
    by_label,
    confusion_of,
    held_out,
    held_out_card,
    histogram,
    thresholds_of,
)
from sepc.reporting._model_figures import (
    RegionTable,
    WhatCounts,
    category_positions,
    class_overlaps_of,
    names_of_regions,
    region_table,
    what_counts,
)
from sepc.reporting._partition_chart import partition_figure
from sepc.reporting._rows import ColumnResults, ReportedRow, RowReporter, results_by, results_of, set_aside
from sepc.reporting.facts import Facts, facts_of, importances_of, parameters_of, promise_of, proofs_of
from sepc.reporting.trust_check import TrustCheck, checks_of, out_of_fold_check, threshold_of
from sepc.views.log_odds import categories_by_feature
from sepc.views.outcomes import (
    Bins,
    ClassScore,
    RiskCoverage,
    class_scores,
    is_right,
    missed,
    reliability_bins,
    risk_coverage,
    warnings_of,
)
from sepc.wording import counted, json_fields, name_of, percent, short, visible

# Longer curves are thinned out to this many points.
N_CURVE = 300
# Longer facts and parameters are cut.
LONGEST_TEXT = 800


@dataclass(frozen=True, repr=False)
class ReportFigures(ShownAsCard):
    """What a report shows.

    Attributes
    ----------
    title, estimator, verdict : str
        `estimator` is the name of its type; `verdict` is one sentence.
    held_out : HeldOut
    labels, causes : tuple of Group
        Rows by predicted label and by cause; no causes if the estimator gives none.
    scores : tuple of ClassScore
        Recall and precision of every class; empty without true labels.
    confusion : Confusion or None
        Rows by true and predicted label.
    promise : tuple of str
        What the estimator promises, one sentence each.
    checks : tuple of TrustCheck
        Whether these rows contradict trust or the promise, if their true labels are known; and whether training rows
        with out-of-fold probabilities do.
    warnings : tuple of str
        Other warnings.
    landscape : LandscapeFigures or None
        How the ellipsoids of the classes overlap in training; there is no partition of these rows.
    picture : Figure or None
        The rows and ellipsoids in a plane, as a chart with its caption.
    regions : RegionTable or None
    weights : WhatCounts or None
    histogram : Histogram
    curve : RiskCoverage or None
    bins : Bins or None
        The risk-coverage curve, thinned out if it is long, and the bins of a reliability diagram.
    wrong : tuple of ReportedRow
        Rows that are accepted but wrong, the most trusted first.
    review : tuple of ReportedRow
        Rows that are not accepted, the least trusted first.
    facts, parameters : tuple of (name, value)
    left_out : mapping of str to str
        For each part that is None, the reason.
    actions : tuple of Action
        What to do, the most urgent first.
    thresholds : Thresholds
        How many rows other thresholds of trust would accept.
    results : tuple of ColumnResults
        Results by the columns that the user names.
    importances : tuple of (column, size)
        The importance of each column, the largest first; see `SEPClassifier.feature_importances_`.
    findings : tuple of Finding
        What `sepc.look` found in the table.
    held_out_rows : str
        Which rows are held out, in words, if that is known.
    proofs : tuple of str
        What is proved of monotone features, one sentence each; see `SEPClassifier.proofs`.
    """

    title: str
    estimator: str
    verdict: str
    held_out: HeldOut
    labels: tuple[Group, ...]
    causes: tuple[Group, ...]
    scores: tuple[ClassScore, ...]
    confusion: Confusion | None
    promise: tuple[str, ...]
    checks: tuple[TrustCheck, ...]
    warnings: tuple[str, ...]
    landscape: LandscapeFigures | None
    picture: Figure | None
    regions: RegionTable | None
    weights: WhatCounts | None
    histogram: Histogram
    curve: RiskCoverage | None
    bins: Bins | None
    wrong: tuple[ReportedRow, ...]
    review: tuple[ReportedRow, ...]
    facts: Facts
    parameters: Facts
    left_out: Mapping[str, str]
    actions: tuple[Action, ...]
    thresholds: Thresholds
    results: tuple[ColumnResults, ...]
    importances: tuple[tuple[str, float], ...]
    findings: tuple[Finding, ...] = ()
    held_out_rows: str = ""
    proofs: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as dictionaries, lists, text and numbers, ready for JSON."""
        return json_fields(self)

    def _card(self) -> Card:
        return held_out_card(self.title, self.estimator, self.held_out, self.causes or self.labels)


def figures_of(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    title: str | None = None,
    groups: Any = None,
    id: Any = None,  # noqa: A002 - the user's word for it
    by: Any = None,
) -> ReportFigures:
    """Let a fitted estimator decide on held-out rows, and collect what a report shows; see `sepc.report`."""
    check_is_fitted(estimator)
    if (X_train is None) != (y_train is None):
        raise ValueError("X_train and y_train belong together; give both or neither.")
    X, beside = set_aside(estimator, X, id, by)
    decisions, keys = _decide(estimator, X, groups)
    if len(decisions) == 0:
        raise ValueError("X has no rows, so there is nothing to report.")
    labels = None if y is None else _labels(X, y)
    right = None if labels is None else is_right(decisions.label, labels)
    classes, accepted = np.asarray(estimator.classes_), np.asarray(decisions.accepted)
    figures = held_out(decisions, right, labels, classes)
    partition = partition_behind(decisions)
    defining = partition_in(estimator)
    preparation = None if defining is None else defining.encoding_
    named, names = beside.groups_of(), {} if partition is None else names_of_regions(partition)
    # Errors by true label are said once, at the top, and not in each reason.
    alone = replace_columns(decisions, missed="") if hasattr(decisions, "missed") else decisions
    rows = RowReporter(estimator, alone, partition, X, labels, right, names, beside.ids, named)
    wrong, review = rows.accepted_but_wrong(), rows.to_review()
    categories = categories_by_feature(preparation)
    weighed = None
    if partition is not None:
        weighed = what_counts(partition, accepted, categories, weighed_behind(decisions) is not None)
    landscape, no_landscape = class_overlaps_of(X_train, y_train)
    kind = classifier_name(estimator)
    scores = () if labels is None else class_scores(np.asarray(decisions.label), accepted, labels, classes)
    promised = getattr(unwrap(estimator).classifier, "promise_", None)
    not_found = missed(scores, None if promised is None else promised.highest_risk)
    causes, checks = by_cause(decisions, right), _checks(estimator, decisions, labels, right, keys, y_train)
    regions, drawn, lacking = None, None, {}
    if partition is not None:
        regions = region_table(partition, decisions, accepted, right, names)
        lacking = _count_lacking(decisions, partition)
        listed = {row.position: row.in_short for row in (*wrong, *review)}
        places = {row.region: row for row in (*regions.rows, *regions.outside)}
        given, hidden = np.asarray(decisions.label), category_positions(preparation)
        drawn = partition_figure(partition, accepted, right, labels, given, listed, places, hidden)
    results, importances = results_by(beside, named, accepted, right), importances_of(estimator)
    if keys is not None:
        groups = unwrap(estimator).classifier.promise_.groups
        of_promise = np.array([groups.name(key) for key in keys], dtype=object)
        results = (results_of("group of the promise", of_promise, of_promise, accepted, right), *results)
    return ReportFigures(
        title=name_of(title or f"{kind} on {figures.n_rows:,} held-out rows"),
        estimator=kind,
        verdict=_verdict(figures),
        held_out=figures,
        labels=by_label(decisions, right, classes),
        causes=causes,
        scores=scores,
        confusion=None if labels is None else confusion_of(np.asarray(decisions.label), accepted, labels, classes),
        promise=tuple(map(visible, promise_of(estimator))),
        checks=checks,
        warnings=(*warnings_of(not_found), *_unknown_labels(figures)),
        landscape=landscape,
        picture=drawn,
        regions=regions,
        weights=weighed,
        histogram=histogram(decisions, right),
        curve=None if right is None else risk_coverage(right, decisions.trust).thinned(N_CURVE),
        bins=None if right is None else reliability_bins(right, decisions.trust),
        wrong=wrong,
        review=review,
        facts=tuple((name, short(visible(value), LONGEST_TEXT)) for name, value in facts_of(estimator)),
        parameters=tuple((name, short(visible(value), LONGEST_TEXT)) for name, value in parameters_of(estimator)),
        left_out=_why_left_out(estimator, no_landscape, partition, drawn, weighed, right is not None),
        actions=actions_of(Known(figures, causes, checks, wrong, regions, importances, results, lacking, not_found)),
        thresholds=thresholds_of(decisions.trust, accepted, right, threshold_of(estimator)),
        results=results,
        importances=importances,
        proofs=tuple(map(visible, proofs_of(estimator))),
    )


def _decide(estimator: Any, X: Any, groups: Any) -> tuple[Decisions, NDArray[Any] | None]:
    """The decisions on rows, and their groups if the estimator makes promises for groups and these are known."""
    classifier = unwrap(estimator).classifier
    if not makes_promise(classifier) or classifier.promise_.groups is None:
        if groups is not None:
            raise ValueError("groups are given, but the estimator makes no promises for groups; see its parameter by.")
        return decide_with_trust(estimator, X, "wrap it in a TrustedClassifier"), None
    known = classifier.promise_.groups
    if groups is None and not has_columns(known.by, X):
        return decide_rows(classifier, X), None
    return classifier.decide(X, groups=groups), known.of(X, groups)


def _checks(
    estimator: Any,
    decisions: Decisions,
    y: NDArray[Any] | None,
    right: BoolArray | None,
    keys: NDArray[Any] | None,
    y_train: ArrayLike | None,
) -> tuple[TrustCheck, ...]:
    """Check a model's claims on held-out rows, and on training rows that have out-of-fold probabilities."""
    checks = () if y is None or right is None else checks_of(estimator, decisions, y, right, keys)
    of_training = None if y_train is None else out_of_fold_check(estimator, column_or_1d(y_train))
    return checks if of_training is None else (*checks, of_training)


def _count_lacking(decisions: Decisions, partition: SEPDecisions) -> dict[int, int]:
    """How many rows of each region with few training cases have the cause THIN."""
    is_thin = (np.asarray(decisions.cause) == Cause.THIN) & (partition.counts.sum(axis=1) < ENOUGH_CASES)
    regions, counts = np.unique(partition.region[is_thin], return_counts=True)
    return dict(zip(regions.tolist(), counts.tolist(), strict=True))


def _labels(X: Any, y: ArrayLike) -> NDArray[Any]:
    labels = column_or_1d(y)
    check_consistent_length(X, labels)
    return np.asarray(labels)


def _unknown_labels(figures: HeldOut) -> list[str]:
    if not figures.n_unknown:
        return []
    have, count = ("has", "it counts") if figures.n_unknown == 1 else ("have", "they count")
    rows, named = counted(figures.n_unknown, "row"), ", ".join(figures.unknown)
    return [f"{rows} {have} a label that is not a class of the model ({named}); {count} as wrong."]


def _verdict(figures: HeldOut) -> str:
    n, n_accepted = figures.n_rows, figures.n_accepted
    rows = counted(n, "held-out row")
    if n_accepted == 0:
        return f"None of {rows} is accepted; a person should decide all of them."
    text = f"All {rows} are" if n_accepted == n else f"{n_accepted:,} of {rows} ({percent(n_accepted / n)}) are"
    text += " accepted"
    if figures.n_right_accepted is not None:
        share = percent(figures.n_right_accepted / n_accepted)
        text += f", and {figures.n_right_accepted:,} of the accepted ({share}) have the right label"
    if n_accepted == n:
        return f"{text}."
    return f"{text}; a person should decide the other {n - n_accepted:,}."


def _why_left_out(
    estimator: Any,
    landscape: str,
    partition: SEPDecisions | None,
    drawn: Figure | None,
    weighed: WhatCounts | None,
    labelled: bool,
) -> dict[str, str]:
    """For each part missing from the report, the reason."""
    kind = classifier_name(estimator)
    left: dict[str, str] = {"landscape": landscape} if landscape else {}
    if partition is None:
        many = f"{kind} does not take its labels from a single partition"
        left["picture"] = f"{many}, so there is none to draw."
        left["regions"] = f"{many}, so there are no regions to list."
        left["weights"] = f"{many}, so there are no shape functions or weights to show."
    else:
        if drawn is None:
            left["picture"] = "A picture needs two features; the model has one."
        if weighed is None:
            left["weights"] = _why_no_weights(partition)
    if not labelled:
        left["curves"] = "Error rates and calibration need the true labels of the held-out rows; give y."
    if not promise_of(estimator):
        left["promise"] = f"{kind} promises no error rate; wrap it in a SelectiveClassifier to get one."
    return left


def _why_no_weights(partition: SEPDecisions) -> str:
    if len(partition.model.classes) < 2:
        return "The model has one class, so it has no shape functions or weights."
    return f"trust={partition.model.trust!r} has no shape functions or weights; fit with trust='weights' to get them."
