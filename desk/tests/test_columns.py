"""The columns that the service asks for are those that the model reads, for files of this and of earlier releases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sample_models import served

from sepc_desk.columns import Kind
from sepc_desk.deciding import decide_rows
from sepc_desk.models import ModelFolder
from sepc_desk.rows import typed_row

# Files that earlier releases of the library wrote, with rows and the decisions on them.
KEPT = sorted((Path(__file__).parents[2] / "tests" / "io" / "fixtures").rglob("*.sepc"))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("loans", {"amount": "number", "months": "number", "income": "number", "home": "category", "age": "number"}),
        ("patients", {"age": "number", "dose": "number", "ward": "category", "stage": "category", "since": "date"}),
        ("orders", {"amount": "text", "weight": "text", "day": "text", "took": "text", "ward": "category"}),
        ("accounts", {"branch": "category", "x": "number"}),
        ("wdbc-unnamed", {f"x{j}": "number" for j in range(10)}),
        ("strata", {"amount": "number", "months": "number", "income": "number", "home": "category", "age": "number"}),
    ],
)
def test_names_and_kinds_are_those_of_training(name: str, kinds: dict[str, str]) -> None:
    columns = served(name).columns
    assert {column.name: column.kind for column in columns} == {own: Kind(kind) for own, kind in kinds.items()}
    assert all(column.is_needed for column in columns)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_files_of_every_release_are_served_and_decide_as_they_did(path: Path, tmp_path: Path) -> None:
    kept = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    folder = ModelFolder(tmp_path)
    folder.add("kept", path)
    version = folder.load("kept")
    needed = [column.name for column in version.columns if column.is_needed]
    names, cells = (needed, kept["rows"]) if "rows" in kept else kept["columns"].values()
    given = [dict(zip(names, row, strict=True)) for row in cells]
    decided = decide_rows(version, [typed_row(version.columns, row, i) for i, row in enumerate(given)])
    assert [own.label for own in decided] == kept["decided"]["label"]
    assert [own.accepted for own in decided] == kept["decided"]["accepted"]
    assert [own.trust for own in decided] == pytest.approx(kept["decided"]["trust"], rel=1e-9)


def test_there_are_files_of_an_earlier_release() -> None:
    assert KEPT
