"""The code reads in the order the data flows: a package imports only from those above it in this list."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import sepc

SOURCE = Path(sepc.__file__).parent
ROOT = Path(__file__).parents[1]

# A longer file has more than one subject.
MOST_LINES = 600

# Packages on one line stand side by side and do not import one another.
LAYERS = [
    {"_typing", "errors", "wording"},
    {"records", "statistics"},
    {"cards"},
    {"documents"},
    {"shapes"},
    {"points"},
    {"kernels"},
    {"partition"},
    {"decisions"},
    {"model"},
    {"columns", "io"},
    {"looking", "tables"},
    {"estimators"},
    {"model_files", "metrics", "landscape", "recourses"},
    {"views"},
    {"reporting", "plot", "onnx", "sql"},
    {"spark", "mlflow", "datasets"},
    {"geometry", "results"},
    {"lifecycle"},
    {"cli"},
    {"__main__"},
]
MAY_IMPORT = {
    "wording": set(),
    "statistics": {"numpy", "scipy"},
    "cards": {"numpy"},
    "documents": {"numpy", "matplotlib"},
    "shapes": {"numpy", "scipy"},
    "points": {"numpy", "scipy", "dask", "pyarrow"},
}
ENGINES = {
    "dask": {"engines.py", "given_rows.py", "base.py"},
    "pyarrow": {
        "streams.py",
        "_batches.py",
        "files.py",
        "table_file.py",
        "rows.py",
        "score.py",
        "labelled_rows.py",
        "landscape.py",
        "decision_files.py",
        "_written_files.py",
    },
}
# Commands for models in production; the rest of the library knows nothing of what comes after a model is fitted.
PRODUCTION = {"audit", "compare", "forget", "monitor", "repair", "review", "sites"}
OF_THE_LIFECYCLE = {("cli", name) for name in PRODUCTION}
OPTIONAL = [
    "matplotlib",
    "pandas",
    "polars",
    "dask",
    "pyarrow",
    "pyspark",
    "onnx",
    "duckdb",
    "psycopg",
    "mlflow",
    "openpyxl",
    "shtab",
    "tqdm",
    "model_signing",
    "clarabel",
    "cryptography",
    "cvxpy",
    "IPython",
]


def level(package: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if package in names)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> set[str]:
    """Every module named in an import statement, also inside functions."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
    return found


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_the_page_about_the_code_shows_every_package_and_its_files():
    page = ROOT / "docs" / "explanation" / "house.md"
    if not page.exists():
        pytest.skip("the pages are not there")
    tree = page.read_text(encoding="utf-8").split("```")[1]
    shown = [re.match(r" +(\d+)  (.+?)(?:   |$)", line) for line in tree.splitlines()[2:]]
    files = {name: int(line[1]) for line in shown for name in [line[2]]}
    packages = {name: re.findall(r"\w+", name) for name in files}
    assert [package for names in packages.values() for package in names] == [*packages_in_order(files)]
    assert files == {name: sum(map(n_files, names)) for name, names in packages.items()}


def packages_in_order(shown) -> list[str]:
    """The packages of the list above, those of one layer as the page has them."""
    given = [package for name in shown for package in re.findall(r"\w+", name)]
    assert set(given) == set().union(*LAYERS)
    return sorted(given, key=level)


def n_files(package: str) -> int:
    found = (SOURCE / package).rglob("*.py") if (SOURCE / package).is_dir() else [SOURCE / f"{package}.py"]
    return sum(path.name != "__init__.py" for path in found)


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py")


def test_there_are_modules_to_check():
    assert len(MODULES) > 10


