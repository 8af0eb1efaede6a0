"""Edit the shape function of a feature: flatten, clip, shift or make it monotone in a range.

A shape function is a line plus steps. Where an edit needs a constant piece, the line of the feature is first replaced
by steps, so that the piece is constant exactly; elsewhere the function then differs from before by at most
`LINE_ERROR` log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.isotonic import isotonic_regression

from sepc._typing import BoolArray, FloatArray
from sepc.model.edits import CLIP, FLATTEN, MONOTONE, SHIFT, Edit
from sepc.model.weights import LINE_END, Weights

# The largest difference between a line and the steps that replace it, in log-odds, unless that takes too many steps.
LINE_ERROR = 0.01
MOST_STEPS = 2_000
# Where no training rows are known, all steps count the same in a mean, and much less than any row.
NO_ROWS = 1e-6


@dataclass(frozen=True, eq=False)
class Curves:
    """Some curves of one feature, with common knots.

    Attributes
    ----------
    knots : (s,) array
    slopes : (m,) array
    levels : (s + 1, m) array
    """

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
    """The curves of all classes in which that of `label` against the others is `contrast`.

    With two classes, the other one becomes zero, so that the log-odds are those of the contrast exactly.
    """
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
