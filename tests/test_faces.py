"""Tests know public names and the faces of rooms, so that what is inside a room can move."""

import ast
import re
from collections import Counter
from pathlib import Path

import sepc

TESTS = Path(__file__).parent
SOURCE = Path(sepc.__file__).parent
MOST_OF_A_ROOM = 4


def listed():
    """The lines of the list: each file of a face, with the modules that it stands for."""
    lines = [
        line.partition(":") for line in (TESTS / "faces.txt").read_text().splitlines() if line[:1] not in ("", "#")
    ]
    for face, _, modules in lines:
        room = face.rpartition(".")[0]
        for name in modules.split() or face.split():
            yield face, f"sepc.{room}.{name}" if modules and room else f"sepc.{name}"


def modules_of(path):
    """Every module of ours that a file of tests imports, or names as what it replaces."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"sepc(\.\w+)+", node.value)
        ):
            yield node.value


def file_of(name):
    """The longest part of a dotted name that is a file of the library, or nothing for public names and packages."""
    parts = name.split(".")[1:]
    for n in range(len(parts), 0, -1):
        path = SOURCE.joinpath(*parts[:n])
        if path.with_suffix(".py").is_file():
            return ".".join(["sepc", *parts[:n]])
        if path.is_dir():
            return None
    return None


def test_tests_import_public_names_and_faces_only():
    allowed = {module for _, module in listed()}
    used = {path.relative_to(TESTS): set(map(file_of, modules_of(path))) for path in TESTS.rglob("*.py")}
    inside = {
        name: path for path, names in used.items() for name in names - {None} - allowed if name.startswith("sepc.")
    }
    assert not inside


def test_a_room_has_few_faces():
    rooms = Counter(face.rpartition(".")[0] for face in dict(listed()) if "." in face)
    assert max(rooms.values()) <= MOST_OF_A_ROOM


def test_every_face_is_there():
    missing = {name for _, name in listed() if file_of(name) != name}
    assert {name for name in missing if not SOURCE.joinpath(*name.split(".")[1:]).is_dir()} == set()
