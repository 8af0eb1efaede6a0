"""Apply edits to a fitted model: which features, codes and classes they name, and what changes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepc.columns.categories import Categories, category
from sepc.columns.preparation import DAYS_A_YEAR, Preparation
from sepc.model.edits import (
    DROP_ELLIPSOID,
    DROP_FEATURE,
    FLATTEN,
    OF_CURVES,
    SET_LEVEL,
    Curves,
    Edit,
    Edits,
    contrast_of,
    curves_of_classes,
    edit_curves,
    put_contrast,
    with_curves,
)
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import ANYWHERE, FeatureKind, TrainingSummary
from sepc.model.weights import Weights
from sepc.wording import MOST_NAMES, did_you_mean, listed, shown


def edit_model(model: SEPModel, preparation: Preparation | None, edits: Sequence[Edit]) -> SEPModel:
    """The model with exactly these edits; raises ValueError if one does not fit the model."""
    original = model.weights if model.edits is None else model.edits.original
    if original is None:
        raise ValueError(f"A model with trust={model.trust!r} has no weights to edit; fit with trust='weights'.")
    if not edits:
        return replace(model, weights=original, edits=None)
    editing = _Editing(replace(model, weights=original, edits=None), preparation, original)
    made = []
    for edit in edits:
        edit = replace(edit, label=editing.label_for(edit))
        editing = editing.after(edit)
        made.append(edit)
    fixed = np.array(list(editing.typical), dtype=np.int64)
    layer = Edits(tuple(made), original, fixed, np.array(list(editing.typical.values()), dtype=np.float64))
    return replace(model, weights=editing.weights, edits=layer)


def edits_for_region(edits: Sequence[Edit], model: SEPModel) -> list[Edit]:
    """Those edits that also hold for a region's own model: it has other ellipsoids, and may have fewer classes."""
    known = model.classes.tolist()
    return [
        edit
        for edit in edits
        if edit.kind != DROP_ELLIPSOID
        and (len(known) > 1 or edit.kind == DROP_FEATURE)
        and (edit.label is None or edit.label in known)
    ]


