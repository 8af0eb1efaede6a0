"""A small table as people have it, which tests share: numbers, categories, a date and an id, with gaps."""

import numpy as np
from optional import package_or_skip

pd = package_or_skip("pandas")


def patients(n=300, seed=0, gaps=True, key=True):
    """The table, and labels that depend on all of its columns but the key."""
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
    y = np.where(score + 0.4 * rng.standard_normal(n) > 1.5, "ill", "well")
    if gaps:
        holes = rng.random((n, 5)) < 0.08
        table = table.mask(pd.DataFrame(holes, columns=table.columns))
    return (table.assign(key=[f"p{i}" for i in range(n)]) if key else table), y


def complete(table):
    """The rows without gaps in numbers and dates; a gap in a category is a category."""
    return table[table[["age", "dose", "since"]].notna().all(axis=1)]


def orders_in_text(n=500, seed=0):
    """Two numbers as text, a date and a duration that all matter, and the same table as numbers; and labels."""
    rng = np.random.default_rng(seed)
    amount, weight = rng.lognormal(7, 1, n).round(2), rng.normal(72, 9, n).round(1)
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    took = rng.integers(60, 9000, n)
    ward = rng.choice(["a", "b"], n)
    plain = pd.DataFrame({"amount": amount, "weight": weight, "day": day, "took": took.astype(float), "ward": ward})
    texts = plain.assign(
        amount=[f"€ {x:,.2f}" for x in amount],
        weight=[f"{x} kg".replace(".", ",") for x in weight],
        day=day.strftime("%d/%m/%Y"),
        took=pd.to_timedelta(took, unit="s"),
    )
    score = np.log(amount) - 7 + (weight - 72) / 9 + (took - 4500) / 3000 + (ward == "a") - 0.5
    return texts, plain, np.where(score + 0.4 * rng.standard_normal(n) > 0, "late", "on time")


def texts_of_all_kinds(n=300, seed=0):
    """Amounts, percentages, dates and durations as text, a duration as such and a category; and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    days = np.datetime64("2023-01-01") + rng.integers(300, size=n)
    table = pd.DataFrame(
        {
            "price": [f"€ {price:,.2f}" for price in rng.lognormal(6.0, 0.5, n) * (1 + y)],
            "weight": [f"{weight:.1f} kg".replace(".", ",") for weight in rng.normal(72, 9, n) + 4 * y],
            "rate": [f"{rate:.1f}%" for rate in 100 * rng.beta(2, 20, n)],
            "profit": [f"({-x:,.2f})" if x < 0 else f"{x:,.2f}" for x in rng.normal(100, 900, n)],
            "day": [day.strftime("%d/%m/%Y") for day in days.tolist()],
            "took": [f"{minutes} min" for minutes in rng.integers(1, 90, n) + 20 * y],
            "span": pd.to_timedelta(rng.integers(1, 90, n) + 60 * y, unit="h"),
            "city": rng.choice(["Graz", "Bonn"], n),
        }
    )
    return table, np.array(["no", "yes"])[y]
