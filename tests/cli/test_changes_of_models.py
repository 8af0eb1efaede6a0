"""Changes of models by the command: what `diff` and `check-plan` say is what the library says."""

import json

import numpy as np
import pytest
from command_runs import complaint, run_here
from optional import package_or_skip

import sepc
from sepc import SEPClassifier, load, save
from sepc.lifecycle import check_plan

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")

NAMES = ["left", "up"]
PLAN = """version = 1
title = "Refits"
may_change = ["model", "threshold"]
[rows]
key = "sixteen or more letters"
{rows}
[candidates]
most = 2
[[criteria]]
kind = "changed"
margin = {margin}
level = 0.05
[[criteria]]
kind = "groups"
margin = 0.2
level = 0.05
names = ["east", "west"]
"""


def square(n, seed, corner=False):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(n, 2)), columns=NAMES)
    table["ward"] = np.where(rng.random(n) < 0.5, "east", "west")
    table["side"] = np.where(table["left"] > 0.0, "right", "wrong")
    if corner:
        table.loc[(table[NAMES] - 0.5).abs().max(axis=1) < 0.3, "side"] = "wrong"
    return table


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with two models and rows that neither has seen."""
    folder = tmp_path_factory.mktemp("changes")
    for name, seed, corner in (("old", 0, False), ("new", 1, True)):
        table = square(600, seed, corner)
        save(SEPClassifier().fit(table[NAMES], table["side"].to_numpy()), folder / f"{name}.sepc")
    square(700, 2, corner=True).to_csv(folder / "rows.csv", index=False)
    return folder


def words(place, command="diff", old="old", new="new", table="rows.csv", target="side"):
    return [command, place / f"{old}.sepc", place / f"{new}.sepc", place / table, "--target", target]


def compared(place):
    table = pd.read_csv(place / "rows.csv")
    old, new = (load(place / f"{name}.sepc") for name in ("old", "new"))
    return sepc.compare(old, new, table[NAMES], table["side"].to_numpy(), table["ward"].to_numpy())


def test_diff_says_what_compare_does(place, capsys, tmp_path):
    ran = run_here(capsys, *words(place), "--group", "ward", "--output", tmp_path / "changes.csv")
    expected = compared(place)
    assert (ran.code, ran.err) == (1, "")
    assert expected.headline() in ran.out
    assert "By group: ward = " in ran.out
    table = pd.read_csv(tmp_path / "changes.csv")
    assert table["position"].tolist() == expected.rows.position.tolist()
    assert table["label_after"].tolist() == expected.rows.label_after.tolist()


def test_diff_prints_json_and_writes_a_page(place, capsys, tmp_path):
    ran = run_here(capsys, *words(place), "--group", "ward", "--json", "--output", tmp_path / "changes.html")
    facts, expected = json.loads(ran.out), compared(place)
    assert facts["changed"] == expected.n_changed > 0
    assert {group["key"]: group["n_changed"] for group in facts["groups"]} == dict(
        zip(expected.groups.key, expected.groups.n_changed.tolist(), strict=True)
    )
    assert facts["parts"] == [{"part": "model", "n_changed": expected.n_changed}]
    assert "<h1>Comparison of two models</h1>" in (tmp_path / "changes.html").read_text(encoding="utf-8")


def test_the_same_model_ends_with_zero(place, capsys):
    ran = run_here(capsys, "diff", place / "old.sepc", place / "old.sepc", place / "rows.csv")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("No decision changes on 700 rows")


@pytest.mark.filterwarnings("ignore:Ignored")
def test_models_that_read_other_columns_are_compared_row_by_row(place, capsys, tmp_path):
    table = square(600, 5).assign(code=np.arange(600) % 7)
    save(SEPClassifier().fit(table[["up", "left", "code"]], table["side"].to_numpy()), tmp_path / "wide.sepc")
    rows = square(300, 6).assign(code=np.arange(300) % 7)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    ran = run_here(capsys, "diff", place / "old.sepc", tmp_path / "wide.sepc", tmp_path / "rows.csv", "--json")
    before = load(place / "old.sepc").decide(rows)
    after = load(tmp_path / "wide.sepc").decide(rows)
    differs = (before.label != after.label) | (before.cause != after.cause)
    assert json.loads(ran.out)["changed"] == int(differs.sum())


def test_every_error_of_diff_ends_with_two(place, capsys, tmp_path):
    assert "no column 'none'" in complaint(run_here(capsys, *words(place, target="none")))
    assert "cannot be standard input" in complaint(
        run_here(capsys, "diff", place / "old.sepc", place / "new.sepc", "-", "--format", "csv")
    )
    assert "names 3 columns" in complaint(run_here(capsys, *words(place), "--group", "ward,left,up"))
    missing = run_here(capsys, "diff", place / "old.sepc", place / "none.sepc", place / "rows.csv")
    assert missing.code == 2
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    damaged = run_here(capsys, "diff", place / "old.sepc", place / "new.sepc", tmp_path / "damaged.parquet")
    assert damaged.code == 2


@pytest.fixture
def planned(place, capsys, tmp_path):
    """The words of a check, with a plan that fixes the rows by the digest that the command prints."""

    def make(margin):
        plan = tmp_path / "plan.toml"
        plan.write_text(PLAN.format(rows="", margin=margin))
        check = ["check-plan", plan, *words(place, new="new")[1:], "--group", "ward"]
        same = ["check-plan", plan, *words(place, new="old")[1:], "--group", "ward", "--digest"]
        ran = run_here(capsys, *same)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith('digest = "')
        plan.write_text(PLAN.format(rows=ran.out, margin=margin))
        assert not list(tmp_path.glob("*.jsonl"))
        return check

    return make


def test_check_plan_passes_line_by_line(planned, capsys, tmp_path):
    check = planned(margin=0.3)
    ran = run_here(capsys, *check, "--output", tmp_path / "check.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Passed: all 4 lines of the plan.")
    assert "(ward = east)" in ran.out
    assert "Candidate 1 of at most 2" in ran.out
    assert "<h1>Refits</h1>" in (tmp_path / "check.html").read_text(encoding="utf-8")
    again = run_here(capsys, *check, "--json")
    facts = json.loads(again.out)
    assert (again.code, facts["passed"], facts["is_repeated"], facts["look"]) == (0, True, True, 1)


def test_check_plan_that_does_not_pass_ends_with_one(planned, capsys):
    ran = run_here(capsys, *planned(margin=0.001))
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("Not passed: of 4 lines, 3 passed and 1 failed.")


def test_the_library_agrees_on_the_lines(planned, place, capsys, tmp_path):
    check = planned(margin=0.3)
    facts = json.loads(run_here(capsys, *check, "--json").out)
    table = pd.read_csv(place / "rows.csv")
    other = tmp_path / "drawn.toml"
    other.write_text(PLAN.format(rows="draw = 700", margin=0.3))
    old, new = (load(place / f"{name}.sepc") for name in ("old", "new"))
    found = check_plan(other, old, new, table[NAMES], table["side"].to_numpy(), {"ward": table["ward"]})
    assert [line["evidence"] for line in facts["lines"]] == [line.evidence for line in found.lines]


def test_refusals_end_with_two(planned, place, capsys, tmp_path):
    check = planned(margin=0.3)
    table = square(700, 2, corner=True)
    table[1:].to_csv(tmp_path / "fewer.csv", index=False)
    fewer = [tmp_path / "fewer.csv" if word == place / "rows.csv" else word for word in check]
    assert "not the rows that the plan fixes" in complaint(run_here(capsys, *fewer))
    table.assign(side=table["side"].where(table.index > 3)).to_csv(tmp_path / "gaps.csv", index=False)
    gaps = [tmp_path / "gaps.csv" if word == place / "rows.csv" else word for word in check]
    assert "lacks 4 labels" in complaint(run_here(capsys, *gaps))
    (tmp_path / "plan.toml").write_text("version = 3")
    assert "reads plans of version 1" in complaint(run_here(capsys, *check))
    (tmp_path / "plan.toml").unlink()
    assert run_here(capsys, *check).code == 2
