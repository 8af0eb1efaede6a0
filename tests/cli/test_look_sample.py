"""`sepc look` at a long file reads rows from places all over it, and all of it where lines may be no rows."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
from optional import package_or_skip

from sepc.cli import labelled_rows as csv_sample
from sepc.cli import look

pd = package_or_skip("pandas")
package_or_skip("pyarrow")

N = 6_000


@pytest.fixture(autouse=True)
def _files_are_long(monkeypatch):
    """Files of a few thousand rows are long, and of these 1,000 are read from 50 places."""
    monkeypatch.setattr(csv_sample, "SHORTEST_FILE", 10_000)
    monkeypatch.setattr(csv_sample, "N_PLACES", 50)
    monkeypatch.setattr(look, "MOST_ROWS", 1_000)


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    numbers = {"a": rng.normal(size=n) + y, "b": rng.normal(size=n)}
    texts = {"price": [f"€ {x:.2f}" for x in rng.lognormal(5, 1, n)], "city": rng.choice(["Graz", "Bonn"], n)}
    return pd.DataFrame({**numbers, **texts, "t": np.where(y, "sick", "well")})


@pytest.fixture
def seen(facts):
    """The facts that a look tells, and the findings by what they are about."""

    def looked(path, *words):
        told = facts("look", path, "--target", "t", *words)
        return told, {(own["about"], own["severity"]) for own in told["findings"]}

    return looked


def written(path, rows=None, change=None, **options):
    text = (table() if rows is None else rows).to_csv(index=False, lineterminator="\n", **options)
    path.write_bytes((change or str.encode)(text))
    return path


def test_a_sample_is_called_one(tmp_path, seen, run):
    path = written(tmp_path / "t.csv")
    facts, about = seen(path)
    assert facts["rows_are_estimated"]
    assert facts["rows"] == N
    assert 900 <= facts["looked_at"] <= 1_000
    assert about == {("price", "HANDLED")}
    first = run("look", path, "--target", "t").out.splitlines()[0]
    assert f"sample of {facts['looked_at']} of about 6,000 rows" in first


READ_FROM_PLACES = {
    "CR LF": lambda text: text.replace("\n", "\r\n").encode(),
    "no newline at the end": lambda text: text.rstrip("\n").encode(),
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "empty lines": lambda text: text.replace("\n", "\n\n").encode(),
    "quotes": lambda text: text.replace("Graz", '"Graz, Styria"').replace("Bonn", '"the ""city"""').encode(),
    "semicolons": lambda text: text.replace(",", ";").encode(),
}


@pytest.mark.parametrize("change", READ_FROM_PLACES.values(), ids=READ_FROM_PLACES)
def test_files_that_are_read_from_places(change, tmp_path, seen):
    facts, about = seen(written(tmp_path / "t.csv", change=change))
    assert facts["rows_are_estimated"]
    assert facts["rows"] == pytest.approx(N, rel=0.02)
    assert about == {("price", "HANDLED")}


def _with_huge_cell(text):
    middle = len(text) // 2
    return text[:middle] + text[middle:].replace("Graz", "G" * 100_000, 1)


READ_WHOLE = {
    "cells of several lines": lambda text: text.replace("Graz", '"Graz\nStyria"').encode(),
    "tables in cells": lambda text: text.replace("Graz", '"Graz\n1.0,2.0,€ 3.00,Bonn,sick\n"').encode(),
    "some cells of several lines": lambda text: text.replace("Graz,sick\n1", '"Graz\nX",sick\n1').encode(),
    "a single quote in cells": lambda text: text.replace("Graz", '5" pipe').encode(),
    "quotes in the middle of cells": lambda text: text.replace("Graz", 'a"b"').replace("Bonn", '"x\ny"').encode(),
    "CR alone after the header": lambda text: text.replace("\n", "\r").replace("\r", "\n", 1).encode(),
    "utf-16": lambda text: text.encode("utf-16"),
    "a huge cell": lambda text: text.replace("Graz", "G" * 100_000, 1).encode(),
    "a huge cell in the middle": lambda text: _with_huge_cell(text).encode(),
}


@pytest.mark.parametrize("change", READ_WHOLE.values(), ids=READ_WHOLE)
def test_files_that_are_read_whole(change, tmp_path, seen):
    path = written(tmp_path / "t.csv", change=change)
    facts, _ = seen(path)
    assert not facts["rows_are_estimated"]


