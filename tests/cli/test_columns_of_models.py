"""A table to score need not look like that of training: columns are read as the model knows them."""

import numpy as np
import pytest
from optional import package_or_skip

from sepc import load
from sepc.cli import main

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")

N_ROWS = 240


@pytest.fixture(scope="module")
def visits():
    """Numbers, codes with zeros in front, dates, an id, gaps and labels that depend on all of them."""
    rng = np.random.default_rng(0)
    which = np.arange(N_ROWS) % 2
    code = np.where(rng.random(N_ROWS) < 0.85, which, 1 - which)
    return pd.DataFrame(
        {
            "visit": [f"V{i:04d}" for i in range(N_ROWS)],
            "weight": (70.0 + 6.0 * rng.normal(size=N_ROWS) + 7.0 * which).round(1),
            "ward": np.array(["0171", "0815"])[code],
            "seen": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(800, size=N_ROWS), "D"),
            "smokes": np.array(["yes", "no"])[rng.integers(2, size=N_ROWS)],
            "y": np.array(["well", "sick"])[which],
        }
    )


@pytest.fixture(scope="module")
def place(visits, tmp_path_factory):
    """A folder with the table and a model that the command made of it."""
    folder = tmp_path_factory.mktemp("visits")
    visits.to_csv(folder / "visits.csv", index=False)
    words = ["fit", folder / "visits.csv", "--target", "y", "--output", folder / "m.sepc", "--quiet"]
    assert main([str(word) for word in words]) == 0
    return folder


@pytest.fixture
def trust_of(run, tmp_path):
    """Trust in rows of a table by the model in a folder, as `score` writes it."""

    def scored(folder, table, *more):
        ran = run("score", folder / "m.sepc", table, "--output", tmp_path / "out.parquet", *more)
        assert (ran.code, ran.err) == (0, "")
        return pd.read_parquet(tmp_path / "out.parquet")["trust"].to_numpy()

    return scored


def test_the_columns_are_what_they_seem(place, facts, tmp_path):
    words = ["fit", place / "visits.csv", "--target", "y", "--output", tmp_path / "m.sepc"]
    told = facts(*words)
    assert told["taken_as"] == "4 features: 1 number, 2 categories, 1 date; left out: 'visit' (an id)"
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds == {"visit": "left out", "weight": "number", "ward": "category", "seen": "date", "smokes": "category"}
    kept = facts(*words, "--use", "visit", "--drop", "seen,smokes")
    assert kept["taken_as"] == "3 features: 1 number, 2 categories"


DRESSES = {
    "in other rows": lambda table: table[table["ward"] == "0171"],
    "without what is left out": lambda table: table.drop(columns=["visit", "y"]),
    "codes as numbers": lambda table: table.assign(ward=table["ward"].astype(int)),
    "codes as fractions, as with gaps": lambda table: table.assign(ward=table["ward"].astype(float)),
    "dates as text": lambda table: table.assign(seen=table["seen"].dt.strftime("%d.%m.%Y")),
    "dates with times": lambda table: table.assign(seen=table["seen"].dt.strftime("%Y-%m-%dT%H:%M:%S")),
    "spaces around text": lambda table: table.assign(ward=" " + table["ward"] + " "),
}


@pytest.mark.parametrize("dress", DRESSES)
def test_columns_are_read_as_in_training(dress, place, visits, trust_of, tmp_path, monkeypatch):
    monkeypatch.setattr("sepc.tables.files.BATCH_ROWS", 50)
    table = DRESSES[dress](visits)
    wanted = load(place / "m.sepc").decide(visits.drop(columns="y")).trust[table.index]
    table.to_csv(tmp_path / "new.csv", index=False)
    table.to_parquet(tmp_path / "new.parquet", index=False)
    for name in ("new.csv", "new.parquet"):
        np.testing.assert_allclose(trust_of(place, tmp_path / name), wanted)


