"""Excel files: sheets, cells of every kind, and files that are none."""

import zipfile
from datetime import date, datetime

import numpy as np
import pytest
from command_runs import complaint, run_here
from optional import package_or_skip
from test_hostile_tables import measured

from sepc.cli.rows import open_table
from sepc.cli.source import Source

openpyxl, pa = package_or_skip("openpyxl"), package_or_skip("pyarrow")


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


def read(path, sheet=None):
    with open_table(Source(str(path), "excel", sheet=sheet)) as table:
        (batch,) = table.batches(table.names, {})
    return {name: column.to_pylist() for name, column in batch.columns.items()}


def test_cells_of_every_kind(write_book):
    book = write_book(
        first=[
            ["whole", "fraction", "truth", "day", "moment", "text", "code"],
            [1, 0.5, True, date(2024, 2, 3), datetime(2024, 2, 3, 4, 5), 'a "quoted", text', "007"],
            [],
            [2, None, False, date(2024, 2, 4), None, None, "008", None],
        ]
    )
    assert read(book) == {
        "whole": [1, 2],
        "fraction": [0.5, None],
        "truth": [True, False],
        "day": ["2024-02-03", "2024-02-04"],
        "moment": ["2024-02-03 04:05:00", ""],
        "text": ['a "quoted", text', ""],
        "code": ["007", "008"],
    }


def test_sheets_by_name(write_book, capsys, tmp_path):
    book = write_book(first=[["a"], [1]], second=[["b"], [2]])
    assert read(book) == {"a": [1]}
    assert read(book, "second") == {"b": [2]}
    words = ["fit", book, "--target", "y", "--output", tmp_path / "m.sepc", "--sheet"]
    line = complaint(run_here(capsys, *words, "secnd"))
    assert "book.xlsx has no sheet 'secnd'; it has 'first' and 'second'. Did you mean 'second'?" in line


def test_a_model_scores_what_it_was_fitted_on(write_book, capsys, tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*(rng.normal(size=2) + 3.0 * (i % 2)), ["a", "b"][i % 2]] for i in range(60)]
    book = write_book(data=[["p", "q", "y"], *rows])
    assert run_here(capsys, "fit", book, "--target", "y", "--output", tmp_path / "m.sepc").code == 0
    ran = run_here(capsys, "score", tmp_path / "m.sepc", book, "--output", tmp_path / "o.csv", "--copy", "y")
    assert "60 rows" in ran.out


def test_a_row_that_is_too_long(write_book, capsys, tmp_path):
    book = write_book(data=[["p", "y"], [1, "a"], [2, "b", "more"]])
    words = ["fit", book, "--target", "y", "--output", tmp_path / "m.sepc"]
    assert "a row has 3 cells where the header has 2" in complaint(run_here(capsys, *words))


def test_what_is_no_excel_file(write_book, capsys, tmp_path):
    words = ["--target", "y", "--output", tmp_path / "m.sepc"]
    (tmp_path / "text.xlsx").write_text("p,y\n1,a\n")
    assert "text.xlsx cannot be read as an Excel file" in complaint(
        run_here(capsys, "fit", tmp_path / "text.xlsx", *words)
    )
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    assert "save it as .xlsx" in complaint(run_here(capsys, "fit", tmp_path / "old.xls", *words))
    with zipfile.ZipFile(tmp_path / "other.xlsx", "w") as archive:
        archive.writestr("hello.txt", "hello")
    assert "cannot be read as an Excel file" in complaint(run_here(capsys, "fit", tmp_path / "other.xlsx", *words))
    book = write_book(data=[["p", "y"], *[[i, "ab"[i % 2]] for i in range(500)]])
    (tmp_path / "cut.xlsx").write_bytes(book.read_bytes()[:-200])
    complaint(run_here(capsys, "fit", tmp_path / "cut.xlsx", *words))
    assert "from standard input; give a file" in complaint(run_here(capsys, "fit", "-", "--format", "excel", *words))
    (tmp_path / "t.csv").write_text("p,y\n1,a\n")
    assert "is not an Excel file" in complaint(run_here(capsys, "fit", tmp_path / "t.csv", "--sheet", "a", *words))


def test_a_cell_at_the_far_end(write_book, tmp_path):
    """Five kilobytes that stand for a table of 17 billion cells."""
    book = openpyxl.Workbook()
    for cell, value in {"A1": "p", "B1": "y", "A2": 1, "B2": "a", "XFD1048576": 1}.items():
        book.active[cell] = value
    book.save(tmp_path / "far.xlsx")
    ran, megabytes = measured("fit", tmp_path / "far.xlsx", "--target", "y", "--output", tmp_path / "m.sepc")
    assert "a row has 16384 cells where the header has 2" in complaint(ran)
    assert megabytes < 400


def test_without_openpyxl(write_book, capsys, tmp_path, monkeypatch):
    import sys

    book = write_book(data=[["p", "y"], [1, "a"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    line = complaint(run_here(capsys, "fit", book, "--target", "y", "--output", tmp_path / "m.sepc"), code=1)
    assert 'pip install "sepc[excel]"' in line
