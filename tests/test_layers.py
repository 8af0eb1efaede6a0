"""The code reads in the order the data flows: a package imports only from those above it in this list."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sepc

SOURCE = Path(sepc.__file__).parent

# Packages on one line stand side by side and do not import one another.
LAYERS = [
    {"_typing", "errors"},
    {"metrics"},
    {"shapes"},
    {"points"},
    {"kernels"},
    {"partition"},
    {"regions"},
    {"estimator"},
    {"selective"},
    {"landscape"},
    {"io"},
    {"views"},
    {"report", "plot", "onnx"},
    {"spark", "mlflow"},
    {"lifecycle"},
    {"cli"},
]
ALONE = {"datasets"}
MAY_IMPORT = {"metrics": {"numpy"}, "shapes": {"numpy", "scipy"}, "points": {"numpy", "scipy", "dask", "pyarrow"}}
TABLES = ("tables.py", "csv_table.py", "parquet_table.py", "decision_files.py")
ENGINES = {"dask": {"on_dask.py", "dask_inputs.py", "scoring.py"}, "pyarrow": {"on_parquet.py", *TABLES}}
OPTIONAL = ["matplotlib", "pandas", "polars", "dask", "pyarrow", "pyspark", "onnx", "mlflow", "cvxpy", "IPython"]


def level(package: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if package in names)


def imports_of(path: Path) -> set[str]:
    """Every module named in an import statement, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
    return found


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py")


def test_there_are_modules_to_check():
    assert len(MODULES) > 10


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_from_the_layers_above(path):
    package = package_of(path)
    for name in imports_of(path):
        top, _, rest = name.partition(".")
        if top != "sepc":
            allowed = MAY_IMPORT.get(package)
            assert allowed is None or top in allowed or top in sys.stdlib_module_names, f"{path.name} imports {name}"
            assert top not in ENGINES or path.name in ENGINES[top], f"{path.name} imports {name}"
            continue
        other = rest.split(".")[0]
        assert other, f"{path.name} imports the public front"
        if other != package:
            assert package not in ALONE, f"{package} stands alone but imports {name}"
            assert level(other) < level(package), f"{package} imports {name}, which comes after it"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_front_loads_nothing_optional():
    loaded = run(f"import sys, sepc; print([name for name in {OPTIONAL} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_using_the_front_loads_nothing_optional():
    loaded = run(f"import sys, sepc; sepc.enclose([[0], [1]]); print([n for n in {OPTIONAL} if n in sys.modules])")
    assert loaded.strip() == "[]"


def test_import_takes_less_than_half_a_second_beyond_scikit_learn():
    clock = "import time; start = time.perf_counter()"
    code = f"import sklearn.base; {clock}; import sepc; sepc.enclose; print(time.perf_counter() - start)"
    assert min(float(run(code)) for _ in range(3)) < 0.5


def test_every_public_name_is_there():
    assert all(getattr(sepc, name).__name__ == name for name in sepc.__all__)
    assert set(sepc.__all__) <= set(dir(sepc))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sepc.nothing  # noqa: B018
