"""`sepc counts` at each site and `sepc certify` for all, as files."""

import json

import pytest
from few_sites import rows, shared_model
from optional import package_or_skip

import sepc
from sepc.cli.entry import main
from sepc.lifecycle.sites import SiteCounts, certify, count_site

pd, _ = package_or_skip("pandas"), package_or_skip("pyarrow")
NAMES = [f"x{i}" for i in range(5)]


@pytest.fixture
def files(tmp_path):
    X, y = rows(1)
    model = sepc.SEPClassifier().fit(pd.DataFrame(X[:800], columns=NAMES), y[:800])
    sepc.save(model, tmp_path / "m.sepc")
    for site, part in (("north", slice(800, 3500)), ("south", slice(3500, 6000))):
        table = pd.DataFrame(X[part], columns=NAMES).assign(label=y[part], ward=["a", "b"] * (len(y[part]) // 2))
        table.to_csv(tmp_path / f"{site}.csv", index=False)
    return tmp_path, model


def run(folder, *words):
    return main([str(folder / word) if "." in str(word) and not word[0].isdigit() else word for word in words])


def test_counts_and_certify(files, capsys):
    folder, model = files
    for site in ("north", "south"):
        assert run(folder, "counts", "m.sepc", f"{site}.csv", "--target", "label", "--output", f"{site}.json") == 0
    assert "2,700 rows of north" in capsys.readouterr().out
    table = pd.read_csv(folder / "north.csv")
    own = count_site(model, table[NAMES], table["label"], site="north")
    assert SiteCounts.load(folder / "north.json").to_json() == own.to_json()
    code = run(folder, *("certify", "m.sepc", "north.json", "south.json", "--max-risk", "0.05", "--output", "out.sepc"))
    assert code == 0
    counts = [SiteCounts.load(folder / f"{site}.json") for site in ("north", "south")]
    wanted = certify(model, counts, max_risk=0.05)
    assert capsys.readouterr().out.startswith(wanted.summary())
    assert sepc.load(folder / "out.sepc").summary() == wanted.model().summary()


def test_certify_for_one_site_with_a_ledger_as_json(files, capsys):
    folder, _ = files
    for site in ("north", "south"):
        run(folder, "counts", "m.sepc", f"{site}.csv", "--target", "label", "--output", f"{site}.json", "--by", "ward")
        capsys.readouterr()
        given = ["north.json"] if site == "north" else ["north.json", "south.json"]
        words = ("--max-risk", "0.08", "--ledger", "ledger.json", "--output", "out.sepc", "--for-site", site, "--json")
        assert run(folder, "certify", "m.sepc", *given, *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["site"] for one in found["promises"]] == [None, "north", "south"]
    kept = json.loads((folder / "ledger.json").read_text())
    assert (len(kept["sites"]), len(kept["sets"])) == (2, 2)
    assert sepc.load(folder / "out.sepc").promise_.sites == ("south",)


def test_what_cannot_be_certified_is_said(files, capsys):
    folder, _ = files
    run(folder, "counts", "m.sepc", "north.csv", "--target", "label", "--output", "north.json")
    sepc.save(shared_model(), folder / "other.sepc")
    assert run(folder, "certify", "other.sepc", "north.json") == 2
    assert "different model" in capsys.readouterr().err
    assert run(folder, "certify", "m.sepc", "north.json", "--max-risk", "0.0001") == 3
    assert run(folder, "certify", "m.sepc", "north.csv") == 2
    assert "north.csv is not" in capsys.readouterr().err
    assert run(folder, "counts", "m.sepc", "north.csv", "--target", "label", "--output", "north.txt") == 2
    assert run(folder, "certify", "m.sepc", "north.json", "--for-site", "north") == 2