def test_columns_come_in_any_order_and_others_are_named(place, visits, run, facts, refused, tmp_path):
    words = ["score", place / "m.sepc", place / "visits.csv", "--target", "y", "--copy", "visit"]
    expected = run(*words, "--output", tmp_path / "expected.csv").out
    assert "Ignored" not in expected
    mixed = visits[visits.columns[::-1]].assign(note="x", **{"weight ": 1.0, "Ward": "9"})
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    words = [*words[:2], tmp_path / "mixed.csv", *words[3:], "--output", tmp_path / "found.csv"]
    *found, told = run(*words).out.splitlines()
    assert found == expected.replace("expected.csv", "found.csv").splitlines()
    assert "'note', 'weight ' and 'Ward'" in told
    assert (tmp_path / "found.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()
    assert facts(*words)["remarks"] == [told]
    mixed.drop(columns="weight").to_csv(tmp_path / "mixed.csv", index=False)
    assert "'weight'" in refused(*words)


def test_a_category_that_is_new_is_said_so(place, visits, run, tmp_path):
    visits[:3].assign(ward=["0999", "0171", "0815"]).to_csv(tmp_path / "new.csv", index=False)
    ran = run("explain", place / "m.sepc", tmp_path / "new.csv", "--row", "1", "--row", "2")
    first, second = ran.out.split("\n\n")
    assert "'0999' was not seen" in first
    assert "was not seen" not in second


@pytest.mark.parametrize(("command", "suffix"), [("score", "parquet"), ("explain", "csv"), ("report", "parquet")])
def test_a_text_where_the_model_knows_numbers(command, suffix, place, visits, run, refused, tmp_path):
    table = visits.assign(weight=visits["weight"].astype(str))
    table.loc[6, "weight"] = "heavy"
    getattr(table, f"to_{suffix}")(tmp_path / f"new.{suffix}", index=False)
    words = {
        "score": ["score", place / "m.sepc", tmp_path / f"new.{suffix}", "--output", tmp_path / "out.csv"],
        "explain": ["explain", place / "m.sepc", tmp_path / f"new.{suffix}"],
        "report": ["report", tmp_path / f"new.{suffix}", "--target", "y", "--model", place / "m.sepc", "--text"],
    }[command]
    line = refused(*words)
    assert f"new.{suffix}, row 7, column 'weight': 'heavy'" in line
    assert "--na heavy" in line
    assert run(*words, "--na", "heavy").code == 0


def test_numbers_with_a_decimal_comma_after_whole_ones(place, visits, refused, tmp_path):
    visits[:2].assign(weight=["70", "71,5"]).to_csv(tmp_path / "new.csv", index=False)
    line = refused("score", place / "m.sepc", tmp_path / "new.csv", "--output", tmp_path / "out.csv")
    assert "row 2, column 'weight': '71,5'" in line
    assert "--decimal ," in line


@pytest.mark.parametrize("cell", ["soon", "07"])
def test_what_is_no_date_counts_as_missing_and_is_named(cell, place, visits, run, tmp_path):
    visits[:2].assign(seen=["2023-01-01", cell]).to_csv(tmp_path / "new.csv", index=False)
    ran = run("score", place / "m.sepc", tmp_path / "new.csv", "--output", tmp_path / "out.csv")
    assert "1 row has" in ran.out
    notes = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)["notes"]
    assert notes[0] == ""
    assert f"seen '{cell}'" in notes[1]


def test_dates_that_may_be_read_in_two_ways(place, visits, run, refused, trust_of, tmp_path):
    visits[:2].assign(seen=["03/04/2023", "05/06/2023"]).to_csv(tmp_path / "new.csv", index=False)
    words = ["score", place / "m.sepc", tmp_path / "new.csv", "--output", tmp_path / "out.csv"]
    assert "2 rows have" in run(*words).out
    seen = pd.to_datetime(["2023-03-04", "2023-05-06"])
    wanted = load(place / "m.sepc").decide(visits[:2].drop(columns="y").assign(seen=seen)).trust
    np.testing.assert_allclose(trust_of(place, tmp_path / "new.csv", "--date", "seen=%m/%d/%Y"), wanted)
    assert "row 1, column 'seen': '03/04/2023'" in refused(*words, "--date", "seen=%Y")


def test_rows_with_gaps_are_decided_on(place, visits, run, refused, trust_of, tmp_path):
    """By default, and left alone or refused if asked for."""
    table = visits.copy()
    table.loc[[3, 8], "weight"] = np.nan
    table.loc[9, "ward"] = None
    table.to_csv(tmp_path / "gaps.csv", index=False)
    wanted = load(place / "m.sepc").decide(table.drop(columns="y"))
    np.testing.assert_allclose(trust_of(place, tmp_path / "gaps.csv"), wanted.trust)
    causes = pd.read_parquet(tmp_path / "out.parquet")["cause"]
    assert causes.tolist() == [wanted[i].cause.name for i in range(len(wanted))]
    words = ["score", place / "m.sepc", tmp_path / "gaps.csv", "--output", tmp_path / "out.csv", "--missing"]
    assert "3 left" in run(*words, "leave").out
    assert "row 4, column 'weight' is empty" in refused(*words, "refuse")


def test_categories_that_look_like_numbers(visits, facts, trust_of, tmp_path):
    table = visits.assign(ward=visits["ward"].astype(int)).drop(columns=["visit", "seen"])
    for suffix in ("csv", "parquet"):
        getattr(table, f"to_{suffix}")(tmp_path / f"t.{suffix}", index=False)
    for suffix in ("csv", "parquet"):
        words = ["fit", tmp_path / f"t.{suffix}", "--target", "y", "--categorical", "ward"]
        told = facts(*words, "--output", tmp_path / "m.sepc")
        assert told["taken_as"] == "3 features: 1 number, 2 categories"
        trusts = [trust_of(tmp_path, tmp_path / f"t.{other}") for other in ("csv", "parquet")]
        np.testing.assert_array_equal(*trusts)
        assert load(tmp_path / "m.sepc").preparation_.categories["ward"].values == (171, 815)


