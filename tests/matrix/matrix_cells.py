"""Small tables of every kind of column, models to fit to them, and what may come of a call: an answer or a refusal."""

from __future__ import annotations

import linecache
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from optional import package_or_skip
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

import sepc

pd = package_or_skip("pandas")

N_TRAIN, N_NEW = 96, 24
KINDS = ("number", "text", "category", "boolean", "date", "duration", "decimal", "left out")
COLUMNS = [(kind, has_gaps) for kind in KINDS for has_gaps in (False, True)]
# Names that look like those of features derived from other columns.
NAMES = {
    ("category", False): "ward",
    ("number", True): "ward (2)",
    ("date", False): "since",
    ("duration", True): "since, time of year (sine)",
}
LABELS = {
    2: np.array(["no", "yes"]),
    3: np.array([10, 20, 30]),
    12: np.array([f"class {i:02}" for i in range(12)]),
}


class Codes(TransformerMixin, BaseEstimator):
    """Encodes any table as numbers, for models that take nothing else."""

    def fit(self, X, y=None):
        self.columns_ = list(X.columns)
        return self

    def transform(self, X):
        return np.column_stack([[hash_of(value) for value in X[name]] for name in self.columns_])


def hash_of(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float(sum(map(ord, str(value))) % 97)


MODELS = {
    "weights": sepc.SEPClassifier(min_trust=0.8),
    "counts": sepc.SEPClassifier(trust="counts", min_trust=0.6),
    "published": sepc.SEPClassifier.as_published(max_ellipsoids=20),
    "out of fold, no rows kept": sepc.SEPClassifier(out_of_fold=True, keep_rows=False, class_weight="balanced"),
    "selective": sepc.SelectiveClassifier(sepc.SEPClassifier(), 0.4, confidence=0.6, random_state=0),
    "trusted": sepc.TrustedClassifier(sepc.SEPClassifier(trust="counts"), cv=2),
    "trusted boosting": sepc.TrustedClassifier(
        make_pipeline(Codes(), HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)), cv=2
    ),
    "stratified": sepc.RoutedClassifier(sepc.SEPClassifier(), by=[0], min_rows=30),
    "repaired": sepc.RoutedClassifier(sepc.SEPClassifier()),
    "pipeline": make_pipeline(sepc.SEPClassifier()),
    "boosting": make_pipeline(Codes(), HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)),
}


def name_of_column(kind: str, has_gaps: bool) -> str:
    return NAMES.get((kind, has_gaps), f"{kind}{' with gaps' if has_gaps else ''}")


def column(kind: str, has_gaps: bool, which: np.ndarray, rng: np.random.Generator) -> Any:
    """A column of this kind whose values depend on the class."""
    n, size = len(which), rng.normal(which % 4, 1.0).round(2)
    if kind == "number":
        values = pd.Series(size)
    elif kind == "text":
        values = pd.Series([f"€ {1000 + 200 * x:,.2f}" for x in size])
    elif kind == "category":
        values = pd.Series(np.array(["north", "south", "east", "west ü"])[(which + (rng.random(n) < 0.3)) % 4])
        values = values.astype("category") if has_gaps else values
    elif kind == "boolean":
        values = pd.Series((which % 2 == 0) ^ (rng.random(n) < 0.2))
        values = values.astype("boolean") if has_gaps else values
    elif kind == "date":
        values = pd.Timestamp("2021-03-01") + pd.Series(pd.to_timedelta((150 * (size + 4)).round(), unit="D"))
    elif kind == "duration":
        values = pd.Series(pd.to_timedelta((60 * (size + 5)).round(), unit="min"))
    elif kind == "decimal":
        values = pd.Series([Decimal(str(x)) for x in size.tolist()], dtype=object)
    else:
        values = pd.Series(["same"] * n if has_gaps else [f"id {i:04}" for i in rng.permutation(n)])
    return values.where(rng.random(n) >= 0.1) if has_gaps else values


