"""Repair a model: failing regions get a new model, everything else stays as it was."""

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
from sepc.lifecycle.located_rows import decide_in_memory
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
    """Give failing regions a model of their own, fitted on the feedback that lies there.

    A new model decides only on rows of its region; every other decision stays the same, bit for bit. Part of the
    feedback fits the new models, the rest validates them: a new model is kept if it makes fewer errors there. Regions
    may share a model, which then decides on the rows of these regions only.

    Parameters
    ----------
    model : SEPClassifier or RepairedClassifier
        Fitted, on numbers alone.
    X, y : array or DataFrame of n rows, and their labels
        Feedback: rows that were not used to train the model.
    audit : Audit, optional
        Says which regions fail or hold clusters of wrong rows. By default, the rows that fit the new models are audited
        first, so that the validation rows have no part in choosing the regions either.
    regions : iterable of int, optional
        The regions to repair, instead of those of an audit.
    X_train, y_train : rows and their labels, optional
        Training rows, if they are still available. They are used to fit a region's model only if that reduces errors
        on held-out feedback, since they may be outdated; never for validation, and never more than there is feedback in
        the regions.
    validation_size : float, default=0.3
        Share of the feedback in each region for validation. With 0, all of it fits the new models, and all are kept.
    random_state : int, default=0
        For the choice of the validation rows, and for the audit.

    Returns
    -------
    RepairedClassifier
        Its `summary()` says what was changed. Its `fit` is a full refit.

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
    fitting, validating = _split_by_region(decided.region, validation_size, rng)
    if regions is None:
        if audit is None:
            audit = audited(model, _safe_indexing(X, fitting), labels[fitting], random_state=random_state)
        regions = audit.to_repair
    chosen = _checked(regions, base)
    rows = RowsInRegions(np.asarray(X, dtype=np.float64), labels, decided.region)
    own_rows = rows.take(fitting).within(chosen)
    old = _old_rows(X_train, y_train, base, chosen, len(own_rows), rng)
    made = RegionModelFitter(base, chosen, old).models(own_rows)
    changes = _changes(chosen, made, rows.take(validating), (decided.label != labels)[validating], validation_size)
    kept = {change.region: made[change.region].classifier for change in changes if change.kept}
    return RepairedClassifier.of(base, earlier | kept, changes)


def _parts_of(model: Any) -> tuple[SEPClassifier, dict[int, SEPClassifier]]:
    """The classifier, and the models that earlier repairs gave its regions."""
    if isinstance(model, RepairedClassifier):
        return model.estimator_, model.repaired_
    if not isinstance(model, SEPClassifier):
        kind = type(model).__name__
        raise TypeError(
            f"repair needs a fitted SEPClassifier or RepairedClassifier, but got a {kind}. For a pipeline or a "
            "wrapper, give the classifier inside and rows as it sees them; any other model must be refitted."
        )
    check_is_fitted(model)
    if model.preparation_ is not None:
        raise TypeError(
            "repair takes models of numbers alone, and this one was fitted on a table with categories, dates or "
            "columns that are left out. Fit it anew, with the feedback added to its training rows."
        )
    return model, {}


def _known_labels(y: Any, base: SEPClassifier) -> NDArray[Any]:
    labels = checked_labels(y, "repair")
    unknown = np.setdiff1d(labels, base.classes_)
    if len(unknown):
        raise ValueError(
            f"The rows have labels that the model does not know: {listed([shown(label) for label in unknown])}. "
            "A repair keeps the classes as they are; fit the model anew."
        )
    return labels


def _old_rows(
    X_train: Any, y_train: Any, base: SEPClassifier, regions: list[int], most: int, rng: np.random.Generator
) -> RowsInRegions | None:
    """At most `most` training rows of the regions, drawn at random, so that they do not outweigh the feedback."""
    if X_train is None:
        return None
    labels = _known_labels(y_train, base)
    old = RowsInRegions(np.asarray(X_train, dtype=np.float64), labels, base.apply(X_train)).within(regions)
    return old.take(np.sort(rng.permutation(len(old))[:most]))


def _split_by_region(region: IntArray, validation_size: float, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Rows for fitting and for validation, split within each region; both in random order."""
    mixed = rng.permutation(len(region))
    order = mixed[np.argsort(region[mixed], kind="stable")]
    _, first, n_rows = np.unique(region[order], return_index=True, return_counts=True)
    place = np.arange(len(region)) - np.repeat(first, n_rows)
    validates = place < np.floor(validation_size * np.repeat(n_rows, n_rows))
    return order[~validates], order[validates]


def _checked(regions: Iterable[int], base: SEPClassifier) -> list[int]:
    chosen = list(dict.fromkeys(int(region) for region in regions))
    for region in chosen:
        if not -1 <= region < len(base.regions_):
            raise ValueError(f"There is no region {region}; the model has 0 to {len(base.regions_) - 1}, and -1.")
    return chosen


def _changes(
    regions: list[int],
    made: dict[int, RegionModel],
    validating: RowsInRegions,
    wrong: BoolArray,
    validation_size: float,
) -> tuple[Change, ...]:
    """The change to each region. Regions that share a model are validated together, since each may have few rows."""
    tried: dict[int, list[Change]] = {}
    for region in regions:
        own = validating.region == region
        before = int(wrong[own].sum())
        if region in made:
            after = n_errors(made[region], validating.take(own))
            change = Change(region, made[region].n_rows, int(own.sum()), before, after, kept=validation_size == 0.0)
            tried.setdefault(id(made[region]), []).append(change)
        else:
            tried[-region - 2] = [Change(region, 0, int(own.sum()), before, before, kept=False)]
    return tuple(change for group in tried.values() for change in _validated(group))


def _validated(group: list[Change]) -> list[Change]:
    """Keep the changes of a model that makes fewer errors than before, or that needs no validation."""
    better = sum(change.errors_after for change in group) < sum(change.errors_before for change in group)
    return [replace(change, kept=True) if better else change for change in group]
