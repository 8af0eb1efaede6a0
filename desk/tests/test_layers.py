"""The desk stands on public names of the library only, and its files stay small."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import re
from pathlib import Path

import pytest
import sepc
from sepc.lifecycle import ReviewQueue

import sepc_desk

SOURCE = Path(sepc_desk.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PUBLIC = {"sepc", "sepc.errors", "sepc.geometry", "sepc.lifecycle", "sepc.metrics", "sepc.results"}
DOCUMENTED = (
    sepc.SEPClassifier,
    sepc.TrustedClassifier,
    sepc.SelectiveClassifier,
    sepc.RoutedClassifier,
    ReviewQueue,
)
OF_SQLALCHEMY = {"in_", "is_"}
CORE = {"joblib", "numpy", "safetensors", "scikit-learn", "scipy", "threadpoolctl"}
# Attributes that end in an underscore, as docstrings list them: public by the library's page on versions.
FITTED = {
    name.strip()
    for owner in DOCUMENTED
    for line in re.findall(r"^    ([a-z_]+(?:, [a-z_]+)*)(?: :.*)?$", owner.__doc__ or "", re.M)
    for name in line.split(",")
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_only_public_names_of_sepc(file: Path) -> None:
    assert list(private_uses(file.read_text())) == []
    assert len(file.read_text().splitlines()) <= 400


def private_uses(code: str):
    """Whatever code uses of the library that is not public."""
    nodes = list(ast.walk(ast.parse(code)))
    parts_of_texts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_ours(alias.name) and alias.name not in PUBLIC)
        elif isinstance(node, ast.ImportFrom) and is_ours(node.module or ""):
            known = importlib.import_module(node.module).__all__ if node.module in PUBLIC else ()
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in known)
        elif isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            # An object's own private attributes are its own business; those of any other object are not.
            is_of_another = is_private(node.attr) and owner not in ("self", "cls")
            if is_of_another or is_unknown(node.attr) or (owner == "sepc" and node.attr not in sepc.__all__):
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts_of_texts:
            is_module = re.fullmatch(r"sepc(\.\w+)+", node.value) is not None
            if (is_module and node.value not in PUBLIC) or is_unknown(node.value):
                yield node.value


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "sepc"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def is_unknown(name: str) -> bool:
    """Whether a name has an underscore at its end, as those that `fit` learns, and no docstring lists it."""
    return re.fullmatch(r"[a-z][a-z_]*[a-z]_", name) is not None and name not in FITTED | OF_SQLALCHEMY


@pytest.mark.parametrize(
    "code",
    [
        "import sepc.model_files",
        "from sepc.columns.kinds import Kind",
        "from sepc import model_files",
        "from sepc.results import Preparation",
        "import sepc\nsepc.model_files.load(path)",
        "model._decide(rows)",
        "getattr(model, 'secret_')",
        "model.secret_",
        "importlib.import_module('sepc.columns.kinds')",
    ],
)
def test_every_private_use_is_seen(code: str) -> None:
    assert list(private_uses(code))


def test_the_library_needs_nothing_of_the_desk() -> None:
    needed = importlib.metadata.requires("sepc") or []
    names = {re.match(r"[\w-]+", one)[0]: "extra ==" not in one for one in needed}
    assert {name for name, is_core in names.items() if is_core} == CORE
    assert "sepc-desk" not in names


# Packages and modules from the lowest to the highest; each imports only from those before it, or from its own package.
LAYERS = (
    ("errors", "settings", "entries", "columns", "context", "schema", "heads", "migrations"),
    ("database", "rows"),
    ("chain", "models"),
    ("reading", "keys", "deciding"),
    ("authority",),
    ("reviewing",),
    ("owning",),
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
