"""Compare the columns of new rows with training, column by column."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.lifecycle.monitoring.column_guesses import (
    ALIKE_LEVEL,
    ALIKE_MARGIN,
    EMPTIED,
    FEWEST_NEW,
    ROUNDED,
    SWAPPED,
    TIMES_NEARER,
    ColumnChange,
    Guess,
    guess_category,
    guess_number,
    largest_alike_distance,
)
from sepc.lifecycle.monitoring.columns import (
    ColumnRows,
    critical_distance,
    kolmogorov,
    moved_within_classes,
    total_variation,
)
from sepc.model.training_summary import FeatureKind

# A column moved if its distance is significant at this level, shared by all columns, and at least this large, so that
# someone would act on it; moves of numbers by at most this many standard deviations are ignored.
LEVEL, LEAST_DISTANCE, LEAST_MOVE = 0.01, 0.1, 0.05
# Fewer rows, or fewer values in a column, are not compared.
FEWEST_ROWS = 20
# A column is emptied if at least this share of its values is missing.
EMPTY_SHARE = 0.95
# A column with at least this share of missing values in training was already empty, so missing values are no change.
EMPTY_BEFORE = 0.9
# The name of missing values among unseen categories.
GAPS = "no value"
# A column with at least this share of missing values is also compared with them imputed, as in training.
MANY_GAPS = 0.1
# Windows of the latest rows in which a change may have begun; each is this many times longer than the one before.
SHORTEST, GROWTH = 50, 1.5
# Swapping columns back brings them nearer to training within the classes by this much; a new class mix does not.
NEARER = 0.05
# Columns that moved this far within the classes too point to an error in the data, not to different rows.
FAR = 0.3


# Huge values overflow, and are then far from training.
@np.errstate(over="ignore", invalid="ignore")
def column_changes(rows: ColumnRows | None, n_windows: int = 1) -> tuple[ColumnChange, ...]:
    """The columns that differ from training: those with a guess first, then those that moved farthest."""
    if rows is None or len(rows) < FEWEST_ROWS:
        return ()
    watched = [j for j, display in enumerate(rows.usual.displays) if display.kind is not FeatureKind.PART]
    level = LEVEL / (max(len(watched), 1) * n_windows)
    found = {j: change for j in watched if (change := _change(rows, j, level)) is not None}
    # A column that moved slightly may still be half of a swap: one whose many zeros are now small numbers.
    swapped = _with_swaps(rows, found)
    found = {j: change for j, change in swapped.items() if change.is_guessed or change.is_category or _matters(rows, j)}
    return tuple(sorted(found.values(), key=lambda change: (not change.is_guessed, -change.distance, change.name)))


def latest_changes(rows: ColumnRows | None, n_last: int = 0) -> tuple[ColumnChange, ...]:
    """The columns that differ from training in the window of latest rows that shows a change most clearly."""
    if rows is None or len(rows) < FEWEST_ROWS:
        return ()
    lengths = [len(rows)]
    while lengths[-1] / GROWTH >= SHORTEST:
        lengths.append(int(lengths[-1] / GROWTH))
    lengths += [n_last] if FEWEST_ROWS <= n_last < len(rows) else []
    each = [column_changes(rows.last(n), len(lengths)) for n in lengths]
    return max(each, key=_clarity)


def moved_far(changes: tuple[ColumnChange, ...]) -> tuple[ColumnChange, ...]:
    """The columns with a guess, and those that moved far within the classes as well."""
    return tuple(change for change in changes if change.is_guessed or min(change.distance, change.within) >= FAR)


def _clarity(changes: tuple[ColumnChange, ...]) -> tuple[bool, float]:
    """Windows with a guess come first, then those in which a column is farthest from training for their size."""
    gains = [change.distance - (change.after if change.is_guessed else 0.0) for change in changes]
    clearest = max((gain * np.sqrt(change.n_rows) for gain, change in zip(gains, changes, strict=True)), default=0.0)
    return any(change.is_guessed for change in changes), float(clearest)


def _change(rows: ColumnRows, j: int, level: float) -> ColumnChange | None:
    if rows.usual.displays[j].kind is FeatureKind.CATEGORY:
        return _category_change(rows, j, level)
    return _number_change(rows, j, level)


def _number_change(rows: ColumnRows, j: int, level: float) -> ColumnChange | None:
    usual, missing = rows.usual, rows.missing[:, j]
    kept, n_training = usual.overall[j], _n_training(rows)
    if missing.mean() >= EMPTY_SHARE:
        # Training had some values: a column without any would have been left out.
        return _make_change(rows, j, Guess(EMPTIED, after=0.0), 1.0, 1.0, (float(np.median(kept)), 0.0))
    values = np.sort(rows.features[~missing, j])
    if len(values) < FEWEST_ROWS:
        return None
    distance = kolmogorov(values, kept)
    if missing.mean() >= MANY_GAPS:
        distance = min(distance, kolmogorov(np.sort(rows.features[:, j]), kept))
    within = _moved_within(rows, j, j)
    has_moved = distance >= max(LEAST_DISTANCE, critical_distance(len(values), n_training, level))
    can_convert = has_moved and usual.displays[j].kind is FeatureKind.NUMBER and _matters(rows, j)
    guess = guess_number(values, kept, n_training, distance, within, can_convert)
    if not has_moved and guess.kind != ROUNDED:
        return None
    if usual.displays[j].kind is FeatureKind.DATE and guess == Guess():
        return None
    return _make_change(rows, j, guess, distance, within, (float(np.median(kept)), float(np.median(values))))


def _category_change(rows: ColumnRows, j: int, level: float) -> ColumnChange | None:
    usual, q = rows.usual, rows.usual.code_column(j)
    names, codes, gap = usual.displays[j].categories, rows.codes[:, q], int(rows.gap_codes[q])
    counts = usual.category_counts[: usual.n_classes, usual.categories_of(j)]
    training = np.append(_as_in_training(rows, counts), 0.0)
    is_empty = codes < 0
    if is_empty.mean() > EMPTY_SHARE and training[gap] < EMPTY_BEFORE * training.sum():
        return _make_change(rows, j, Guess(EMPTIED, after=0.0), 1.0, 1.0, (0.0, 0.0))
    codes = np.where(is_empty, gap, codes)
    new = np.bincount(codes, minlength=len(names) + 1)[: len(names) + 1]
    distance, n_training = total_variation(new, training), _n_training(rows)
    limit = _most_variation(new, training, n_training, level)
    unseen = Counter(name for name in rows.unseen[:, q].tolist() if name)
    if gap == len(names):
        unseen += Counter({GAPS: int(is_empty.sum())})
    guess = Guess()
    if _is_clearly_new(unseen, len(rows), n_training, len(names), level):
        limit = 0.0
    if distance >= limit:
        most = _most_variation(new, training, n_training, ALIKE_LEVEL) + ALIKE_MARGIN
        guess = guess_category(new, training, names, unseen, distance, most)
    if distance < max(limit, 0.0 if guess != Guess() else LEAST_DISTANCE):
        return None
    shares = np.array([training / training.sum(), new / new.sum()])
    changed = int(np.abs(shares[1] - shares[0]).argmax())
    within = _moved_categories_within(rows, counts, codes)
    return _make_change(rows, j, guess, distance, within, (float(shares[0, changed]), float(shares[1, changed])))


def _is_clearly_new(unseen: Counter[str], n_new: int, n_training: int, n_known: int, level: float) -> bool:
    """Whether a category has so many rows that training would have it too if it were not new."""
    most = max(unseen.values(), default=0)
    chance = (n_known + len(unseen)) * (n_new / (n_new + n_training)) ** most
    return most >= FEWEST_NEW and chance <= level


def _moved_categories_within(rows: ColumnRows, counts: IntArray, codes: IntArray) -> float:
    """The total variation of categories within the classes, on average over the rows."""
    n_classes, width = len(counts), counts.shape[1] + 1
    each, weights = np.zeros(n_classes), np.zeros(n_classes)
    for c in range(n_classes):
        new = np.bincount(codes[rows.owner == c], minlength=width)[:width]
        weights[c], each[c] = new.sum(), total_variation(new, np.append(counts[c], 0))
    return float(np.average(each, weights=weights)) if weights.any() else 0.0


def _as_in_training(rows: ColumnRows, counts: IntArray) -> FloatArray:
    """How many rows of the sample would have each category, if it had the classes in the proportions of training."""
    n_sample = rows.usual.n_rows[: len(counts), None]
    return np.asarray(
        (counts / n_sample * rows.class_counts[:, None]).sum(axis=0) * n_sample.sum() / rows.class_counts.sum()
    )


def _most_variation(new: IntArray, training: FloatArray, n_training: int, level: float) -> float:
    """The total variation that samples of one distribution exceed with about this probability, or less."""
    shares = (new + training) / max(float(new.sum() + training.sum()), 1.0)
    each = 1.0 / max(int(new.sum()), 1) + 1.0 / max(n_training, 1)
    # The mean, from the standard deviation of each share, plus a bounded difference (McDiarmid).
    mean = 0.5 * float(np.sqrt(shares * (1.0 - shares) * each).sum())
    return mean + float(np.sqrt(0.5 * np.log(1.0 / level) * each))


def _matters(rows: ColumnRows, j: int) -> bool:
    """Whether a number is far from training even if small moves of all values are ignored."""
    values, kept = np.sort(rows.features[~rows.missing[:, j], j]), rows.usual.overall[j]
    return kolmogorov(values, kept, tolerance=LEAST_MOVE * _deviation(kept)) >= LEAST_DISTANCE


def _deviation(kept: FloatArray) -> float:
    """The standard deviation of training, without the smallest and the largest value."""
    return float(kept[1:-1].std())


def _n_training(rows: ColumnRows) -> int:
    return int(rows.usual.n_rows[: rows.usual.n_classes].sum())


def _make_change(
    rows: ColumnRows, j: int, guess: Guess, distance: float, within: float, places: tuple[float, float]
) -> ColumnChange:
    is_category = rows.usual.displays[j].kind is FeatureKind.CATEGORY
    kept, (before, now) = rows.usual.overall[j], places
    shift = 0.0 if is_category or guess.kind == EMPTIED else (now - before) / (_deviation(kept) or 1.0)
    return ColumnChange(
        name=rows.names[j],
        kind=guess.kind,
        amount=guess.amount,
        detail=guess.detail,
        distance=min(distance, 1.0),
        after=min(guess.after, 1.0),
        within=min(within, 1.0),
        is_category=is_category,
        before=before,
        now=now,
        shift=shift,
        n_rows=len(rows),
    )


def _with_swaps(rows: ColumnRows, found: dict[int, ColumnChange]) -> dict[int, ColumnChange]:
    """The changes, with pairs of numeric columns that are like training once swapped."""
    moved = [j for j, change in found.items() if not change.is_category and change.kind != EMPTIED]
    pairs = [(_swap_distance(rows, i, j), i, j) for i in moved for j in moved if i < j]
    most, swapped = largest_alike_distance(len(rows), _n_training(rows)), dict(found)
    for after, i, j in sorted(pairs):
        is_clear = after <= min(most, found[i].distance / TIMES_NEARER, found[j].distance / TIMES_NEARER)
        # A swap explains both columns without a free parameter, so it takes precedence over guesses for each alone.
        is_free = SWAPPED not in (swapped[i].kind, swapped[j].kind)
        if (
            is_clear
            and is_free
            and _moved_within(rows, i, i) + _moved_within(rows, j, j)
            >= _moved_within(rows, i, j) + _moved_within(rows, j, i) + NEARER
        ):
            for here, other in ((i, j), (j, i)):
                detail = rows.names[other]
                swapped[here] = replace(found[here], kind=SWAPPED, amount=0.0, detail=detail, after=after)
    return swapped


def _moved_within(rows: ColumnRows, i: int, j: int) -> float:
    """How far the values of column i moved within the classes, compared with column j in training."""
    known = ~rows.missing[:, i] & (rows.owner >= 0)
    ranges = rows.usual.ranges[: rows.usual.n_classes, j]
    return moved_within_classes(rows.features[known, i], rows.owner[known], ranges)


def _swap_distance(rows: ColumnRows, i: int, j: int) -> float:
    """The larger of two distances: of each column from the training values of the other."""
    columns = [np.sort(rows.features[~rows.missing[:, k], k]) for k in (i, j)]
    return max(kolmogorov(columns[0], rows.usual.overall[j]), kolmogorov(columns[1], rows.usual.overall[i]))
