"""Models of every kind, small and quick to fit, with rows as callers send them."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sepc
from sepc.lifecycle import repair

from sepc_desk.models import ModelFolder

Table = tuple[pd.DataFrame, np.ndarray]


def loans(n: int = 300, seed: int = 0) -> Table:
    """Numbers and a category, as in the documentation."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "amount": (1000 * rng.gamma(3, 1.5, n)).round(),
            "months": rng.integers(6, 60, n),
            "income": (1000 * rng.gamma(8, 0.4, n)).round(),
            "home": rng.choice(["own", "rent"], n),
            "age": rng.integers(19, 75, n),
        }
    )
    burden = table["amount"] / table["months"] / table["income"] * 12 + 0.4 * (table["home"] == "rent")
    return table, np.where(burden + 0.1 * rng.standard_normal(n) > 1.0, "late", "paid")


def patients(n: int = 240, seed: int = 0) -> Table:
    """Numbers, categories of text and of numbers, dates with times, an id, and gaps in all of them."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(["east", "north", "west ü"], size=n).astype(object)
    stage = rng.choice([1.0, 2.0, 3.5], size=n)
    days = rng.integers(0, 1200, size=n) + rng.random(n).round(3)
    table = pd.DataFrame(
        {
            "age": rng.normal(60, 12, size=n).round(1),
            "dose": rng.gamma(2.0, 2.0, size=n),
            "ward": ward,
            "stage": pd.Categorical(stage),
            "since": pd.Timestamp("2021-03-01") + pd.to_timedelta(days, unit="D"),
        }
    )
    score = (table["age"] - 60) / 12 + 1.5 * (ward == "east") + (stage - 2.0) - (days - 600) / 600 + table["dose"] / 4
    labels = np.where(score + 0.4 * rng.standard_normal(n) > 1.5, "ill", "well")
    holes = pd.DataFrame(rng.random((n, 5)) < 0.08, columns=table.columns)
    return table.mask(holes).assign(key=[f"p{i}" for i in range(n)]), labels


def orders(n: int = 240, seed: int = 0) -> Table:
    """Numbers and dates that training reads from text, and a duration."""
    rng = np.random.default_rng(seed)
    amount, weight = rng.lognormal(7, 1, n).round(2), rng.normal(72, 9, n).round(1)
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    took, ward = rng.integers(60, 9000, n), rng.choice(["a", "b"], n)
    table = pd.DataFrame(
        {
            "amount": [f"€ {x:,.2f}" for x in amount],
            "weight": [f"{x} kg".replace(".", ",") for x in weight],
            "day": day.strftime("%d/%m/%Y"),
            "took": [f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in took],
            "ward": ward,
        }
    )
    score = np.log(amount) - 7 + (weight - 72) / 9 + (took - 4500) / 3000 + (ward == "a") - 0.5
    return table, np.where(score + 0.4 * rng.standard_normal(n) > 0, "late", "on time")


def accounts(n: int = 200, seed: int = 0) -> Table:
    """A category of 64-bit numbers beside a number."""
    rng = np.random.default_rng(seed)
    branch = rng.choice(np.array([2**53 + 1, 2**53 + 2, 2**62 + 3], dtype=np.int64), n)
    x = rng.standard_normal(n)
    y = np.where(x + 1.0 * (branch == 2**53 + 1) + 0.3 * rng.standard_normal(n) > 0.4, 1, 0)
    return pd.DataFrame({"branch": branch, "x": x}), y


def wdbc() -> Table:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :10], y.to_numpy()


@cache
def model(name: str) -> tuple[Any, list[dict[str, Any]]]:
    """A fitted model, and rows as JSON has them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted, table = BUILDERS[name]()
    return fitted, rows_of(table)


def _plain(table: Table, **options: Any) -> tuple[Any, pd.DataFrame]:
    return sepc.SEPClassifier(**options).fit(*table), table[0].drop(columns="key", errors="ignore")


def _cells(**options: Any) -> tuple[Any, pd.DataFrame]:
    X, y = wdbc()
    return sepc.SEPClassifier(**options).fit(X[::2], y[::2]), X[1::2]


def _published() -> tuple[Any, pd.DataFrame]:
    X, y = wdbc()
    return sepc.SEPClassifier.as_published().fit(X[::2], y[::2]), X[1::2]


def _unnamed() -> tuple[Any, pd.DataFrame]:
    X, y = wdbc()
    rows = X.to_numpy()
    names = [f"x{j}" for j in range(rows.shape[1])]
    return sepc.SEPClassifier().fit(rows[::2], y[::2]), pd.DataFrame(rows[1::2], columns=names)


def _around(kind: Any, **options: Any) -> tuple[Any, pd.DataFrame]:
    table = loans()
    return kind(sepc.SEPClassifier(), **options).fit(*table), table[0]


def _repaired() -> tuple[Any, pd.DataFrame]:
    base = sepc.SEPClassifier().fit(*loans(200))
    later, truth = loans(seed=1)
    flipped = np.where((later["home"] == "rent") & (later["age"] > 40), "late", truth)
    return repair(base, later, flipped), later


BUILDERS: dict[str, Callable[[], tuple[Any, pd.DataFrame]]] = {
    "loans": lambda: _plain(loans()),
    "patients": lambda: _plain(patients()),
    "orders": lambda: _plain(orders()),
    "accounts": lambda: _plain(accounts(), categorical_features=["branch"]),
    "wdbc": _cells,
    "wdbc-unnamed": _unnamed,
    "wdbc-counts": lambda: _cells(n_impure=2, trust="counts"),
    "wdbc-published": _published,
    "promise": lambda: _around(sepc.SelectiveClassifier, max_risk=0.1),
    "promise-by-home": lambda: _around(sepc.SelectiveClassifier, max_risk=0.3, by=["home"]),
    "strata": lambda: _around(sepc.RoutedClassifier, by=["home"]),
    "repaired": _repaired,
}
NAMES = tuple(BUILDERS)


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table as a caller sends them: plain numbers and text, null for gaps, dates as ISO text."""
    return [{str(name): _cell(value) for name, value in row.items()} for row in table.to_dict("records")]


def _cell(value: Any) -> Any:
    if value is None or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value


@cache
def served(name: str) -> Any:
    """A model as the service loads it."""
    from sepc_desk.models import ModelFolder

    with tempfile.TemporaryDirectory() as folder:
        return ModelFolder(save_models(Path(folder), [name])).load(name)


def save_models(folder: Path, names: list[str] | None = None) -> Path:
    """A folder of models as the service takes it."""
    from sepc_desk.models import ModelFolder

    folder.mkdir(exist_ok=True)
    for name in names or NAMES:
        file = folder / f"{name}.unsorted"
        sepc.save(model(name)[0], file)
        ModelFolder(folder).add(name, file)
        file.unlink()
    return folder


def with_versions(home: Path) -> tuple[ModelFolder, list[str]]:
    """A folder of models, and three versions of one of them."""
    folder = ModelFolder(save_models(home / "models", ["loans", "wdbc"]))
    versions = [folder.first_digest("loans")]
    for seed in (1, 2):
        sepc.save(sepc.SEPClassifier().fit(*loans(200, seed)), home / f"{seed}.sepc")
        versions.append(folder.add("loans", home / f"{seed}.sepc"))
    return folder, versions
