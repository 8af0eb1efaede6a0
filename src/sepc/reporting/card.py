"""A model card in Markdown: what a fitted estimator is, what it learned, and how it performs on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sepc.decisions.decisions import Decisions, partition_behind
from sepc.decisions.kinds import Cause
from sepc.documents.document import Document, Facts, Section, Table, as_markdown
from sepc.estimators.base import decide_with_trust
from sepc.estimators.unwrapping import classifier_name, warn_if_broken
from sepc.metrics import aurc, ece
from sepc.reporting._model_figures import names_of_regions, region_table
from sepc.reporting.facts import facts_of, importances_of, parameters_of, promise_of, proofs_of
from sepc.views.outcomes import is_right
from sepc.wording import decimal, percent

WRAP_IT = "wrap it in a TrustedClassifier"
# Regions shown, those with the most held-out rows.
N_REGIONS = 10
# Columns shown, those that matter most.
N_COLUMNS = 10


def model_card(estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None) -> str:
    """A Markdown summary of a fitted classifier, with its performance on held-out rows if any are given.

    Parameters
    ----------
    estimator : fitted classifier
        A pipeline or a search around one is accepted too.
    X, y : rows and their labels, optional
        Held-out rows: none of them may have been used for fitting.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(model_card(SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2]))
    # SEPClassifier
    ...
    """
    check_is_fitted(estimator)
    warn_if_broken(estimator)
    promise, proofs, sizes = promise_of(estimator), proofs_of(estimator), importances_of(estimator)
    sections = [Section("", [Facts("Facts", facts_of(estimator))]), Section("Promise", promise)]
    sections += [Section("What is proved", proofs)]
    if sizes:
        intro = "The mean absolute term of each column over the training rows, in log-odds."
        rows = [[name, f"{size:.2f}"] for name, size in sizes]
        table = Table("Columns", ("column", "mean size"), rows[:N_COLUMNS])
        n_more = len(rows) - N_COLUMNS
        sections.append(
            Section("Feature importance", [intro + f" The other {n_more:,} matter less." * (n_more > 0), table])
        )
    if X is not None and y is not None:
        decisions = decide_with_trust(estimator, X, WRAP_IT)
        figures = Facts("Figures", held_out_figures(decisions, y), ("figure", "value"))
        sections += [Section("On held-out rows", [figures]), *_regions(decisions, y)]
    parameters = Facts("Parameters", parameters_of(estimator), ("parameter", "value"))
    sections = [section for section in [*sections, Section("Parameters", [parameters])] if section.parts]
    return as_markdown(Document(classifier_name(estimator), "", sections))


def _regions(decisions: Decisions, y: ArrayLike) -> list[Section]:
    """The regions with the most held-out rows, and how often labels are right there."""
    partition = partition_behind(decisions)
    if partition is None:
        return []
    right, accepted = is_right(decisions.label, y), np.asarray(decisions.accepted)
    regions = region_table(partition, decisions, accepted, right, names_of_regions(partition))
    rows = [
        [f"{row.region}", row.name, f"{row.n_rows:,}", f"{row.n_accepted:,}", *(row.right or ())]
        for row in regions.rows[:N_REGIONS]
    ]
    head = ("number", "region", "held-out rows", "accepted", "right", "95 % interval")
    return [Section("Regions", [regions.summary(), *([Table("Regions", head, rows)] if rows else [])])]


def held_out_figures(decisions: Decisions, y: ArrayLike) -> list[tuple[str, str]]:
    """The performance of a model on held-out rows: the name of each figure, and its value in words."""
    labels = np.asarray(y)
    right, accepted = np.asarray(decisions.label == labels), np.asarray(decisions.accepted)
    causes = np.asarray(decisions.cause)
    rows = [
        ("rows", f"{len(labels):,}"),
        ("accuracy", decimal(right.mean())),
        ("accepted", percent(accepted.mean())),
        ("right among accepted", decimal(right[accepted].mean()) if accepted.any() else "none accepted"),
        ("AURC", f"{aurc(right, decisions.trust):.4f}"),
        ("ECE", f"{ece(right, decisions.trust):.3f}"),
    ]
    refusing = [cause for cause in Cause if cause is not Cause.ACCEPTED and (causes == cause).any()]
    return rows + [(f"not accepted: {cause.name}", percent(np.mean(causes == cause))) for cause in refusing]
