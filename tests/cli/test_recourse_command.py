"""`sepc explain --recourse`, with relations from a file."""

import numpy as np
import pytest
from optional import package_or_skip

pd = package_or_skip("pandas")
package_or_skip("pyarrow")

from sepc import SEPClassifier, save  # noqa: E402

RELATIONS = """
relations = ["total = first + second", "change(total) <= 3", "if kind = 'b' then first <= 1.5"]
fixed = ["age"]

[bounds]
first = { least = -3.0 }
kind = ["a", "b"]

[direction]
second = "up"

[cost]
kind = 2.0

[[together]]
kind = ["a", "b", "c"]
rank = [1, 2, 3]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("recourse"), np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 2)), columns=["first", "second"])
    table = table.assign(total=table["first"] + table["second"], age=rng.integers(20, 60, 300))
    table["kind"] = rng.choice(["a", "b", "c"], 300)
    table["rank"] = table["kind"].map({"a": 1, "b": 2, "c": 3})
    y = np.where(table["total"] + 0.4 * (table["kind"] == "b") + 0.2 * rng.normal(size=300) > 0.0, "yes", "no")
    table.to_csv(path / "rows.csv", index=False)
    with pytest.warns(UserWarning, match="collinear"):
        save(SEPClassifier(min_trust=0.8).fit(table, y), path / "model.sepc")
    (path / "limits.toml").write_text(RELATIONS, encoding="utf-8")
    (path / "number.txt").write_text(str(1 + int(np.flatnonzero(y == "no")[0])), encoding="utf-8")
    return path


def asked(folder, *more):
    row = (folder / "number.txt").read_text(encoding="utf-8")
    return ["explain", folder / "model.sepc", folder / "rows.csv", "--row", row, "--recourse", *more]


def test_answers_keep_the_relations_of_the_file(folder, run, facts):
    words = asked(folder, "--to", "yes", "--relations", folder / "limits.toml")
    told = run(*words)
    assert told.code == 0
    assert "Recourse to 'yes'" in told.out
    (record,) = facts(*words)
    table = pd.read_csv(folder / "rows.csv")
    before = table.iloc[record["row"] - 1]
    assert record["answers"]
    for answer in record["answers"]:
        after = before.copy()
        for change in answer["changes"]:
            after[change["column"]] = change["after"]
        assert after["total"] == pytest.approx(after["first"] + after["second"], abs=1e-7)
        assert after["total"] <= before["total"] + 3.0 + 1e-7
        assert after["kind"] != "b" or after["first"] <= 1.5 + 1e-7
        assert after["second"] >= before["second"]
        assert after["age"] == before["age"]
        assert (after["kind"], after["rank"]) in (("a", 1), ("b", 2), ("c", 3))


@pytest.mark.parametrize(
    ("words", "text", "told"),
    [
        ((), "", "needs --to"),
        (("--to", "maybe"), "", "no label 'maybe'"),
        (("--to", "yes"), "relations = 3", "a list"),
        (("--to", "yes"), "related = []", "no setting 'related'"),
        (("--to", "yes"), "relations = [", "TOML"),
        (("--to", "yes"), 'relations = ["total = third"]', "'third'"),
        (("--to", "yes"), "[[together]]\nkind = ['a']\nrank = [1, 2]", "different lengths"),
    ],
)
def test_mistakes_are_told(folder, refused, tmp_path, words, text, told):
    (tmp_path / "limits.toml").write_text(text, encoding="utf-8")
    given = asked(folder, *words, "--relations", tmp_path / "limits.toml")
    assert told in refused(*given)
    assert "--row" in refused(*given[:3], "--recourse", "--to", "yes")