@dataclass(frozen=True, eq=False)
class _Editing:
    """A model with the edits so far."""

    model: SEPModel
    preparation: Preparation | None
    weights: Weights
    typical: dict[int, float] = field(default_factory=dict)

    def label_for(self, edit: Edit) -> Any:
        """The class whose score an edit changes; None for all classes, or for none."""
        known = self.model.classes.tolist()
        if edit.kind in (DROP_ELLIPSOID, DROP_FEATURE):
            return None
        if len(known) == 1:
            raise ValueError(f"The model has one class, {shown(known[0])}, so it has no log-odds that can be edited.")
        if edit.label is not None:
            if edit.label not in known:
                raise ValueError(
                    f"There is no class {shown(edit.label)}; the classes are {listed(map(shown, known), MOST_NAMES)}."
                )
            return known[known.index(edit.label)]
        if len(known) == 2:
            return known[1]
        if edit.kind == FLATTEN and edit.value is None:
            return None
        raise ValueError(
            f"Give a label for the edit of {shown(edit.feature)}: the model has {len(known)} classes, and log-odds are "
            f"those of one of them: {listed(map(shown, known), MOST_NAMES)}."
        )

    def after(self, edit: Edit) -> _Editing:
        """The model with one more edit."""
        if edit.kind == DROP_ELLIPSOID:
            return replace(self, weights=self._without_ellipsoid(edit))
        parts = self._features_of(edit)
        if edit.kind == DROP_FEATURE:
            return self._without_features(parts)
        if edit.kind == SET_LEVEL:
            return replace(self, weights=self._with_level(edit, parts))
        assert edit.kind in OF_CURVES
        return replace(self, weights=self._with_curve(edit, parts[0]))

    def _without_ellipsoid(self, edit: Edit) -> Weights:
        k, n = edit.ellipsoid, self.model.n_ellipsoids
        if k is None or k >= n:
            raise ValueError(f"There is no ellipsoid {k}; the model has {n:,}, numbered from 0.")
        arrays = {name: getattr(self.weights, name).copy() for name in ("near", "deep", "ellipsoid_means")}
        for array in arrays.values():
            array[k] = 0.0
        return replace(self.weights, **arrays)

    def _features_of(self, edit: Edit) -> list[int]:
        """The features that an edit is about: one for a curve, all of a column else."""
        names, asked = list(self.model.feature_names), edit.feature
        columns = names if self.preparation is None else [column for column, _ in self.preparation.features]
        is_curve = edit.kind in OF_CURVES
        found = [j for j, name in enumerate(names if is_curve else columns) if name == asked]
        if not found:
            known = list(dict.fromkeys(names if is_curve else columns))
            raise ValueError(
                f"There is no feature {shown(asked)}{did_you_mean([str(asked)], known) or '.'} The features are "
                f"{listed(map(shown, known), MOST_NAMES)}."
            )
        if set(found) & set(self.typical):
            raise ValueError(f"An earlier edit dropped {shown(asked)}; take that edit off first, with without_edits.")
        return found

    def _without_features(self, parts: list[int]) -> _Editing:
        weights, C = self.weights, len(self.model.classes)
        for j in parts:
            weights = with_curves(weights, j, Curves(np.empty(0), np.zeros(C), np.zeros((1, C))))
        typical = self.typical | dict(zip(parts, self._typical_values(parts), strict=True))
        q = self._code_of(parts)
        if q is not None:
            levels = weights.category_levels.copy()
            levels[self._levels_of(q)] = 0.0
            weights = replace(weights, category_levels=levels)
            typical[len(self.model.shift) + q] = float(self._most_frequent(parts[0]))
        return replace(self, weights=weights, typical=typical)

    def _typical_values(self, parts: list[int]) -> list[float]:
        """The median of a number or date, and what follows from it; the encoding of the most frequent category."""
        usual = self._usual
        if self._code_of(parts) is not None:
            return [float(value) for value in self._categories(parts[0]).encodings[self._most_frequent(parts[0])]]
        median = float(usual.overall[parts[0], usual.overall.shape[1] // 2])
        angle = 2.0 * np.pi * median / DAYS_A_YEAR
        return [median, float(np.sin(angle)), float(np.cos(angle))][: len(parts)]

    def _most_frequent(self, feature: int) -> int:
        counts = self._usual.category_counts[self._usual.ellipsoid == ANYWHERE]
        return int(counts[:, self._usual.categories_of(feature)].sum(axis=0).argmax())

    def _with_level(self, edit: Edit, parts: list[int]) -> Weights:
        """Move the level of a category so that the whole term of its column is as asked."""
        q = self._code_of(parts)
        if q is None:
            raise ValueError(f"{shown(edit.feature)} has no categories; edit its curve instead, such as Edit.shift.")
        categories, wanted = self._categories(parts[0]), category(edit.category)
        if wanted not in categories.values:
            known = listed(["missing" if value is None else shown(value) for value in categories.values], MOST_NAMES)
            which = "a missing value" if wanted is None else shown(wanted)
            raise ValueError(f"Training had no {which} in {shown(edit.feature)}, so it has no level; it had {known}.")
        code, label = categories.values.index(wanted), self._position(edit.label)
        row = np.tile(self.model.shift, (1, 1))
        row[0, parts] = categories.encodings[code]
        place = self._levels_of(q).start + code
        terms = self.weights.feature_terms(np.ascontiguousarray(self.model.standardize(row).T))[0, parts].sum(axis=0)
        terms = terms + self.weights.category_levels[place]
        now = terms[label] - np.delete(terms, label).mean()
        levels = self.weights.category_levels.copy()
        levels[place, label] += float(edit.value or 0.0) - now
        return replace(self.weights, category_levels=levels)

    def _with_curve(self, edit: Edit, j: int) -> Weights:
        display = self._usual.displays[j]
        if self.model.feature_names[j] in self._category_features:
            raise ValueError(f"{shown(edit.feature)} is a column of categories; edit them one by one, Edit.set_level.")
        scale, shift = self.model.scale[j], self.model.shift[j]
        low, high = ((end - shift) / scale for end in _range(edit, display.kind))
        if display.kind is not FeatureKind.DATE:
            # A step includes its knot, so that of the last number of the range begins just after it.
            high = float(np.nextafter(high, np.inf))
        rows = (self._usual.overall[j] - shift) / scale
        every = curves_of_classes(self.weights, j)
        if edit.label is None:
            return with_curves(self.weights, j, edit_curves(every, edit, low, high, rows))
        label = self._position(edit.label)
        edited = edit_curves(contrast_of(every, label), edit, low, high, rows)
        return with_curves(self.weights, j, put_contrast(every, label, edited))

    def _position(self, label: Any) -> int:
        return int(self.model.classes.tolist().index(label))

    def _code_of(self, parts: list[int]) -> int | None:
        """Which categorical column these features encode; None for a number or a date."""
        positions = self.weights.category_features.tolist()
        return positions.index(parts[0]) if parts[0] in positions else None

    def _levels_of(self, q: int) -> slice:
        end = int(self.weights.n_categories[: q + 1].sum())
        return slice(end - int(self.weights.n_categories[q]), end)

    def _categories(self, feature: int) -> Categories:
        assert self.preparation is not None
        return self.preparation.categories[self.preparation.features[feature][0]]

    @property
    def _category_features(self) -> set[str]:
        """The names of features that encode categories."""
        if self.preparation is None:
            return set()
        return {name for column, name in self.preparation.features if column in self.preparation.categories}

    @property
    def _usual(self) -> TrainingSummary:
        assert self.model.usual is not None  # every fitted model has it
        return self.model.usual


def _range(edit: Edit, kind: FeatureKind) -> tuple[float, float]:
    """The ends of a range as numbers; dates are days since 1970, and the range ends before the day after its last."""
    is_date = kind is FeatureKind.DATE
    for end in (edit.low, edit.high):
        if end is not None and isinstance(end, str) is not is_date:
            wanted = "dates, such as '2026-05-04'" if is_date else "numbers"
            raise ValueError(f"The range of {shown(edit.feature)} must be given as {wanted}; it has {end!r}.")
    low = -np.inf if edit.low is None else _days(edit.low) if is_date else float(edit.low)
    if edit.high is None:
        return low, np.inf
    return low, _days(edit.high) + 1.0 if is_date else float(edit.high)


def _days(day: str) -> float:
    return float((np.datetime64(day) - np.datetime64(0, "D")) / np.timedelta64(1, "D"))
