"""Target encoding of categories: log-odds of the classes, and a code for each category."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.points.row_digest import row_hashes
from sepc.records import floats, lists, record, text
from sepc.wording import plain

# Rows are encoded from other folds, so that their own label does not leak into their encoding.
N_FOLDS = 5
# Each category is encoded as if it had this many more rows with the overall mix of labels.
SMOOTHING = 10.0
# With more than two classes, at most this many numbers encode a category: the directions of the largest differences.
MOST_NUMBERS = 3
# Directions in which categories differ by less than this share of the first are left out.
FLAT = 1e-6
# Numbers too large for 64-bit integers stay doubles.
MOST_WHOLE = 2.0**63
# Encodings are log-odds, which never exceed this.
MOST_ENCODING = 1e3


@record
class Categories:
    """The categories of a column.

    Attributes
    ----------
    name : str
        The name of the column.
    values : tuple
        The categories seen in training, sorted; None stands for a missing value, if there were any.
    encodings : (m, k) array
        The numbers that encode each of them; 0 is the overall mix of labels.
    """

    name: str = text()
    values: tuple[Any, ...] = lists("m")
    encodings: FloatArray = floats("m", "k", low=-MOST_ENCODING, high=MOST_ENCODING)

    def flaw(self) -> str | None:
        """What is wrong with the categories, if anything."""
        if self.encodings.size == 0 or len(self._codes) < len(self.values):
            return "has categories that are not distinct, or encodings without a category"
        return None

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {value: code for code, value in enumerate(self.values)}

    def codes_of(self, given: NDArray[Any]) -> IntArray:
        """The position of each value among the categories; their number for one not seen in training."""
        unseen, cells = len(self.values), _cells(given)
        found = {value: self._codes.get(category(value), unseen) for value in _distinct(cells)}
        return np.fromiter(map(found.__getitem__, cells), np.int64, len(cells))

    @property
    def known(self) -> tuple[FloatArray, IntArray]:
        """The encodings and codes of all categories except the missing value."""
        codes = np.array([code for code, value in enumerate(self.values) if value is not None], dtype=np.int64)
        return self.encodings[codes], codes

    def encode(self, codes: IntArray) -> FloatArray:
        """Encode these codes, as (n, k); zeros for categories not seen in training."""
        nothing = np.zeros((1, self.encodings.shape[1]))
        return np.asarray(np.concatenate([self.encodings, nothing])[codes])


def category(value: Any) -> Any:
    """A value as a category: a plain value, None if missing, whole numbers as int if files can hold them.

    Examples
    --------
    >>> category(np.float64(3.0)), category(np.datetime64("2024-03-01")), category(np.timedelta64(90, "m"))
    (3, '2024-03-01', '1:30:00')
    """
    value = plain(value)
    if isinstance(value, float | Decimal):
        value = float(value)
        return None if value != value else int(value) if value.is_integer() and abs(value) < MOST_WHOLE else value
    return str(value).removesuffix(" 00:00:00") if isinstance(value, date | timedelta) else value


def fit_categories(
    name: str, given: NDArray[Any], labels: IntArray, unit: float, folds: IntArray
) -> tuple[Categories, FloatArray]:
    """The categories of a column, and the cross-fitted encoding of each training row."""
    known = known_categories(name, given)
    codes, n_values = known.codes_of(given), len(known.values)
    log_odds, of_rows = _log_odds(codes, labels, n_values, unit, folds)
    directions = _main_directions(log_odds, np.bincount(codes, minlength=n_values))
    return Categories(name, known.values, log_odds @ directions), of_rows @ directions


def folds_of(rows: FloatArray, labels: IntArray, seed: int) -> IntArray:
    """The fold that leaves out each row; -1 for the only row of a class, which is never left out."""
    folds, hashes = np.full(len(labels), -1, dtype=np.int64), row_hashes(rows, seed)
    for label in np.unique(labels):
        of_class = np.flatnonzero(labels == label)
        if len(of_class) > 1:
            folds[of_class[np.argsort(hashes[of_class], kind="stable")]] = np.arange(len(of_class)) % N_FOLDS
    return folds


def encodings_like(
    given: FloatArray, codes: IntArray, labels: IntArray, n_values: int, unit: float, folds: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Encode a column again from fewer rows, in the directions of the encodings that these rows already have."""
    log_odds, of_rows = _log_odds(codes, labels, n_values, unit, folds)
    if log_odds.shape[1] == given.shape[1] == 1:
        directions = np.eye(1)
    else:
        left, _, right = np.linalg.svd(log_odds[codes].T @ given, full_matrices=False)
        directions = left @ right
    return np.concatenate([log_odds @ directions, np.zeros((1, given.shape[1]))]), of_rows @ directions


