"""What becomes of tables as people export them, beside what a careful person would do? Seconds.

Twenty tables of 400 rows. Every one declares an outcome for each of its columns, and for its rows and labels if
something is said of them.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

import sepc
from sepc.columns.kinds import Column, kinds_of
from sepc.looking.findings import Severity
from sepc_benchmarks.measure import Parts

N_ROWS = 400

# What becomes of a column; of one that is in doubt, a finding says what to do.
NUMBER, DATE, CATEGORY, LEFT_OUT = "number", "date", "category", "left out"
ASKED = "asked about"
# What becomes of rows and labels of which there is something to say.
NAMED = "named"


@dataclass(frozen=True)
class Made:
    """A table with its labels, and the values that its texts stand for."""

    table: pd.DataFrame
    y: Any
    meant: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RawTable:
    """A table to look at.

    Attributes
    ----------
    holds : str
        What is in it.
    person : str
        What a careful person would do.
    make : callable
        Makes it from a random generator.
    careful : dict
        The outcome that the person would want, by column; also of "rows" and "labels".
    ours : dict or None
        What `sepc` makes of it, if that is something else.
    difference : str
        How that differs.
    """

    holds: str
    person: str
    make: Callable[[np.random.Generator], Made]
    careful: dict[str, str]
    ours: dict[str, str] | None = None
    difference: str = ""

    @property
    def declared(self) -> dict[str, str]:
        """What `sepc` should make of it."""
        return self.careful if self.ours is None else self.ours


def labels_by(score: Any, rng: np.random.Generator) -> Any:
    """Labels that depend on a score, with noise."""
    own = np.asarray(score, dtype=float)
    own = (own - own.mean()) / own.std()
    return np.where(own + rng.normal(size=len(own)) > 0.0, "late", "on time")


def comma(text: str) -> str:
    """A number with decimal comma and points between thousands."""
    return text.translate(str.maketrans(",.", ".,"))


def currencies(rng: np.random.Generator) -> Made:
    price, fee, tax = (rng.lognormal(7, 1, N_ROWS).round(2) for _ in range(3))
    table = pd.DataFrame(
        {
            "price": [f"€ {x:,.2f}" for x in price],
            "fee": [comma(f"{x:,.2f} EUR") for x in fee],
            "tax": [f"US${x:,.2f}" for x in tax],
        }
    )
    return Made(table, labels_by(np.log(price), rng), {"price": price, "fee": fee, "tax": tax})


def units(rng: np.random.Generator) -> Made:
    weight, height, sugar = rng.normal(72, 9, N_ROWS).round(1), rng.normal(1.7, 0.1, N_ROWS), rng.normal(90, 9, N_ROWS)
    table = pd.DataFrame(
        {
            "weight": [comma(f"{x} kg") for x in weight],
            "height": [f"{x:.2f} m" for x in height],
            "sugar": [f"{x:.0f} mg/dl" for x in sugar],
        }
    )
    return Made(table, labels_by(weight, rng), {"weight": weight, "height": height.round(2), "sugar": sugar.round()})


def two_units(rng: np.random.Generator) -> Made:
    grams = rng.integers(100, 5_000, N_ROWS)
    weight = [f"{x} g" if x % 2 else f"{x / 1000:.1f} kg" for x in grams]
    return Made(pd.DataFrame({"weight": weight, "x": rng.normal(size=N_ROWS)}), labels_by(grams, rng))


def percent(rng: np.random.Generator) -> Made:
    rate, discount = (rng.beta(2, 20, N_ROWS) * 100).round(1), (rng.beta(2, 20, N_ROWS) * 100).round(1)
    mixed = [f"{x}%" if i % 2 else f"{x / 100:.3f}" for i, x in enumerate(discount)]
    table = pd.DataFrame({"rate": [f"{x}%" for x in rate], "discount": mixed})
    return Made(table, labels_by(rate, rng), {"rate": rate})


def separators(rng: np.random.Generator) -> Made:
    values = {name: rng.lognormal(8, 1, N_ROWS).round(2) for name in ("german", "french", "swiss", "short")}
    values["short"] = (values["short"] / 1000).round(2)
    table = pd.DataFrame(
        {
            "german": [comma(f"{x:,.2f}") for x in values["german"]],
            "french": [f"{x:,.2f}".replace(",", "\u202f").replace(".", ",") for x in values["french"]],
            "swiss": [f"{x:,.2f}".replace(",", "’") for x in values["swiss"]],
            "short": [comma(f"{x:.2f}") for x in values["short"]],
            "count": [f"{x:,}" for x in rng.integers(1_000, 10_000, N_ROWS)],
        }
    )
    return Made(table, labels_by(np.log(values["german"]), rng), values)


def brackets(rng: np.random.Generator) -> Made:
    balance, profit = rng.normal(500, 900, N_ROWS).round(2), rng.normal(100, 400, N_ROWS).round(2)
    table = pd.DataFrame(
        {
            "balance": [f"{x:,.2f}" if x >= 0 else f"({-x:,.2f})" for x in balance],
            "profit": [f"${x:,.2f}" if x >= 0 else f"$({-x:,.2f})" for x in profit],
        }
    )
    return Made(table, labels_by(balance, rng), {"balance": balance, "profit": profit})


def days(rng: np.random.Generator) -> pd.DatetimeIndex:
    """Days of three years, in no order."""
    return pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1_095, N_ROWS), unit="D")


def dates(rng: np.random.Generator) -> Made:
    ordered, sent, paid = days(rng), days(rng), days(rng)
    table = pd.DataFrame(
        {
            "ordered": ordered.strftime("%d/%m/%Y"),
            "sent": sent.strftime("%Y-%m-%d %H:%M"),
            "paid": paid.strftime("%d %b %Y"),
            "x": rng.normal(size=N_ROWS),
        }
    )
    meant = {"ordered": ordered.to_numpy(), "sent": sent.to_numpy(), "paid": paid.to_numpy()}
    return Made(table, labels_by(ordered.day_of_year, rng), meant)


def mixed_orders(rng: np.random.Generator) -> Made:
    own, early = days(rng), pd.to_datetime({"year": 2024, "month": [*range(1, 13)] * 2, "day": [3, 7] * 12})
    either = np.resize(early.dt.strftime("%d/%m/%Y").to_numpy(), N_ROWS)
    mixed = [day.strftime("%d/%m/%Y" if i % 2 else "%m/%d/%Y") for i, day in enumerate(own)]
    table = pd.DataFrame({"mixed": mixed, "either": rng.permutation(either), "x": rng.normal(size=N_ROWS)})
    return Made(table, labels_by(own.day_of_year, rng))


def months(rng: np.random.Generator) -> Made:
    own = days(rng).to_period("M").to_timestamp()
    other = days(rng).to_period("M").to_timestamp()
    seasons = [f"20{x:02}-{x + 1:02}" for x in rng.integers(9, 12, N_ROWS)]
    table = pd.DataFrame({"month": own.strftime("%Y-%m"), "billed": other.strftime("%b %Y"), "season": seasons})
    meant = {"month": own.to_numpy(), "billed": other.to_numpy()}
    return Made(table, labels_by(own.day_of_year, rng), meant)


def durations(rng: np.random.Generator) -> Made:
    call, trip, stay = (rng.integers(60, 20_000, N_ROWS), rng.integers(1, 600, N_ROWS), rng.integers(1, 90, N_ROWS))
    table = pd.DataFrame(
        {
            "call": [f"{x // 3600:02}:{x // 60 % 60:02}:{x % 60:02}" for x in call],
            "trip": [f"{x // 60}h {x % 60}m" for x in trip],
            "stay": [f"{x} days" if x > 1 else "1 day" for x in stay],
        }
    )
    return Made(table, labels_by(call, rng), {"call": call, "trip": trip * 60.0, "stay": stay})


def excel_days(rng: np.random.Generator) -> Made:
    opened = rng.integers(44_000, 45_500, N_ROWS)
    table = pd.DataFrame({"opened": opened, "x": rng.normal(size=N_ROWS)})
    return Made(table, labels_by(opened % 365, rng))


def ids(rng: np.random.Generator) -> Made:
    x = rng.normal(size=N_ROWS)
    table = pd.DataFrame(
        {
            "row": np.arange(N_ROWS),
            "customer": rng.permutation(np.arange(10_000, 10_000 + 2 * N_ROWS))[:N_ROWS],
            "session": [str(uuid.UUID(bytes=rng.bytes(16))) for _ in range(N_ROWS)],
            "hash": [hashlib.sha256(rng.bytes(8)).hexdigest() for _ in range(N_ROWS)],
            "mail": [f"user{i}@example.org" for i in rng.permutation(N_ROWS)],
            "order": [f"INV-2024-{i:05}" for i in rng.permutation(N_ROWS)],
            "x": x,
        }
    )
    return Made(table, labels_by(x, rng))


def large_ids(rng: np.random.Generator) -> Made:
    x = rng.normal(size=N_ROWS)
    device = rng.integers(2**62, 2**63 - 1, 50)
    table = pd.DataFrame(
        {"event": rng.integers(2**62, 2**63 - 1, N_ROWS), "device": rng.choice(device, N_ROWS), "x": x}
    )
    return Made(table, labels_by(x, rng))


def codes(rng: np.random.Generator) -> Made:
    x = rng.normal(size=N_ROWS)
    table = pd.DataFrame(
        {
            "zip": rng.choice([f"{i:05}" for i in (1067, 4109, 10115, 20095, 50667, 80331)], N_ROWS),
            "grade": rng.choice(list("12345"), N_ROWS),
            "seat": rng.choice([f"{i}{letter}" for i in range(1, 20) for letter in "ABCDEF"], N_ROWS),
            "phone": [f"({i:03}) 555-{j:04}" for i, j in rng.integers(100, 999, (N_ROWS, 2))],
            "x": x,
        }
    )
    return Made(table, labels_by(x, rng))


def typos(rng: np.random.Generator) -> Made:
    x = rng.normal(size=N_ROWS)
    y = labels_by(x, rng).astype(object)
    y[:6] = ["Late", "late ", "lat", "on  time", "on tme", "On time"]
    ward = rng.choice(["north", "south"], N_ROWS).astype(object)
    ward[:3] = ["North", "south ", "NORTH"]
    return Made(pd.DataFrame({"ward": ward, "x": x}), y)


def booleans(rng: np.random.Generator) -> Made:
    smoker = rng.random(N_ROWS) < 0.4
    table = pd.DataFrame(
        {
            "smoker": np.where(smoker, "yes", "no"),
            "insured": rng.choice(["Y", "N"], N_ROWS),
            "paid": rng.choice(["TRUE", "FALSE"], N_ROWS),
            "member": rng.random(N_ROWS) < 0.5,
        }
    )
    return Made(table, labels_by(smoker, rng))


def answers(rng: np.random.Generator) -> Made:
    x = rng.normal(size=N_ROWS)
    y = labels_by(x, rng)
    table = pd.DataFrame(
        {
            "result": y,
            "status": np.where(y == "late", "L", "T"),
            "code": np.where(y == "late", 7, 3),
            "fine": np.where(y == "late", rng.gamma(5, 9, N_ROWS).round(2), 0.0),
            "x": x,
        }
    )
    return Made(table, y)


def totals(rng: np.random.Generator) -> Made:
    sold, price = rng.integers(1, 50, N_ROWS), rng.lognormal(3, 1, N_ROWS).round(2)
    shop = rng.choice(["north", "south", "west"], N_ROWS)
    own = pd.DataFrame({"shop": shop, "sold": sold, "price": [f"€ {x:,.2f}" for x in price]})
    last = pd.DataFrame([{"shop": "Total", "sold": sold.sum(), "price": f"€ {price.sum():,.2f}"}])
    y = np.append(labels_by(sold, rng).astype(object), np.array([None]))
    return Made(pd.concat([own, last], ignore_index=True), y, {"price": np.append(price, price.sum().round(2))})


def headers(rng: np.random.Generator) -> Made:
    weight, income, height = (
        rng.normal(72, 9, N_ROWS).round(1),
        rng.lognormal(8, 1, N_ROWS).round(2),
        rng.random(N_ROWS),
    )
    table = pd.DataFrame(
        {
            "weight (kg)": weight,
            "income [EUR]": [f"€ {x:,.2f}" for x in income],
            "height (cm)": [f"{60 + 12 * x:.1f} in" for x in height],
        }
    )
    return Made(table, labels_by(weight, rng), {"income [EUR]": income})


def gap_marks(rng: np.random.Generator) -> Made:
    age, dose = rng.integers(18, 90, N_ROWS).astype(object), rng.normal(5, 1, N_ROWS).round(2)
    y = labels_by(age.astype(float), rng)
    is_gap = rng.random((3, N_ROWS)) < 0.08
    day = days(rng)
    ward = rng.choice(["north", "south"], N_ROWS).astype(object)
    age[is_gap[0]], ward[is_gap[2]] = "-", "?"
    table = pd.DataFrame(
        {
            "age": age,
            "dose": np.where(is_gap[1], "n/a", [f"{x}" for x in dose]),
            "day": np.where(is_gap[0], "?", day.strftime("%Y-%m-%d")),
            "ward": ward,
        }
    )
    return Made(table, y, {"dose": np.where(is_gap[1], np.nan, dose)})


def raw_tables() -> list[RawTable]:
    """All of them."""
    return [
        RawTable(
            "amounts with currencies: `€ 11,455.14`, `1.234,50 EUR`, `US$1,234.50`",
            "reads them as numbers",
            currencies,
            {"price": NUMBER, "fee": NUMBER, "tax": NUMBER},
        ),
        RawTable(
            "values with units: `72,3 kg`, `1.80 m`, `90 mg/dl`",
            "reads them as numbers",
            units,
            {"weight": NUMBER, "height": NUMBER, "sugar": NUMBER},
        ),
        RawTable(
            "two units in a column: `750 g`, `1.2 kg`",
            "converts them to one unit",
            two_units,
            {"weight": NUMBER, "x": NUMBER},
            {"weight": ASKED, "x": NUMBER},
            "units are not converted; the column stays text, and a finding says what to do",
        ),
        RawTable(
            "percentages: `5.1%`, and a column in which some are `0.051`",
            "reads the first as numbers, asks what the others mean",
            percent,
            {"rate": NUMBER, "discount": ASKED},
        ),
        RawTable(
            "decimal commas, thousands by point, space or apostrophe: `1.234,50`, `1 234,50`, `1’234.50`; a column "
            "in which every cell is like `1,234`",
            "reads them as numbers, and asks about the last",
            separators,
            {"german": NUMBER, "french": NUMBER, "swiss": NUMBER, "short": NUMBER, "count": ASKED},
        ),
        RawTable(
            "negative amounts in brackets: `(1,234.50)`, `$(12.00)`",
            "reads them as negative numbers",
            brackets,
            {"balance": NUMBER, "profit": NUMBER},
        ),
        RawTable(
            "dates as text: `31/01/2024`, `2024-01-31 00:00`, `31 Jan 2024`",
            "reads them as dates, and tests on the last rows",
            dates,
            {"ordered": DATE, "sent": DATE, "paid": DATE, "x": NUMBER, "rows": NAMED},
        ),
        RawTable(
            "day and month in two orders in a column, or no day above 12",
            "asks",
            mixed_orders,
            {"mixed": ASKED, "either": ASKED, "x": NUMBER},
        ),
        RawTable(
            "months: `2021-03`, `Mar 2021`; seasons: `2009-10`",
            "reads months as dates, keeps seasons as text",
            months,
            {"month": DATE, "billed": DATE, "season": CATEGORY, "rows": NAMED},
        ),
        RawTable(
            "durations: `01:23:45`, `2h 30m`, `14 days`",
            "reads them as numbers",
            durations,
            {"call": NUMBER, "trip": NUMBER, "stay": NUMBER},
        ),
        RawTable(
            "days as Excel counts them: `45292`",
            "converts them to dates",
            excel_days,
            {"opened": DATE, "x": NUMBER, "rows": NAMED},
            {"opened": NUMBER, "x": NUMBER},
            "they are used as numbers, in the same order, but the time of year is lost, and nothing is said of rows",
        ),
        RawTable(
            "ids: a counter, a shuffled one, UUIDs, hashes, e-mail addresses, invoice numbers",
            "leaves them out",
            ids,
            {**dict.fromkeys(("row", "customer", "session", "hash", "mail", "order"), LEFT_OUT), "x": NUMBER},
        ),
        RawTable(
            "64-bit ids, all different, and of 50 devices",
            "leaves out the first, takes devices as categories",
            large_ids,
            {"event": LEFT_OUT, "device": CATEGORY, "x": NUMBER},
            {"event": LEFT_OUT, "device": ASKED, "x": NUMBER},
            "ids that repeat are used as numbers until they are named in `categorical_features`; a finding says so",
        ),
        RawTable(
            "codes of digits: `01067`, grades `1` to `5`, seats `12A`, telephone numbers",
            "keeps them as text, leaves out what is nearly unique",
            codes,
            {"zip": CATEGORY, "grade": CATEGORY, "seat": CATEGORY, "phone": LEFT_OUT, "x": NUMBER},
        ),
        RawTable(
            "labels `late`, `Late`, `late `, `lat`; a ward `north`, `North`",
            "merges them",
            typos,
            {"ward": CATEGORY, "x": NUMBER},
            {"ward": ASKED, "x": NUMBER, "labels": NAMED},
            "findings name the spellings; labels are merged on request (`merged_labels`, `--merge-labels`), "
            "categories never",
        ),
        RawTable(
            "`yes` and `no`, `Y` and `N`, `TRUE` and `FALSE`, booleans",
            "keeps two values each",
            booleans,
            {"smoker": CATEGORY, "insured": CATEGORY, "paid": CATEGORY, "member": NUMBER},
        ),
        RawTable(
            "the answer among the features: a copy, renamed, coded, and a fine for being late",
            "takes them out",
            answers,
            {**dict.fromkeys(("result", "status", "code", "fine"), LEFT_OUT), "x": NUMBER},
            {
                **{"result": ASKED, "status": ASKED},
                **{"code": ASKED, "fine": ASKED, "x": NUMBER},
            },
            "they are named and used all the same, since a table does not tell what is known beforehand",
        ),
        RawTable(
            "a last row `Total` with the sums of the columns",
            "takes the row out",
            totals,
            {"shop": CATEGORY, "sold": NUMBER, "price": NUMBER},
            {"shop": CATEGORY, "sold": NUMBER, "price": NUMBER, "rows": NAMED, "labels": NAMED},
            "the row, which has no label, is named and not taken out",
        ),
        RawTable(
            "units in the header: `weight (kg)`, `income [EUR]`; `height (cm)` over values in `in`",
            "asks which unit is right",
            headers,
            {"weight (kg)": NUMBER, "income [EUR]": NUMBER, "height (cm)": ASKED},
        ),
        RawTable(
            "`-`, `n/a` and `?` for gaps among numbers, dates and categories",
            "makes them gaps",
            gap_marks,
            {"age": NUMBER, "dose": NUMBER, "day": DATE, "ward": CATEGORY, "rows": NAMED},
            {"age": NUMBER, "dose": NUMBER, "day": DATE, "ward": ASKED, "rows": NAMED},
            "in a category, `?` is named and stays a value",
        ),
    ]


def outcome(made: Made) -> dict[str, str]:
    """What becomes of each column, and whether something is said of rows and labels."""
    findings = sepc.look(made.table, made.y)
    doubtful = {own.about for own in findings if own.severity is not Severity.HANDLED}
    words = {own.name: ASKED if own.name in doubtful else str(own.kind) for own in columns(made)}
    return words | {about: NAMED for about in ("rows", "labels") if about in doubtful}


def columns(made: Made) -> tuple[Column, ...]:
    """What each column is."""
    return kinds_of(made.table, (), ())


def in_words(own: dict[str, str]) -> str:
    """An outcome, with the columns of one kind together."""
    kinds = dict.fromkeys(own.values())
    return "; ".join(f"{kind}: {', '.join(name for name in own if own[name] == kind)}" for kind in kinds)


def parts(smallest: bool) -> Parts:
    return {"tables": lambda: {"tables": [read(raw) for raw in islice(raw_tables(), 3 if smallest else None)]}}


def read(raw: RawTable) -> dict[str, str]:
    found = outcome(raw.make(np.random.default_rng(0)))
    said = {"in the table": raw.holds, "a careful person": raw.person, "sepc": in_words(found)}
    return said | {"how that differs": raw.difference}
