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


# Packages and modules from the lowest to the highest; each imports only from those before it, or from its own package.
LAYERS = (
    ("errors", "settings", "entries", "columns", "context", "schema", "heads", "migrations"),
    ("database", "rows", "keys", "reading"),
    ("chain", "models"),
    ("deciding",),
    ("reviewing",),
    ("erasing", "exporting"),
    ("verifying", "replaying"),
    ("service", "pages"),
    ("commands",),
)
# What runs the service puts the pages into it, and the rest of the service knows nothing of them.
ASSEMBLY = "service/app.py"


def _layer(name: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_modules_import_only_what_lies_below(file: Path) -> None:
    own = file.relative_to(SOURCE)
    name = own.parts[0].removesuffix(".py")
    if name == "__init__":
        return
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("sepc_desk."):
            continue
        other = str(node.module).split(".")[1]
        if (name, other) == ("service", "pages"):
            assert str(own) == ASSEMBLY
        elif other != name:
            is_beside = {name, other} <= {"service", "pages"}
            is_low = _layer(name) == 0 and _layer(other) == 0
            assert is_beside or is_low or _layer(other) < _layer(name), f"{name} imports {other}"
