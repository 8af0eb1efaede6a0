"""`sepc look`, and what the other commands do about its findings."""

import subprocess
import sys

import numpy as np
import pytest
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


def test_a_look_prints_findings(misspelled, run, tmp_path):
    ran = run("look", misspelled, "--target", "t")
    assert ran.code == 0
    assert ran.out.startswith("1 finding in 300 rows\n")
    assert "'Sick' (1 row)" in " ".join(ran.out.split())
    table().to_csv(tmp_path / "clean.csv", index=False)
    assert run("look", tmp_path / "clean.csv", "--target", "t").out.startswith("0 findings in 300 rows")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_long_table_is_looked_at_in_part(tmp_path, facts, monkeypatch, ending):
    getattr(table(1_000), f"to_{ending}")(tmp_path / f"t.{ending}", index=False)
    monkeypatch.setattr(look, "MOST_ROWS", 300)
    told = facts("look", tmp_path / f"t.{ending}", "--target", "t")
    assert (told["rows"], told["looked_at"]) == (1_000, 250)


def test_ids_and_rows_in_an_order_are_found_in_a_part(tmp_path, facts, monkeypatch):
    monkeypatch.setattr(look, "MOST_ROWS", 1_000)
    shuffled = np.random.default_rng(1).permutation(6_000)
    rows = table(6_000).assign(index=range(6_000), no=1_000 + shuffled, code=[f"K-{i:06d}" for i in shuffled])
    for order, is_order in ((["a"], True), (["index"], False)):
        rows.sort_values(order).to_csv(tmp_path / "t.csv", index=False)
        found = facts("look", tmp_path / "t.csv", "--target", "t")["findings"]
        about = {(own["about"], own["severity"]) for own in found}
        assert {("index", "HANDLED"), ("no", "HANDLED"), ("code", "HANDLED")} <= about
        assert (("rows", "DOUBTFUL") in about) is is_order


def test_a_look_loads_no_library_that_it_does_not_need(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    words = ["look", str(tmp_path / "t.csv"), "--target", "t"]
    code = f"import sys; from sepc.cli import main; main({words!r}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.startswith("0 findings in 300 rows")
    assert not {"sklearn", "scipy.stats", "dask", "matplotlib"} & set(ran.stdout.split())


def test_suspects_have_the_row_numbers_of_the_table(tmp_path, run, facts):
    rows = table()
    rows["a"] *= 3.0
    rows.loc[7, "t"] = {"sick": "well", "well": "sick"}[rows.loc[7, "t"]]
    rows.loc[2, "t"] = None
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = ["look", tmp_path / "t.csv", "--target", "t", "--suspects"]
    found = facts(*words)["suspects"]
    assert dict(zip(found["row"], found["given"], strict=True))[8] == rows.loc[7, "t"]
    assert f"row 8: labelled {rows.loc[7, 't']}" in run(*words).out


def test_labels_are_merged_on_request(misspelled, tmp_path, run, facts):
    words = ["fit", misspelled, "--target", "t", "--output", tmp_path / "m.sepc"]
    ran = run(*words)
    assert "'Sick' (like 'sick')" in ran.err
    assert ran.err.count("\n") == 1
    assert len(load(tmp_path / "m.sepc").classes_) == 4
    ran = run(*words, "--merge-labels")
    assert "'sikc' into 'sick'" in ran.out
    assert ran.err == ""
    assert load(tmp_path / "m.sepc").classes_.tolist() == ["sick", "well"]
    assert facts(*words, "--merge-labels")["merged_labels"][0] == ["Sick", "sick"]


def test_merging_nothing_or_everything(write_csv, tmp_path, run):
    for labels, said in ((("yes", "Yes", "no"), "into"), (("yes", "Yes"), "only 'Yes'"), (("yes", "no"), "none were")):
        rows = write_csv(["a", "t"], *([i % 7, labels[i % len(labels)]] for i in range(90)))
        ran = run("fit", rows, "--target", "t", "--merge-labels", "--output", tmp_path / "m.sepc")
        assert said in (ran.err if ran.code else ran.out)


def test_the_last_rows_are_held_out(tmp_path, run, facts, refused):
    rows = table()
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = ["fit", tmp_path / "t.csv", "--target", "t", "--output", tmp_path / "m.sepc", "--test-last"]
    told = facts(*words, "0.3")
    assert told["held_out"]["rows"] == 90
    assert {own["label"]: own["rows"] for own in told["classes"]} == rows["t"][:210].value_counts().to_dict()
    assert "90 rows held out (the last 30 %" in run(*words, "0.3").out
    assert "not allowed with" in refused(*words, "0.3", "--test-size", "0.3")
    rows.sort_values("t").to_csv(tmp_path / "t.csv", index=False)
    assert "--test-size" in refused(*words, "0.8")
    rows.iloc[:90].assign(t=["sick", "well"] * 30 + ["new"] * 30).to_csv(tmp_path / "t.csv", index=False)
    few, more = (run(*words, share) for share in ("0.2", "0.4"))
    assert (few.code, more.code) == (0, 0)
    assert "only" not in few.err
    assert "only in the held-out rows" in more.err
    assert "'new'" in more.err


def test_a_fit_sounds_the_alarm_of_the_report(tmp_path, run):
    rows = table(600)
    rows["a"] = np.where(rows["t"] == "sick", 8.0, 0.0) + rows["b"]
    rows.loc[400:, "t"] = np.random.default_rng(1).permutation(rows["t"][400:])
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = [tmp_path / "t.csv", "--target", "t", "--test-last", "0.3"]
    told = run("fit", *words, "--output", tmp_path / "m.sepc").out
    report = run("report", *words, "--output", tmp_path / "r.html").out
    alarm = next(line for line in told.splitlines() if line.startswith("Warning: "))
    assert "Do not rely" in alarm
    assert alarm in report.splitlines()


def test_a_report_tells_findings_after_what_to_do_and_which_rows_are_held_out(misspelled, run):
    ran = run("report", misspelled, "--target", "t", "--text", "--test-last", "0.3", "--merge-labels")
    assert "Merged labels" in ran.err
    assert "the last 30 %" in ran.out
    assert 0 < ran.out.index("to do first") < ran.out.index("stands out")


def test_numbers_as_a_target(tmp_path, run, refused):
    """Amounts are no classes, and codes are if they are named."""
    rows = table(600)
    rows["age"] = np.clip(np.random.default_rng(2).normal(45, 8, size=600).round(), 20, 80).astype(int)
    rows["code"] = np.where(rows["t"] == "sick", 101, 202)
    rows.to_csv(tmp_path / "t.csv", index=False)
    words = [tmp_path / "t.csv", "--output", tmp_path / "m.sepc", "--target"]
    assert "amounts" in run("look", words[0], "--target", "age").out
    assert "regressor" in refused("fit", *words, "age")
    ran = run("fit", *words, "code", "--drop", "t,age", "--categorical", "code")
    assert ran.code == 0, ran.err
    assert load(tmp_path / "m.sepc").classes_.tolist() == ["101", "202"]
