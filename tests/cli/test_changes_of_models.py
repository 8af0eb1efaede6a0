"""Changes of models by the command: what `diff` and `check-plan` say is what the library says."""

import json

import numpy as np
import pytest
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


def test_diff_says_what_compare_does_also_in_blocks(place, run, facts, tmp_path, monkeypatch):
    expected = compared(place)
    ran = run(*words(place), "--group", "ward", "--output", tmp_path / "changes.csv")
    assert (ran.code, ran.err) == (1, "")
    assert expected.headline() in ran.out
    table = pd.read_csv(tmp_path / "changes.csv")
    assert table["position"].tolist() == expected.rows.position.tolist()
    assert table["label_after"].tolist() == expected.rows.label_after.tolist()
    whole = facts(*words(place), "--group", "ward")
    assert whole["changed"] == expected.n_changed > 0
    assert {group["key"]: group["n_changed"] for group in whole["groups"]} == dict(
        zip(expected.groups.key, expected.groups.n_changed.tolist(), strict=True)
    )
    assert whole["parts"] == [{"part": "model", "n_changed": expected.n_changed}]
    monkeypatch.setattr("sepc.tables.files.BATCH_ROWS", 150)
    ran = run(*words(place), "--group", "ward", "--json", "--output", tmp_path / "changes.html")
    blocks = json.loads(ran.out)
    for facts_of_run in (whole, blocks):
        facts_of_run.pop("output", None)
    assert blocks == whole
    assert (tmp_path / "changes.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_same_model_ends_with_zero(place, run):
    ran = run("diff", place / "old.sepc", place / "old.sepc", place / "rows.csv")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("No decision changes on 700 rows")


@pytest.mark.filterwarnings("ignore:Ignored")
def test_models_that_read_other_columns_are_compared_row_by_row(place, run, tmp_path):
    table = square(600, 5).assign(code=np.arange(600) % 7)
    save(SEPClassifier().fit(table[["up", "left", "code"]], table["side"].to_numpy()), tmp_path / "wide.sepc")
    rows = square(300, 6).assign(code=np.arange(300) % 7)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    ran = run("diff", place / "old.sepc", tmp_path / "wide.sepc", tmp_path / "rows.csv", "--json")
    before = load(place / "old.sepc").decide(rows)
    after = load(tmp_path / "wide.sepc").decide(rows)
    differs = (before.label != after.label) | (before.cause != after.cause)
    assert json.loads(ran.out)["changed"] == int(differs.sum())


def test_every_error_of_diff_ends_with_two(place, refused, tmp_path):
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1")
    for given, said in (
        (words(place, target="none"), "no column 'none'"),
        ([*words(place), "--group", "ward,left,up"], "names 3 columns"),
        (words(place, new="none"), "none.sepc"),
        (words(place, table=tmp_path / "damaged.parquet"), "damaged.parquet"),
    ):
        assert said in refused(*given)


@pytest.fixture
def planned(place, run, tmp_path):
    """The words of a check, with a plan that fixes the rows by the digest that the command prints."""

    def make(margin):
        plan = tmp_path / "plan.toml"
        plan.write_text(PLAN.format(rows="", margin=margin))
        check = ["check-plan", plan, *words(place, new="new")[1:], "--group", "ward"]
        same = ["check-plan", plan, *words(place, new="old")[1:], "--group", "ward", "--digest"]
        ran = run(*same)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith('digest = "')
        plan.write_text(PLAN.format(rows=ran.out, margin=margin))
        assert not list(tmp_path.glob("*.jsonl"))
        return check

    return make


def test_check_plan_passes_line_by_line_as_in_the_library(planned, place, run, facts, tmp_path):
    check = planned(margin=0.3)
    ran = run(*check, "--output", tmp_path / "check.html")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Passed: all 4")
    assert "(ward = east)" in ran.out
    assert "<h1>Refits</h1>" in (tmp_path / "check.html").read_text(encoding="utf-8")
    told = facts(*check)
    assert (told["passed"], told["is_repeated"], told["look"]) == (True, True, 1)
    table = pd.read_csv(place / "rows.csv")
    other = tmp_path / "drawn.toml"
    other.write_text(PLAN.format(rows="draw = 700", margin=0.3))
    old, new = (load(place / f"{name}.sepc") for name in ("old", "new"))
    found = check_plan(other, old, new, table[NAMES], table["side"].to_numpy(), {"ward": table["ward"]})
    assert [line["evidence"] for line in told["lines"]] == [line.evidence for line in found.lines]


def test_check_plan_that_does_not_pass_ends_with_one(planned, run):
    ran = run(*planned(margin=0.001))
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("Not passed: of 4")


def test_refusals_end_with_two(planned, place, run, refused, tmp_path):
    check, table = planned(margin=0.3), square(700, 2, corner=True)
    table[1:].to_csv(tmp_path / "fewer.csv", index=False)
    table.assign(side=table["side"].where(table.index > 3)).to_csv(tmp_path / "gaps.csv", index=False)
    for name, said in (("fewer", "not the rows"), ("gaps", "lacks 4 labels")):
        assert said in refused(*(tmp_path / f"{name}.csv" if word == place / "rows.csv" else word for word in check))
    (tmp_path / "plan.toml").write_text("version = 3")
    assert "plans of version 1" in refused(*check)
    (tmp_path / "plan.toml").unlink()
    assert run(*check).code == 2
