"""Edits: what an expert changes in a fitted model, signed and dated, and what the model was before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date as Date
from datetime import datetime
from typing import Any, Self

import numpy as np
from sklearn.isotonic import isotonic_regression

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.model.weights import LINE_END, MOST_WEIGHT, Weights
from sepc.records import floats, ints, part, parts, record, simple, text
from sepc.wording import counted, listed, name_of, plain, shown, visible

FLATTEN, CLIP, SHIFT, MONOTONE = "flatten", "clip", "shift", "monotone"
SET_LEVEL, DROP_ELLIPSOID, DROP_FEATURE = "set_level", "drop_ellipsoid", "drop_feature"
OF_CURVES = (FLATTEN, CLIP, SHIFT, MONOTONE)
KINDS = (*OF_CURVES, SET_LEVEL, DROP_ELLIPSOID, DROP_FEATURE)
DIRECTIONS = ("increasing", "decreasing")

# The most edits that a sentence names.
MOST_NAMED = 3


@record
class Edit(ShownOnOneLine):
    """One change that an expert makes to a fitted model with ``trust="weights"``.

    Made by the functions below, and applied by `SEPClassifier.edited`, which adds the author, the reason and the date.
    Terms are log-odds of `label` against the other class or, with more than two classes, against the average of the
    others; only the score of `label` changes. With two classes, `label` is the second one by default.

    Attributes
    ----------
    kind : str
        "flatten", "clip", "shift", "monotone", "set_level", "drop_ellipsoid" or "drop_feature".
    feature : str or None
        The feature or column that is edited.
    low, high : float, str or None
        The range of values that is edited, both ends included; None for an open end, and text for a date.
    value : float or None
        The new level, or the shift.
    least, most : float or None
        The bounds of a clipped curve.
    direction : str or None
        "increasing" or "decreasing".
    label : object
        The class whose score changes; None for all classes.
    category : object
        The category whose level is set; None for a missing value.
    ellipsoid : int or None
        The number of the ellipsoid that is dropped.
    author, reason, date : str
        Who made the edit, why, and on which day.

    Examples
    --------
    >>> print(Edit.flatten("age", 80, to=0.5).signed("A. Wu", "few patients", "2026-05-04"))
    flatten age from 80 up at +0.5 (A. Wu, 2026-05-04: few patients)
    """

    kind: str = text(*KINDS)
    feature: str | None = simple()
    low: Any = simple()
    high: Any = simple()
    value: float | None = simple()
    least: float | None = simple()
    most: float | None = simple()
    direction: str | None = simple()
    label: Any = simple()
    category: Any = simple()
    ellipsoid: int | None = simple()
    author: str = text()
    reason: str = text()
    date: str = text()

    @classmethod
    def flatten(cls, feature: str, low: Any = None, high: Any = None, *, to: Any = None, label: Any = None) -> Self:
        """Make the shape function of a feature constant in a range.

        Parameters
        ----------
        feature : str
        low, high : number, or date for a column of dates
            The range; open ends by default.
        to : float, optional
            The level, in log-odds; by default the mean over the training rows in the range.
        label : object, optional
            By default all classes are flattened, each at its own mean.
        """
        return cls._made(FLATTEN, feature=feature, low=low, high=high, value=to, label=label)

    @classmethod
    def clip(
        cls, feature: str, low: Any = None, high: Any = None, *, least: Any = None, most: Any = None, label: Any = None
    ) -> Self:
        """Keep the shape function of a feature between `least` and `most` in a range."""
        return cls._made(CLIP, feature=feature, low=low, high=high, least=least, most=most, label=label)

    @classmethod
    def shift(cls, feature: str, low: Any = None, high: Any = None, *, by: Any, label: Any = None) -> Self:
        """Add a constant, in log-odds, to the shape function of a feature in a range."""
        return cls._made(SHIFT, feature=feature, low=low, high=high, value=by, label=label)

    @classmethod
    def monotone(cls, feature: str, direction: str, low: Any = None, high: Any = None, *, label: Any = None) -> Self:
        """Make the shape function of a feature "increasing" or "decreasing" in a range, by isotonic regression."""
        return cls._made(MONOTONE, feature=feature, low=low, high=high, direction=direction, label=label)

    @classmethod
    def set_level(cls, column: str, category: Any, to: Any, *, label: Any = None) -> Self:
        """Set the term of a category of a categorical column, in log-odds; None is a missing value."""
        return cls._made(SET_LEVEL, feature=column, category=category, value=to, label=label)

    @classmethod
    def drop_ellipsoid(cls, ellipsoid: int) -> Self:
        """Take away the term of an ellipsoid, numbered as in `ellipsoids_`; it still says where rows lie."""
        return cls._made(DROP_ELLIPSOID, ellipsoid=ellipsoid)

    @classmethod
    def drop_feature(cls, column: str) -> Self:
        """Ignore a column: its terms are zero, and every row gets its typical value, also where it is missing."""
        return cls._made(DROP_FEATURE, feature=column)

    @classmethod
    def _made(cls, kind: str, **given: Any) -> Self:
        empty = dict.fromkeys(("feature", "low", "high", "value", "least", "most", "direction", "label", "category"))
        values = {name: _as_stored(value) for name, value in given.items()}
        edit = cls(kind, **{**empty, "ellipsoid": None, **values}, author="", reason="", date="")
        if wrong := edit._fault():
            raise ValueError(f"An edit {wrong}.")
        return edit

    def signed(self, author: str, reason: str, date: Any) -> Self:
        """The same edit with an author, a reason and a date (a ``datetime.date``, or text such as "2026-05-04")."""
        day = _as_stored(date)
        for name, given in (("author", author), ("reason", reason), ("date", day)):
            if not isinstance(given, str) or not given.strip():
                raise ValueError(f"{name} is {given!r}; every edit needs an author, a reason and a date.")
        try:
            Date.fromisoformat(day)
        except ValueError as error:
            raise ValueError(f"date is {day!r}; give it as year, month and day, such as '2026-05-04'.") from error
        return replace(self, author=author, reason=reason, date=day)

    def flaw(self) -> str | None:
        """What is wrong with the edit, if anything."""
        if not (self.author.strip() and self.reason.strip() and self.date.strip()):
            return "has an edit without an author, a reason or a date"
        wrong = self._fault()
        return None if wrong is None else f"has an edit that {wrong}"

    def _fault(self) -> str | None:
        """What is wrong with the values, completing the sentence "An edit ..."; None if nothing is."""
        for name in ("value", "least", "most"):
            given = getattr(self, name)
            if given is not None and (not _is_number(given) or not abs(given) <= MOST_WEIGHT):
                return f"has {name} {given!r}, which is not a number"
        if self.kind == DROP_ELLIPSOID:
            is_position = type(self.ellipsoid) is int and self.ellipsoid >= 0
            return None if is_position else f"names the ellipsoid {self.ellipsoid!r}; give a number from 0"
        if not isinstance(self.feature, str):
            return f"names the feature {self.feature!r}; give the name of a column"
        if self.kind in (SHIFT, SET_LEVEL) and self.value is None:
            return f"of kind {self.kind} needs a number of log-odds"
        if self.kind == MONOTONE and self.direction not in DIRECTIONS:
            return f"has the direction {self.direction!r}; it must be 'increasing' or 'decreasing'"
        if self.kind == CLIP and self.least is None and self.most is None:
            return "that clips a curve needs least, most or both"
        if self.kind == CLIP and self.least is not None and self.most is not None and self.least > self.most:
            return f"clips to at least {self.least:g} and at most {self.most:g}, which nothing is"
        return self._fault_of_range()

    def _fault_of_range(self) -> str | None:
        ends = [end for end in (self.low, self.high) if end is not None]
        if not all(_is_number(end) or _is_day(end) for end in ends):
            return f"has a range from {self.low!r} to {self.high!r}; give numbers, or dates such as '2026-05-04'"
        if len(ends) == 2 and (isinstance(self.low, str) is not isinstance(self.high, str) or self.low > self.high):
            return f"has an empty range: nothing lies between {self.low!r} and {self.high!r}"
        return None

    def what(self) -> str:
        """The change in words, without author, reason and date."""
        if self.kind == DROP_ELLIPSOID:
            return f"drop ellipsoid {self.ellipsoid}"
        name, of = name_of(self.feature), "" if self.label is None else f" for {shown(self.label)}"
        if self.kind == DROP_FEATURE:
            return f"drop {name}"
        if self.kind == SET_LEVEL:
            which = "missing" if self.category is None else shown(self.category)
            return f"set {name} = {which} to {_log_odds(self.value)}{of}"
        where = f"{name}{_range_in_words(self.low, self.high)}"
        if self.kind == FLATTEN:
            return f"flatten {where}{'' if self.value is None else f' at {_log_odds(self.value)}'}{of}"
        if self.kind == SHIFT:
            return f"shift {where} by {_log_odds(self.value)}{of}"
        if self.kind == MONOTONE:
            return f"make {where} {self.direction}{of}"
        bounds = [f"at least {_log_odds(self.least)}"] * (self.least is not None)
        bounds += [f"at most {_log_odds(self.most)}"] * (self.most is not None)
        return f"clip {where} to {' and '.join(bounds)}{of}"

    def __str__(self) -> str:
        signed = f" ({name_of(self.author)}, {name_of(self.date)}: {visible(self.reason)})" if self.author else ""
        return f"{self.what()}{signed}"


@record
class Edits:
    """The edits of a model in order, and what they changed.

    Attributes
    ----------
    made : tuple of Edit
        What was changed, in order.
    original : Weights
        The weights without any edit.
    fixed : (F,) array
        The features and category codes of columns that were dropped, as positions in a row.
    typical : (F,) array
        Their values in every row.
    """

    made: tuple[Edit, ...] = parts(Edit)
    original: Weights = part(Weights)
    fixed: IntArray = ints("F")
    typical: FloatArray = floats("F")

    def flaw(self) -> str | None:
        """What is wrong with the edits, if anything."""
        return None if self.made else "has originals but no edits"


def names_of_edits(edits: Sequence[Edit]) -> str:
    """What was edited, in a few words: columns and ellipsoids."""
    names = [f"ellipsoid {edit.ellipsoid}" if edit.feature is None else name_of(edit.feature) for edit in edits]
    return listed(list(dict.fromkeys(names)), MOST_NAMED)


def count_of_edits(edits: Sequence[Edit]) -> str:
    """How many edits there are, and of what."""
    return f"{counted(len(edits), 'edit')}, of {names_of_edits(edits)}"


def _range_in_words(low: Any, high: Any) -> str:
    start, end = (end if isinstance(end, str) or end is None else f"{float(end):.10g}" for end in (low, high))
    if start is None:
        return "" if end is None else f" up to {end}"
    return f" from {start} {'up' if end is None else f'to {end}'}"


def _log_odds(value: float | None) -> str:
    return "" if value is None else f"{value:+.10g}"


def _as_stored(value: Any) -> Any:
    """A value as files hold it: plain, and dates as text."""
    value = plain(value)
    if isinstance(value, datetime):
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, Date) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 1e300


def _is_day(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(Date.fromisoformat(value))
    except ValueError:
        return False


# A shape function is a line plus steps. Where an edit needs a constant piece, the line of the feature is first replaced
# by steps, so that the piece is constant exactly; elsewhere the function then differs from before by at most
# `LINE_ERROR` log-odds.


# The largest difference between a line and the steps that replace it, in log-odds, unless that takes too many steps.
LINE_ERROR = 0.01
MOST_STEPS = 2_000
# Where no training rows are known, all steps count the same in a mean, and much less than any row.
NO_ROWS = 1e-6


@dataclass(frozen=True, eq=False)
class Curves:
    """Some curves of one feature, with common knots."""

    knots: FloatArray
    slopes: FloatArray
    levels: FloatArray

    def at(self, values: FloatArray) -> FloatArray:
        """The curves at standardised values, of shape (n, m)."""
        line = np.multiply.outer(np.clip(values, -LINE_END, LINE_END), self.slopes)
        return np.asarray(line + self.levels[np.searchsorted(self.knots, values, side="right")])

    def split(self, cuts: FloatArray) -> Curves:
        """The same curves with more knots, where they do not step."""
        knots = np.union1d(self.knots, cuts[np.isfinite(cuts)])
        before = np.searchsorted(self.knots, [-np.inf, *knots], side="right")
        return Curves(knots, self.slopes, self.levels[before])

    def stepped(self, low: float, high: float, *, inside: bool) -> Curves:
        """The curves with steps instead of lines; with `inside` also between `low` and `high`."""
        if not self.slopes.any():
            return self
        ends = np.unique(np.clip(np.concatenate([self.knots, [low, high]]), -LINE_END, LINE_END))
        ends = np.union1d(ends, [-LINE_END, LINE_END])
        steepest = np.abs(self.slopes).max()
        width = max(2.0 * LINE_ERROR / steepest, 2.0 * LINE_END / MOST_STEPS)
        cuts = [ends]
        for start, end in zip(ends[:-1], ends[1:], strict=True):
            if inside or end <= low or start >= high:
                cuts.append(np.linspace(start, end, int(np.ceil((end - start) / width)) + 1)[1:-1])
        fine = self.split(np.unique(np.concatenate(cuts)))
        middle = (fine.bounds[:-1] + fine.bounds[1:]) / 2.0
        return Curves(fine.knots, np.zeros_like(self.slopes), fine.levels + np.multiply.outer(middle, self.slopes))

    @property
    def bounds(self) -> FloatArray:
        """The ends of all steps, as far as lines rise."""
        ends = np.concatenate([[-LINE_END], self.knots, [LINE_END]])
        return np.asarray(np.clip(ends, -LINE_END, LINE_END))

    def within(self, low: float, high: float) -> BoolArray:
        """Which steps lie in a range, whose ends are knots or infinite; of shape (s + 1,)."""
        starts, ends = np.concatenate([[-np.inf], self.knots]), np.concatenate([self.knots, [np.inf]])
        return np.asarray((starts >= low) & (ends <= high))


def edit_curves(curves: Curves, edit: Edit, low: float, high: float, rows: FloatArray) -> Curves:
    """Edit curves from `low` to below `high`, in standardised values; `rows` are typical values of training rows."""
    own = rows[(rows >= low) & (rows < high)]
    if edit.kind == SHIFT:
        moved = curves.split(np.array([low, high]))
        here = moved.within(low, high)[:, np.newaxis]
        return replace(moved, levels=moved.levels + np.where(here, float(edit.value or 0.0), 0.0))
    if edit.kind == FLATTEN:
        level = _mean(curves, low, high, own) if edit.value is None else np.array([float(edit.value)])
        flat = curves.stepped(low, high, inside=False).split(np.array([low, high]))
        return replace(flat, levels=np.where(flat.within(low, high)[:, np.newaxis], level, flat.levels))
    if edit.kind == CLIP:
        least, most = (-np.inf if edit.least is None else edit.least), (np.inf if edit.most is None else edit.most)
        fine = curves.stepped(low, high, inside=True).split(np.array([low, high]))
        here = fine.within(low, high)[:, np.newaxis]
        return replace(fine, levels=np.where(here, np.clip(fine.levels, least, most), fine.levels))
    assert edit.kind == MONOTONE
    return _monotone(curves, edit.direction == "increasing", low, high, own)


def _mean(curves: Curves, low: float, high: float, rows: FloatArray) -> FloatArray:
    """The mean of the curves over training rows in a range; without any, over its two ends."""
    ends = np.clip([low, high], -LINE_END, LINE_END)
    return np.asarray(curves.at(rows if len(rows) else ends).mean(axis=0))


def _monotone(curves: Curves, increasing: bool, low: float, high: float, rows: FloatArray) -> Curves:
    """The nearest monotone steps; a line that goes the right way stays."""
    (slope,) = curves.slopes
    goes_right = slope >= 0.0 if increasing else slope <= 0.0
    fine = (curves if goes_right else curves.stepped(low, high, inside=True)).split(np.array([low, high]))
    here = fine.within(low, high)
    n_rows = np.bincount(np.searchsorted(fine.knots, rows, side="right"), minlength=len(here)) + NO_ROWS
    levels = fine.levels.copy()
    levels[here, 0] = isotonic_regression(levels[here, 0], sample_weight=n_rows[here], increasing=increasing)
    return replace(fine, levels=levels)


def curves_of_classes(weights: Weights, j: int) -> Curves:
    """The curves of a feature for all classes."""
    knots, levels = weights.curves[j]
    return Curves(knots, weights.lines[j], np.ascontiguousarray(levels.T))


def contrast_of(curves: Curves, label: int) -> Curves:
    """The curve of a class against the average of the others."""
    others = np.arange(len(curves.slopes)) != label
    slope = curves.slopes[label] - curves.slopes[others].mean()
    levels = curves.levels[:, label] - curves.levels[:, others].mean(axis=1)
    return Curves(curves.knots, np.array([slope]), levels[:, np.newaxis])


def put_contrast(curves: Curves, label: int, contrast: Curves) -> Curves:
    """The curves of all classes in which that of `label` against the others is `contrast`."""
    split = curves.split(contrast.knots)
    others = np.arange(len(curves.slopes)) != label
    slopes, levels = split.slopes.copy(), split.levels.copy()
    if len(slopes) == 2:
        slopes[others], levels[:, others] = 0.0, 0.0
    slopes[label] = contrast.slopes[0] + slopes[others].mean()
    levels[:, label] = contrast.levels[:, 0] + levels[:, others].mean(axis=1)
    return Curves(contrast.knots, slopes, levels)


def with_curves(weights: Weights, j: int, curves: Curves) -> Weights:
    """The weights with other curves for a feature; those of all other features stay bit for bit."""
    end = int(weights.n_knots[: j + 1].sum())
    start = end - int(weights.n_knots[j])
    lines, n_knots = weights.lines.copy(), weights.n_knots.copy()
    lines[j], n_knots[j] = curves.slopes, len(curves.knots)
    return replace(
        weights,
        lines=lines,
        n_knots=n_knots,
        knots=np.concatenate([weights.knots[:start], curves.knots, weights.knots[end:]]),
        levels=np.concatenate([weights.levels[: start + j], curves.levels, weights.levels[end + j + 1 :]]),
    )
