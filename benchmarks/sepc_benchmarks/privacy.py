"""What do a model and its file tell about training rows, beside other classifiers, with and without rows? An hour.

At most 600 rows of each data set, numeric columns. 32 models of each kind are fitted to random halves of them.

**answers**: membership inference by the likelihood ratio attack with shadow models (Carlini et al., 2022). Each model
is attacked in turn, and the others are the shadows: for each row, normal distributions of the log-odds of its true
label in models with it and without it, with one variance for all rows. "AUC" is 0.5 for guessing; "found at 1 %" is the
share of training rows found if 1 % of other rows are taken for one. Intervals are over the attacked models (bootstrap,
95 %).

**files**: what the arrays of a file give away for certain. "confirmed" is the share of training rows that a person who
knows the row can confirm: its hash is there, or the row itself, or it lies on the boundary of an ellipsoid to nine
digits; "others" is the same for rows that were not in training. "rows read" is the share of training rows that can be
read from the file without knowing anything: rows in it, and centres and ends of axes of ellipsoids. "values read" is
the share of single values of training rows that the file holds exactly. Intervals are Clopper-Pearson, 95 %.

**price**: what `keep_rows=False` costs on rows outside of training: accuracy, and the area under the risk-coverage
curve of the trust (AURC), by default and without rows, and the mean difference with a 95 % interval over the models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from sepc import SEPClassifier
from sepc.datasets import load
from sepc.metrics import aurc
from sepc.model.membership import squared_radii
from sepc.model.training_summary import SEED
from sepc.points.row_digest import row_hashes
from sepc.statistics.rates import rate_interval
from sepc_benchmarks.measure import Parts, Records, Tables

Array = NDArray[Any]

SETS = ("wdbc", "ilpd", "vehicle", "banknote_authentication")
MOST_ROWS = 600
N_MODELS = 32
FALSE_RATE = 0.01
N_BOOTSTRAP = 1_000
ON_BOUNDARY = 1e-9
# Files hold values to the last bit; rows read from ellipsoids are computed, and may differ in the last digits.
SAME_ROW = 1e-6
DEFAULT, WITHOUT = "SEPClassifier", "SEPClassifier, keep_rows=False"
LEARNERS: dict[str, Callable[[], Any]] = {
    DEFAULT: SEPClassifier,
    WITHOUT: lambda: SEPClassifier(keep_rows=False),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "RandomForest": lambda: RandomForestClassifier(random_state=0),
    "KNeighbors": KNeighborsClassifier,
}


def rows_of(name: str) -> tuple[Array, Array]:
    """Numeric columns and labels of the complete rows of a set, at most 2,000 of them."""
    if name == "wdbc":
        return load_breast_cancer(return_X_y=True)
    data = load(name)
    X, y = data.numeric.to_numpy(dtype=float), np.asarray(data.target)
    kept = np.flatnonzero(np.isfinite(X).all(axis=1))
    if len(kept) > 2_000:
        kept = np.random.default_rng(0).choice(kept, 2_000, replace=False)
    return X[kept], y[kept]


def log_odds(model: Any, X: Array, y: Array) -> Array:
    """Log-odds of the true label of each row."""
    own = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    own = np.clip(own, 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(own) - np.log1p(-own))


def likelihood_ratios(odds: Array, inside: Array) -> Array:
    """For each model and row, the log likelihood ratio of membership, with the other models as shadows."""
    ratios = np.empty_like(odds)
    for i in range(len(odds)):
        others = np.arange(len(odds)) != i
        scores = []
        for is_in in (True, False):
            counted = others[:, None] & (inside == is_in)
            n = np.maximum(counted.sum(axis=0), 1)
            mean = np.where(counted, odds, 0.0).sum(axis=0) / n
            spread = np.sqrt((np.where(counted, odds - mean, 0.0) ** 2).sum() / max(counted.sum() - len(mean), 1))
            scores.append(norm.logpdf(odds[i], mean, max(float(spread), 1e-6)))
        ratios[i] = scores[0] - scores[1]
    return ratios


def found_at(ratios: Array, inside: Array) -> float:
    """The share of members above the score that the share `FALSE_RATE` of others exceeds."""
    limit = np.quantile(ratios[~inside], 1.0 - FALSE_RATE, method="higher")
    return float(np.mean(ratios[inside] > limit))


def interval(values: Array) -> str:
    """The mean, with a bootstrap interval."""
    random = np.random.default_rng(0)
    means = values[random.integers(len(values), size=(N_BOOTSTRAP, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{values.mean():.3f} ({low:.3f} to {high:.3f})"


def rate(n: int, of: int) -> str:
    """A rate, with its Clopper-Pearson interval."""
    low, high = rate_interval(n, of)
    return f"{n / of:.3f} ({float(low):.3f} to {float(high):.3f})"


def confirmed(model: Any, X: Array) -> Array:
    """Which rows, if known, can be confirmed as training rows from the arrays of a model."""
    if isinstance(model, KNeighborsClassifier):
        return np.asarray((X[:, None] == model._fit_X).all(axis=2).any(axis=1))
    if not isinstance(model, SEPClassifier):
        return np.zeros(len(X), dtype=bool)
    own = model.model_
    hashed = np.isin(row_hashes(X, SEED).view(np.int64), own.seen_rows.hashes if own.seen_rows else ())
    rows = own.standardize(X)
    held = (rows[:, None] == own.isolated).all(axis=2).any(axis=1)
    squared = squared_radii(rows, own.centers, own.roots)
    return np.asarray(hashed | held | (np.abs(squared - 1.0) < ON_BOUNDARY).any(axis=1))


def readable(model: Any) -> Array:
    """Rows that can be read from the arrays of a model, in the user's own units."""
    if isinstance(model, KNeighborsClassifier):
        return np.asarray(model._fit_X)
    if not isinstance(model, SEPClassifier):
        return np.empty((0, model.n_features_in_))
    own = model.model_
    rows = [own.isolated, own.centers]
    for center, root in zip(own.centers, own.roots, strict=True):
        axes = np.linalg.inv(root)
        directions, lengths, _ = np.linalg.svd(axes)
        rows += [center + directions.T * lengths[:, None], center - directions.T * lengths[:, None]]
    return own.shift + own.scale * np.concatenate(rows)


