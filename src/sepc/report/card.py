"""A model card: what a fitted estimator is, where it was trained and how far it can be trusted, in Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sepc.metrics import aurc, ece
from sepc.regions.kinds import Cause
from sepc.report.facts import facts_of, parameters_of

# Regions shown, those with the most training rows.
N_REGIONS = 10


def model_card(estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None) -> str:
    """Facts of a fitted estimator of this library, and what it does on held-out rows if any are given.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X, y : rows and their labels, optional
        None of them may have trained it.

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
    parts = [f"# {type(estimator).__name__}", _facts(estimator), *_promise(estimator), *_regions(estimator)]
    if X is not None and y is not None:
        parts.append(_held_out(estimator, X, y))
    parts.append(_parameters(estimator))
    return "\n\n".join(parts) + "\n"


def _facts(estimator: Any) -> str:
    return _table(("fact", "value"), [(name, _plain(value)) for name, value in facts_of(estimator)])


def _promise(estimator: Any) -> list[str]:
    if not hasattr(estimator, "promise"):
        return []
    return ["## Promise\n\n" + "\n".join(f"- {_plain(line)}" for line in estimator.promise().splitlines())]


def _regions(estimator: Any) -> list[str]:
    """The regions with the most training rows, and between which shares their labels are right."""
    if not hasattr(estimator, "regions_"):
        return []
    regions = estimator.regions_
    low, high = regions.interval(0.95)
    inside = [i for i, near in enumerate(regions.near) if near is None]
    largest = sorted(inside, key=lambda i: -int(regions.counts[i].sum()))[:N_REGIONS]
    rows = [
        (
            i,
            ", ".join(map(str, regions.ellipsoids[i])) or "none",
            _plain(regions.label[i]),
            f"{int(regions.counts[i].sum()):,}",
            f"{low[i]:.3f} to {high[i]:.3f}",
        )
        for i in largest
    ]
    head = f"## Regions\n\nThe {len(rows)} with the most training rows, of {len(inside)}.\n\n"
    return [head + _table(("region", "ellipsoids", "label", "rows", "right, 95 %"), rows)]


def _held_out(estimator: Any, X: ArrayLike, y: ArrayLike) -> str:
    decisions, labels = estimator.decide(X), np.asarray(y)
    right, accepted = np.asarray(decisions.label == labels), np.asarray(decisions.accepted)
    causes = np.asarray(decisions.cause)
    rows = [
        ("rows", f"{len(labels):,}"),
        ("accuracy", f"{right.mean():.3f}"),
        ("accepted", f"{accepted.mean():.1%}"),
        ("right among accepted", f"{right[accepted].mean():.3f}" if accepted.any() else "none accepted"),
        ("AURC", f"{aurc(right, decisions.trust):.4f}"),
        ("ECE", f"{ece(right, decisions.trust):.3f}"),
    ]
    told = (Cause.OVERLAP, Cause.OUTSIDE, Cause.THIN)
    rows += [(f"not accepted: {cause.name}", f"{np.mean(causes == cause):.1%}") for cause in told]
    return "## On held-out rows\n\n" + _table(("figure", "value"), rows)


def _parameters(estimator: Any) -> str:
    rows = [(name, f"`{_plain(value)}`") for name, value in parameters_of(estimator)]
    return "## Parameters\n\n" + _table(("parameter", "value"), rows)


def _table(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows])


def _plain(value: Any) -> str:
    """Text that cannot leave its cell or become markup."""
    text = " ".join(str(value).split())
    for sign in "\\|`*_<>[]#":
        text = text.replace(sign, f"&#{ord(sign)};" if sign in "<>`" else f"\\{sign}")
    return text
