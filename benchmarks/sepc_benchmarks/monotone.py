"""What monotone constraints cost, and whether they hold: six real sets, twenty made ones, and a million pairs of rows.

Of each real set some directions are known: more schooling and longer hours in adult, more vessels in heart disease.
`accuracy` compares models with and without constraints in five folds, on at most 3,000 rows of a set. `cost` repeats
the folds for our models, free, with standalone features and with monotone ones, and gives differences per row with
their standard errors; of adult, each repetition fits to 2,400 rows and tests on 10,000 others. `violations`
counts pairs of rows that differ in a monotone feature alone, where the row with the better value gets a probability
that is lower by more than 1e-12. Values come from test rows, and from up to a thousand deviations beyond them; other
features from test rows, from far beyond them, and with missing values in a tenth of the pairs. `exports` does the same
for a model in a file, in ONNX and in a database. `small` fits to a few rows with noise in the labels, and tests on
5,000 others without. `certificate` has the duality gap of fits of the weights.

EBM is fitted with one outer bag. LightGBM is left out if it is not installed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import sepc
from sepc import SEPClassifier
from sepc.metrics import aurc
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import save, show

# What is known of the last of two classes.
KNOWN: dict[str, dict[str, str]] = {
    "heart_cleveland": {"ca": "up", "oldpeak": "up", "thalach": "down"},
    "blood_transfusion": {"recency_months": "down", "frequency_times": "up"},
    "haberman": {"positive_axillary_nodes": "up"},
    "mammographic_masses": {"age": "up", "shape": "up", "margin": "up"},
    "wdbc": {"worst area": "down", "worst texture": "down", "worst concave points": "down"},
    "adult": {"education_num": "up", "hours_per_week": "up"},
}
MOST_ROWS, N_FOLDS, N_REPEATS, N_MADE, N_PAIRS = 3_000, 5, 3, 20, 10**6
# Of a set with more rows than this, `cost` fits to so many and tests on so many others.
MANY_ROWS, FITTED, TESTED = 5_000, 2_400, 10_000
SMALL_ROWS, N_SMALL, FLIPPED, N_TEST = (50, 100, 200), 10, 0.1, 5_000
ROUNDING = 1e-12
# How far pairs lie and whether values are missing, with the share of such pairs; neither ONNX nor SQL impute values.
WAYS = ((False, False, 0.5), (True, False, 0.4), (True, True, 0.1))
COMPLETE = ((False, False, 0.5), (True, False, 0.5))
SIGNS = {"up": 1, "down": -1}
TABLES = ("accuracy", "cost", "violations", "exports", "small", "certificate")

Table = tuple[pd.DataFrame, Any]


@dataclass(frozen=True)
class Sizes:
    """How much of everything to run."""

    sets: tuple[str, ...]
    n_rows: int
    n_folds: int
    n_repeats: int
    n_made: int
    n_pairs: int
    small_rows: tuple[int, ...]
    n_small: int


ALL = Sizes(tuple(KNOWN), MOST_ROWS, N_FOLDS, N_REPEATS, N_MADE, N_PAIRS, SMALL_ROWS, N_SMALL)
SMALLEST = Sizes(("haberman",), 150, 2, 1, 1, 400, (50,), 1)


def real(name: str, most: int) -> Table:
    """A real set, with text as categories, and whether a row is of the last class."""
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        y = y.to_numpy()
    else:
        data = load(name)
        X, y = data.features, np.asarray(data.target)
    y = (y == np.unique(y)[-1]).astype(int) if len(np.unique(y)) == 2 else (y > np.unique(y)[0]).astype(int)
    texts = [column for column in X.columns if X[column].dtype.kind not in "fiu"]
    X = X.astype(dict.fromkeys(texts, "category"))
    chosen = np.random.default_rng(0).permutation(len(X))[:most]
    return X.iloc[chosen].reset_index(drop=True), y[chosen]


def made(seed: int, n: int) -> tuple[pd.DataFrame, Any, dict[str, str]]:
    """A set of `seed`: rising, falling and bending effects, a product of two features, a category and noise."""
    rng, truth = np.random.default_rng([seed, n]), np.random.default_rng(seed)
    d = 3 + seed % 5
    X = pd.DataFrame(rng.standard_normal((n, d)), columns=[f"x{j}" for j in range(d)])
    X["group"] = pd.Categorical(rng.choice(list("abc"), n))
    steep, bend, both = truth.uniform(0.3, 2.0, 3)
    score = steep * np.tanh(X.x0) - np.exp(0.5 * X.x1) + bend * X.x2**2 + both * X.x2 * X[f"x{d - 1}"]
    score = score + X.group.map({"a": 0.5, "b": 0.0, "c": -0.5}).astype(float)
    y = (score + rng.logistic(size=n) > float(bend)).astype(int).to_numpy()
    return X, y, {"x0": "up", "x1": "down"}


def learners(known: Mapping[str, str], columns: list[str]) -> dict[str, Callable[[], Any]]:
    """Models with constraints, and without."""
    signs = [SIGNS.get(known.get(column, ""), 0) for column in columns]
    of_columns = {column: SIGNS[direction] for column, direction in known.items()}
    found: dict[str, Callable[[], Any]] = {
        "SEP-C": SEPClassifier,
        "SEP-C, monotone": lambda: SEPClassifier(monotone=dict(known)),
        "HGB": lambda: HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0),
        "HGB, monotone": lambda: HistGradientBoostingClassifier(
            categorical_features="from_dtype", monotonic_cst=of_columns, random_state=0
        ),
    }
    try:
        from lightgbm import LGBMClassifier

        quiet = {"verbose": -1, "n_jobs": 1, "random_state": 0}
        found["LightGBM"] = lambda: LGBMClassifier(**quiet)
        found["LightGBM, monotone"] = lambda: LGBMClassifier(monotone_constraints=signs, **quiet)
    except ImportError:
        print("lightgbm is not installed, and is left out.", file=sys.stderr)
    from interpret.glassbox import ExplainableBoostingClassifier

    few = {"n_jobs": 1, "outer_bags": 1, "random_state": 0}
    found["EBM"] = lambda: ExplainableBoostingClassifier(**few)
    found["EBM, monotone"] = lambda: ExplainableBoostingClassifier(monotone_constraints=signs, **few)
    return found


def pairs(X: pd.DataFrame, feature: str, n: int, seed: int, *, far: bool, gaps: bool) -> Table:
    """Rows of `X`, and the same with a larger value of one feature."""
    rng = np.random.default_rng([seed, n, far, gaps])
    rows = X.iloc[rng.integers(len(X), size=n)].reset_index(drop=True)
    numbers = [column for column in X.columns if X[column].dtype.kind in "fiu"]
    rows[numbers] = rows[numbers].astype(float)
    deviation = X[feature].astype(float).std()
    if far:
        rows[numbers] += (
            rng.standard_normal((n, len(numbers))) * X[numbers].std().to_numpy() * rng.choice([1, 30], (n, 1))
        )
    if gaps:
        rows = rows.mask(rng.random(rows.shape) < 0.2)
    known = X[feature].dropna().to_numpy(dtype=float)
    values = rng.choice(known, n) + deviation * (rng.standard_normal(n) * 10.0 ** rng.integers(0, 4, n) if far else 0.0)
    step = np.abs(rng.choice(known, n) - rng.choice(known, n))
    step = np.where(rng.random(n) < 0.5, step, deviation * rng.exponential(size=n))
    return rows.assign(**{feature: values}), rows.assign(**{feature: values + step})


def count(
    decide: Callable[[pd.DataFrame], Any],
    X: pd.DataFrame,
    known: Mapping[str, str],
    n: int,
    ways: tuple[tuple[bool, bool, float], ...] = WAYS,
) -> dict[str, Any]:
    """Violations among about `n` pairs, how many of them differ at all, and the largest violation."""
    found: dict[str, Any] = {"pairs": 0, "moved": 0, "violations": 0, "largest": 0.0}
    for i, (feature, direction) in enumerate(known.items()):
        for far, gaps, share in ways:
            lower, higher = pairs(X, feature, round(share * n / len(known)), i, far=far, gaps=gaps)
            gain = SIGNS[direction] * (decide(higher) - decide(lower))
            found["pairs"] += len(gain)
            found["moved"] += int((gain != 0.0).sum())
            found["violations"] += int((gain < -ROUNDING).sum())
            found["largest"] = max(found["largest"], -float(gain.min(initial=0.0)))
    return found


def accuracy(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Accuracy, AURC, log loss and time of every model in folds, and its violations on the test rows of the first."""
    for name in sizes.sets:
        X, y = real(name, sizes.n_rows)
        known, folds = KNOWN[name], StratifiedKFold(sizes.n_folds, shuffle=True, random_state=0)
        for learner, make in learners(known, list(X.columns)).items():
            right, trust, losses, seconds, wrong = [], [], [], [], {}
            for fold, (train, test) in enumerate(folds.split(X, y)):
                started = time.process_time()
                model = clone(make()).fit(X.iloc[train], y[train])
                seconds.append(time.process_time() - started)
                p = np.asarray(model.predict_proba(X.iloc[test]))
                right.append((p[:, 1] > 0.5) == y[test])
                trust.append(p.max(axis=1))
                losses.append(log_loss(y[test], np.clip(p, 1e-9, 1.0)))
                if fold == 0:
                    decide = lambda rows, model=model: np.asarray(model.predict_proba(rows))[:, 1]  # noqa: E731
                    wrong = count(decide, X.iloc[test], known, 20_000 if sizes is ALL else 200)
            scored = np.concatenate(right)
            yield {
                "data set": name,
                "model": learner,
                "accuracy": float(scored.mean()),
                "AURC": float(aurc(scored, np.concatenate(trust))),
                "log loss": float(np.mean(losses)),
                "seconds": float(np.median(seconds)),
                "pairs": wrong["pairs"],
                "violations": wrong["violations"],
                "largest": wrong["largest"],
            }
            print(f"accuracy: {name}, {learner}", file=sys.stderr, flush=True)


