"""Recourse with relations between columns: are they kept, and does the bound hold? Beside DiCE, if it is installed.

Each of 24 real sets, with its two most frequent labels, gets columns that go together: a sum, a product, two columns
computed by functions, zeros and a single one, a category with its number, a column that is 0 for one category, and two
columns of which one grows no faster than the other. Six rows of each ask for the other
label under relations of every kind; in two of the six, limits make it hard or impossible.

Answers are checked by plain arithmetic. The bound is attacked by random rows that keep all relations, drawn without the
code under test, and by a local search that starts from the cheapest of them. A claim that nothing can be reached is
attacked likewise, the local search minimising the distance from the ellipsoids. DiCE (`pip install dice-ml`) gets the
same model, rows and ranges; it knows of no relations. Costs are ours for both: deviations of numbers, and 1 for a
category. Times are of the processor, one thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import sepc
from sepc import SEPClassifier
from sepc.model.membership import squared_radii
from sepc_benchmarks.datasets import load
from sepc_benchmarks.dice import METHODS, DiceSearch, has_dice
from sepc_benchmarks.measure import arguments, save, show
from sepc_benchmarks.recourse import rounded

NAMES = (
    *("adult", "australian_credit", "banknote_authentication", "blood_transfusion", "ecoli", "electricity"),
    *("german_credit_numeric", "glass", "haberman", "heart_cleveland", "htru2", "ilpd", "ionosphere"),
    *("magic_gamma_telescope", "page_blocks", "parkinsons", "phoneme", "satimage", "segment", "sonar"),
    *("spambase", "vehicle", "wine_quality_red", "yeast"),
)
MOST_ROWS, MOST_COLUMNS = 1_000, 5
N_QUESTIONS, N_TRIES = 6, 100_000
ROUNDS, PROPOSALS = 30, 300
N_BESIDE = 2
YEARS = 5.0
GRADES = ("none", "low", "middle", "high")
POINTS = dict(zip(GRADES, (0, 4, 8, 12), strict=True))
ONE_HOT = ("near", "far", "farther")


def root_of_first(table: pd.DataFrame) -> pd.Series:
    """The function that computes a column."""
    return np.sqrt(np.abs(table["a"]))


def ratio_of_two(table: pd.DataFrame) -> pd.Series:
    """The function that computes another one."""
    return table["a"] / (1.0 + np.abs(table["c"]))


RELATIONS = (
    "total = a + b",
    "change(age) >= change(points) / 4",
    "product = b * c",
    ("ratio", ratio_of_two),
    "if grade = 'none' then extra = 0",
    "if grade != 'none' then extra >= 0.001",
    "near + far + farther = 1",
    "change(age) >= 0",
    f"change(age) <= {YEARS}",
    "change(months) <= 12 * change(age)",
    ("root", root_of_first),
    pd.DataFrame({"grade": list(POINTS), "points": list(POINTS.values())}),
)


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """The table with every column that follows from others computed."""
    return table.assign(
        total=table["a"] + table["b"],
        product=table["b"] * table["c"],
        ratio=ratio_of_two(table),
        root=np.sqrt(np.abs(table["a"])),
        points=table["grade"].map(POINTS).astype(int),
        extra=np.where(table["grade"] == "none", 0.0, np.maximum(table["extra"], 1e-3)),
    )


def keeps(rows: pd.DataFrame, before: pd.Series) -> np.ndarray:
    """Whether rows keep all relations, by plain arithmetic."""
    close = [
        np.isclose(rows["total"], rows["a"] + rows["b"], rtol=1e-7, atol=1e-7),
        np.isclose(rows["product"], rows["b"] * rows["c"], rtol=1e-7, atol=1e-7),
        np.isclose(rows["ratio"], rows["a"] / (1.0 + np.abs(rows["c"])), rtol=1e-7, atol=1e-7),
        np.isclose(rows["root"], np.sqrt(np.abs(rows["a"])), rtol=1e-7, atol=1e-7),
        rows["points"] == rows["grade"].astype(str).map(POINTS).astype(int),
        (rows["extra"] == 0.0) == (rows["grade"] == "none"),
        rows[list(ONE_HOT)].isin([0, 1]).all(axis=1) & (rows[list(ONE_HOT)].sum(axis=1) == 1),
    ]
    years = rows["age"] - before["age"]
    close += [
        (years >= -1e-9) & (years <= YEARS + 1e-6),
        rows["months"] - before["months"] <= 12.0 * years + 1e-5,
        years >= (rows["points"] - before["points"]) / 4.0 - 1e-7,
    ]
    return np.logical_and.reduce([np.asarray(own, dtype=bool) for own in close])


def table_of(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The numbers of a set, with columns that go together, and its two most frequent labels."""
    data, rng = load(name), np.random.default_rng(0)
    numbers = [own for own in data.features if pd.api.types.is_numeric_dtype(data.features[own])]
    several = sorted(numbers, key=lambda own: -min(data.features[own].nunique(), 50))[:MOST_COLUMNS]
    complete = data.features[several].notna().all(axis=1).to_numpy()
    labels, counts = np.unique(data.target[complete].astype(str), return_counts=True)
    used = np.flatnonzero(complete & np.isin(data.target.astype(str), labels[np.argsort(-counts)[:2]]))
    used = used[rng.permutation(len(used))[: MOST_ROWS + N_QUESTIONS * 5]]
    base = data.features.iloc[used][several].astype(float).reset_index(drop=True)
    base.columns = list("abcdefghij"[: len(several)])
    rank = base.rank(pct=True)
    n = len(base)
    noisy = np.clip(rank + 0.3 * rng.standard_normal(rank.shape), 0.0, 0.999)
    grade = np.array(GRADES, dtype=object)[(4.0 * noisy["b"]).astype(int)]
    place = (3.0 * noisy["c"]).astype(int).to_numpy()
    base = base.assign(
        grade=grade,
        extra=np.round(1.0 + 5.0 * noisy["b"] + rng.random(n), 3),
        age=np.round(20.0 + 40.0 * noisy["a"], 2),
        months=(120.0 * noisy["a"]).astype(int),
        **{column: (place == i).astype(int) for i, column in enumerate(ONE_HOT)},
    )
    return filled(base), data.target[used].astype(str)