@pytest.mark.slow
def test_a_column_that_is_empty_for_long(run, tmp_path):
    """What its first cells do not show, all of them do."""
    rng = np.random.default_rng(0)
    n = 60_000
    table = pd.DataFrame({"x": np.arange(n) % 1000 + rng.random(n), "y": np.arange(n) % 2})
    table["late"] = [""] * (n - 100) + [f"{i}.5" for i in range(100)]
    table["text"] = [""] * (n - 100) + ["a", "b"] * 50
    table[["late", "text", "x", "y"]].to_csv(tmp_path / "late.csv", index=False)
    words = ["fit", tmp_path / "late.csv", "--target", "y", "--fit-rows", "200", "--output", tmp_path / "m.sepc"]
    ran = run(*words)
    assert "3 features: 2 numbers, 1 category\n" in ran.out, ran.err


@pytest.mark.parametrize("words", [["--by", "smokes"], ["--by", "smokes", "--max-risk", "0.4"]])
def test_models_around_models(words, place, visits, run, trust_of, tmp_path):
    """Parts of a model may leave out what others use; what all leave out need not be there."""
    given = ["fit", place / "visits.csv", "--target", "y", "--output", tmp_path / "m.sepc", *words]
    assert run(*given).code == 0
    visits.drop(columns=["visit", "y"]).to_csv(tmp_path / "new.csv", index=False)
    found = trust_of(tmp_path, tmp_path / "new.csv")
    np.testing.assert_allclose(found, load(tmp_path / "m.sepc").decide(visits.drop(columns="y")).trust)


def test_landscapes_and_reports_take_the_table_too(visits, run, tmp_path):
    table = visits.copy()
    table.loc[[3, 8], "weight"] = np.nan
    table.to_csv(tmp_path / "gaps.csv", index=False, sep=";")
    for command, more in (("landscape", []), ("report", ["--text"])):
        ran = run(command, tmp_path / "gaps.csv", "--target", "y", *more)
        assert ran.code == 0, ran.err
        assert "'visit' (an id)" in ran.err
        if command == "landscape":
            assert "2 rows" in ran.err
            assert "238 rows" in ran.out


def test_numbers_and_dates_in_text_are_read_in_fit_and_in_score(visits, run, trust_of, tmp_path):
    written = visits.assign(
        weight=[f"{x} kg".replace(".", ",") for x in visits["weight"]],
        seen=visits["seen"].dt.strftime("%d %b %Y"),
    )
    written.to_csv(tmp_path / "visits.csv", index=False)
    ran = run("fit", tmp_path / "visits.csv", "--target", "y", "--output", tmp_path / "m.sepc", "--quiet")
    assert ran.code == 0
    for said in ("numbers: 'weight' ('", "dates: 'seen'", "--categorical"):
        assert said in ran.err
    wanted = load(tmp_path / "m.sepc").decide(written.drop(columns="y")).trust
    written.to_parquet(tmp_path / "visits.parquet")
    written.assign(weight=visits["weight"], seen=visits["seen"]).to_parquet(tmp_path / "plain.parquet")
    for name in ("visits.csv", "visits.parquet", "plain.parquet"):
        np.testing.assert_array_equal(trust_of(tmp_path, tmp_path / name), wanted)
    told = []
    for weight in (visits["weight"], visits["weight"].map("{} kg".format)):
        rows = visits.assign(weight=weight, x=visits["weight"] % 7)[["weight", "ward", "x", "y"]]
        rows.to_csv(tmp_path / "rows.csv", index=False)
        told.append(run("landscape", tmp_path / "rows.csv", "--target", "y"))
    assert told[0].code == told[1].code == 0
    assert told[0].out == told[1].out


def test_values_that_start_with_a_minus_are_no_options(visits, run, refused, tmp_path):
    table = visits.assign(weight=visits["weight"].astype(object))
    table.loc[:3, "weight"], table.loc[4:7, "weight"] = -999, "unknown"
    table.to_csv(tmp_path / "coded.csv", index=False)
    fit = ["fit", tmp_path / "coded.csv", "--target", "y", "--output", tmp_path / "m.sepc"]
    assert run(*fit, "--na", "-999,unknown").code == 0
    first = (tmp_path / "m.sepc").read_bytes()
    assert run(*fit, "--na", "-,-999,unknown").code == 0
    assert (tmp_path / "m.sepc").read_bytes() == first
    assert "--target" in refused("fit", "-999")
    assert "--nothing" in refused(*fit, "--nothing")


def test_rows_are_known_again_by_every_column(place, visits, run, tmp_path):
    words = ["monitor", place / "m.sepc", "--state", tmp_path / "watch.sepc"]
    assert run(*words, "--reference", place / "visits.csv").code == 0
    some = visits[:20].drop(columns="y")
    others = [some, some[::-1]]
    for name, value in {"ward": "0815", "smokes": None, "weight": 71.0, "seen": None}.items():
        others.append(some.assign(**{name: some[name].where(some["ward"] != "0171", value)}))
    for n_rows in (*(20 * i for i in range(1, 7)), *[120] * 6):
        others.append(others.pop(0))
        others[-1].to_csv(tmp_path / "rows.csv", index=False)
        assert f" {n_rows} rows so far" in run(*words, tmp_path / "rows.csv").out