def known_categories(name: str, given: NDArray[Any]) -> Categories:
    """The categories of a column, without encodings."""
    values = tuple(sorted({category(value) for value in _distinct(_cells(given))}, key=_order))
    return Categories(name, values, np.empty((len(values), 0)))


def _cells(given: NDArray[Any]) -> list[Any]:
    """The values of a column as objects that can be looked up."""
    return given.tolist() if given.dtype.kind in "OUfiub" else list(given)


def _distinct(cells: list[Any]) -> Iterable[Any]:
    """Each value once, in order, so that only these need a closer look."""
    return dict.fromkeys(cells)


def _order(value: Any) -> tuple[bool, str, Any]:
    """Sort key for values of any type: those of one type together, and None last."""
    kind = "number" if isinstance(value, bool | int | float) else type(value).__name__
    return value is None, kind, "" if value is None else value if kind == "number" else str(value)


def _log_odds(
    codes: IntArray, labels: IntArray, n_values: int, unit: float, folds: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Log-odds of the classes against the overall mix, for each category, and cross-fitted for each row."""
    n_classes, n_folds = int(labels.max()) + 1, int(folds.max(initial=-1)) + 1
    n_codes = max(n_values, int(codes.max(initial=0)) + 1)
    if n_classes == 1:
        return np.zeros((n_values, 1)), np.zeros((len(codes), 1))
    cells = np.ravel_multi_index((folds + 1, codes, labels), (n_folds + 1, n_codes, n_classes))
    counts = np.bincount(cells, minlength=(n_folds + 1) * n_codes * n_classes).reshape(-1, n_codes, n_classes)
    total = counts.sum(axis=0)
    usual = _centre(total.sum(axis=0, keepdims=True) / len(codes))
    # Rows that are never left out are encoded as the overall mix.
    of_rows, of_folds = np.zeros((len(codes), usual.shape[1])), []
    for fold in np.unique(folds[folds >= 0]):
        seen, left_out = total - counts[fold + 1], folds == fold
        mix = seen.sum(axis=0) / seen.sum()
        smooth = SMOOTHING / unit
        shares = (seen + smooth * mix) / (seen.sum(axis=1, keepdims=True) + smooth)
        encodings = _centre(shares) - usual
        of_folds.append(encodings[:n_values])
        of_rows[left_out] = encodings[codes[left_out]]
    # The mean over folds: an encoding from all rows would put a category farther out than any of its training rows.
    return np.mean(of_folds or [np.zeros((n_values, usual.shape[1]))], axis=0), of_rows


def _centre(probabilities: FloatArray) -> FloatArray:
    """Log probabilities minus their mean over the classes; for two classes, the log-odds of the second."""
    safe = np.clip(probabilities, 1e-9, 1.0 - 1e-9)
    if probabilities.shape[1] == 2:
        return np.asarray(np.log(safe[:, 1:]) - np.log1p(-safe[:, 1:]))
    logs = np.log(safe)
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _main_directions(log_odds: FloatArray, n_rows: IntArray) -> FloatArray:
    """An orthogonal basis, of shape (C, k), of the directions in which categories, weighted by rows, differ most."""
    n_columns = log_odds.shape[1]
    if n_columns == 1:
        return np.eye(1)
    apart = log_odds - np.average(log_odds, axis=0, weights=n_rows)
    _, lengths, directions = np.linalg.svd(np.sqrt(n_rows)[:, None] * apart, full_matrices=False)
    # Two categories differ along one line, whatever the number of classes.
    k = int(np.clip((lengths > FLAT * lengths[0]).sum(), 1, MOST_NUMBERS))
    basis = directions[:k].T
    # Signs are arbitrary: make the largest part of each direction positive.
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(basis.shape[1])])
    return np.asarray(basis * np.where(signs == 0.0, 1.0, signs))