def cost(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """How accuracy and log loss change with standalone and with monotone features, row by row, and their mean."""
    ways = {"standalone": "features_alone", "monotone": "monotone"}
    found: dict[str, list[tuple[float, float]]] = {f"{way}, {what}": [] for way in ways for what in ("acc", "loss")}
    for name in sizes.sets:
        X, y = real(name, 10**6 if sizes is ALL else sizes.n_rows)
        free = _out_of_fold(X, y, sizes, {})
        right = ((free > 0.5) == y)[_is(free)]
        row: dict[str, Any] = {"data set": name, "accuracy, free": float(right.mean())}
        for way, parameter in ways.items():
            known = KNOWN[name] if parameter == "monotone" else list(KNOWN[name])
            bound = _out_of_fold(X, y, sizes, {parameter: known})
            gains = {
                "acc": ((bound > 0.5) == y) * 1.0 - ((free > 0.5) == y),
                "loss": _losses(bound, y) - _losses(free, y),
            }
            for what, gain in gains.items():
                found[f"{way}, {what}"].append(_mean_and_error(gain, _is(free)))
            row |= _as_columns(way, [found[f"{way}, {what}"][-1] for what in gains])
        yield row
        print(f"cost: {name}", file=sys.stderr, flush=True)
    row = {"data set": "mean", "accuracy, free": ""}
    for way in ways:
        means = [np.array(found[f"{way}, {what}"]) for what in ("acc", "loss")]
        row |= _as_columns(way, [(each[:, 0].mean(), np.sqrt((each[:, 1] ** 2).sum()) / len(each)) for each in means])
    yield row


def _out_of_fold(X: pd.DataFrame, y: Any, sizes: Sizes, options: dict[str, Any]) -> Any:
    """Probabilities of the second class for rows not fitted to, of shape (repetitions, rows); NaN if there is none."""
    p = np.full((sizes.n_repeats, len(X)), np.nan)
    for repeat in range(sizes.n_repeats):
        order = np.random.default_rng([7, repeat]).permutation(len(X))
        splits = [(order[:FITTED], order[FITTED : FITTED + TESTED])]
        if len(X) <= MANY_ROWS:
            splits = StratifiedKFold(sizes.n_folds, shuffle=True, random_state=100 + repeat).split(X, y)
        for train, test in splits:
            model = SEPClassifier(**options).fit(X.iloc[train], y[train])
            p[repeat, test] = model.predict_proba(X.iloc[test])[:, 1]
    return p


def _is(p: Any) -> Any:
    return ~np.isnan(p)


def _losses(p: Any, y: Any) -> Any:
    return -np.log(np.clip(np.where(y == 1, p, 1.0 - p), 1e-9, 1.0))


def _mean_and_error(gain: Any, is_known: Any) -> tuple[float, float]:
    """The mean of the rows, each averaged over repetitions, and its standard error."""
    rows = np.flatnonzero(is_known.any(axis=0))
    each = np.nanmean(np.where(is_known, gain, np.nan)[:, rows], axis=0)
    return float(each.mean()), float(each.std() / np.sqrt(len(each)))


def _as_columns(way: str, pairs: list[tuple[float, float]]) -> dict[str, str]:
    """Differences with their standard errors, in words."""
    names = (f"accuracy, {way}", f"log loss, {way}")
    return {name: f"{mean:+.4f} ± {error:.4f}" for name, (mean, error) in zip(names, pairs, strict=True)}


def constrained(sizes: Sizes) -> Iterator[tuple[str, SEPClassifier, pd.DataFrame, dict[str, str]]]:
    """A model with constraints for every set, with rows it has not seen."""
    for name in sizes.sets:
        X, y = real(name, sizes.n_rows)
        half = len(X) // 2
        yield name, SEPClassifier(monotone=KNOWN[name]).fit(X[:half], y[:half]), X[half:], KNOWN[name]
    for seed in range(sizes.n_made):
        X, y, known = made(seed, 400)
        yield f"made {seed}", SEPClassifier(monotone=known).fit(X, y), made(seed, 1_000)[0], known


def second(probabilities: Callable[[pd.DataFrame], Any], rows: pd.DataFrame) -> Any:
    """The probability of the second class."""
    return probabilities(rows)[:, 1]


def violations(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Violations of our models on all sets; the made ones in one line."""
    n_each = sizes.n_pairs // (len(sizes.sets) + sizes.n_made)
    together: dict[str, Any] = {"data set": f"{sizes.n_made} made sets"}
    for name, model, X, known in constrained(sizes):
        found = count(partial(second, model.predict_proba), X, known, n_each)
        if name.startswith("made"):
            kept = together
            together = {"data set": kept["data set"]} | {key: kept.get(key, 0) + found[key] for key in found}
            together["largest"] = max(kept.get("largest", 0.0), found["largest"])
        else:
            yield {"data set": name, **found}
        print(f"violations: {name}", file=sys.stderr, flush=True)
    yield together


def exports(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Violations of a model that was saved and read, in ONNX, and in DuckDB."""
    import duckdb
    import onnxruntime

    from sepc.onnx import export as to_onnx
    from sepc.sql import export as to_sql

    name = "wdbc" if "wdbc" in sizes.sets else sizes.sets[0]
    X, y = real(name, sizes.n_rows)
    known, half = KNOWN[name], len(X) // 2
    model, n = SEPClassifier(monotone=known).fit(X[:half], y[:half]), 60_000 if sizes is ALL else 100
    with tempfile.TemporaryDirectory() as folder:
        sepc.save(model, Path(folder) / "model.sepc")
        to_onnx(model, Path(folder) / "model.onnx")
        again = sepc.load(Path(folder) / "model.sepc")
        session = onnxruntime.InferenceSession(str(Path(folder) / "model.onnx"), providers=["CPUExecutionProvider"])

    def by_onnx(rows: pd.DataFrame) -> Any:
        return session.run(["probabilities"], {"X": rows.to_numpy(dtype=np.float64)})[0][:, 1]

    statement = to_sql(model, "duckdb", "rows_to_decide")

    def by_sql(rows: pd.DataFrame) -> Any:
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        connection.register("rows_to_decide", rows)
        answer = connection.sql(statement).df()
        return np.where(answer.sepc_label == 1, answer.sepc_trust, 1.0 - answer.sepc_trust)

    ways = {"Python": model.predict_proba, "saved and read": again.predict_proba}
    for way, decide in ways.items():
        yield {"way": way, **count(partial(second, decide), X[half:], known, n, COMPLETE)}
    yield {"way": "ONNX", **count(by_onnx, X[half:], known, n, COMPLETE)}
    yield {"way": "DuckDB", **count(by_sql, X[half:], known, n // 6, COMPLETE)}


def small(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """Few rows with noise in a tenth of the labels: accuracy and log loss with and without constraints."""
    for n in sizes.small_rows:
        scores: dict[str, list[tuple[float, float]]] = {"free": [], "monotone": []}
        for seed in range(sizes.n_small):
            X, y, known = made(seed, n)
            flipped = np.where(np.random.default_rng(seed).random(n) < FLIPPED, 1 - y, y)
            X_new, y_new, _ = made(seed, N_TEST)
            for way, monotone in (("free", None), ("monotone", known)):
                p = SEPClassifier(monotone=monotone).fit(X, flipped).predict_proba(X_new)
                loss = log_loss(y_new, np.clip(p, 1e-9, 1.0))
                scores[way].append((float(((p[:, 1] > 0.5) == y_new).mean()), float(loss)))
        free, bound = (np.array(scores[way]) for way in ("free", "monotone"))
        yield {
            "rows": n,
            "sets": sizes.n_small,
            "accuracy, free": float(free[:, 0].mean()),
            "accuracy, monotone": float(bound[:, 0].mean()),
            "log loss, free": float(free[:, 1].mean()),
            "log loss, monotone": float(bound[:, 1].mean()),
            "better in": int((bound[:, 1] < free[:, 1]).sum()),
        }
        print(f"small: {n}", file=sys.stderr, flush=True)


def certificate(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """The duality gap, the rounds and the time of fits of the weights, with and without constraints."""
    from sepc.estimators.sep import weighing

    for name in sizes.sets:
        X, y = real(name, sizes.n_rows)
        row: dict[str, Any] = {"data set": name}
        for way, monotone in (("free", None), ("monotone", KNOWN[name])):
            fits: list[Any] = []
            solve = weighing.fit_softmax

            def watched(*args: Any, solve: Any = solve, fits: list[Any] = fits, **options: Any) -> Any:
                started = time.process_time()
                fit = solve(*args, **options)
                fits.append((fit, time.process_time() - started))
                return fit

            weighing.fit_softmax = watched
            try:
                SEPClassifier(monotone=monotone).fit(X, y)
            finally:
                weighing.fit_softmax = solve
            fit, seconds = fits[-1]
            row |= {f"gap, {way}": fit.gap, f"rounds, {way}": fit.n_rounds, f"ms, {way}": 1000 * seconds}
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON, beside those it has")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES, help="which tables to make")
    options = parser.parse_args()
    sizes = SMALLEST if options.smallest else ALL
    tables: dict[str, list[dict[str, Any]]] = {}
    if options.output is not None and options.output.exists():
        known = json.loads(options.output.read_text(encoding="utf-8"))
        tables = {name: known[name] for name in TABLES if name in known}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in options.tables:
            tables[name] = []
            for record in globals()[name](sizes):
                tables[name].append(record)
                save(options.output, tables)
            show(name, tables[name])


if __name__ == "__main__":
    main()
