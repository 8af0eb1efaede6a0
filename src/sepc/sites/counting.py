"""Count a site's rows for a promise: the only step that sees rows."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import BoolArray, IntArray
from sepc.estimators.selective.groups import keys_of, names_in
from sepc.lifecycle.auditing.feedback import feedback_of
from sepc.model_files import to_bytes
from sepc.plain_values import plain
from sepc.sites.site_counts import Cell, SiteCounts
from sepc.statistics.fixed_sequence import fixed_grid, sums_at
from sepc.wording import check_number

SMALLEST = 5


def count_site(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    site: str,
    smallest: int = SMALLEST,
    by_label: bool = False,
    by: Any = None,
    groups: Any = None,
    digest: str | None = None,
) -> SiteCounts:
    """Count the right and wrong labels of a model on a site's rows, at thresholds that are the same for every site.

    Counts are rounded down to multiples of `smallest`, for right and wrong labels of each cell separately. From the
    rounded counts, nobody can tell that a set of rows (between any two thresholds, of any labels and groups) has at
    least one and fewer than `smallest` members: whenever it must have one, it may have `smallest`.

    Parameters
    ----------
    model : fitted classifier
        The same at every site.
    X : array or DataFrame of n rows
        Rows that the model was not trained on.
    y : array of shape (n,)
        Their true labels.
    site : str
        The name of the site.
    smallest : int, default=5
        The smallest count that may leave the site; 1 for exact counts.
    by_label : bool, default=False
        Whether to count each predicted label separately, for promises by label.
    by : str, int, or a list of two, optional
        Columns whose values define groups, for promises by group. Groups with fewer than `smallest` right and fewer
        than `smallest` wrong rows are not named; they are counted together.
    groups : array of n rows, DataFrame or mapping of names to arrays, optional
        The columns `by`, if they are not in `X`.
    digest : str, optional
        The SHA-256 digest of the model file, if it was loaded from one; computed by default.

    Returns
    -------
    SiteCounts
    """
    if not site:
        raise ValueError("site is empty; give the site a name.")
    check_number("smallest", smallest, least=1, whole=True)
    feedback = feedback_of(model, X, y)
    thresholds = np.unique(fixed_grid())[::-1]
    trust, label = feedback.decisions.trust, feedback.decisions.label
    keys = np.full(len(label), None, dtype=object) if by is None else keys_of(by, X, groups)
    labels = [plain(one) for one in model.classes_] if by_label else [None]
    known = list(dict.fromkeys(keys.tolist())) if by is not None else []
    cells, unnamed = [], np.ones(len(label), dtype=bool)
    for group in sorted(known, key=str):
        rows = np.array([key == group for key in keys], dtype=bool)
        counted = [_cell(one, group, rows, feedback.right, label, trust, thresholds, smallest) for one in labels]
        if any(cell.right[-1] or cell.wrong[-1] for cell in counted):
            cells += counted
            unnamed &= ~rows
    cells += [_cell(one, None, unnamed, feedback.right, label, trust, thresholds, smallest) for one in labels]
    own = sha256(to_bytes(model)).hexdigest() if digest is None else digest
    return SiteCounts(site, own, smallest, () if by is None else names_in(by), thresholds, tuple(cells))


def _cell(
    label: Any, group: Any, rows: BoolArray, right: BoolArray, labels: Any, trust: Any, thresholds: Any, smallest: int
) -> Cell:
    """The counts of one cell; the label None stands for all labels."""
    chosen = rows if label is None else rows & np.asarray(labels == label)
    accepted, n_right = sums_at(thresholds, trust[chosen], right[chosen].astype(np.int64))
    return Cell(label, group, _rounded(n_right, smallest), _rounded(accepted - n_right, smallest))


def _rounded(counts: IntArray, smallest: int) -> IntArray:
    return np.asarray(counts - counts % smallest, dtype=np.int64)
