"""A model card in Markdown: what a fitted estimator is, what it learned, and how it performs on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sepc.decisions.decisions import Decisions, partition_behind
from sepc.decisions.kinds import Cause
from sepc.estimators.base import decide_with_trust
from sepc.estimators.unwrapping import classifier_name, warn_if_broken
from sepc.metrics import aurc, ece
from sepc.reporting._model_figures import region_table
from sepc.reporting._partitions import names_of_regions
from sepc.reporting.facts import facts_of, importances_of, parameters_of, promise_of, proofs_of
from sepc.views.outcomes import is_right
from sepc.wording import decimal, percent, visible

WRAP_IT = "wrap it in a TrustedClassifier"
# Regions shown, those with the most held-out rows.
N_REGIONS = 10
# Columns shown, those that matter most.
N_COLUMNS = 10
# Characters that Markdown would read as markup; escaped in a single pass, so that none is escaped twice.
ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\|*_[]#"} | {sign: f"&#{ord(sign)};" for sign in "<>`"})


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
    parts = [f"# {classifier_name(estimator)}", _facts(estimator), *_promise(estimator), *_proofs(estimator)]
    parts += _importances(estimator)
    if X is not None and y is not None:
        decisions = decide_with_trust(estimator, X, WRAP_IT)
        parts.append("## On held-out rows\n\n" + _table(("figure", "value"), held_out_figures(decisions, y)))
        parts += _regions(decisions, y)
    parts.append(_parameters(estimator))
    return "\n\n".join(parts) + "\n"


def _facts(estimator: Any) -> str:
    return _table(("fact", "value"), [(name, escape_cell(value)) for name, value in facts_of(estimator)])


def _promise(estimator: Any) -> list[str]:
    lines = promise_of(estimator)
    return ["## Promise\n\n" + "\n".join(f"- {escape_cell(line)}" for line in lines)] if lines else []


def _proofs(estimator: Any) -> list[str]:
    lines = proofs_of(estimator)
    return ["## What is proved\n\n" + "\n".join(f"- {escape_cell(line)}" for line in lines)] if lines else []


def _importances(estimator: Any) -> list[str]:
    """The most important columns, by their mean absolute term."""
    sizes = importances_of(estimator)
    if not sizes:
        return []
    shown, n_more = sizes[:N_COLUMNS], len(sizes) - N_COLUMNS
    more = f" The other {n_more:,} matter less." if n_more > 0 else ""
    head = (
        f"## Feature importance\n\nThe mean absolute term of each column over the training rows, in log-odds.{more}\n\n"
    )
    return [head + _table(("column", "mean size"), [(escape_cell(name), f"{size:.2f}") for name, size in shown])]


def _regions(decisions: Decisions, y: ArrayLike) -> list[str]:
    """The regions with the most held-out rows, and how often labels are right there."""
    partition = partition_behind(decisions)
    if partition is None:
        return []
    right, accepted = is_right(decisions.label, y), np.asarray(decisions.accepted)
    regions = region_table(partition, decisions, accepted, right, names_of_regions(partition))
    rows = []
    for row in regions.rows[:N_REGIONS]:
        figures = (f"{row.n_rows:,}", f"{row.n_accepted:,}", *(row.right or ()))
        rows.append((row.region, escape_cell(row.name), *figures))
    head = f"## Regions\n\n{regions.summary()}"
    columns = ("number", "region", "held-out rows", "accepted", "right", "95 % interval")
    return [head, *([_table(columns, rows)] if rows else [])]


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


def _parameters(estimator: Any) -> str:
    rows = [(f"`{name}`", escape_cell(value)) for name, value in parameters_of(estimator)]
    return "## Parameters\n\n" + _table(("parameter", "value"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows])


def escape_cell(value: Any) -> str:
    r"""Escape text so that it stays in its cell and is not read as markup.

    Examples
    --------
    >>> print(escape_cell("a > b|c"))
    a &#62; b\|c
    """
    return visible(" ".join(str(value).split())).translate(ESCAPES)
