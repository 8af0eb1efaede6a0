"""`sepc look`, and what the other commands do about its findings."""

import json

import numpy as np
import pytest
from command_runs import complaint, run_here
from optional import package_or_skip

from sepc import load
from sepc.cli import look

pd = package_or_skip("pandas")
package_or_skip("pyarrow")


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return pd.DataFrame({"a": rng.normal(size=n) + 2.5 * y, "b": rng.normal(size=n), "t": np.where(y, "sick", "well")})


@pytest.fixture
def misspelled(tmp_path):
    rows = table()
    rows.loc[rows.index[rows["t"] == "sick"][[1, 5]], "t"] = ["Sick", "sikc"]
    rows.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_a_look_prints_findings(misspelled, capsys):
    ran = run_here(capsys, "look", misspelled, "--target", "t")
    assert ran.code == 0
    assert ran.out.startswith("1 finding in 300 rows\n")
    assert "'Sick' (1 row) and 'sikc' (1 row) beside 'sick'" in " ".join(ran.out.split())


def test_a_look_at_a_table_without_findings(tmp_path, capsys):
    table().to_csv(tmp_path / "t.csv", index=False)
    assert run_here(capsys, "look", tmp_path / "t.csv", "--target", "t").out == "0 findings in 300 rows\n"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_long_table_is_looked_at_in_part(tmp_path, capsys, monkeypatch, ending):
    rows = table(1_000)
    getattr(rows, f"to_{ending}")(tmp_path / f"t.{ending}", index=False)
    monkeypatch.setattr(look, "MOST_ROWS", 300)
    ran = run_here(capsys, "look", tmp_path / f"t.{ending}", "--target", "t", "--json")
    facts = json.loads(ran.out)
    assert (facts["rows"], facts["looked_at"]) == (1_000, 250)


def test_suspects_have_the_row_numbers_of_the_table(tmp_path, capsys):
    rows = table()
    rows["a"] *= 3.0
    rows.loc[7, "t"] = {"sick": "well", "well": "sick"}[rows.loc[7, "t"]]
    rows.loc[2, "t"] = None
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = ["look", tmp_path / "t.csv", "--target", "t", "--suspects"]
    ran = run_here(capsys, *words, "--json")
    found = json.loads(ran.out)["suspects"]
    assert 8 in found["row"]
    at = found["row"].index(8)
    assert found["given"][at] == rows.loc[7, "t"]
    told = run_here(capsys, *words).out
    assert f"row 8: labelled {rows.loc[7, 't']}, probably" in told


def test_labels_are_merged_on_request(misspelled, tmp_path, capsys):
    words = ["fit", misspelled, "--target", "t", "--output", tmp_path / "m.sepc"]
    ran = run_here(capsys, *words)
    assert "'Sick' (like 'sick')" in ran.err
    assert ran.err.count("\n") == 1
    assert len(load(tmp_path / "m.sepc").classes_) == 4
    ran = run_here(capsys, *words, "--merge-labels")
    assert "Merged labels: 'Sick' into 'sick' and 'sikc' into 'sick'." in ran.out
    assert ran.err == ""
    assert load(tmp_path / "m.sepc").classes_.tolist() == ["sick", "well"]
    assert json.loads(run_here(capsys, *words, "--merge-labels", "--json").out)["merged_labels"][0] == ["Sick", "sick"]


def test_merging_nothing_or_everything(write_csv, tmp_path, capsys):
    rows = [["a", "t"], *([i % 7, ("yes", "Yes", "no")[i % 3]] for i in range(90))]
    both = [["a", "t"], *([i % 7, ("yes", "Yes")[i % 2]] for i in range(90))]
    none = [["a", "t"], *([i % 7, ("yes", "no")[i % 2]] for i in range(90))]
    words = ["--target", "t", "--merge-labels", "--output", tmp_path / "m.sepc"]
    assert "into" in run_here(capsys, "fit", write_csv(*rows), *words).out
    assert "leaves only 'Yes'" in complaint(run_here(capsys, "fit", write_csv(*both), *words))
    assert "none were merged" in run_here(capsys, "fit", write_csv(*none), *words).out