def test_no_file_is_long():
    long = {path.name: n for path in MODULES if (n := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES}
    assert not long


def every_import():
    """Every module with each name that it imports."""
    return [(path, name) for path in MODULES for name in sorted(imports_of(path))]


def test_imports_only_from_the_layers_above():
    for path, name in every_import():
        package = package_of(path)
        top, _, rest = name.partition(".")
        if top != "sepc":
            allowed = MAY_IMPORT.get(package)
            assert allowed is None or top in allowed or top in sys.stdlib_module_names, f"{path} imports {name}"
            assert top not in ENGINES or path.name in ENGINES[top], f"{path} imports {name}"
            continue
        other = rest.split(".")[0]
        assert other, f"{path} imports the public front"
        if other != package:
            assert level(other) < level(package), f"{path} imports {name}, which comes after it"


def name_of(path: Path) -> str:
    parts = ("sepc", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def loads_of(path: Path, names: set[str]) -> set[str]:
    """The modules of ours that this one names in an import, also inside functions and for types alone."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & names or {node.module} & names
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & names
    return found


NAMES = {name_of(path) for path in MODULES}


def test_no_module_leads_back_to_itself():
    """Also within a package, through an import hidden in a function, or for types alone."""
    left = {name_of(path): loads_of(path, NAMES) for path in MODULES}
    while done := {name for name, loads in left.items() if not loads & set(left)}:
        left = {name: loads for name, loads in left.items() if name not in done}
    assert not left, f"circles among {sorted(left)}"


def test_modules_are_imported_by_statements():
    """Else nobody could see what depends on what; only the public front loads by name."""
    assert [path for path, name in every_import() if name == "importlib"] == []


def test_underscore_modules_stay_in_their_folder():
    """Also tests and benchmarks know only the faces of rooms, so that what is inside can move."""
    outside = [path for name in ("tests", "benchmarks", "desk", "examples") for path in (ROOT / name).rglob("*.py")]
    inner = [path.stem for path in MODULES if re.match("_[a-z]", path.stem) and path.stem != "_typing"]
    underscored = re.compile(rf"\b({'|'.join(inner)})\b")
    for path in [*MODULES, *outside]:
        if not underscored.search(path.read_text(encoding="utf-8")):
            continue
        room = ".".join(("sepc", *path.relative_to(SOURCE).parent.parts)) if path in MODULES else None
        for module in named_in(path):
            folder, _, own = module.rpartition(".")
            if own.startswith("_") and module != "sepc._typing":
                assert folder == room, f"{path} imports {module}"


def named_in(path: Path) -> set[str]:
    """Our own modules that a file imports, or names in a text, as when something in them is replaced."""
    constants = {node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant)}
    return constants & NAMES | loads_of(path, NAMES)


def test_the_core_does_not_know_the_lifecycle():
    for path, name in every_import():
        if re.match(r"sepc\.lifecycle\b", name) and package_of(path) != "lifecycle":
            assert (path.parent.name, path.stem) in OF_THE_LIFECYCLE, f"{path} imports {name}"


def test_no_module_takes_the_place_of_a_public_name():
    names = [name_of(path) for path in MODULES if path.stem != "__main__"]
    code = f"""
import contextlib, importlib, types, sepc
for name in {names}:
    with contextlib.suppress(ImportError):  # some need an extra
        importlib.import_module(name)
print([name for name in sepc.__all__ if isinstance(getattr(sepc, name), types.ModuleType)])
"""
    assert run(code).strip() == "[]"


# Underscore attributes of other libraries: their only way, or their own advice to those who build on them.
OF_OTHERS = {
    ("entry.py", "_actions"),  # argparse tells what options a parser has nowhere else
    ("entry.py", "_exit"),  # a public function of os
}


def own_names(tree: ast.AST) -> set[str]:
    """Names that a file defines: functions, methods, fields, and what `self` is given."""
    found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            names = [inner for target in targets for inner in ast.walk(target)]
            found |= {inner.id for inner in names if isinstance(inner, ast.Name)}
            found |= {inner.attr for inner in names if isinstance(inner, ast.Attribute) and is_self(inner.value)}
    return found


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def test_underscore_attributes_stay_in_their_file():
    for path in MODULES:
        own = own_names(tree_of(path))
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                is_own = is_self(node.value) or node.attr in own
                assert is_own or (path.name, node.attr) in OF_OTHERS, f"{path}:{node.lineno} reaches for {node.attr}"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_front_loads_nothing_optional():
    loaded = run(f"import sys, sepc; print([name for name in {OPTIONAL} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_using_the_front_loads_nothing_optional():
    loaded = run(f"import sys, sepc; sepc.enclose([[0], [1]]); print([n for n in {OPTIONAL} if n in sys.modules])")
    assert loaded.strip() == "[]"


def test_import_takes_less_than_half_a_second_beyond_scikit_learn():
    clock = "import time; start = time.process_time()"
    code = f"import sklearn.base; {clock}; import sepc; sepc.enclose; print(time.process_time() - start)"
    assert any(float(run(code)) < 0.5 for _ in range(3))


def test_every_public_name_is_there():
    assert all(getattr(sepc, name).__name__ == name for name in sepc.__all__)
    assert set(sepc.__all__) <= set(dir(sepc))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sepc.nothing  # noqa: B018
