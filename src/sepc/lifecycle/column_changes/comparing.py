"""Compare the columns of new rows with training, column by column."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.lifecycle.column_changes.category_guesses import FEWEST_NEW, guess_category
from sepc.lifecycle.column_changes.column_change import EMPTIED, ROUNDED, SWAPPED, ColumnChange, Guess
from sepc.lifecycle.column_changes.column_rows import ColumnRows
from sepc.lifecycle.column_changes.distances import critical, kolmogorov, moved_within_classes, total_variation
from sepc.lifecycle.column_changes.number_guesses import ALIKE_LEVEL, ROOM, TIMES_NEARER, alike, guess_number
from sepc.model.training_summary import FeatureKind

# A column moved if its distance is larger than that of two samples with this chance, for all columns together, and if
# it is not so small that nobody would act on it; moves of a number by so many deviations or fewer are forgiven.
LEVEL, LEAST_DISTANCE, LEAST_MOVE = 0.01, 0.1, 0.05
# Fewer rows, or fewer values of a column, are not compared.
FEWEST_ROWS = 20
# A column is emptied if at least this share of its values are gaps.
EMPTY_SHARE = 0.95
# A column of which training had this share of gaps or more was as good as empty then; gaps are no change of it.
EMPTY_BEFORE = 0.9
# What gaps are called among categories that training does not have.
GAPS = "no value"
# From this share of gaps on, a column is also compared with its gaps filled in, as in training.
MANY_GAPS = 0.1
# Windows of latest rows among which a change may have begun: each is that many times longer than the one before.
SHORTEST, GROWTH = 50, 1.5
# Swapped back, columns are so much nearer to training within the classes; a change of the class mix is not.
NEARER = 0.05
# Columns that moved this far, within the classes too, are another matter than rows of another kind.
FAR = 0.3


# Huge values overflow, and are then far from training.
@np.errstate(over="ignore", invalid="ignore")
def column_changes(rows: ColumnRows | None, n_windows: int = 1) -> tuple[ColumnChange, ...]:
    """The columns that are not as in training: those with a guess first, then those that moved farthest.

    Parameters
    ----------
    rows : ColumnRows or None
    n_windows : int, default=1
        Among how many windows these rows were chosen; the level is divided by their number.
    """
    if rows is None or len(rows) < FEWEST_ROWS:
        return ()
    watched = [j for j, own in enumerate(rows.usual.displays) if own.kind is not FeatureKind.PART]
    level = LEVEL / (max(len(watched), 1) * n_windows)
    found = {j: change for j in watched if (change := _change(rows, j, level)) is not None}
    # What moved slightly may still be half of a swap: many zeros that are now small numbers.
    swapped = _with_swaps(rows, found)
    found = {j: own for j, own in swapped.items() if own.is_guessed or own.is_category or _matters(rows, j)}
    return tuple(sorted(found.values(), key=lambda own: (not own.is_guessed, -own.distance, own.name)))


def latest_changes(rows: ColumnRows | None, n_last: int = 0) -> tuple[ColumnChange, ...]:
    """The columns that are not as in training, in the latest rows: since when is found by the clearest window.

    The rows that came last together, `n_last` of them, are one of the windows.
    """
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
    return tuple(own for own in changes if own.is_guessed or min(own.distance, own.within) >= FAR)


def _clarity(changes: tuple[ColumnChange, ...]) -> tuple[bool, float]:
    """Windows with a guess come first, then those in which a column is farthest from training for its rows.

    With a guess, what remains once it is undone counts less: rows from before the change would remain.
    """
    gains = [own.distance - (own.after if own.is_guessed else 0.0) for own in changes]
    clearest = max((gain * np.sqrt(own.n_rows) for gain, own in zip(gains, changes, strict=True)), default=0.0)
    return any(own.is_guessed for own in changes), float(clearest)


def _change(rows: ColumnRows, j: int, level: float) -> ColumnChange | None:
    if rows.usual.displays[j].kind is FeatureKind.CATEGORY:
        return _category_change(rows, j, level)
    return _number_change(rows, j, level)


def _number_change(rows: ColumnRows, j: int, level: float) -> ColumnChange | None:
    usual, missing = rows.usual, rows.missing[:, j]
    kept, n_training = usual.overall[j], _n_training(rows)
    if missing.mean() >= EMPTY_SHARE:
        # Training had some values, or the column would have been left out; a column of gaps alone was another one.
        return _found(rows, j, Guess(EMPTIED, after=0.0), 1.0, 1.0, (float(np.median(kept)), 0.0))
    values = np.sort(rows.features[~missing, j])
    if len(values) < FEWEST_ROWS:
        return None
    distance = kolmogorov(values, kept)
    if missing.mean() >= MANY_GAPS:
        distance = min(distance, kolmogorov(np.sort(rows.features[:, j]), kept))
    within = _within(rows, j, j)
    has_moved = distance >= max(LEAST_DISTANCE, critical(len(values), n_training, level))
    can_convert = has_moved and usual.displays[j].kind is FeatureKind.NUMBER and _matters(rows, j)
    guess = guess_number(values, kept, n_training, distance, within, can_convert)
    if not has_moved and guess.kind != ROUNDED:
        return None
    if usual.displays[j].kind is FeatureKind.DATE and guess == Guess():
        return None
    return _found(rows, j, guess, distance, within, (float(np.median(kept)), float(np.median(values))))


def _category_change(rows: ColumnRows, j: int, level: float) -> ColumnChange | None:
    usual, q = rows.usual, rows.usual.code_column(j)
    names, codes, gap = usual.displays[j].categories, rows.codes[:, q], int(rows.gap_codes[q])
    own = usual.category_counts[: usual.n_classes, usual.categories_of(j)]
    training = np.append(_as_in_training(rows, own), 0.0)
    is_empty = codes < 0
    if is_empty.mean() > EMPTY_SHARE and training[gap] < EMPTY_BEFORE * training.sum():
        return _found(rows, j, Guess(EMPTIED, after=0.0), 1.0, 1.0, (0.0, 0.0))
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
        most = _most_variation(new, training, n_training, ALIKE_LEVEL) + ROOM
        guess = guess_category(new, training, names, unseen, distance, most)
    if distance < max(limit, 0.0 if guess != Guess() else LEAST_DISTANCE):
        return None
    shares = np.array([training / training.sum(), new / new.sum()])
    changed = int(np.abs(shares[1] - shares[0]).argmax())
    within = _moved_categories_within(rows, own, codes)
    return _found(rows, j, guess, distance, within, (float(shares[0, changed]), float(shares[1, changed])))


def _is_clearly_new(unseen: Counter[str], n_new: int, n_training: int, n_known: int, level: float) -> bool:
    """Whether a category has so many rows that it would be in training as well, if it were not new.

    If all rows came in any order, the chance that those of one category are all among the new ones falls with each of
    them; any of the categories might have been the one.
    """
    most = max(unseen.values(), default=0)
    chance = (n_known + len(unseen)) * (n_new / (n_new + n_training)) ** most
    return most >= FEWEST_NEW and chance <= level


def _moved_categories_within(rows: ColumnRows, own: IntArray, codes: IntArray) -> float:
    """The total variation of categories within the classes, on average over the rows."""
    n_classes, width = len(own), own.shape[1] + 1
    each, weights = np.zeros(n_classes), np.zeros(n_classes)
    for c in range(n_classes):
        new = np.bincount(codes[rows.owner == c], minlength=width)[:width]
        weights[c], each[c] = new.sum(), total_variation(new, np.append(own[c], 0))
    return float(np.average(each, weights=weights)) if weights.any() else 0.0


def _as_in_training(rows: ColumnRows, own: IntArray) -> FloatArray:
    """How many rows of the sample would have each category, if it had the classes in the proportions of training."""
    n_sample = rows.usual.n_rows[: len(own), None]
    return np.asarray(
        (own / n_sample * rows.class_counts[:, None]).sum(axis=0) * n_sample.sum() / rows.class_counts.sum()
    )


def _most_variation(new: IntArray, training: FloatArray, n_training: int, level: float) -> float:
    """The total variation that samples of one distribution exceed with a chance of about this level, or less."""
    shares = (new + training) / max(float(new.sum() + training.sum()), 1.0)
    each = 1.0 / max(int(new.sum()), 1) + 1.0 / max(n_training, 1)
    # The mean, by the deviation of each share, and a bounded difference (McDiarmid) beyond it.
    mean = 0.5 * float(np.sqrt(shares * (1.0 - shares) * each).sum())
    return mean + float(np.sqrt(0.5 * np.log(1.0 / level) * each))


def _matters(rows: ColumnRows, j: int) -> bool:
    """Whether a number is far from training even if small moves of all values are forgiven."""
    values, kept = np.sort(rows.features[~rows.missing[:, j], j]), rows.usual.overall[j]
    return kolmogorov(values, kept, forgiven=LEAST_MOVE * _deviation(kept)) >= LEAST_DISTANCE


def _deviation(kept: FloatArray) -> float:
    """The standard deviation of training, without the smallest and the largest value."""
    return float(kept[1:-1].std())


def _n_training(rows: ColumnRows) -> int:
    return int(rows.usual.n_rows[: rows.usual.n_classes].sum())


def _found(
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
    """The changes, with pairs of numbers that are like training if they are swapped."""
    moved = [j for j, own in found.items() if not own.is_category and own.kind != EMPTIED]
    pairs = [(_swapped(rows, i, j), i, j) for i in moved for j in moved if i < j]
    most, swapped = alike(len(rows), _n_training(rows)), dict(found)
    for after, i, j in sorted(pairs):
        is_clear = after <= min(most, found[i].distance / TIMES_NEARER, found[j].distance / TIMES_NEARER)
        # It explains both columns without any number, so it comes before what explains each of them alone.
        is_free = SWAPPED not in (swapped[i].kind, swapped[j].kind)
        if (
            is_clear
            and is_free
            and _within(rows, i, i) + _within(rows, j, j) >= _within(rows, i, j) + _within(rows, j, i) + NEARER
        ):
            for own, other in ((i, j), (j, i)):
                detail = rows.names[other]
                swapped[own] = replace(found[own], kind=SWAPPED, amount=0.0, detail=detail, after=after)
    return swapped


def _within(rows: ColumnRows, i: int, j: int) -> float:
    """How far values of column i moved within the classes, if they are those of column j."""
    known = ~rows.missing[:, i] & (rows.owner >= 0)
    ranges = rows.usual.ranges[: rows.usual.n_classes, j]
    return moved_within_classes(rows.features[known, i], rows.owner[known], ranges)


def _swapped(rows: ColumnRows, i: int, j: int) -> float:
    """The larger distance of two columns from training, each compared with the other one."""
    columns = [np.sort(rows.features[~rows.missing[:, k], k]) for k in (i, j)]
    return max(kolmogorov(columns[0], rows.usual.overall[j]), kolmogorov(columns[1], rows.usual.overall[i]))