def numbers_in(model: Any) -> list[Array]:
    """For each column, the numbers that a model holds about it."""
    if isinstance(model, KNeighborsClassifier):
        return list(np.asarray(model._fit_X).T)
    if isinstance(model, HistGradientBoostingClassifier):
        return [np.asarray(each) for each in model._bin_mapper.bin_thresholds_]
    d = model.n_features_in_
    if isinstance(model, RandomForestClassifier):
        trees = [one.tree_ for one in model.estimators_]
        return [np.concatenate([tree.threshold[tree.feature == j] for tree in trees]) for j in range(d)]
    own = model.model_
    ends = np.cumsum(own.weights.n_knots)
    knots = np.split(own.weights.knots, ends[:-1])
    isolated, usual = own.shift + own.scale * own.isolated, own.usual
    return [
        np.concatenate(
            [usual.overall[j], usual.ranges[:, j].ravel(), own.shift[j] + own.scale[j] * knots[j], isolated[:, j]]
        )
        for j in range(d)
    ]


def n_rows_read(model: Any, X: Array) -> int:
    """How many rows can be read from a model, to `SAME_ROW` standard deviations."""
    given = readable(model)
    scale = X.std(axis=0) + 1e-12
    return int(sum((np.abs(given - row) / scale < SAME_ROW).all(axis=1).any() for row in X)) if len(given) else 0


def n_values_read(model: Any, X: Array) -> int:
    """How many cells of rows a model holds exactly, to `SAME_ROW` of a standard deviation at most."""
    total = 0
    for column, held in zip(X.T, numbers_in(model), strict=True):
        held = np.sort(held)
        if len(held):
            near = np.abs(held[np.clip(np.searchsorted(held, column), 0, len(held) - 1)] - column)
            before = np.abs(held[np.clip(np.searchsorted(held, column) - 1, 0, len(held) - 1)] - column)
            total += int((np.minimum(near, before) <= 1e-12 * max(1.0, float(np.abs(column).max()))).sum())
    return total


