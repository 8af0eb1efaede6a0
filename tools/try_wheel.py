"""Build the wheel, install it alone in a fresh environment, and run the core tests against it.

The wheel is made from the source archive, as a release is, and brings its required dependencies and no extra. The core
tests are all those that need no optional package; the others are skipped by `tests/optional.py`. Left out are the files
in `REPOSITORY`, which test the repository and not the package. Nothing of the source tree but `tests/` and the attacks
in `benchmarks/` can be imported.

    python tools/try_wheel.py [--quick] [--constraint constraints-oldest.txt | --newest]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPOSITORY = (
    "test_benchmarks",
    "test_changelog",
    "test_community",
    "test_documents",
    "test_kernel_comparison",
    "test_notebooks",
    "test_public_names",
    "test_readme",
    "test_site",
    "test_supply_chain",
    "test_trust_benchmark",
    "test_wheel",
)
QUICK = ("tests/shapes", "tests/model/test_membership.py", "tests/estimators/test_sep.py", "tests/test_layers.py")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="run a few of the core tests only")
    versions = parser.add_mutually_exclusive_group()
    versions.add_argument("--constraint", type=Path, default=ROOT / "constraints.txt", help="the versions to install")
    versions.add_argument("--newest", action="store_true", help="install the newest versions, pre-releases as well")
    options = parser.parse_args(arguments)
    limits = ("--pre", "--upgrade") if options.newest else ("--constraint", str(options.constraint.resolve()))
    with tempfile.TemporaryDirectory(prefix="sepc-") as folder:
        wheel = timed("build", build, Path(folder))
        python = timed("install", install, wheel, Path(folder) / "venv", limits)
        run(python, "-m", "pip", "list")
        check_origin(python, cwd=folder)
        timed("test", test, python, quick=options.quick)


def build(folder: Path) -> Path:
    """The wheel, built from the source archive built from this tree."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", ROOT, quiet=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def install(wheel: Path, home: Path, limits: tuple[str, ...]) -> Path:
    """The interpreter of a new environment that holds the wheel, what it requires, and what runs its tests."""
    venv.create(home, with_pip=True)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    needed = ("--quiet", "--only-binary", ":all:", *limits, wheel, "pytest", "hypothesis")
    run(python, "-m", "pip", "install", *needed)
    run(python, "-m", "pip", "check")
    return python


def check_origin(python: Path, cwd: str) -> None:
    """Stop if anything but the installed package answers to the name."""
    code = "import sepc, sys; assert sepc.__file__.startswith(sys.prefix), sepc.__file__; print(sepc.__file__)"
    run(python, "-I", "-c", code, cwd=cwd)


def test(python: Path, *, quick: bool) -> None:
    """Run the core tests and the examples in the package's docstrings."""
    left_out = [f"--ignore=tests/{name}.py" for name in REPOSITORY]
    chosen = QUICK if quick else ("tests", *left_out, "--pyargs", "sepc", "--doctest-ignore-import-errors")
    run(python, "-P", "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *chosen)


def timed(what: str, step, *arguments, **options):
    """What the step gives, which is printed with its seconds."""
    start = time.perf_counter()
    answer = step(*arguments, **options)
    print(f"{what}: {answer or 'done'} ({time.perf_counter() - start:.0f} s)", flush=True)
    return answer


def run(*command: str | Path, cwd: str | Path = ROOT, quiet: bool = False) -> str:
    """What a command that must succeed prints, if it is not shown; no setting brings the source tree back."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=quiet, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout or ''}{done.stderr or ''}{' '.join(map(str, command))} failed")
    return done.stdout or ""


if __name__ == "__main__":
    main()
