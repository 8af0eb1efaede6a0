"""Repair a model: failing regions are partitioned afresh, everything else stays as it was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray, IntArray
from sepc.estimators.checks import checked_labels
from sepc.estimators.repaired.estimator import Change, RepairedClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.lifecycle.auditing.audit import Audit
from sepc.lifecycle.auditing.audit import audit as audited
from sepc.lifecycle.decided_rows import decide_in_memory
from sepc.lifecycle.repairing.region_models import RegionModel, RegionModelFitter, RowsInRegions, n_errors
from sepc.wording import listed, shown


def repair(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    audit: Audit | None = None,
    regions: Iterable[int] | None = None,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    validation_size: float = 0.3,
    random_state: int = 0,
) -> RepairedClassifier:
    """Give failing regions a model of their own, made from the rows that lie there.

    The model is asked only for rows of its region; every other decision stays as it was, bit for bit. A part of the
    rows makes the new models, the others judge them: a new model is kept if it errs less often on these. Regions may
    share a model; it too is asked for their rows only.

    Parameters
    ----------
    model : SEPClassifier or RepairedClassifier
        Fitted.
    X, y : array or DataFrame of n rows, and their labels
        Feedback: rows that did not train the model.
    audit : Audit, optional
        Says which regions fail, and which hold clusters of wrong rows. Without it, the rows that make the new models
        are audited first; so those that judge have no part in choosing the regions either.
    regions : iterable of int, optional
        The regions to repair, instead of those of an audit.
    X_train, y_train : rows and their labels, optional
        Training rows that are still at hand. They never judge. A region's new model is made with their help if rows of
        feedback left out at first speak for it: what they say may be true no more. No more are used than there is
        feedback in the regions.
    validation_size : float, default=0.3
        Share of the feedback in each region that judges. With 0, all of it makes the new models, and all are kept.
    random_state : int, default=0
        For the choice of the rows that judge, and for the audit.

    Returns
    -------
    RepairedClassifier
        Its `summary()` says what was done. Its `fit` is a full refit.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import SEPClassifier
    >>> from sepc.lifecycle import repair
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(6000, 2))
    >>> y = np.where(X[:, 0] > 0.0, "right", "left")
    >>> classifier = SEPClassifier().fit(X[:2000], y[:2000])
    >>> y[np.abs(X - 0.5).max(axis=1) < 0.2] = "left"  # a corner has changed
    >>> repaired = repair(classifier, X[2000:4000], y[2000:4000])
    >>> "all other decisions stay as they were" in repaired.summary()
    True
    >>> repaired.score(X[4000:], y[4000:]) > classifier.score(X[4000:], y[4000:])
    True
    """
    base, earlier = _parts_of(model)
    labels = _known_labels(y, base)
    if not 0.0 <= validation_size < 1.0:
        raise ValueError(f"validation_size is {validation_size!r}; it must be at least 0 and below 1.")
    decided = decide_in_memory(model, X)
    rng = np.random.default_rng(random_state)
    makers, judges = _parted(decided.region, validation_size, rng)
    if regions is None:
        if audit is None:
            audit = audited(model, _safe_indexing(X, makers), labels[makers], random_state=random_state)
        regions = audit.to_repair
    chosen = _checked(regions, base)
    rows = RowsInRegions(np.asarray(X, dtype=np.float64), labels, decided.region)
    making = rows.take(makers).within(chosen)
    old = _old_rows(X_train, y_train, base, chosen, len(making), rng)
    made = RegionModelFitter(base, chosen, old).models(making)
    changes = _changes(chosen, made, rows.take(judges), (decided.label != labels)[judges], validation_size)
    kept = {change.region: made[change.region].classifier for change in changes if change.kept}
    return RepairedClassifier.of(base, earlier | kept, changes)


def _parts_of(model: Any) -> tuple[SEPClassifier, dict[int, SEPClassifier]]:
    """The classifier, and the models that earlier repairs gave its regions."""
    if isinstance(model, RepairedClassifier):
        return model.estimator_, model.repaired_
    if not isinstance(model, SEPClassifier):
        kind = type(model).__name__
        raise TypeError(
            f"repair needs a fitted SEPClassifier or RepairedClassifier, and was given a {kind}. Of a pipeline or a "
            "wrapper around one, give the one inside, and rows as it sees them; refit any other model."
        )
    check_is_fitted(model)
    return model, {}


def _known_labels(y: Any, base: SEPClassifier) -> NDArray[Any]:
    labels = checked_labels(y, "repair")
    unknown = np.setdiff1d(labels, base.classes_)
    if len(unknown):
        raise ValueError(
            f"The rows have labels that the model does not know: {listed([shown(one) for one in unknown])}. "
            "A repair keeps the classes as they are; fit the model anew."
        )
    return labels


def _old_rows(
    X_train: Any, y_train: Any, base: SEPClassifier, regions: list[int], most: int, rng: np.random.Generator
) -> RowsInRegions | None:
    """Training rows of the regions: at most so many, drawn at random, that they cannot drown the feedback there."""
    if X_train is None:
        return None
    labels = _known_labels(y_train, base)
    old = RowsInRegions(np.asarray(X_train, dtype=np.float64), labels, base.apply(X_train)).within(regions)
    return old.take(np.sort(rng.permutation(len(old))[:most]))


def _parted(region: IntArray, validation_size: float, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows that make and rows that judge, so large a share of every region; both in random order."""
    mixed = rng.permutation(len(region))
    order = mixed[np.argsort(region[mixed], kind="stable")]
    _, first, n_rows = np.unique(region[order], return_index=True, return_counts=True)
    place = np.arange(len(region)) - np.repeat(first, n_rows)
    judges = place < np.floor(validation_size * np.repeat(n_rows, n_rows))
    return order[~judges], order[judges]


def _checked(regions: Iterable[int], base: SEPClassifier) -> list[int]:
    chosen = list(dict.fromkeys(int(region) for region in regions))
    for region in chosen:
        if not -1 <= region < len(base.regions_):
            raise ValueError(f"There is no region {region}; the model has 0 to {len(base.regions_) - 1}, and -1.")
    return chosen


def _changes(
    regions: list[int], made: dict[int, RegionModel], judges: RowsInRegions, wrong: BoolArray, validation_size: float
) -> tuple[Change, ...]:
    """What becomes of each region. Regions that share a model are judged together: alone they may have few rows."""
    tried: dict[int, list[Change]] = {}
    for region in regions:
        own = judges.region == region
        before = int(wrong[own].sum())
        if region in made:
            after = n_errors(made[region], judges.take(own))
            change = Change(region, made[region].n_rows, int(own.sum()), before, after, kept=validation_size == 0.0)
            tried.setdefault(id(made[region]), []).append(change)
        else:
            tried[-region - 2] = [Change(region, 0, int(own.sum()), before, before, kept=False)]
    return tuple(change for group in tried.values() for change in _judged(group))


def _judged(group: list[Change]) -> list[Change]:
    """Kept if the model errs less often than what was there, or if nobody was to judge."""
    better = sum(change.errors_after for change in group) < sum(change.errors_before for change in group)
    return [replace(change, kept=True) if better else change for change in group]
