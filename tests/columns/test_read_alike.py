"""The same table is read in the same way, whatever holds it: a CSV file in the command, pandas, Polars or Arrow."""

import json
from decimal import Decimal

import numpy as np
import pytest
from optional import package_or_skip

import sepc
import sepc.errors
from sepc import SEPClassifier, load
from sepc.cli import main
from sepc.errors import LeftOutWarning

pd, pa, pl = package_or_skip("pandas"), package_or_skip("pyarrow"), package_or_skip("polars")

N = 180
RNG = np.random.default_rng(0)
AGE, WARD = RNG.integers(20, 86, N), RNG.choice(["north", "south", "west"], N)
PAY, WEIGHT = RNG.integers(10_000, 99_999, N), RNG.normal(70.0, 9.0, N).round(1)
DAYS = pd.Timestamp("2023-01-01 10:00") + pd.to_timedelta(RNG.integers(0, 700, N), "D")
Y = np.where(AGE / 20 + PAY / 30_000 + 0.8 * (WARD == "west") + 0.4 * RNG.normal(size=N) > 4.7, "ill", "well")


def german(value):
    return f"{value:,}".translate(str.maketrans(",.", ".,"))


def with_text(values, text, rows):
    cells = np.array([str(value) for value in values], dtype=object)
    cells[rows] = text
    return cells


