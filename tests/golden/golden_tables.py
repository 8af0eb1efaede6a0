"""How odd tables are read, and what `look` says of them."""

from __future__ import annotations

from typing import Any

import golden_data as data
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from record import scenario

import sepc
from sepc import SEPClassifier


def odd(n_rows: int = 300) -> tuple[pd.DataFrame, Any]:
    """Numbers as texts with units, decimal commas, percents, missing words, dates of two styles, booleans, codes."""
    rng = np.random.default_rng(5)
    amount, share, age = rng.uniform(10, 5000, n_rows), rng.uniform(0, 1, n_rows), rng.integers(18, 90, n_rows)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n_rows), "D")
    y = np.where(amount / 5000 + share + age / 90 + 0.2 * rng.standard_normal(n_rows) > 1.5, "yes", "no")
    frame = pd.DataFrame(
        {
            "amount": [f"€ {value:,.2f}" for value in amount],
            "share": [f"{100 * value:.1f} %" for value in share],
            "weight": [f"{value:.3f}".replace(".", ",") for value in rng.normal(70, 10, n_rows)],
            "age": [str(value) for value in age],
            "seen": days.strftime("%d.%m.%Y"),
            "member": rng.choice(["true", "false"], n_rows),
            "ward": rng.choice(["north", "south", "unknown"], n_rows),
            "code": [f"{value:05d}" for value in rng.integers(0, 20, n_rows)],
        }
    )
    for name, word in (("amount", ""), ("age", "?"), ("seen", "-"), ("weight", "n/a")):
        frame.loc[rng.random(n_rows) < 0.04, name] = word
    return frame, y


def read(model: Any, X: Any) -> dict[str, Any]:
    found = model.decide(X[:15])
    return {
        "columns": model.preparation_.summary(),
        "labels": found.label,
        "trust": found.trust,
        "why": [found[i].why() for i in range(4)],
    }


@scenario
def texts_in_pandas() -> Any:
    X, y = odd()
    return read(SEPClassifier(max_ellipsoids=5).fit(X, y), X)


@scenario
def texts_in_polars() -> Any:
    X, y = odd()
    X = pl.from_pandas(X)
    return read(SEPClassifier(max_ellipsoids=5).fit(X, y), X)


@scenario
def typed_columns_in_arrow() -> Any:
    X, y = odd()
    rng = np.random.default_rng(6)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, len(X)), "D")
    table = pa.table(
        {
            "ward": pa.array(X["ward"].where(rng.random(len(X)) > 0.1)).dictionary_encode(),
            "age": pa.array([None if value == "?" else int(value) for value in X["age"]]),
            "seen": pa.array(days),
            "member": pa.array(X["member"] == "true"),
            "lasts": pa.array(pd.to_timedelta(rng.integers(1, 500, len(X)), "h")),
        }
    )
    y = np.where(np.array([value == "?" or int(value) > 50 for value in X["age"]]), "yes", "no")
    return read(SEPClassifier(max_ellipsoids=5).fit(table, y), table)


@scenario
def findings_of_odd_texts() -> Any:
    return str(sepc.look(*odd()))


@scenario
def findings_of_dirty_rows() -> Any:
    X, y, _, _ = data.loans()
    X, y = pd.concat([X] * 3, ignore_index=True), np.tile(y, 3)
    y = y.astype(object)
    y[:7], y[10:13] = "Paid", None
    return str(sepc.look(X.assign(outcome=[str(label).lower() == "paid" for label in y], constant=1), y))


@scenario
def findings_of_clean_sets() -> Any:
    found = {}
    for name in ("ecoli", "vehicle", "adult", "ilpd", "wine_quality_red", "electricity"):
        X, y, _, _ = data.rows_of(name, 2000)
        found[name] = str(sepc.look(X, y))
    return found


@scenario
def refusals() -> Any:
    X, y, others, _ = data.loans()
    model = data.loan_model()
    attempts = {
        "no column": lambda: model.decide(others.drop(columns="income")),
        "text for a number": lambda: model.decide(others.assign(income="many")),
        "no labels": lambda: SEPClassifier().fit(X, y[:5]),
        "one class": lambda: SEPClassifier().fit(X, ["paid"] * len(y)),
        "wrong parameter": lambda: SEPClassifier(trust="much").fit(X, y),
        "unfitted": lambda: SEPClassifier().decide(X),
        "no rows": lambda: SEPClassifier().fit(X[:0], y[:0]),
        "an array for a table": lambda: model.decide(np.zeros((2, 6))),
    }
    said = {}
    for name, attempt in attempts.items():
        try:
            said[name] = str(attempt())
        except Exception as error:  # noqa: BLE001 - what is said is what is recorded
            said[name] = f"{type(error).__name__}: {error}"
    return said
