"""How much `pip install sepc` and `pip install sepc[all]` bring, and how long an import takes.

Each is installed from the wheel of this tree into an environment of its own, with the versions of `constraints.txt`.
Sizes are those of all files that pip installed, byte code as well; pip itself is not counted. An import is timed in
five fresh processes after one that is not counted, so that files are in the system's cache, and the median is shown;
the interpreter's own start is not counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median
from typing import Any

from sepc_benchmarks.measure import save, show

ROOT = Path(__file__).parents[2]
INSTALLS = {"sepc": "", "sepc[all]": "[all]"}
STATEMENTS = (
    "import sepc",
    "from sepc import SEPClassifier",
    "from sepc import TrustedClassifier, load",
    "from sklearn.linear_model import LogisticRegression",
)
N_LARGEST = 8

SIZES = """
import json
from importlib.metadata import distributions
found = {}
for one in distributions():
    paths = [file.locate() for file in one.files or ()]
    found[one.name] = one.version, sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps(found))
"""


def install(wheel: Path, extras: str, home: Path) -> Path:
    """The interpreter of a new environment with the wheel and what it needs."""
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    constraint = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", str(constraint), f"{wheel}{extras}")
    return python


def build(folder: Path) -> Path:
    run(Path(sys.executable), "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(python: Path, *arguments: str) -> str:
    return subprocess.run([python, *arguments], capture_output=True, text=True, check=True, cwd=python.parent).stdout


def packages(python: Path) -> dict[str, tuple[str, int]]:
    """Version and bytes of every package in an environment."""
    found = json.loads(run(python, "-I", "-c", SIZES))
    return {name: tuple(value) for name, value in found.items() if name not in ("pip", "setuptools", "wheel")}


def seconds(python: Path, statement: str, n_runs: int) -> float:
    """The median of the seconds that a statement takes in a fresh process; of several runs the first is left out."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    times = [float(run(python, "-I", "-c", code)) for _ in range(n_runs)]
    return median(times[1:] or times)


def sizes(pythons: dict[str, Path]) -> list[dict[str, Any]]:
    records = []
    for name, python in pythons.items():
        found = packages(python)
        own = found["sepc"][1] / 1e6
        total = sum(size for _, size in found.values()) / 1e6
        records.append({"install": name, "packages": len(found), "MB": round(total), "of these sepc": round(own, 2)})
    return records


def largest(pythons: dict[str, Path]) -> list[dict[str, Any]]:
    records = []
    for name, python in pythons.items():
        by_size = sorted(packages(python).items(), key=lambda item: -item[1][1])
        for package, (version, size) in by_size[:N_LARGEST]:
            records.append({"install": name, "package": f"{package} {version}", "MB": round(size / 1e6, 1)})
    return records


def imports(pythons: dict[str, Path], statements: tuple[str, ...], n_runs: int) -> list[dict[str, Any]]:
    return [
        {"statement": f"`{statement}`"}
        | {f"seconds, {name}": seconds(python, statement, n_runs) for name, python in pythons.items()}
        for statement in statements
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smallest", action="store_true", help="measure the environment that runs this, once")
    parser.add_argument("--only", choices=INSTALLS, help="leave out the other installation")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sepc-") as folder:
        if options.smallest:
            pythons = {"this environment": Path(sys.executable)}
        else:
            wheel = build(Path(folder) / "dist")
            chosen = [name for name in INSTALLS if options.only in (None, name)]
            pythons = {name: install(wheel, INSTALLS[name], Path(folder) / str(i)) for i, name in enumerate(chosen)}
        timed = (STATEMENTS[:2], 1) if options.smallest else (STATEMENTS, 6)
        tables = {"sizes": sizes(pythons), "largest": largest(pythons), "imports": imports(pythons, *timed)}
    for title, records in tables.items():
        show(title, records)
    save(options.output, tables)


if __name__ == "__main__":
    main()
