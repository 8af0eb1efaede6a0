"""Rehearse a release, short of the tag: from a clean clone of the last commit to working installations.

    python tools/rehearse_release.py [--log rehearsal.txt]

1. Clone the commit, and check that version, changelog and citation agree, and that no tag of that name is there.
2. Build the source archive and the wheel of it, with the tools of `constraints-release.txt` alone; check both as an
   index would; print the bill of materials; upload both to an index server on this machine, and install from it.
3. For every Python from 3.11 on that this machine has: install the wheel alone and run the core's smoke test and a few
   of the tests, which read every model file kept in `tests/io/fixtures`; then with all extras, and run the smoke test
   of each.
4. With the first Python: the smoke test of each extra in an environment of its own, so that no extra leans on another.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

from try_index import installed_from_index
from try_wheel import run

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# Each in an environment of its own; Excel files are for the command, which needs tables.
ALONE = ("core", "onnx", "plot", "mlflow", "table", "excel,table", "dask", "spark", "recourse", "sign")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, help="write the steps and their seconds to this file")
    options = parser.parse_args()
    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="sepc-release-") as name:
        folder = Path(name)
        clone = folder / "clone"
        steps.take("clone", clone_of_head, clone)
        version = steps.take("version", agreed_version, clone)
        wheel = steps.take("build and check", built, clone, folder)
        steps.take("bill of materials", bill_in, wheel)
        steps.take("from an index server", installed_from_index, wheel.parent, folder)
        pythons = [found for wanted in PYTHONS if (found := python_of(wanted))]
        for python in pythons:
            rehearse_python(steps, python, wheel, clone, folder)
        for extra in ALONE:
            steps.take(f"{pythons[0][0]}, [{extra}] alone", smoke, pythons[0][1], wheel, extra, clone, folder)
    missing = sorted(set(PYTHONS) - {version for version, _ in pythons})
    steps.say(f"Ready to tag v{version}; not here: Python {', '.join(missing) or 'none'}")
    if options.log:
        options.log.write_text("\n".join(steps.lines) + "\n", encoding="utf-8")


class Steps:
    """What was done, how long it took, and what came of it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def take(self, what: str, step, *given):
        """What the step gives; a line says what and how long."""
        started = time.perf_counter()
        answer = step(*given)
        self.say(f"{what}: {answer} ({time.perf_counter() - started:.0f} s)")
        return answer

    def say(self, line: str) -> None:
        """Print and keep a line."""
        self.lines.append(line)
        print(line, flush=True)


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


def rehearse_python(steps: Steps, python: tuple[str, str], wheel: Path, clone: Path, folder: Path) -> None:
    """The wheel alone, tested, and with all extras."""
    version, path = python
    steps.take(f"{version}, core and tests", core_tested, path, wheel, clone, folder)
    steps.take(f"{version}, [all]", smoke, path, wheel, "all", clone, folder)


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
    return " | ".join(line for line in answer.splitlines() if line.split(":")[0] in ("core", *ALONE, "excel"))


def environment(python: str, home: Path) -> Path:
    """The interpreter of a new environment."""
    run(python, "-m", "venv", home)
    return home / "bin" / "python"


def python_of(version: str) -> tuple[str, str] | None:
    """The version and an interpreter of it that starts, if this machine has one."""
    found = [sys.executable] if version == f"{sys.version_info.major}.{sys.version_info.minor}" else []
    for command in (*found, f"python{version}"):
        if shutil.which(command) and answers(command):
            return version, told(command, "-c", "import sys; print(sys.executable)")
    return None


def answers(command: str) -> bool:
    """Whether an interpreter starts at all."""
    return subprocess.run([command, "-c", ""], capture_output=True, check=False).returncode == 0


def told(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command that must succeed prints."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}{' '.join(map(str, command))} failed")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
