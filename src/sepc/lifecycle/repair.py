"""Repair a model: failing regions get a new model, everything else stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray, IntArray
from sepc.decisions.decisions import Decisions, partition_behind, positions_of
from sepc.errors import MovedColumnsError
from sepc.estimators.base import check_labels
from sepc.estimators.decided_rows import provenance_of_decided
from sepc.estimators.routed import RoutedClassifier, has_own_regions
from sepc.estimators.routes import Change
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.unwrapping import is_repaired, makes_promise, partition_in, unwrap
from sepc.lifecycle.audit import Audit, audit_feedback
from sepc.lifecycle.feedback import Feedback, feedback_of
from sepc.lifecycle.monitoring.column_guesses import columns_in_words
from sepc.lifecycle.monitoring.columns import column_rows
from sepc.lifecycle.monitoring.comparing import column_changes, moved_far
from sepc.lifecycle.region_models import RegionModel, RegionModelFitter, RowsInRegions
from sepc.lifecycle.rows import decide_in_memory
from sepc.model_files import model_digest
from sepc.statistics.rates import sign_test
from sepc.wording import check_number, listed, shown

# The false discovery rate of the audits that choose regions.
FDR = 0.1

# Regions with fewer rows than this are tested together: alone they could hardly show anything.
FEWEST_ALONE = 20


def repair(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    audit: Audit | None = None,
    regions: Iterable[int] | None = None,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    confidence: float = 0.9,
    cv: int = 5,
    random_state: int = 0,
    despite_moved_columns: bool = False,
) -> Any:
    """Give failing regions a model of their own, fitted on the feedback that lies there.

    A new model decides only on rows of its region; every other decision stays the same, bit for bit. It is kept only
    if it is shown to be better on rows that it was not fitted on; other regions stay as they were.

    Parameters
    ----------
    model : fitted classifier with regions
        An `SEPClassifier`, a `TrustedClassifier`, or a `RoutedClassifier`, to repair it again. Also a
        `SelectiveClassifier`, a pipeline, a search or a `FrozenEstimator` around one.
    X, y : array or DataFrame of n rows, and their labels
        Feedback: rows that were not used to train the model.
    audit : Audit, optional
        Says which regions fail or hold clusters of wrong rows. By default, the feedback is audited first.
    regions : iterable of int, optional
        The regions to repair, instead of those of an audit. Choose them without this feedback; otherwise the errors
        before the repair look worse than they are.
    X_train, y_train : rows and their labels, optional
        Training rows, if they are still available. They are used to fit a region's model only if that reduces errors
        on held-out feedback, since they may be outdated; never to evaluate it, and never more of them than of feedback
        in the regions.
    confidence : float, default=0.9
        A new model is kept if one that is no better would do as well with probability at most 1 - `confidence`, in
        each region. With 0, every new model is kept.
    cv : int, default=5
        Number of folds. New models are judged on each fold by models that were chosen and fitted without it; the model
        that is kept is fitted on all folds.
    random_state : int, default=0
        Seed of folds and audits. Folds depend on the values of rows, not on their order.
    despite_moved_columns : bool, default=False
        Whether to repair although columns of the feedback differ from training: another unit, renamed categories, an
        empty column. A repair would fit new models to what is probably an error in the data.

    Returns
    -------
    RoutedClassifier
        Its `summary()` says what was changed. Its `fit` is a full refit. For a pipeline, a pipeline with the same first
        steps that ends in one. The promise of a `SelectiveClassifier` was about other labels and is dropped; make a new
        one on rows that were not used here: ``SelectiveClassifier(FrozenEstimator(repaired), ...).fit(X, y)``.

    Raises
    ------
    MovedColumnsError
        If columns of the feedback changed in a recognisable way, or moved far within the classes.
    TypeError
        If the model has no regions.
    ValueError
        If `confidence`, `cv`, a region or a label is invalid.

    Notes
    -----
    Rows on which just one of the two models is wrong are counted, and the exact one-sided sign test (McNemar's) shows
    whether more of them were corrected than chance explains. Regions with fewer than 20 rows of feedback are tested
    together, and of these only those with fewer errors than before are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import SEPClassifier
    >>> from sepc.lifecycle import repair
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(3000, 2))
    >>> y = np.where(X[:, 0] > 0.0, "right", "left")
    >>> classifier = SEPClassifier().fit(X[:1000], y[:1000])
    >>> y[np.abs(X - 0.5).max(axis=1) < 0.2] = "left"  # a corner has changed
    >>> repaired = repair(classifier, X[1000:2000], y[1000:2000])
    >>> print(repaired.summary().splitlines()[-1])
    All other decisions stay as they were.
    >>> repaired.score(X[2000:], y[2000:]) > classifier.score(X[2000:], y[2000:])
    True
    """
    check_number("confidence", confidence, least=0, below=1)
    check_number("cv", cv, least=2, whole=True)
    inside = _inside_of(model)
    labels = _known_labels(y, inside)
    feedback = feedback_of(model, X, labels)
    if not despite_moved_columns:
        _refuse_moved_columns(feedback.decisions, X, labels)
    rows = _locate(feedback.decisions, labels)
    folds = rows.folds(cv, random_state)
    if regions is None:
        audit = audit_feedback(feedback, X, labels, FDR, random_state) if audit is None else audit
        regions = audit.to_repair.tolist()
    regions = _check_regions(regions, inside)
    without = [regions] * cv
    # Of an audit of this very feedback, by the number of rows and of errors, each fold does not choose its own regions.
    if audit is not None and (audit.n_rows, audit.n_errors) == (len(feedback), int(np.sum(~feedback.right))):
        without = [_audited_without(folds == fold, audit, feedback, X, labels, random_state) for fold in range(cv)]
    n_rows = len(rows.within(regions))
    old = None if X_train is None else _old_rows(model, X_train, y_train, inside, regions, n_rows, random_state)
    fitter = RegionModelFitter(partition_in(inside), inside.default_.min_trust, old, random_state)
    judgement = judge_models(fitter, rows, ~feedback.right, folds, without)
    made = fitter.models(rows, regions)
    changes = [
        change
        for group in groups_to_test(regions, rows)
        for change in judgement.changes(group, made, feedback.region_name, 1.0 - confidence)
    ]
    changes.sort(key=lambda change: regions.index(change.region))
    kept = {change.region: made[change.region].classifier for change in changes if change.kept}
    provenance = provenance_of_decided(feedback.decisions, X, labels, model_digest(model))
    repaired = RoutedClassifier.of(inside.default_, inside.routes_ | kept, changes, inside.lost_promise_, provenance)
    return _put_back(repaired, model)


def _refuse_moved_columns(decisions: Decisions, X: Any, labels: NDArray[Any]) -> None:
    """Raise `MovedColumnsError` if columns are so far from training that the data should be checked first."""
    moved = moved_far(column_changes(column_rows(decisions, X, labels)))
    if moved:
        it = "it is correct" if len(moved) == 1 else "they are correct"
        raise MovedColumnsError(
            f"{columns_in_words(moved)} A repair would fit new models to this. If it is an error, correct the rows; if "
            f"{it}, give despite_moved_columns=True (sepc repair: --despite-moved-columns).",
            moved,
        )


def _known_labels(y: Any, inside: RoutedClassifier) -> NDArray[Any]:
    """Labels in the type of the classes; raises if the model does not know one of them."""
    labels, classes = check_labels(y, "repair"), inside.classes_
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(
            f"The rows have labels that are not classes of the model: {listed([shown(label) for label in unknown])}. "
            "A repair keeps the classes as they are; refit the model."
        )
    return np.asarray(classes[positions_of(labels, classes)])


def _locate(decisions: Decisions, labels: NDArray[Any]) -> RowsInRegions:
    partition = partition_behind(decisions)
    assert partition is not None  # `_inside_of` refuses models without one.
    return RowsInRegions(partition.given_rows, labels, decisions.region)


def _old_rows(
    model: Any, X_train: Any, y_train: Any, inside: RoutedClassifier, regions: list[int], most: int, seed: int
) -> RowsInRegions:
    """At most `most` training rows of the regions, drawn at random, so that they do not outweigh the feedback."""
    old = _locate(decide_in_memory(model, X_train), _known_labels(y_train, inside)).within(regions)
    return old.take(np.sort(np.random.default_rng(seed).permutation(len(old))[:most]))


def _check_regions(regions: Iterable[int], inside: RoutedClassifier) -> list[int]:
    chosen, n_regions = list(dict.fromkeys(int(region) for region in regions)), len(partition_in(inside).regions_)
    for region in chosen:
        if not -1 <= region < n_regions:
            raise ValueError(f"There is no region {region}; the model has 0 to {n_regions - 1}, and -1.")
    return chosen


def _audited_without(
    left_out: BoolArray, audit: Audit, feedback: Feedback, X: Any, labels: NDArray[Any], seed: int
) -> list[int]:
    """The regions of an audit that it also finds without a fold; none if it found none."""
    if not len(audit.to_repair):
        return []
    rows = np.flatnonzero(~left_out)
    part = audit_feedback(feedback.take(rows), _safe_indexing(X, rows), labels[rows], audit.fdr, seed)
    return [region for region in part.to_repair.tolist() if region in audit.to_repair]


@dataclass(frozen=True, eq=False)
class Judgement:
    """The errors before and after on rows that new models were judged on, each by a model not fitted on it."""

    region: IntArray
    before: BoolArray
    after: BoolArray

    def changes(
        self, group: Sequence[int], made: Mapping[int, RegionModel], name: Callable[[int], str], level: float
    ) -> list[Change]:
        """Test a group of regions taken together; a new model is kept if it is shown to be better."""
        rows = np.isin(self.region, group)
        p_value = sign_test(
            int(np.sum(rows & self.before & ~self.after)), int(np.sum(rows & self.after & ~self.before))
        )
        found = []
        for region in group:
            here, n_made = self.region == region, made[region].n_rows if region in made else 0
            n_before, n_after = int(self.before[here].sum()), int(self.after[here].sum())
            is_better = p_value <= level and (len(group) == 1 or n_after < n_before)
            kept = region in made and (is_better or level == 1.0)
            counts = n_made, int(here.sum()), n_before, n_after
            found.append(Change(region, name(region), *counts, p_value, len(group), kept))
        return found


def judge_models(
    fitter: RegionModelFitter,
    rows: RowsInRegions,
    wrong: BoolArray,
    folds: IntArray,
    regions_without: Sequence[Sequence[int]],
) -> Judgement:
    """Evaluate new models, fold by fold, on rows that they were not fitted on."""
    after, is_judged = wrong.copy(), np.zeros(len(rows), dtype=bool)
    for fold, regions in enumerate(regions_without):
        for region, made in fitter.models(rows.take(folds != fold), regions).items():
            here = np.flatnonzero((folds == fold) & (rows.region == region))
            if len(here):
                after[here] = made.labels_of(rows.take(here)) != rows.labels[here]
                is_judged[here] = True
    return Judgement(rows.region[is_judged], wrong[is_judged], after[is_judged])


def groups_to_test(regions: Sequence[int], rows: RowsInRegions) -> list[list[int]]:
    """Regions to test together: those with few rows; the others are tested alone. The choice depends on no label."""
    few = [region for region in regions if int(np.sum(rows.region == region)) < FEWEST_ALONE]
    return [[region] for region in regions if region not in few] + ([few] if few else [])


def _inside_of(model: Any) -> RoutedClassifier:
    """What a repair starts from, inside a fitted model; raises TypeError if it has no regions."""
    check_is_fitted(model)
    inner, lost_promise = unwrap(model).classifier, False
    while makes_promise(inner):
        inner, lost_promise = unwrap(inner.inner).classifier, True
    if is_repaired(inner):
        return RoutedClassifier.of(inner.default_, inner.routes_, (), lost_promise or inner.lost_promise_)
    if not has_own_regions(inner):
        raise TypeError(
            "repair needs the regions of an SEPClassifier or of a TrustedClassifier, alone or inside a "
            f"SelectiveClassifier, a pipeline or a search; a {type(inner).__name__} has none. Wrap it in a "
            "TrustedClassifier, or refit it."
        )
    check_is_fitted(inner)
    return RoutedClassifier.of(inner, {}, (), lost_promise)


def _put_back(repaired: RoutedClassifier, model: Any) -> Any:
    """The repaired classifier behind the steps of the pipelines in `model`; promises and searches are left out."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        settings = model.get_params(deep=False)
        return type(model)(**settings | {"steps": [*model.steps[:-1], (name, _put_back(repaired, last))]})
    for wrapper, inner in ((FrozenEstimator, "estimator"), (SelectiveClassifier, "estimator_")):
        if isinstance(model, wrapper):
            return _put_back(repaired, getattr(model, inner))
    return _put_back(repaired, model.best_estimator_) if hasattr(model, "best_estimator_") else repaired