def measured(name: str, learner: str, X: Array, y: Array, inside: Array, n_files: int) -> dict[str, Any]:
    """The figures of all models of one kind; the arrays of the first few are searched."""
    odds, right, areas = np.empty(inside.shape), [], []
    tallies = np.zeros(6, dtype=np.int64)
    for i, is_in in enumerate(inside):
        model = LEARNERS[learner]().fit(X[is_in], y[is_in])
        odds[i] = log_odds(model, X, y)
        probabilities = model.predict_proba(X[~is_in])
        correct = model.classes_[probabilities.argmax(axis=1)] == y[~is_in]
        right.append(float(correct.mean()))
        areas.append(aurc(correct, probabilities.max(axis=1)))
        if i < n_files:
            known = confirmed(model, X)
            rows = X[is_in]
            tallies += [
                *(known[is_in].sum(), is_in.sum(), known[~is_in].sum()),
                *((~is_in).sum(), n_rows_read(model, rows), n_values_read(model, rows)),
            ]
    ratios = likelihood_ratios(odds, inside)
    return {
        "ratios": ratios,
        "right": np.array(right),
        "aurc": np.array(areas),
        "tallies": tallies,
    }


def parts(smallest: bool) -> Parts:
    few = (SETS[:1], [DEFAULT, "KNeighbors"], 60, 4, 1)
    return {"attacks": lambda: attacked(*few) if smallest else attacked(SETS, list(LEARNERS), MOST_ROWS, N_MODELS, 8)}


def attacked(names: tuple[str, ...], learners: list[str], most_rows: int, n_models: int, n_files: int) -> Tables:
    """Models of random halves of each set, attacked by their answers and by their files."""
    answers: Records = []
    files: Records = []
    price: Records = []
    for name in names:
        X, y = rows_of(name)
        drawn = np.random.default_rng(0).permutation(len(y))[:most_rows]
        X, y = X[drawn], y[drawn]
        random = np.random.default_rng(1)
        inside = np.array([random.permutation(len(y)) < len(y) // 2 for _ in range(n_models)])
        found = {learner: measured(name, learner, X, y, inside, n_files) for learner in learners}
        for learner, one in found.items():
            head = {"data": name, "model": learner}
            answers.append(head | by_answers(one["ratios"], inside))
            files.append(head | by_files(one["tallies"].tolist(), X.shape[1]))
        if WITHOUT in found:
            price.append({"data": name} | priced(found[DEFAULT], found[WITHOUT]))
    return {"answers": answers, "files": files} | ({"price": price} if price else {})


def by_answers(ratios: Array, inside: Array) -> dict[str, Any]:
    areas = np.array([roc_auc_score(is_in, row) for is_in, row in zip(inside, ratios, strict=True)])
    shares = np.array([found_at(row, is_in) for is_in, row in zip(inside, ratios, strict=True)])
    return {"AUC": interval(areas), "found at 1 %": interval(shares)}


def by_files(tallies: list[int], n_columns: int) -> dict[str, Any]:
    n_known, n_in, n_wrongly, n_out, n_read, n_values = tallies
    return {
        "confirmed": rate(n_known, n_in),
        "others": rate(n_wrongly, n_out),
        "rows read": rate(n_read, n_in),
        "values read": round(n_values / (n_in * n_columns), 3),
    }


def priced(usual: dict[str, Any], without: dict[str, Any]) -> dict[str, Any]:
    return {
        "accuracy": round(float(usual["right"].mean()), 4),
        "without rows": round(float(without["right"].mean()), 4),
        "difference": interval(without["right"] - usual["right"]),
        "AURC": round(float(usual["aurc"].mean()), 4),
        "AURC without rows": round(float(without["aurc"].mean()), 4),
        "difference of AURC": interval(without["aurc"] - usual["aurc"]),
    }