@dataclass(frozen=True)
class Case:
    """A fitted model, its training rows, and rows that ask for the other label."""

    name: str
    model: SEPClassifier
    X: pd.DataFrame
    asking: pd.DataFrame
    labels: list[Any]

    def row(self, i: int) -> pd.DataFrame:
        """A row that asks."""
        return self.asking.iloc[[i]]

    def hard(self, i: int) -> dict[str, tuple[float | None, float | None]]:
        """Bounds that make two questions in six hard: a sum is to fall, and its parts to rise."""
        share = {2: 0.6, 5: 0.85}.get(i)
        if share is None:
            return {}
        X = self.X
        return {"total": (None, X["total"].quantile(1.0 - share)), "a": (X["a"].quantile(share), None)}

    def ends(self, i: int) -> tuple[pd.Series, pd.Series]:
        """The range of every number: that of training and of the row, or as the bounds say."""
        own = self.row(i)[self.numbers].iloc[0].astype(float)
        low = np.minimum(self.X[self.numbers].min(), own)
        high = np.maximum(self.X[self.numbers].max(), own)
        for name, (least, most) in self.hard(i).items():
            low[name] = min(low[name], most) if least is None else least
            high[name] = max(high[name], least) if most is None else most
        return low, high

    @cached_property
    def numbers(self) -> list[str]:
        """Columns of numbers."""
        return [name for name in self.X if name != "grade"]

    @cached_property
    def scale(self) -> np.ndarray:
        """A deviation of each number."""
        names = list(self.model.model_.feature_names)
        return np.array([self.model.model_.scale[names.index(name)] for name in self.numbers])

    def whole(self, i: int) -> list[str]:
        """Columns that were whole numbers in training, and are in the row: they stay so."""
        model, own = self.model.model_, self.asking.iloc[i]
        assert model.usual is not None
        always = (model.usual.overall % 1.0 == 0.0).all(axis=1)
        names = [name for name, is_whole in zip(model.feature_names, always, strict=True) if is_whole]
        return [name for name in names if name in self.numbers and float(own[name]) % 1.0 == 0.0]

    def costs(self, rows: pd.DataFrame, row: pd.Series) -> np.ndarray:
        """What it costs to become each of some rows, without the code under test."""
        steps = (rows[self.numbers] - row[self.numbers].astype(float)).to_numpy(dtype=float) / self.scale
        return np.sqrt((steps**2).sum(axis=1) + (rows["grade"].astype(str) != str(row["grade"])).to_numpy(dtype=float))

    def gauges(self, rows: pd.DataFrame, label: Any) -> np.ndarray:
        """The squared distance from the nearest ellipsoid of a label; at most 1 inside."""
        model = self.model.model_
        own = np.flatnonzero(model.classes[model.owners] == label)
        assert self.model.preparation_ is not None
        places = model.standardize(self.model.preparation_.rows_of(rows[self.X.columns]))
        return squared_radii(places, model.centers[own], model.roots[own]).min(axis=1)

    def allowed(self, rows: pd.DataFrame, i: int) -> np.ndarray:
        """Whether rows are within ranges and keep all relations."""
        low, high = self.ends(i)
        values = rows[self.numbers].to_numpy(dtype=float)
        within = ((low.to_numpy() - 1e-9 <= values) & (values <= high.to_numpy() + 1e-9)).all(axis=1)
        within &= (rows[self.whole(i)].to_numpy(dtype=float) % 1.0 == 0.0).all(axis=1)
        return within & keeps(rows, self.asking.iloc[i])


