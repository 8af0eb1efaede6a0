"""Excel files: sheets, cells of every kind, and files that are none."""

import sys
import zipfile
from datetime import date, datetime

import numpy as np
import pytest
from command_runs import complaint
from optional import package_or_skip
from test_hostile_tables import measured

from sepc import SEPClassifier, load, save

openpyxl, pa, pd = package_or_skip("openpyxl"), package_or_skip("pyarrow"), package_or_skip("pandas")


@pytest.fixture
def write_book(tmp_path):
    def write(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "book.xlsx")
        return tmp_path / "book.xlsx"

    return write


def test_cells_of_every_kind(write_book, run, tmp_path):
    """As they come out when decisions keep them; one column, of empty cells and numbers, is the feature."""
    save(SEPClassifier(trust="counts").fit(np.arange(80.0)[:, None], np.arange(80) // 40), tmp_path / "m.sepc")
    book = write_book(
        first=[
            ["whole", "fraction", "truth", "day", "moment", "text", "code"],
            [1, 0.5, True, date(2024, 2, 3), datetime(2024, 2, 3, 4, 5), 'a "quoted", text', "007"],
            [],
            [2, None, False, date(2024, 2, 4), None, None, "008", None],
        ]
    )
    words = ["score", tmp_path / "m.sepc", book, "--features", "fraction", "--output", tmp_path / "out.csv"]
    assert run(*words, "--copy", "whole,truth,day,moment,text,code").code == 0
    found = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    assert found.iloc[:, :6].to_numpy().tolist() == [
        ["1", "true", "2024-02-03", "2024-02-03 04:05:00", 'a "quoted", text', "007"],
        ["2", "false", "2024-02-04", "", "", "008"],
    ]
    wanted = load(tmp_path / "m.sepc").decide([[0.5], [np.nan]]).trust
    np.testing.assert_allclose(found["trust"].astype(float), wanted)


def test_sheets_by_name(write_book, run, refused, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*(rng.normal(size=2) + 3.0 * (i % 2)), ["a", "b"][i % 2]] for i in range(60)]
    book = write_book(first=[["p", "q", "y"], *rows], second=[["q", "p"], *[row[:2] for row in rows[:30]]])
    words = ["fit", book, "--target", "y", "--output", tmp_path / "m.sepc"]
    assert run(*words).code == 0
    assert "Did you mean 'second'?" in refused(*words, "--sheet", "secnd")
    score = ["score", tmp_path / "m.sepc", book, "--output", tmp_path / "o.csv"]
    assert "60 rows" in run(*score, "--copy", "y").out
    assert "30 rows" in run(*score[:-1], tmp_path / "o.parquet", "--sheet", "second").out


def test_what_is_no_excel_file(write_book, refused, tmp_path):
    words = ["--target", "y", "--output", tmp_path / "m.sepc"]
    (tmp_path / "text.xlsx").write_text("p,y\n1,a\n")
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    (tmp_path / "t.csv").write_text("p,y\n1,a\n")
    with zipfile.ZipFile(tmp_path / "other.xlsx", "w") as archive:
        archive.writestr("hello.txt", "hello")
    book = write_book(data=[["p", "y"], *[[i, "ab"[i % 2]] for i in range(500)]])
    (tmp_path / "cut.xlsx").write_bytes(book.read_bytes()[:-200])
    for given, said in (
        ([tmp_path / "text.xlsx"], "as an Excel file"),
        ([tmp_path / "other.xlsx"], "as an Excel file"),
        ([tmp_path / "old.xls"], "as .xlsx"),
        ([tmp_path / "cut.xlsx"], "cut.xlsx"),
        (["-", "--format", "excel"], "standard input"),
        ([tmp_path / "t.csv", "--sheet", "a"], "not an Excel file"),
        ([write_book(data=[["p", "y"], [1, "a"], [2, "b", "more"]])], "3 cells where the header has 2"),
    ):
        assert said in refused("fit", *given, *words)


def test_a_cell_at_the_far_end(write_book, tmp_path):
    """Five kilobytes that stand for a table of 17 billion cells."""
    book = openpyxl.Workbook()
    for cell, value in {"A1": "p", "B1": "y", "A2": 1, "B2": "a", "XFD1048576": 1}.items():
        book.active[cell] = value
    book.save(tmp_path / "far.xlsx")
    ran, megabytes = measured("fit", tmp_path / "far.xlsx", "--target", "y", "--output", tmp_path / "m.sepc")
    assert "16384 cells" in complaint(ran)
    assert megabytes < 400


def test_without_openpyxl(write_book, refused, tmp_path, monkeypatch):
    book = write_book(data=[["p", "y"], [1, "a"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    line = refused("fit", book, "--target", "y", "--output", tmp_path / "m.sepc", code=1)
    assert 'pip install "sepc[excel]"' in line