# Each as text, as the file has it, with the columns that pandas changes before anyone else sees them.
TABLES = {
    "a question mark among ages": ({"age": with_text(AGE, "?", [7]), "ward": WARD}, ()),
    "first rows unknown": ({"age": with_text(AGE, " Unknown ", slice(0, 40)), "ward": WARD}, ()),
    "many dashes, in two numbers": (
        {"age": with_text(AGE, "-", slice(5, None, 4)), "weight": with_text(WEIGHT, "k.A.", slice(3, None, 9))},
        (),
    ),
    "a few whole numbers": ({"grade": with_text(AGE // 30, "n.a.", slice(2, None, 11)), "weight": WEIGHT}, ()),
    "a column of missing texts": ({"age": AGE, "nothing": np.full(N, "-"), "weight": WEIGHT}, ()),
    "decimal commas and thousands": ({"pay": list(map(german, PAY)), "weight": list(map(german, WEIGHT))}, ("pay",)),
    "dates day first": ({"age": AGE, "seen": with_text(DAYS.strftime("%d/%m/%Y"), "unknown", [1, 8])}, ()),
    "percents": ({"rate": [f"{x / 10}%" for x in AGE], "pay": PAY}, ()),
    "NA as a ward": ({"age": AGE, "ward": np.where(WARD == "west", "NA", WARD)}, ("ward",)),
    "a cell that is no number": ({"age": with_text(AGE, "heavy", [11]), "ward": WARD}, ()),
}


def frames_of(path, separator, is_polars):
    """The table as pandas reads the file, and as Polars or Arrow do."""
    from pyarrow import csv

    yield pd.read_csv(path, sep=separator).drop(columns="y")
    if is_polars:
        yield pl.read_csv(path, separator=separator, infer_schema_length=None).drop("y")
    else:
        yield csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=separator)).drop_columns("y")


@pytest.mark.slow_cases("first rows*", "many dashes*", "a few whole*", "a column of*", "percents")
@pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")
@pytest.mark.parametrize("name", TABLES)
def test_a_file_gives_one_model_or_look_names_the_column(name, tmp_path, capsys):
    columns, changed = TABLES[name]
    separator = ";" if "commas" in name else ","
    pd.DataFrame(columns | {"y": Y}).to_csv(tmp_path / "t.csv", index=False, sep=separator)
    words = [str(tmp_path / "t.csv"), "--target", "y", "--quiet", "--json"]
    assert main(["fit", *words, "--output", str(tmp_path / "m.sepc")]) == 0
    command = load(tmp_path / "m.sepc")
    capsys.readouterr()
    assert main(["look", *words]) == 0
    named = {finding["about"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    n_alike = 0
    for frame in frames_of(tmp_path / "t.csv", separator, is_polars=len(name) % 2 == 0):
        own = SEPClassifier(random_state=0).fit(frame, Y).decide(frame)
        theirs = command.decide(frame)
        is_alike = (own.label == theirs.label).all() and np.allclose(own.trust, theirs.trust, atol=1e-9)
        n_alike += is_alike
        assert is_alike or set(changed) & named
    assert n_alike == 2 or changed


def decided_as_text(tables, text):
    """Models fitted to these tables, and one fitted to the same cells as text, decide alike on all of them."""
    model = SEPClassifier().fit(text, Y)
    wanted = model.decide(text)
    for own in (model, SEPClassifier().fit(tables[1], Y)):
        for table in tables:
            decided = own.decide(table)
            np.testing.assert_array_equal(decided.label, wanted.label)
            np.testing.assert_allclose(decided.trust, wanted.trust, atol=1e-9)


@pytest.mark.parametrize("gaps", [slice(0, None, 6), slice(0, 60)])
def test_a_null_in_a_dictionary_is_missing(gaps, tmp_path):
    cells = WARD.astype(object)
    cells[gaps] = None
    parts = [pa.array(cells[:70]).dictionary_encode(), pa.array(cells[70:][::-1])[::-1].dictionary_encode()]
    within = pa.DictionaryArray.from_arrays(
        [["north", None, "west", "south"].index(cell) for cell in cells], pa.array(["north", None, "west", "south"])
    )
    coded = [parts[0].from_arrays(*_of(cells)), pa.chunked_array(parts), within]
    arrow = [pa.table({"age": AGE, "ward": column}) for column in coded]
    names = ["north", "south", "west"]
    series = [pl.Series(cells.tolist(), dtype=kind) for kind in (pl.Categorical, pl.Enum(names))]
    polars = [pl.DataFrame({"age": AGE, "ward": own}) for own in series]
    pandas = pd.DataFrame({"age": AGE, "ward": pd.Categorical(cells)})
    decided_as_text([*arrow, *polars, pandas], pd.DataFrame({"age": AGE, "ward": cells}))
    pq = package_or_skip("pyarrow.parquet")
    pq.write_table(arrow[1].append_column("y", [Y]), tmp_path / "coded.parquet")
    model = SEPClassifier(max_ellipsoids=2).fit(tmp_path / "coded.parquet", "y")
    assert model.preparation_.categories["ward"].values == (*names, None)


def _of(cells):
    """The codes and values of a dictionary whose codes of missing cells are null."""
    coded = pa.array(cells).dictionary_encode()
    return coded.indices, coded.dictionary


@pytest.mark.parametrize(("gaps", "among"), [(False, {}), (True, {"ward": WARD})])
def test_decimals_are_numbers(gaps, among):
    cells = [None if gaps and i % 9 == 0 else Decimal(str(x)) for i, x in enumerate(WEIGHT)]
    floats = pd.DataFrame({**among, "age": AGE, "weight": [np.nan if x is None else float(x) for x in cells]})
    tables = [
        floats.assign(weight=pd.Series(cells, dtype=object)),
        pa.table({**among, "age": AGE, "weight": pa.array(cells, pa.decimal128(9, 1))}),
        pa.table({**among, "age": AGE, "weight": pa.array(cells, pa.decimal256(50, 1))}),
        pl.DataFrame({**among, "age": AGE, "weight": pl.Series(cells, dtype=pl.Decimal(9, 1))}),
    ]
    decided_as_text(tables, floats)
    ids = pd.DataFrame({"key": [Decimal(2**62 + 7 * i) for i in range(N)], "age": AGE})
    assert {finding.about: finding.advice[:8] for finding in sepc.look(ids)}["key"] == "Left out"


@pytest.mark.slow_cases("-", "UNKNOWN", "k. A.")
@pytest.mark.parametrize("text", ["?", "-", "UNKNOWN", " n/a ", "k. A.", "#DIV/0!", "\u2013"])
def test_a_text_that_means_missing_is_so_among_numbers_and_stays_a_value_among_categories(text):
    plain = pd.DataFrame({"age": AGE.astype(float), "ward": WARD})
    model = SEPClassifier().fit(plain.assign(age=plain["age"].where(np.arange(N) % 7 > 0)), Y)
    odd = plain[:3].assign(age=["34", text, None])
    decisions = model.decide(odd)
    assert decisions.missing[:, 0].tolist() == [False, True, True]
    assert decisions.notes.tolist() == ["", "", ""]
    wards = plain.assign(ward=np.where(np.arange(N) % 5 == 0, text, WARD))
    assert text in SEPClassifier().fit(wards, Y).preparation_.categories["ward"].values
    (finding,) = [own for own in sepc.look(wards, Y) if own.about == "ward"]
    assert "--na" in finding.advice
    blank = plain.assign(ward=np.where(np.arange(N) % 5 == 0, "  ", WARD))
    assert SEPClassifier().fit(blank, Y).preparation_.categories["ward"].values[-1] is None


def test_other_columns_tell_what_a_separator_means_or_it_is_asked():
    table = pd.DataFrame({"pay": list(map(german, PAY)), "weight": list(map(german, WEIGHT))})
    with pytest.warns(LeftOutWarning, match="Read as numbers: 'pay'"):
        model = SEPClassifier().fit(table, Y)
    plain = pd.DataFrame({"pay": PAY, "weight": WEIGHT})
    np.testing.assert_array_equal(model.decide(table).label, SEPClassifier().fit(plain, Y).decide(plain).label)
    alone, two_ways = table.assign(weight=WEIGHT), table.assign(height=[f"{x:,.1f}" for x in 30 * WEIGHT])
    for asked in (alone, two_ways, table.assign(pay=PAY / 1000)):
        (finding,) = [own for own in sepc.look(asked, Y) if own.about == "pay"]
        assert finding.severity.name == "DOUBTFUL"
        assert "decimal=" in finding.advice


@pytest.mark.parametrize("given", [[], ["--decimal", ","]])
def test_the_command_reads_thousands_by_the_decimal_commas_of_other_columns(given, tmp_path, capsys):
    table = pd.DataFrame({"pay": list(map(german, PAY)), "weight": list(map(german, WEIGHT)), "y": Y})
    if given:
        table = table.drop(columns="weight").assign(age=AGE)
    table.to_csv(tmp_path / "t.csv", index=False, sep=";")
    words = ["fit", str(tmp_path / "t.csv"), "--target", "y", "--output", str(tmp_path / "m.sepc"), "--quiet", *given]
    assert main(words) == 0
    plain = pd.DataFrame({"pay": PAY, "weight": WEIGHT}) if not given else pd.DataFrame({"pay": PAY, "age": AGE})
    np.testing.assert_array_equal(
        load(tmp_path / "m.sepc").decide(plain).label, SEPClassifier(random_state=0).fit(plain, Y).decide(plain).label
    )


@pytest.fixture(scope="module")
def model():
    """Fitted to euros, percents, dates as text and naive times."""
    table = pd.DataFrame(
        {
            "amount": [f"€ {x:,.2f}" for x in PAY / 7],
            "rate": [f"{x / 10}%" for x in AGE],
            "day": DAYS.strftime("%d/%m/%Y"),
            "since": DAYS[::-1],
        }
    )
    with pytest.warns(LeftOutWarning):
        return SEPClassifier().fit(table, Y), table.iloc[0].to_dict()


ZONE = "since is converted to UTC: it has a time zone, unlike times in training."
SAID = {
    "another currency": ({"amount": "$ 12,000.00"}, "amount '$ 12,000.00' cannot be read"),
    "thousands": ({"amount": "12k"}, "amount '12k' cannot be read"),
    "a comma": ({"rate": "9,9%"}, "rate '9,9%' cannot be read"),
    "a share": ({"rate": 0.099}, "rate 0.099 has no %"),
    "no such day": ({"day": "31/02/2023"}, "day '31/02/2023' cannot be read"),
    "a zone": ({"since": pd.Timestamp("2023-02-03 01:00", tz="Asia/Tokyo")}, ZONE),
    "a zone in text": ({"since": "2023-02-03T01:00:00+09:00"}, ZONE),
}


def test_what_was_assumed_of_a_cell_is_said(model):
    classifier, row = model
    for cells, said in SAID.values():
        decisions = classifier.decide([row | cells, row])
        note, other = decisions.notes
        assert (note.startswith(said), other) == (True, "")
        assert decisions.to_frame()["notes"].tolist() == [note, ""]
        assert note in decisions[0].why()
        assert f"{next(iter(cells))} is missing" not in decisions[0].why()


def test_a_zone_in_training_is_missed_later_and_mixed_ones_are_doubtful(model):
    _, row = model
    zoned = pd.DataFrame({"age": AGE, "since": DAYS.tz_localize("Asia/Tokyo")})
    decisions = SEPClassifier().fit(zoned, Y).decide(zoned[:2].assign(since=DAYS[:2]))
    assert decisions.notes[0].startswith("since is taken as UTC")
    texts = [f"{day:%Y-%m-%d %H:%M}{'+09:00' if i % 3 else ''}" for i, day in enumerate(DAYS)]
    cells = [day.tz_localize("UTC").to_pydatetime() if i % 3 else day.to_pydatetime() for i, day in enumerate(DAYS)]
    for mixed in (texts, pd.Series(cells, dtype=object)):
        (finding,) = [own for own in sepc.look(pd.DataFrame({"age": AGE, "since": mixed})) if own.about == "since"]
        assert "UTC" in finding.seen


def test_a_bad_date_where_training_had_dates_is_refused_by_name(model):
    classifier, row = model
    assert classifier.decide(row | {"since": "2023-02-03"}).notes.tolist() == [""]
    for cell, said in (("2023-02-31", "'since' .* '2023-02-31'"), ("03/04/2023", "2023-04-03 or 2023-03-04")):
        with pytest.raises(ValueError, match=said):
            classifier.decide(row | {"since": cell})


def test_score_writes_what_was_assumed(model, tmp_path, capsys):
    classifier, row = model
    sepc.save(classifier, tmp_path / "m.sepc")
    rows = [row | {"amount": "12k"}, row | {"day": "31/02/2023"}, row]
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    assert main(["score", str(tmp_path / "m.sepc"), str(tmp_path / "t.csv"), "--output", str(tmp_path / "o.csv")]) == 0
    notes = pd.read_csv(tmp_path / "o.csv")["notes"]
    assert "'12k' cannot be read" in notes[0]
    assert "'31/02/2023' cannot be read" in notes[1]
    assert notes.isna()[2]
    assert "2 rows" in capsys.readouterr().out