def test_an_archive_and_another_encoding_are_read_whole(tmp_path, seen):
    path = written(tmp_path / "t.csv.gz", change=lambda text: gzip.compress(text.encode()))
    assert seen(path)[0]["rows"] == N
    path = written(tmp_path / "t.csv", change=lambda text: text.replace("€", "£").encode("latin-1"))
    facts, _ = seen(path, "--encoding", "latin-1")
    assert (facts["rows"], facts["rows_are_estimated"]) == (N, False)


def test_rows_that_get_wider_are_told_as_by_a_fit(tmp_path, refused):
    text = table().to_csv(index=False, lineterminator="\n").splitlines()
    wide = [line if i < 4_000 else f"{line},more" for i, line in enumerate(text)]
    (tmp_path / "t.csv").write_text("\n".join(wide))
    words = [tmp_path / "t.csv", "--target", "t"]
    said = refused("look", *words)
    assert "6 cells where the header has 5" in said
    assert said == refused("fit", *words, "--output", tmp_path / "m.sepc")


def test_text_among_numbers_is_asked_about(tmp_path, seen):
    rows = table()
    rows["b"] = rows["b"].astype(object)
    rows.loc[4_000:, "b"] = "much"
    _, about = seen(written(tmp_path / "t.csv", rows))
    assert ("b", "DOUBTFUL") in about


def test_a_header_alone(tmp_path, refused):
    (tmp_path / "t.csv").write_text("a" * 20_000 + ",t\n")
    assert "no rows" in refused("look", tmp_path / "t.csv", "--target", "t")


def test_ids_and_rows_in_an_order_are_found(tmp_path, seen):
    rows = table()
    shuffled = np.random.default_rng(1).permutation(N)
    rows = rows.assign(index=np.arange(N), no=1_000 + shuffled, code=[f"K-{i:06d}" for i in shuffled])
    _, about = seen(written(tmp_path / "t.csv", rows.sort_values("a")))
    assert {("index", "HANDLED"), ("no", "HANDLED"), ("code", "HANDLED"), ("rows", "DOUBTFUL")} < about
    _, about = seen(written(tmp_path / "t.csv", rows))
    assert ("rows", "DOUBTFUL") not in about


def test_neighbours_that_are_alike_are_no_drift(tmp_path, seen):
    rng = np.random.default_rng(0)
    for _ in range(3):
        rows = table().assign(person=np.repeat(rng.normal(size=N // 10), 10))
        assert ("rows", "DOUBTFUL") not in seen(written(tmp_path / "t.csv", rows))[1]


def test_rows_without_a_label_are_estimated_too(tmp_path, seen, run):
    rows = table()
    rows.loc[::2, "t"] = None
    path = written(tmp_path / "t.csv", rows)
    assert seen(path)[0]["rows"] == N
    first = run("look", path, "--target", "t").out.splitlines()[0]
    assert " about 3,000 rows" in first
    assert "without a label" in first


def test_suspects_are_told_by_the_number_of_their_row(tmp_path, seen):
    assert not seen(written(tmp_path / "t.csv"), "--suspects")[0]["rows_are_estimated"]


@pytest.fixture
def raw(monkeypatch):
    """The benchmark that makes raw tables, here of 6,000 rows."""
    from sepc_benchmarks import raw_tables

    monkeypatch.setattr(raw_tables, "N_ROWS", N)
    return raw_tables


@pytest.mark.slow_cases("1*", "*5", "*7")
@pytest.mark.parametrize("i", range(20))
def test_findings_in_raw_tables_are_those_of_all_rows(i, raw, tmp_path, seen, monkeypatch):
    made = raw.raw_tables()[i].make(np.random.default_rng(0))
    path = written(tmp_path / "t.csv", made.table.assign(t=made.y))
    facts, about = seen(path, "--na=-,--")
    assert facts["rows_are_estimated"]
    monkeypatch.setattr(csv_sample, "SHORTEST_FILE", 10**9)
    monkeypatch.setattr(look, "MOST_ROWS", N)
    facts, of_all = seen(path, "--na=-,--")
    assert not facts["rows_are_estimated"]
    # A sample does not have all rows to add up.
    assert about == of_all - ({("rows", "WRONG")} if "Total" in raw.raw_tables()[i].holds else set())


def test_a_look_loads_no_library_that_it_does_not_need(tmp_path):
    path = written(tmp_path / "t.csv", table(300))
    code = f"import sys; from sepc.cli import main; main(['look', {str(path)!r}, '--target', 't']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.startswith("1 finding in 300 rows")
    assert not {"sklearn", "scipy.stats", "dask", "matplotlib"} & set(ran.stdout.split())