def test_the_last_rows_are_held_out(tmp_path, capsys):
    rows = table()
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "t", "--output", tmp_path / "m.sepc"]
    facts = json.loads(run_here(capsys, *words, "--test-last", "0.3", "--json").out)
    assert facts["held_out"]["rows"] == 90
    assert {own["label"]: own["rows"] for own in facts["classes"]} == rows["t"][:210].value_counts().to_dict()
    told = run_here(capsys, *words, "--test-last", "0.3").out
    assert "On 90 rows held out (the last 30 % of the rows, in the order of the table):" in told
    assert "not allowed with" in complaint(run_here(capsys, *words, "--test-last", "0.3", "--test-size", "0.3"))


def test_the_last_rows_of_a_table_sorted_by_label(tmp_path, capsys):
    rows = table().sort_values("t")
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "t", "--output", tmp_path / "m.sepc", "--test-last", "0.8"]
    assert "hold out rows at random: --test-size" in complaint(run_here(capsys, *words))
    rows = rows.iloc[:90].assign(t=["sick", "well"] * 30 + ["new"] * 30)
    rows.to_csv(tmp_path / "t.csv", index=False)
    ran = run_here(capsys, *words[:-1], "0.2")
    assert ran.code == 0, ran.err
    assert "only the last rows" not in ran.err
    warned = run_here(capsys, *words[:-1], "0.4").err
    assert "labels that occur only in the held-out rows, so the model does not know them: 'new'." in warned


def test_a_fit_sounds_the_alarm_of_the_report(tmp_path, capsys):
    rows = table(600)
    rows["a"] = np.where(rows["t"] == "sick", 8.0, 0.0) + rows["b"]
    rows.loc[400:, "t"] = np.random.default_rng(1).permutation(rows["t"][400:])
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = [tmp_path / "t.csv", "--target", "t", "--test-last", "0.3"]
    told = run_here(capsys, "fit", *words, "--output", tmp_path / "m.sepc").out
    report = run_here(capsys, "report", *words, "--output", tmp_path / "r.html").out
    alarm = next(line for line in told.splitlines() if line.startswith("Warning: "))
    assert "Do not rely on trust for rows like these. Trust says" in alarm
    assert alarm in report.splitlines()


def test_a_report_tells_findings_after_what_to_do_and_which_rows_are_held_out(misspelled, capsys):
    words = ["report", misspelled, "--target", "t", "--text"]
    ran = run_here(capsys, *words, "--test-last", "0.3", "--merge-labels")
    assert "Merged labels" in ran.err
    assert "Held out: the last 30 % of the rows, in the order of the table." in ran.out
    assert "What stands out in the table" in ran.out
    assert ran.out.index("What to do first") < ran.out.index("What stands out in the table")


def test_numbers_as_a_target(tmp_path, capsys):
    rows = table(600)
    rows["age"] = np.clip(np.random.default_rng(2).normal(45, 8, size=600).round(), 20, 80).astype(int)
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = [tmp_path / "t.csv", "--target", "age"]
    assert "They are amounts" in run_here(capsys, "look", *words).out
    fit = ["fit", *words, "--output", tmp_path / "m.sepc"]
    assert "use a regressor" in complaint(run_here(capsys, *fit))


def test_codes_as_a_target_are_classes_if_named(tmp_path, capsys):
    rows = table(400)
    rows["code"] = np.where(rows["t"] == "sick", 101, 202)
    rows.drop(columns="t").to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "code", "--categorical", "code", "--output", tmp_path / "m.sepc"]
    ran = run_here(capsys, *words)
    assert ran.code == 0, ran.err
    assert load(tmp_path / "m.sepc").classes_.tolist() == ["101", "202"]
