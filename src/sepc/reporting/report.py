"""A report on a fitted estimator and held-out rows, for a terminal or a browser."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from sepc.cards import Card, ShownAsCard
from sepc.documents.document import as_text
from sepc.documents.page import as_page
from sepc.estimators.unwrapping import warn_if_broken
from sepc.io.atomic_files import write_whole
from sepc.looking.findings import Findings
from sepc.reporting._sections import document_of
from sepc.reporting.figures import ReportFigures, figures_of


@dataclass(frozen=True, eq=False, repr=False)
class Report(ShownAsCard):
    """A report: ``print`` shows all of it as plain text, `to_html` makes a page, and its repr is a summary.

    Attributes
    ----------
    figures : ReportFigures
        Every number that it shows, as plain data.
    """

    figures: ReportFigures

    def __str__(self) -> str:
        return as_text(document_of(self.figures))

    def to_dict(self) -> dict[str, Any]:
        """The content of the report as nested dictionaries and lists, ready for JSON."""
        return self.figures.to_dict()

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as one HTML page that needs no other file and no network.

        Parameters
        ----------
        path : path, optional
            Where to write the page; an existing file is replaced.

        Returns
        -------
        str
            The page.
        """
        text = as_page(document_of(self.figures), with_script=True)
        if path is not None:
            write_whole(path, text.encode())
        return text

    def _card(self) -> Card:
        return replace(self.figures._card(), note='In full: print(report). As a page: report.to_html("report.html")')


def report(
    estimator: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    title: str | None = None,
    groups: Any = None,
    findings: Findings | None = None,
    held_out_rows: str = "",
    id: Any = None,  # noqa: A002 - the user's word for it
    by: Any = None,
) -> Report:
    """Report what a fitted estimator is and how it performs on held-out rows.

    Parameters
    ----------
    estimator : estimator
        Fitted, and one that decides: `SEPClassifier`, `TrustedClassifier`, `SelectiveClassifier`,
        `RoutedClassifier`, or a pipeline that ends in one.
    X : array or DataFrame
        Held-out rows: none of them may have been used for fitting.
    y : array, optional
        Their true labels. Without them the report says which rows are accepted, but not how often labels are right.
    X_train, y_train : rows and their labels, optional
        The training rows; with them the report shows their landscape, the ellipsoids of the classes. If the estimator
        has out-of-fold probabilities, the report says whether these rows contradict its trust.
    title : str, optional
    groups : array of n rows, DataFrame or mapping of names to arrays, optional
        For a `SelectiveClassifier` with promises for groups: the columns `by`, if they are not in `X`.
    findings : Findings, optional
        What `sepc.look` found in the table, for the report to show.
    held_out_rows : str, optional
        Which rows are held out, in words such as "the last 30 % of the rows"; the report repeats it.
    id : str or array of n values, optional
        The ids of the rows: a column of `X`, which need not be a feature, or an array. By default, the index.
    by : str, list of str, or mapping of names to arrays, optional
        Columns to break results down by and to filter rows by: columns of `X`, which need not be features, or their
        values. Numbers and dates with many values are cut into ranges.

    Returns
    -------
    Report
        ``print`` it, or write it with ``to_html``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> made = report(SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], title="Iris")
    >>> print(made)
    Iris
    ====
    <BLANKLINE>
    ... of 75 held-out rows (...) are accepted, and ... of the accepted (...) have the right label; ...
    >>> page = made.to_html()
    """
    warn_if_broken(estimator)
    found = () if findings is None else findings.all
    known = {"X_train": X_train, "y_train": y_train, "title": title, "groups": groups}
    figures = figures_of(estimator, X, y, **known, id=id, by=by)
    return Report(replace(figures, findings=found, held_out_rows=held_out_rows))