def rows(columns: tuple[tuple[str, bool], ...], n_classes: int, n: int, seed: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng([seed, n_classes])
    which = rng.permutation(np.arange(n) % n_classes)
    table = pd.DataFrame({name_of_column(*one): column(*one, which, rng) for one in columns})
    return table, LABELS[n_classes][which]


@dataclass(frozen=True)
class Cell:
    """A model fitted to a table of these columns, with labels of so many classes."""

    model: str
    n_classes: int
    columns: tuple[tuple[str, bool], ...]

    def __str__(self) -> str:
        return f"{self.model}, {self.n_classes} classes: {', '.join(name_of_column(*one) for one in self.columns)}"

    @cached_property
    def training(self) -> tuple[Any, np.ndarray]:
        return rows(self.columns, self.n_classes, N_TRAIN, 0)

    @cached_property
    def new(self) -> tuple[Any, np.ndarray]:
        return rows(self.columns, self.n_classes, N_NEW, 1)

    @cached_property
    def fitted(self) -> Any:
        model = clone(MODELS[self.model])
        if isinstance(model, sepc.RoutedClassifier) and model.by is not None:
            model.set_params(by=[name_of_column(*self.columns[0])])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(*self.training)


def cells() -> list[Cell]:
    """Every kind of column with every model, and every model with every number of classes; and plain numbers alone."""
    found = []
    for i, model in enumerate(MODELS):
        order = np.random.default_rng(i).permutation(len(COLUMNS))
        for part, n_classes in zip(np.array_split(order, 3), LABELS, strict=True):
            found.append(Cell(model, n_classes, tuple(COLUMNS[j] for j in part)))
    # The pair of kind and number of classes that is drawn for no model.
    return [*found, Cell("weights", 2, (("number", False), ("category", True)))]


def alone() -> list[Cell]:
    """Each kind of column by itself: with numbers alone, a table is used as it is."""
    models = [model for model in MODELS if model != "stratified"]
    return [
        Cell(models[i % len(models)], list(LABELS)[i % 3], ((kind, i % 2 == 1),))
        for i, kind in enumerate(KINDS)
        if kind != "left out"
    ]


# Messages in which the library says that something cannot be had, and why.
SOURCES = str(Path(sepc.__file__).parent)
RAW = re.compile(r"shape mismatch|broadcast|NoneType|object has no attribute|not subscriptable|dtype|array\(")
OWN = {"ValueError", "TypeError", "AttributeError", "InputError"}
ODD_TEXT = re.compile(r"\bnan\b|\bNaT\b|<NA>|np\.| object at 0x|\binf\b")


def refusal(error: BaseException) -> str | None:
    """The message of an error that the library raises itself, in the user's terms; None for any other."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = trace.tb_frame.f_code.co_filename
    is_own = place.startswith(SOURCES) and linecache.getline(place, trace.tb_lineno).strip().startswith("raise ")
    return (
        str(error)
        if is_own and OWN & {kind.__name__ for kind in type(error).__mro__} and not RAW.search(str(error))
        else None
    )


def flaw(value: Any, depth: int = 3) -> str | None:
    """What is wrong with an answer, if anything: numbers that are not finite, or texts that no person would write."""
    if isinstance(value, str):
        odd = ODD_TEXT.search(value)
        return f"says {value[max(0, odd.start() - 60) : odd.end() + 30]!r}" if odd else None
    if isinstance(value, float | np.floating):
        return None if math.isfinite(value) else f"is {value}"
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return None if np.isfinite(value).all() else "has numbers that are not finite"
        return next(filter(None, (flaw(one, depth - 1) for one in value.tolist()[:50])), None) if depth else None
    if depth and isinstance(value, Mapping):
        return next(filter(None, (flaw(one, depth - 1) for one in value.values())), None)
    if depth and isinstance(value, list | tuple | set | frozenset):
        return next(filter(None, (flaw(one, depth - 1) for one in list(value)[:50])), None)
    return None