def case_of(name: str, n_questions: int) -> Case:
    X, y = table_of(name)
    n = len(X) - n_questions * 5 if len(X) > MOST_ROWS else len(X) * 4 // 5
    model = SEPClassifier(min_trust=0.8).fit(X[:n], y[:n])
    asking = X[n : n + n_questions]
    labels = [next(label for label in model.classes_ if label != own) for own in model.predict(asking)]
    return Case(name, model, X[:n], asking.reset_index(drop=True), labels)


def drawn(case: Case, i: int, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Random rows that keep all relations: some columns stay, others go towards those of training rows."""
    before = case.asking.iloc[i]
    donors = case.X.iloc[rng.integers(0, len(case.X), n)].reset_index(drop=True)
    rows = pd.DataFrame({name: np.full(n, before[name]) for name in case.X})
    rows["grade"] = rows["grade"].astype(object)
    base = [name for name in case.X if len(name) == 1]
    reach, whole = rng.random(n) ** rng.integers(0, 3, n), case.whole(i)
    for name in [*base, "extra"]:
        way = reach * rng.random(n) * (donors[name] - before[name]) * (rng.random(n) < 0.6)
        rows[name] = before[name] + (np.round(way) if name in whole else way)
    for least, most in case.hard(i).values():
        if least is not None:
            least = np.ceil(least) if "a" in whole else least
            rows["a"] = np.where(rng.random(n) < 0.8, np.maximum(rows["a"], least), rows["a"])
        elif most is not None:
            below = most - rows["a"] - rng.exponential(0.1, n) * case.X["b"].std() * (rng.random(n) < 0.5)
            below = np.floor(below) if "b" in whole else below
            rows["b"] = np.where(rng.random(n) < 0.6, np.minimum(rows["b"], below), rows["b"])
    changes = rng.random(n) < 0.4
    rows["grade"] = np.where(changes, donors["grade"], rows["grade"])
    moves = rng.random(n) < 0.4
    for name in ONE_HOT:
        rows[name] = np.where(moves, donors[name], rows[name]).astype(int)
    rows = filled(rows)
    needed = np.maximum((rows["points"] - before["points"]) / 4.0, 0.0)
    more = np.where(rng.random(n) < 0.6, np.maximum(YEARS - needed, 0.0) * rng.random(n), 0.0)
    rows["age"] = before["age"] + needed + more
    room = np.floor(12.0 * (needed + more) + 1e-9)
    toward = np.minimum(donors["months"] - before["months"], room)
    moved = np.where(rng.random(n) < 0.6, np.trunc(toward * rng.random(n)), 0.0)
    rows["months"] = (before["months"] + moved).astype(int)
    return rows


def nearby(case: Case, i: int, row: pd.Series, n: int, step: float, rng: np.random.Generator) -> pd.DataFrame:
    """Rows near one that keep all relations: numbers move a little, or back towards where they were."""
    before, whole = case.asking.iloc[i], case.whole(i)
    rows = pd.DataFrame({name: np.full(n, row[name]) for name in case.X})
    rows["grade"] = rows["grade"].astype(object)
    for name in [own for own in case.X if len(own) == 1] + ["extra"]:
        size = case.scale[case.numbers.index(name)]
        moves, returns = rng.random(n) < 0.4, rng.random(n) < 0.3
        rows[name] = rows[name] + step * size * rng.standard_normal(n) * moves
        rows[name] = rows[name] + np.where(returns, rng.random(n) * min(1.0, 10.0 * step), 0.0) * (
            before[name] - rows[name]
        )
        rows[name] = np.round(rows[name]) if name in whole else rows[name]
    rows["grade"] = np.where(rng.random(n) < 0.1, before["grade"], rows["grade"])
    rows = filled(rows)
    needed = np.maximum((rows["points"] - before["points"]) / 4.0, 0.0)
    gone = np.maximum(row["age"] - before["age"] + step * rng.standard_normal(n) * (rng.random(n) < 0.5), needed)
    rows["age"] = before["age"] + np.minimum(gone, YEARS)
    most = before["months"] + np.floor(12.0 * np.minimum(gone, YEARS) + 1e-9)
    moved = np.round(row["months"] + 30.0 * step * rng.standard_normal(n) * (rng.random(n) < 0.5))
    rows["months"] = np.minimum(moved, most).astype(int)
    return rows


@dataclass
class Attack:
    """What random rows and a local search found."""

    n_inside: int
    least: float
    least_after: float


def attack(case: Case, i: int, n_tries: int, rounds: int) -> Attack:
    """The cheapest row in an ellipsoid of the label that keeps everything, or if there is none, the nearest to one."""
    rng, label, before = np.random.default_rng(i), case.labels[i], case.asking.iloc[i]

    def judged(rows: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        rows = rows[case.allowed(rows, i)].reset_index(drop=True)
        gauges = case.gauges(rows, label) if len(rows) else np.empty(0)
        return rows, gauges, case.costs(rows, before) if len(rows) else np.empty(0)

    rows, gauges, costs = judged(drawn(case, i, n_tries, rng))
    if len(rows) == 0:
        return Attack(0, np.inf, np.inf)
    inside = gauges <= 1.0
    n_inside, least = int(inside.sum()), float(costs[inside].min(initial=np.inf))
    # Outside, being nearer is all that counts; inside, being cheaper.
    score = np.where(inside, costs, 1e6 * gauges)
    best, best_score = rows.iloc[int(score.argmin())], float(score.min())
    for step in np.geomspace(0.3, 1e-3, rounds):
        rows, gauges, costs = judged(nearby(case, i, best, PROPOSALS, float(step), rng))
        score = np.where(gauges <= 1.0, costs, 1e6 * gauges)
        if len(rows) and score.min() < best_score:
            best, best_score = rows.iloc[int(score.argmin())], float(score.min())
    return Attack(n_inside, least, min(least, best_score) if best_score < 1e6 else np.inf)


def asked(case: Case, i: int) -> tuple[sepc.Recourse, float]:
    started = time.process_time()
    found = sepc.recourse(case.model, case.row(i), to=case.labels[i], relations=RELATIONS, bounds=case.hard(i))
    return found, time.process_time() - started


def questions(case: Case, n_questions: int, n_tries: int, rounds: int) -> dict[str, Any]:
    """All questions of a model: what was answered, what was violated, and what the attacks found."""
    answers, wrong, seconds, bounds, costs = 0, 0, [], [], []
    cheaper, cheaper_after, claims, broken, tried, different = 0, 0, 0, 0, 0, []
    for i in range(n_questions):
        found, took = asked(case, i)
        seconds.append(took)
        rows = [answer.row for answer in found.answers]
        for answer in rows:
            accepted = case.model.decide(answer)
            is_it = bool(accepted.accepted[0] and accepted.label[0] == case.labels[i])
            answers, wrong = answers + 1, wrong + (not (case.allowed(answer, i)[0] and is_it))
        different.append(len(rows))
        attacked = attack(case, i, n_tries, rounds)
        tried += attacked.n_inside
        if found.is_reachable:
            cheaper += attacked.least < found.bound - 1e-6
            cheaper_after += attacked.least_after < found.bound - 1e-6
            bounds.append(found.bound)
        else:
            claims += 1
            broken += bool(np.isfinite(attacked.least_after))
        costs += [found.answers[0].cost] if found.answers else []
    return {
        "set": case.name,
        "features": len(case.model.model_.shift),
        "ellipsoids": case.model.model_.n_ellipsoids,
        "questions": n_questions,
        "with an answer": sum(n > 0 for n in different),
        "answers": answers,
        "violating": wrong,
        "bound": rounded(bounds),
        "cost": rounded(costs),
        "tries inside": tried,
        "cheaper, tries": cheaper,
        "cheaper, local search": cheaper_after,
        "out of reach": claims,
        "refuted": broken,
        "s": round(float(np.median(seconds)), 2),
    }


def by_dice(method: str) -> Callable[[Case, int], pd.DataFrame | None]:
    """One counterfactual for a row of a case by DiCE, within the same ranges; None if it finds none in time."""

    def ask(case: Case, i: int) -> pd.DataFrame | None:
        low, high = case.ends(i)
        ranges = {name: (low[name], high[name]) for name in case.numbers}
        search = DiceSearch(method, case.model, case.X, case.numbers, case.model.min_trust)
        return search.ask(case.row(i), case.labels[i], ranges, list(case.X))

    return ask


def ours(case: Case, i: int) -> pd.DataFrame | None:
    options: dict[str, Any] = {"relations": RELATIONS, "bounds": case.hard(i), "n_answers": 1}
    found = sepc.recourse(case.model, case.row(i), to=case.labels[i], **options)
    return found.answers[0].row if found.answers else None


def ways() -> dict[str, Callable[[Case, int], pd.DataFrame | None]]:
    """Ours, and those of DiCE if it is installed."""
    return {"sepc": ours} | ({f"DiCE, {method}": by_dice(method) for method in METHODS} if has_dice() else {})


class Given(NamedTuple):
    """An answer, or none: whether it is accepted and keeps all relations, its cost, distance and seconds."""

    is_accepted: bool
    keeps_all: bool
    cost: float
    to_nearest: float
    seconds: float


def given_by(ask: Callable[[Case, int], pd.DataFrame | None], case: Case, i: int) -> Given:
    """The answer to one question."""
    started = time.process_time()
    row = ask(case, i)
    seconds = time.process_time() - started
    if row is None:
        return Given(False, False, np.nan, np.nan, seconds)
    decided = case.model.decide(row)
    is_accepted = bool(decided.label[0] == case.labels[i] and decided.accepted[0])
    cost, nearest = float(case.costs(row, case.asking.iloc[i])[0]), float(case.costs(case.X, row.iloc[0]).min())
    return Given(is_accepted, is_accepted and bool(case.allowed(row, i)[0]), cost, nearest, seconds)


def beside(given: dict[str, list[Given]]) -> list[dict[str, Any]]:
    """The answers to the same questions, by each way."""
    return [
        {
            "by": way,
            "questions": len(answers),
            "accepted": sum(own.is_accepted for own in answers),
            "all relations kept": sum(own.keeps_all for own in answers),
            "cost": rounded([own.cost for own in answers if own.is_accepted]),
            "to nearest training row": rounded([own.to_nearest for own in answers if own.is_accepted]),
            "s": round(float(np.median([own.seconds for own in answers])), 2),
        }
        for way, answers in given.items()
    ]


def main() -> None:
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    names: tuple[str, ...]
    names, n_questions, n_tries, rounds, n_beside = NAMES, N_QUESTIONS, N_TRIES, ROUNDS, N_BESIDE
    if options.smallest:
        names, n_questions, n_tries, rounds, n_beside = ("haberman",), 3, 3_000, 5, 1
    records: list[dict[str, Any]] = []
    given: dict[str, list[Given]] = {}
    for name in names:
        case = case_of(name, n_questions)
        records.append(questions(case, n_questions, n_tries, rounds))
        print(records[-1], flush=True)  # noqa: T201
        for way, ask in ways().items():
            given.setdefault(way, []).extend(given_by(ask, case, i) for i in range(n_beside))
    tables = {"questions": records, "beside": beside(given)}
    for title, own in tables.items():
        show(title, own)
    if options.output:
        save(options.output, tables)


if __name__ == "__main__":
    main()
