"""Rehearse a release, short of the tag: from a clean clone of the last commit to working installations.

1. Clone the commit, and check that version, changelog and citation agree, and that no tag of that name is there.
2. Build the source archive and the wheel of it, with the tools of `constraints-release.txt` alone; check both as an
   index would; print the bill of materials.
3. For every Python from 3.11 on that this machine has: install the wheel alone and run the core's smoke test and a few
   of the tests, which read every model file kept in `tests/io/fixtures`; then with all extras, and run the smoke test
   of each.
4. With the first Python: the smoke test of each extra in an environment of its own, so that no extra leans on another.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from try_wheel import run, timed

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Each in an environment of its own; Excel files are for the command, which needs tables.
ALONE = ("core", "onnx", "plot", "mlflow", "table", "excel,table", "dask", "spark", "recourse", "sign")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sepc-release-") as name:
        folder = Path(name)
        clone = folder / "clone"
        timed("clone", clone_of_head, clone)
        version = timed("version", agreed_version, clone)
        wheel = timed("build and check", built, clone, folder)
        timed("bill of materials", bill_in, wheel)
        pythons = [found for wanted in PYTHONS if (found := python_of(wanted))]
        for number, python in pythons:
            timed(f"{number}, core and tests", core_tested, python, wheel, clone, folder)
            timed(f"{number}, [all]", smoke, python, wheel, "all", clone, folder)
        for extra in ALONE:
            timed(f"{pythons[0][0]}, [{extra}] alone", smoke, pythons[0][1], wheel, extra, clone, folder)
    missing = sorted(set(PYTHONS) - {number for number, _ in pythons})
    print(f"Ready to tag v{version}; not here: Python {', '.join(missing) or 'none'}")


def told(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command that must succeed prints."""
    return run(*command, cwd=cwd, quiet=True).strip()


def clone_of_head(clone: Path) -> str:
    """The last commit, and nothing that was not committed."""
    run("git", "clone", "--quiet", ROOT, clone)
    return told("git", "-C", clone, "log", "-1", "--format=%h %s")


def agreed_version(clone: Path) -> str:
    """The version that metadata, changelog and citation name, if no tag has it yet."""
    version = tomllib.loads((clone / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (clone / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"\n## {version} - " not in changelog:
        sys.exit(f"CHANGELOG.md has no section of {version}")
    if f"\nversion: {version}\n" not in (clone / "CITATION.cff").read_text(encoding="utf-8"):
        sys.exit(f"CITATION.cff is not of {version}")
    if told("git", "-C", clone, "tag", "--list", f"v{version}"):
        sys.exit(f"there is a tag v{version} already")
    return version


def built(clone: Path, folder: Path) -> Path:
    """The wheel, made from the source archive by pinned tools; both pass the checks of an index."""
    tools = environment(sys.executable, folder / "tools")
    run(tools, "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--requirement",
        clone / "constraints-release.txt")  # fmt: skip
    run(tools, "-m", "build", "--no-isolation", "--outdir", folder / "dist", clone, quiet=True)
    (archive,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", archive, wheel)
    run(sys.executable, "-m", "check_wheel_contents", wheel)
    return wheel


def bill_in(wheel: Path) -> str:
    """What the bill of materials lists."""
    with zipfile.ZipFile(wheel) as held:
        bill = json.loads(held.read(next(name for name in held.namelist() if name.endswith(".cdx.json"))))
    return ", ".join(f"{part['name']} {part['properties'][0]['value']}" for part in bill["components"])


def core_tested(path: str, wheel: Path, clone: Path, folder: Path) -> str:
    """The smoke test of the core, a few tests, and every kept model file, with nothing but the wheel."""
    own = environment(path, folder / "own")
    run(own, "-m", "pip", "install", "--quiet", wheel, "pytest", "hypothesis")
    run(own, "-m", "pip", "check")
    told(own, clone / "tools" / "smoke_extras.py", "core")
    tests = ("tests/shapes", "tests/model/test_membership.py", "tests/io/test_kept_files.py")
    last = told(own, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=clone).splitlines()[-1]
    shutil.rmtree(folder / "own")
    n_files = len(list((clone / "tests" / "io" / "fixtures").rglob("*.sepc")))
    return f"{last}; of these, tests of {n_files} kept model files"


def smoke(path: str, wheel: Path, extra: str, clone: Path, folder: Path) -> str:
    """The smoke test of an extra in a fresh environment that has no other."""
    own = environment(path, folder / "own")
    wanted = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
    run(own, "-m", "pip", "install", "--quiet", "--no-compile", wanted)
    run(own, "-m", "pip", "check")
    answer = told(own, clone / "tools" / "smoke_extras.py", extra)
    shutil.rmtree(folder / "own")
    return ", ".join(line for line in answer.splitlines() if line.endswith(" works"))


def environment(python: str, home: Path) -> Path:
    """The interpreter of a new environment."""
    run(python, "-m", "venv", home)
    return home / "bin" / "python"


def python_of(version: str) -> tuple[str, str] | None:
    """The version and an interpreter of it that starts, if this machine has one."""
    command = sys.executable if sys.version.startswith(f"{version}.") else f"python{version}"
    starts = [command, "-c", "import sys; print(sys.executable)"]
    if shutil.which(command) and subprocess.run(starts, capture_output=True, check=False).returncode == 0:
        return version, told(*starts)
    return None


if __name__ == "__main__":
    main()
