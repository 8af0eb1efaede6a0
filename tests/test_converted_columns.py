"""Text that is read as numbers, dates or durations, wherever a model and its rows may go."""

from functools import cache

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc import SEPClassifier
from sepc.errors import LeftOutWarning

pd = package_or_skip("pandas")
dd = package_or_skip("dask.dataframe")
package_or_skip("pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")


def orders(n=300, seed=0):
    """Prices, dates and durations as text, durations as such, and a category."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    days = np.datetime64("2023-01-01") + rng.integers(300, size=n)
    table = pd.DataFrame(
        {
            "price": [f"€ {price:,.2f}" for price in rng.lognormal(6.0, 0.5, n) * (1 + y)],
            "day": [day.strftime("%d/%m/%Y") for day in days.tolist()],
            "took": [f"{minutes} min" for minutes in rng.integers(1, 90, n) + 20 * y],
            "span": pd.to_timedelta(rng.integers(1, 90, n) + 60 * y, unit="h"),
            "city": rng.choice(["Graz", "Bonn"], n),
        }
    )
    return table, np.array(["no", "yes"])[y]


@cache
def fitted():
    return SEPClassifier().fit(*orders())


def test_files_and_collections_decide_alike(tmp_path):
    table, _ = orders(60, seed=1)
    expected = fitted().decide(table).to_frame()
    sepc.save(fitted(), tmp_path / "orders.sepc")
    pd.testing.assert_frame_equal(sepc.load(tmp_path / "orders.sepc").decide(table).to_frame(), expected)
    lazy = fitted().decide(dd.from_pandas(table, npartitions=2)).compute(scheduler="sync")
    pd.testing.assert_frame_equal(lazy, expected)


def test_parquet_files_are_read_as_a_table_in_memory_is(tmp_path):
    table, y = orders()
    table.assign(target=y).to_parquet(tmp_path / "orders.parquet", index=False)
    with pytest.warns(LeftOutWarning, match=r"Read as numbers: 'price' \('€ .*Read as dates: 'day' .*durations"):
        stored = SEPClassifier().fit(tmp_path / "orders.parquet", "target")
    assert (stored.predict(table) == fitted().predict(table)).mean() > 0.95


def test_a_report_names_the_columns():
    report = str(sepc.report(fitted(), *orders(200, seed=1)))
    assert "price" in report


def test_recourse_answers_in_the_unit_of_the_column():
    table, _ = orders()
    row = table.iloc[[int(np.flatnonzero(fitted().predict(table) == "no")[0])]]
    found = sepc.recourse(fitted(), row, to="yes", min_trust=0.5, fixed=["city"], bounds={"price": (None, 2_000)})
    changes = found.to_frame().set_index("feature")
    assert set(changes.index) <= {"price", "took", "span"}
    if "price" in changes.index:
        assert changes.loc["price", "before"] == float(row["price"].iloc[0].strip("€ ").replace(",", ""))
    answer = found.answers[0].row
    assert answer["span"].dtype.kind == "m"
    assert fitted().predict(answer).tolist() == ["yes"]
    with pytest.raises(ValueError, match=r"The bounds of 'price' are .*; give numbers \(low, high\)"):
        sepc.recourse(fitted(), row, to="yes", bounds={"price": ("€ 100", "€ 900")})


@pytest.mark.parametrize("column", ["span", "seen"])
def test_durations_and_dates_as_categories_are_saved(column, tmp_path):
    table, y = orders()
    hours = pd.to_timedelta(np.arange(len(y)) % 3 + (y == "yes"), unit="h")
    table = table.assign(span=hours, seen=pd.Timestamp("2024-01-01") + 24 * hours)
    model = SEPClassifier(categorical_features=[column]).fit(table, y)
    sepc.save(model, tmp_path / "model.sepc")
    np.testing.assert_array_equal(sepc.load(tmp_path / "model.sepc").predict(table), model.predict(table))
