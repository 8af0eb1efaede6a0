"""The desk stands on public names of the library only, and its files stay small."""

from __future__ import annotations

import ast
import importlib.metadata
from pathlib import Path

import pytest
import sepc

import sepc_desk

SOURCE = Path(sepc_desk.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PUBLIC = {"sepc.lifecycle", "sepc.metrics", "sepc.results", "sepc.datasets"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_only_public_names_of_sepc(file: Path) -> None:
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            assert all(name == "sepc" or name in PUBLIC or name.split(".")[0] != "sepc" for name in names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sepc":
            assert node.module == "sepc" or node.module in PUBLIC
            assert all(not alias.name.startswith("_") for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sepc":
            assert node.attr in sepc.__all__
    assert len(file.read_text().splitlines()) <= 400


def test_the_library_needs_nothing_of_the_desk() -> None:
    needed = " ".join(importlib.metadata.requires("sepc") or [])
    core = [one for one in (importlib.metadata.requires("sepc") or []) if "extra ==" not in one]
    assert "sepc-desk" not in needed
    assert len(core) == 6
