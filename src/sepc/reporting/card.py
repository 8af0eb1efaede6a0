"""A model card in Markdown: what a fitted estimator is, what it learned, and how it performs on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sepc.decisions.kinds import Cause
from sepc.estimators.base import decide_with_trust
from sepc.estimators.unwrapping import classifier_name, unwrap, warn_if_broken
from sepc.metrics import aurc, ece
from sepc.reporting.facts import facts_of, importances_of, parameters_of, promise_of, proofs_of
from sepc.reporting.partitions import named_region
from sepc.wording import decimal, percent, visible

# Regions shown, those with the most training rows.
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
    inside = unwrap(estimator).classifier
    parts = [f"# {classifier_name(estimator)}", _facts(estimator), *_promise(estimator), *_proofs(estimator)]
    parts += _importances(estimator)
    parts += _regions(inside)
    if X is not None and y is not None:
        parts.append("## On held-out rows\n\n" + _table(("figure", "value"), held_out_figures(estimator, X, y)))
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


def _regions(estimator: Any) -> list[str]:
    """The regions with the most training rows, and an interval for how often their label is right."""
    if not hasattr(estimator, "regions_"):
        return []
    regions = estimator.regions_
    low, high = regions.interval(0.95)
    inside = [i for i, ellipsoids in enumerate(regions.ellipsoids) if ellipsoids]
    largest = sorted(inside, key=lambda i: -int(regions.counts[i].sum()))[:N_REGIONS]
    rows = [
        (
            i,
            escape_cell(named_region(regions.model, i)),
            escape_cell(regions.label[i]),
            f"{int(regions.counts[i].sum()):,}",
            f"{decimal(low[i])} to {decimal(high[i])}",
        )
        for i in largest
    ]
    head = f"## Regions\n\nThe {len(rows)} with the most training rows, of {len(inside)}.\n\n"
    return [head + _table(("number", "region", "label", "rows", "right, 95 %"), rows)]


def held_out_figures(estimator: Any, X: ArrayLike, y: ArrayLike) -> list[tuple[str, str]]:
    """The performance of a model on held-out rows: the name of each figure, and its value in words."""
    decisions, labels = decide_with_trust(estimator, X, "wrap it in a TrustedClassifier"), np.asarray(y)
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
