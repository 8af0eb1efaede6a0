"""A look names what a fit does about columns, and finds nothing to take away in tables as people keep them."""

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc import datasets
from sepc.looking.findings import Severity

pd = package_or_skip("pandas")

N = 600


def orders(seed=0):
    """A table with a column of every kind that a look speaks of, and labels."""
    rng = np.random.default_rng(seed)
    amount = rng.lognormal(7, 1, N).round(2)
    y = np.where(np.log(amount) + rng.standard_normal(N) > 7, "late", "on time")
    table = pd.DataFrame(
        {
            "customer_no": rng.permutation(np.arange(1000, 2000))[:N],
            "amount": [f"€ {x:,.2f}" for x in amount],
            "count": [f"{x:,}" for x in rng.integers(1000, 9999, N)],
            "ward": rng.choice(["a", "b"], N),
            "fee": np.where(y == "late", 25.0, 0.0) + rng.random(N),
            "reminder": np.where(y == "late", "sent", "none"),
        }
    )
    return table, y


def test_a_look_names_what_is_left_out_read_in_doubt_or_telling():
    table, y = orders()
    findings = sepc.look(table, y)
    assert [(own.about, own.severity) for own in findings] == [
        ("reminder", Severity.DOUBTFUL),
        ("fee", Severity.DOUBTFUL),
        ("reminder", Severity.DOUBTFUL),
        ("customer_no", Severity.HANDLED),
        ("amount", Severity.HANDLED),
        ("count", Severity.HANDLED),
    ]
    by_name = {own.about: own for own in findings}
    assert "'none' (296 rows)" in findings[0].seen
    assert "fill 60 %" in by_name["customer_no"].seen
    assert "(€)" in by_name["amount"].advice
    assert "100 % of 300" in by_name["reminder"].seen
    assert len(sepc.look(table)) == 4


def test_labels_with_gaps_numbers_and_too_many_values_are_no_hindrance():
    table, y = orders()
    some = np.array(y, dtype=object)
    some[::50] = None
    assert {own.about for own in sepc.look(table, some)} == {own.about for own in sepc.look(table, y)} | {"labels"}
    assert len(sepc.look(table, np.zeros(N))) == 4
    assert [own.about for own in sepc.look(table, np.arange(N))][:1] == ["labels"]
    with pytest.raises(ValueError, match="599 labels for 600 rows"):
        sepc.look(table, y[:-1])


def test_columns_of_an_array_are_used_all_the_same():
    rng = np.random.default_rng(0)
    (finding,) = sepc.look(np.column_stack([rng.permutation(300), rng.normal(size=300)]))
    assert (finding.about, finding.severity) == ("x0", Severity.DOUBTFUL)
    assert finding.advice.startswith("Used anyway")


def test_polars_and_arrow_are_looked_at_in_the_same_way():
    polars, pyarrow = package_or_skip("polars"), package_or_skip("pyarrow")
    table, y = orders()
    expected = str(sepc.look(table, y))
    assert str(sepc.look(polars.from_pandas(table), y)) == expected
    assert str(sepc.look(pyarrow.Table.from_pandas(table), y)) == expected


def test_of_many_rows_a_sample_is_looked_at_and_said_so():
    rng = np.random.default_rng(0)
    n = 60_000
    rare = np.zeros(n)
    rare[0] = 1.0
    table = pd.DataFrame({"no": rng.permutation(n), "x": rng.normal(size=n), "rare": rare})
    findings = sepc.look(table, rng.random(n) < 0.5)
    assert [(own.about, own.seen.split(":")[0]) for own in findings] == [("no", "an id")]
    assert "1 finding in a sample of 40,000 of 60,000 rows" in repr(findings)


# All findings in the public tables: columns of one value, in all of their rows, ...
CONSTANT = {"ionosphere": ["pulse_01_im"], "segment": ["region_pixel_count"]}
# ... a number that stands for "more than 41,310", or for something else, ...
CODES = {"adult": ["capital_gain"]}
# ... rows that are in the files twice, which rows of few values, as in mammographic_masses, are by chance, ...
COPIED = {"segment", "spambase", "wine_quality_red", "wine_quality_white"}
# ... tables whose rows are in an order, with what the files show of it. Shuffled, none has a finding.
# Only electricity is known to be in the order of time; ...
IN_ORDER = {
    "blood_transfusion": "500 rows and then 248 more, each sorted by months since the last donation: 3 to 23, 3 to 22",
    "covertype": "by region: 84 to 100 % of the first three eighths lie in wilderness area 1, and none of the last",
    "electricity": "by time, as its description says, and prices change",
    "glass": "by class, and in the two largest classes neighbours are alike (correlation 0.45 and 0.70 of 'ri')",
    "haberman": "sorted by age, nearly",
    "ilpd": "in parts, for reasons that are not known: total proteins are 6.0 on average in the first third and 6.7 "
    "after it; 19 % of neighbours have the same age, and 2 % if shuffled",
    "ionosphere": "labels alternate in the first five eighths, and the last quarter has one label only",
    "parkinsons": "person by person: blocks of six rows explain 72 % of the variance of log 'nhr'",
    "sonar": "by label, and among mines neighbours are alike (correlation 0.76 of 'band_27')",
    "spambase": "by label, and mail of two sources: the last fifth of what is no spam says 'edu' and hardly 'hp'",
    "vertebral_column_2c": "by diagnosis: 60 of the abnormal with little slipping (2.5 on average), then 150 with 52",
}
# ... and labels that fewer than ten rows have.
FEW_ROWS = {"ecoli", "glass", "wine_quality_white", "yeast"}


@pytest.mark.slow_cases("covertype", "adult", "letter")
@pytest.mark.parametrize("name", datasets.names())
def test_nothing_is_found_in_public_tables_that_a_person_would_keep(name):
    data = datasets.load(name)
    findings = sepc.look(data.features, data.target)
    of_columns = [own for own in findings if own.about not in ("rows", "labels")]
    constant = [own.about for own in of_columns if own.seen.startswith("a constant")]
    assert constant == CONSTANT.get(name, [])
    assert [own.about for own in of_columns if own.about not in constant] == CODES.get(name, [])
    of_rows = [own for own in findings if own.about == "rows"]
    assert [("repeat" in own.seen) for own in of_rows] == [True] * (name in COPIED) + [False] * (name in IN_ORDER)
    assert any(own.about == "labels" for own in findings) == (name in FEW_ROWS)


def test_rows_may_be_a_sample_of_a_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"no": rng.permutation(4_000), "a": rng.normal(size=4_000), "flag": np.arange(4_000) % 10 == 3}
    )
    y = np.where(np.arange(4_000) % 500 == 0, "rare", np.where(rng.random(4_000) < 0.5, "x", "y"))
    found = sepc.look(table[::10], y[::10], n_rows=4_000)
    assert [(finding.about, finding.seen.split(":")[0]) for finding in found] == [("no", "an id")]
    assert "in a sample of 400 of 4,000 rows" in found.title
    assert {finding.about for finding in sepc.look(table[::10], y[::10])} == {"labels", "flag"}
