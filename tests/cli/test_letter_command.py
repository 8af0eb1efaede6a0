"""`sepc explain --letter`, and the ids and groups of `sepc report`."""

import pytest
from command_runs import run_here
from optional import package_or_skip

pd = package_or_skip("pandas")
package_or_skip("pyarrow")

from sklearn.datasets import make_moons  # noqa: E402

from sepc import SEPClassifier, save  # noqa: E402

LETTER = ("--letter", "--organisation", "The Bank", "--contact", "Ms Roe")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("letters")
    X, y = make_moons(240, noise=0.25, random_state=0)
    table = pd.DataFrame(X, columns=["income", "debt"]).assign(granted=y)
    table["person"] = [f"P-{i:03d}" for i in range(240)]
    table["branch"] = ["north", "south", "east"] * 80
    table.to_csv(path / "rows.csv", index=False)
    save(SEPClassifier(min_trust=0.8).fit(table[["income", "debt"]], y), path / "bank.sepc")
    return path


def test_a_letter_is_printed_or_written(folder, capsys, tmp_path, run, facts):
    words = ["explain", folder / "bank.sepc", folder / "rows.csv", "--row", 3, *LETTER]
    told = run_here(
        capsys, *words, "--label-words", "0=no loan", "--label-words", "1=a loan", "--column-words", "debt=debts"
    )
    assert told.code == 0
    assert told.out.startswith("The Bank\n")
    assert "Ms Roe" in " ".join(told.out.split())
    assert "loan" in told.out
    assert "debt " not in told.out
    assert run(*words, "--output", tmp_path / "l.html").out == f"Written to {tmp_path / 'l.html'}\n"
    assert (tmp_path / "l.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    changed = facts(*words, "--to", "1")["letter"]
    assert "would" in changed


def test_a_template_of_ones_own(folder, run, refused, tmp_path):
    words = ["explain", folder / "bank.sepc", folder / "rows.csv", "--row", 3, *LETTER]
    (tmp_path / "t.txt").write_text("$organisation says: $contact", encoding="utf-8")
    assert run(*words, "--template", tmp_path / "t.txt").out.startswith("The Bank says: If you")
    (tmp_path / "t.txt").write_text("$organization", encoding="utf-8")
    assert "Did you mean 'organisation'?" in refused(*words, "--template", tmp_path / "t.txt")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (LETTER, "--row"),
        (("--row", 3, "--letter", "--contact", "x"), "--organisation"),
        (("--row", 300, *LETTER), "no row 300"),
        (("--row", 3, *LETTER, "--to", "maybe"), "no label 'maybe'"),
        (("--row", 3, *LETTER, "--label-words", "loan"), "NAME=WORDS"),
    ],
)
def test_what_cannot_be_written_is_refused(folder, refused, words, told):
    assert told in refused("explain", folder / "bank.sepc", folder / "rows.csv", *words)


@pytest.mark.parametrize("with_model", [False, True])
def test_reports_with_ids_and_results_by_column(folder, facts, with_model):
    words = ["report", folder / "rows.csv", "--target", "granted", "--id", "person", "--results-by", "branch,debt"]
    words += ["--model", folder / "bank.sepc"] if with_model else ["--drop", "branch"]
    facts = facts(*words)
    rows = facts["review"] + facts["wrong"]
    assert rows
    assert all(row["row"].startswith("P-") for row in rows)
    branch, debt = facts["results"]
    assert {group["name"] for group in branch["groups"]} == {"north", "south", "east"}
    assert len(debt["groups"]) == 4
    assert not any("person" in name for name, _ in facts["importances"])
