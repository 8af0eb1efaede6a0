"""Text that is a number, a date or a duration is read as such, by one way of writing that the whole column tells."""

import numpy as np
import pytest
from mixed_tables import orders_in_text
from optional import package_or_skip

from sepc import SEPClassifier
from sepc.columns.kinds import Kind, kinds_of
from sepc.columns.notations import Order, date_of, duration_of, number_text, read_number, read_numbers, value_of
from sepc.columns.recognition import What, Written
from sepc.errors import LeftOutWarning
from sepc.model_files import from_bytes, to_bytes

pd = package_or_skip("pandas")

RNG = np.random.default_rng(0)
AMOUNTS = RNG.lognormal(8, 1, 400).round(2)
SWAPPED = str.maketrans(",.", ".,")


def found_in(texts):
    """What the column is taken as, when nothing else in its table tells."""
    (column,) = kinds_of(pd.DataFrame({"it": texts}), (), ())
    return column


NUMBERS = {
    "€ 11,455.14": ([f"€ {x:,.2f}" for x in AMOUNTS], AMOUNTS, Written.number("€", ".", ",")),
    "11.455,14 EUR": ([f"{x:,.2f} EUR".translate(SWAPPED) for x in AMOUNTS], AMOUNTS, Written.number("eur", ",", ".")),
    "1 234,50": (
        [f"{x:,.2f}".replace(",", " ").replace(".", ",") for x in AMOUNTS],
        AMOUNTS,
        Written.number("", ",", " "),
    ),
    "1 234 €": (
        [f"{x:,.0f}\u202f€".replace(",", "\u202f") for x in AMOUNTS],
        AMOUNTS.round(),
        Written.number("€", ".", " "),
    ),
    "CHF 1’234.50": ([f"CHF {x:,.2f}".replace(",", "’") for x in AMOUNTS], AMOUNTS, Written.number("CHF", ".", "'")),
    "72,3 kg": ([f"{x / 100:.1f} kg".replace(".", ",") for x in AMOUNTS], None, Written.number("kg", ",", ".")),
    "5.1%": ([f"{x / 1000:.1f}%" for x in AMOUNTS], None, Written.number("%", ".", ",")),
    "-5 °C": ([f"{int(x) % 90 - 45} °C" for x in AMOUNTS], None, Written.number("°c")),
    "85 m2": (["85 m2", "120 m2", "67 m2"], np.array([85.0, 120.0, 67.0]), Written.number("m2")),
    "2 rooms": (["1 room", "2 rooms", "7 rooms"], np.array([1.0, 2.0, 7.0]), Written.number("room")),
    "950 and 1,234": ([f"{x:,.0f}" for x in [*AMOUNTS, *range(900, 930)]], None, Written.number("", ".", ",")),
    "1234 and 1,234": (
        [f"{x:.3f}".replace(".", ",") for x in AMOUNTS / 100] + [str(i) for i in range(1000, 1010)],
        None,
        Written.number("", ",", "."),
    ),
    "17, unknown": ([*map(str, range(2, 90)), "unknown"], None, Written.number()),
    "(1,234.50)": (
        [f"{x:,.2f}" if x >= 0 else f"({-x:,.2f})" for x in AMOUNTS - 3000],
        (AMOUNTS - 3000).round(2),
        Written.number("", ".", ","),
    ),
    "$(1,234.50)": (
        [f"${x:,.2f}" if x >= 0 else f"$({-x:,.2f})" for x in AMOUNTS - 3000],
        (AMOUNTS - 3000).round(2),
        Written.number("$", ".", ","),
    ),
    "(1.234,50 €)": (
        [(f"{x:,.2f} €" if x >= 0 else f"({-x:,.2f} €)").translate(SWAPPED) for x in AMOUNTS - 3000],
        (AMOUNTS - 3000).round(2),
        Written.number("€", ",", "."),
    ),
    "1.5e-07": ([f"{x:g}" for x in AMOUNTS / 1e9], None, Written.number("", ".", ",")),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_recognised_and_read(name):
    texts, numbers, expected = NUMBERS[name]
    column = found_in(texts)
    assert (column.kind, column.written) == (Kind.NUMBER, expected)
    read = column.written.read(np.array(texts, dtype=object))
    assert np.isnan(read).mean() < 0.05
    if numbers is not None:
        np.testing.assert_allclose(read, numbers)


TEXTS = {
    "yes and no": ["yes", "no", "maybe"],
    "few whole numbers": ["1", "2", "3", "4"],
    "codes of one length": [str(x) for x in RNG.integers(10_000, 99_999, 300)],
    "codes with zeros": [f"{x:05}" for x in range(1, 300)],
    "telephone": [f"555 {x // 1000} {x % 1000:03}" for x in RNG.integers(100_000, 999_999, 300)],
    "letters and a counter": [f"K-{i:05}" for i in range(100)],
    "seats": [f"{i}{letter}" for i in range(30) for letter in "ABCDEF"],
    "ranks": ["1st", "2nd", "3rd", "4th"],
    "ranges": [f"{i}-{i + 10}" for i in range(0, 300, 10)],
    "pressures": [f"{i}/{i - 40}" for i in range(100, 180)],
    "addresses": [f"{i}.{i + 1}.0.{i % 7}" for i in range(1, 90)],
    "versions": ["1.2.3", "1.10.11", "2.0.0", "2.1.12"],
    "streets": [f"{i} {name} street" for i in range(9) for name in ("oak", "elm", "main", "mill")],
    "seasons": ["2009-10", "2010-11", "2011-12"],
    "a counter in a year": [f"2021-{i:02}" for i in range(1, 60)],
    "list numbers": ["(1)", "(2)", "(3)"],
    "weights in brackets": ["5 kg", "(6 kg)", "(7 kg)"],
    "months without a year": ["Jan", "Feb", "Mar"],
    "months or days": ["Mar-21", "Apr-21", "May-22"],
    "area codes": [f"({i:03}) {7 * i:07}" for i in range(100, 300)],
    "counts in brackets": ["12 (3)", "13 (4)", "5 (1)"],
    "scores": [f"{i}:{i % 5}" for i in range(40)],
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_stays_text(name):
    column = found_in(TEXTS[name])
    assert column.kind in (Kind.CATEGORY, Kind.LEFT_OUT)
    assert column.written is None


DOUBTS = {
    "thousands or decimals": ([f"{x:,}" for x in range(1001, 9000, 37)], "'1,001', which may be 1,001 or 1.001"),
    "points in German": ([f"{x:,}".translate(SWAPPED) for x in range(1001, 9000, 37)], "which may be 1.001 or 1,001"),
    "two ways": (
        [f"{x:,.1f}" for x in AMOUNTS] + [f"{x:,.1f}".translate(SWAPPED) for x in AMOUNTS],
        "after a comma in",
    ),
    "two units": (
        [f"{i} g" for i in range(9)] + [f"{i} kg" for i in range(9)],
        "different units, such as '0 g' and '0 kg'",
    ),
    "two orders": (["13/01/2024", "01/13/2024", "02/03/2024"], "day first in '13/01/2024' and with the month first in"),
    "minus and brackets": (
        [*(f"{x:.2f}" for x in AMOUNTS), "-5.00", "(7.00)"],
        "minus such as '-5.00' and in brackets",
    ),
    "all in brackets": ([f"({x:.2f})" for x in AMOUNTS], "all numbers are in brackets, such as '("),
    "percent and shares": (
        [*(f"{x / 1000:.1f}%" for x in AMOUNTS), *(f"{x / 1e5:.4f}" for x in AMOUNTS)],
        "numbers with and without %, such as ",
    ),
    "no order": (["03/04/2024", "05/06/2024", "07/08/2024"], "no day above 12 tells"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_what_a_column_does_not_tell_is_a_doubt_and_no_guess(name):
    texts, seen = DOUBTS[name]
    column = found_in(texts)
    assert column.written is None
    assert seen in column.seen
    assert column.doubt


DATES = {
    "dd/mm/yyyy": ("%d/%m/%Y", "dmy"),
    "mm/dd/yyyy": ("%m/%d/%Y", "mdy"),
    "dd.mm.yyyy": ("%d.%m.%Y", "ymd"),
    "ISO": ("%Y-%m-%d", "ymd"),
    "3 Mar 2024": ("%d %b %Y", "ymd"),
    "March 3, 2024": ("%B %d, %Y", "ymd"),
    "two digits": ("%d/%m/%y", "dmy"),
    "2024-03": ("%Y-%m", "ymd"),
    "2024/03": ("%Y/%m", "ymd"),
    "03/2024": ("%m/%Y", "ymd"),
    "Mar 2024": ("%b %Y", "ymd"),
    "March 2024": ("%B %Y", "ymd"),
    "with a time": ("%Y-%m-%dT%H:%M:%SZ", "ymd"),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_recognised_and_read(name):
    form, order = DATES[name]
    every = "37h" if "%H" in form else "D" if "%d" in form else "MS"
    days = pd.date_range("2010-01-01", periods=150, freq=every)
    column = found_in(days.strftime(form))
    assert (column.kind, column.written) == (Kind.DATE, Written.date(order))
    np.testing.assert_array_equal(column.written.read(days.strftime(form).to_numpy(dtype=object)), days.to_numpy())


def test_parts_of_numbers_and_dates():
    assert number_text("B 12") is number_text("< 5") is number_text("12 to 15") is None
    assert value_of(number_text("007"), ".", ",") is value_of(number_text("1,23"), ".", ",") is None
    assert value_of(number_text("1e999"), ".", ",") is None
    assert (
        Written.number("€").value("-€ 5") == Written.number("€").value("€ -5") == Written.number("€").value("−5") == -5
    )
    assert Written.number("%").value("0.5") is Written.number("kg").value("5 lb") is None
    assert str(date_of("2024-03-05 11:30 PM", Order.YEAR)) == "2024-03-05 23:30:00"
    assert str(date_of("2024-03-05T01:30:00+02:00", Order.YEAR)) == "2024-03-04 23:30:00"
    assert date_of("31/02/2024", Order.DAY) is date_of("03/04/2024", Order.YEAR) is None
    assert duration_of("2 days 03:04:05").seconds == 2 * 86_400 + 3 * 3600 + 4 * 60 + 5
    assert duration_of("1 day, 2:00:00").seconds == 26 * 3600
    assert duration_of("-1h 30m").seconds == -5400
    assert duration_of("5 m") is duration_of("soon") is duration_of("16:9") is None


def test_durations_are_in_the_unit_that_they_are_written_in():
    assert found_in(["1 day", "2 days", "14 days"]).written == Written.duration("day")
    assert found_in(["1h", "2h 30m", "45 min"]).written == Written.duration("second")
    assert found_in([f"00:{i:02}:11" for i in range(40)]).written == Written.duration("second")
    times = pd.DataFrame({"took": pd.to_timedelta([90, 30, None], unit="s"), "x": [1, 2, 3]})
    column, _ = kinds_of(times, (), ())
    assert (column.kind, column.written.what) == (Kind.NUMBER, What.DURATION)
    given = np.array([90, 30, "NaT"], dtype="timedelta64[s]")
    np.testing.assert_array_equal(column.written.read(given), [90.0, 30.0, np.nan])
    np.testing.assert_array_equal(Written.duration("minute").read(given), [1.5, 0.5, np.nan])


def test_cells_of_other_types_are_read_too():
    mixed = np.array(["€ 3", 4, 5.5, None, "none"], dtype=object)
    np.testing.assert_array_equal(Written.number("€").read(mixed), [3.0, 4.0, 5.5, np.nan, np.nan])
    day = pd.Timestamp("2024-03-05")
    read = Written.date("dmy").read(np.array(["05/03/2024", day, "soon"], dtype=object))
    assert read[0] == read[1] == day
    assert np.isnat(read[2])


def test_numbers_and_dates_beside_marks_for_gaps_are_not_categories():
    numbers, days = RNG.normal(50, 9, 300).round(1).astype(object), np.array([None] * 300, dtype=object)
    days[:] = pd.date_range("2024-01-01", periods=300).to_pydatetime()
    numbers[::20], days[::30] = "-", "n/a"
    half = np.array([x if i % 2 else str(x) for i, x in enumerate(RNG.integers(1, 9000, 300))], dtype=object)
    table = pd.DataFrame({"x": numbers, "day": days, "half": half, "size": [1, 2, "A"] * 100})
    columns = kinds_of(table, (), ())
    assert [own.kind for own in columns] == [Kind.NUMBER, Kind.DATE, Kind.NUMBER, Kind.CATEGORY]
    assert columns[0].seen == "most cells are not text; '-' in 15 rows counts as missing"
    assert np.isnan(columns[0].read(numbers)).sum() == 15
    np.testing.assert_array_equal(columns[2].read(half), half.astype(float))


def test_a_table_of_texts_is_fitted_as_the_numbers_and_says_so_once():
    texts, plain, y = orders_in_text()
    with pytest.warns(LeftOutWarning) as caught:
        classifier = SEPClassifier(max_ellipsoids=2).fit(texts, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert all(f"Read as {what}: '" in str(caught[0].message) for what in ("numbers", "dates", "durations"))
    expected = SEPClassifier(max_ellipsoids=2).fit(plain, y).decide(plain)
    decided = classifier.decide(texts)
    np.testing.assert_array_equal(decided.probabilities, expected.probabilities)
    assert classifier.preparation_.summary() == "5 features: 3 numbers, 1 category, 1 date"
    again = from_bytes(to_bytes(classifier))
    np.testing.assert_array_equal(again.decide(texts).probabilities, expected.probabilities)
    assert again.preparation_.columns[0].written == Written.number("€", ".", ",")
    odd = texts[:2].assign(amount=["on request", None])
    decided = again.decide(odd)
    assert ["'on request'" in note for note in decided.notes] == [True, False]
    assert "'on request'" in decided.why(0)
    np.testing.assert_array_equal(again.decide(plain.assign(day=texts["day"])).label, expected.label)


def test_what_most_rows_hold_must_be_readable():
    rng = np.random.default_rng(0)
    grams = [f"{x} g" for x in range(100, 1_000)]
    kilos = [f"{x:.1f} kg" for x in rng.integers(10, 50, 3_000) / 10]
    column = found_in([*grams, *kilos])
    assert (column.kind, column.written) == (Kind.CATEGORY, None)
    assert "in 3,000 rows" in column.seen
    assert found_in([*grams, *["n/a"] * 3_000, *kilos[:40]]).written == Written.number("g")


ODD_CELLS = ("1,234.50", "€ 7", "7 €", "€7.25", "-€ 7", "(€ 12)", "5 %", "5%", "0.5", "", " ", "007", "1,23", "a\nb")
ODD_CELLS += ("7 kg", "1e5 €", "٣")


@pytest.mark.parametrize("unit", ["", "€", "%", "kg"])
def test_numbers_in_one_go_are_those_read_one_by_one(unit):
    for decimal, thousands in ((".", ","), (",", "."), (".", ""), (",", " ")):
        for texts in (ODD_CELLS, [own for own in ODD_CELLS if "\n" not in own], []):
            needed = {"needs_unit": unit == "%"}
            one_by_one = [read_number(own, unit, decimal, thousands, **needed) for own in texts]
            assert read_numbers(texts, unit, decimal, thousands, **needed) == one_by_one
            for times in (1, 5):
                cells = np.array([*texts, None, 3] * times, dtype=object)
                wanted = np.array([*one_by_one, None, 3.0] * times, dtype=float)
                np.testing.assert_array_equal(Written.number(unit, decimal, thousands).read(cells), wanted)
