"""Large Parquet files of complete numbers are fitted block by block; of others the command says why they are not."""

import json
import re

import numpy as np
import pytest
from command_runs import complaint
from optional import package_or_skip
from test_hostile_tables import measured

from sepc import SEPClassifier, load

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")


def table_of(n, d=3):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    columns = {f"x{j}": rng.normal(size=n) + 2.0 * y * (j == 0) for j in range(d)}
    return pd.DataFrame(columns | {"y": np.array(["no", "yes"])[y]})


@pytest.fixture
def fit(run, tmp_path, monkeypatch):
    """Fit on a table as if it were large."""
    monkeypatch.setattr("sepc.tables.fitted_rows.SMALL_CELLS", 0)

    def fitted(table, *more):
        table.to_parquet(tmp_path / "t.parquet", row_group_size=100)
        words = ["fit", tmp_path / "t.parquet", "--target", "y", "--output", tmp_path / "m.sepc", *more]
        return run(*words)

    return fitted


def test_a_fit_from_a_file_is_that_of_the_library(fit, tmp_path):
    table = table_of(400)
    facts = json.loads(fit(table, "--json").out)
    assert facts["read"] == "Read block by block."
    assert facts["taken_as"] == "3 features: 3 numbers"
    assert facts["classes"] == [
        {"label": label, "rows": int(n)} for label, n in table["y"].value_counts(sort=False).sort_index().items()
    ]
    again = SEPClassifier(random_state=0).fit(tmp_path / "t.parquet", "y")
    rows = table.drop(columns="y")
    np.testing.assert_array_equal(load(tmp_path / "m.sepc").decide(rows).trust, again.decide(rows).trust)


ODD = {
    "column 'x1' has missing values": lambda table: table.assign(x1=table["x1"].where(table["x1"] > -2.0)),
    "column 'nr' may be a constant, an id or an index": lambda table: table.assign(nr=range(len(table))),
    "column 'one' may be a constant, an id or an index": lambda table: table.assign(one=1.0),
    "some cells of column 'y' are empty or not labels": lambda table: table.assign(y=table["y"].where(table.index > 4)),
}


@pytest.mark.parametrize("why", ODD)
def test_why_a_file_is_read_into_memory(why, fit):
    ran = fit(ODD[why](table_of(400)))
    assert ran.code == 0, ran.err
    assert f"\nRead into memory, because {why}.\n" in ran.out
    assert ("left out" in ran.err) == ("an id or an index" in why)


def test_options_that_need_memory(fit):
    for given, why in (
        (["--drop", "x2"], "its columns"),
        (["--test-size", "0.2"], "--test-size"),
        (["--max-risk", "0.3"], "--max-risk"),
    ):
        ran = fit(table_of(400), *given)
        assert re.search(f"Read into memory, because .*{why}", ran.out)


def test_labels_are_told_from_memory(fit):
    assert "holds only 'yes'" in complaint(fit(table_of(400).assign(y="yes")))
    assert "1,400 different labels" in complaint(fit(table_of(1400).assign(y=[f"case {i}" for i in range(1400)])))


@pytest.mark.slow
def test_a_fit_from_a_file_takes_little_memory(tmp_path):
    """In memory it would take 200 MB more."""
    table_of(1_500_000, 8).to_parquet(tmp_path / "t.parquet", row_group_size=100_000)
    words = ["fit", tmp_path / "t.parquet", "--target", "y", "--output", tmp_path / "m.sepc"]
    ran, megabytes = measured(*words, "--fit-rows", "1000", "--trust", "counts", "--n-impure", "0.4")
    assert "Read block by block." in ran.out
    assert megabytes < 580
