"""Follow the pages as a reader would: each from an empty folder, with the installed package, block by block.

Blocks of Python share one session, blocks for the shell run in the same folder with the environment's commands. What a
page shows as printed is compared with what is printed. Lines that install something are left out, and so are blocks
marked `console`, which serve, or change your shell.

    python tools/follow_pages.py [--fresh] [--write] [-v] [README.md docs/howto/audit.md ...]

`--fresh` builds the wheel and follows the pages in a new environment that holds it with all extras. `--write` puts what
is printed now into the pages, in place of what they show.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import venv
from dataclasses import dataclass
from pathlib import Path

from try_wheel import build, run

ROOT = Path(__file__).parents[1]
FOLLOWED = ("README.md", "docs/index.md", "docs/tutorial/*.md", "docs/howto/*.md", "docs/explanation/*.md")
BLOCK = re.compile(r"^```(python|py|sh|console)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
INSTALLS = re.compile(r"(pip install|python3 -m venv|\. \.venv)\b")
DATA_HOME = "SEPC_DATA_HOME"
# What pages use and no extra brings.
BESIDE_EXTRAS = ("duckdb", "onnxruntime")
WIDTH = 100

# A Python session that takes blocks of code as lines of JSON, and answers each with what it printed and its error.
SESSION = """
import contextlib, io, json, sys, traceback
answers, namespace = sys.stdout, {"__name__": "__main__"}
for line in sys.stdin:
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "<page>", "exec"), namespace)
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps([printed.getvalue(), error]), file=answers, flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a block: what it printed, its error if any, and what the page shows."""

    kind: str
    code: str
    shown: str
    printed: str
    error: str
    seconds: float

    @property
    def differs(self) -> bool:
        """Whether the page shows something else; long lines may be broken on the page."""
        return bool(self.shown) and self.printed.split() != self.shown.split()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="by default all but the reference")
    parser.add_argument("--fresh", action="store_true", help="build the wheel and follow in a new environment")
    parser.add_argument("--write", action="store_true", help="put what is printed now into the pages")
    parser.add_argument("-v", "--verbose", action="store_true", help="show what every block prints")
    options = parser.parse_args(arguments)
    pages = [page.resolve() for page in options.pages] or [page for one in FOLLOWED for page in sorted(ROOT.glob(one))]
    with tempfile.TemporaryDirectory(prefix="sepc-") as folder:
        if options.fresh:
            os.environ.pop("PYTHONPATH", None)  # it would bring the source tree back
        python = fresh_environment(Path(folder)) if options.fresh else Path(sys.executable)
        went_well = [followed(page, python, options) for page in pages]
    return int(not all(went_well))


def fresh_environment(folder: Path) -> Path:
    """The interpreter of a new environment that holds the wheel with all extras."""
    wheel, python = build(folder), folder / "venv" / "bin" / "python"
    venv.create(folder / "venv", with_pip=True)
    constraint = ("--constraint", ROOT / "constraints.txt")
    run(python, "-m", "pip", "install", "--quiet", *constraint, f"{wheel}[all]", *BESIDE_EXTRAS)
    return python


def followed(page: Path, python: Path, options: argparse.Namespace) -> bool:
    """Follow a page and tell how it went; whether all of it worked."""
    text = page.read_text(encoding="utf-8")
    if not BLOCK.search(text):
        return True
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        outcomes = list(follow(text, python, folder))
    failed, differ = [one for one in outcomes if one.error], [one for one in outcomes if one.differs]
    told = f"{len(failed)} failed" if failed else f"{len(differ)} print something else" if differ else "as written"
    seconds = sum(one.seconds for one in outcomes)
    print(f"{os.path.relpath(page)}: {len(outcomes)} blocks, {seconds:.1f} s, {told}", flush=True)
    for one in outcomes if options.verbose else [*failed, *differ]:
        print(textwrap.indent(f"{one.code}\n{one.printed}{one.error}", "    "), flush=True)
    if options.write:
        page.write_text(with_outcomes(text, outcomes), encoding="utf-8")
    return not failed and (options.write or not differ)


def follow(text: str, python: Path, folder: str):
    """Run the blocks of a page in the folder, one after the other."""
    environment = os.environ | {"MPLBACKEND": "Agg", "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    if DATA_HOME not in text:
        environment.pop(DATA_HOME, None)
    place = {"cwd": folder, "env": environment, "text": True}
    command = [python, "-W", "ignore", "-c", SESSION]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **place) as session:
        for kind, code, shown in BLOCK.findall(text):
            start = time.perf_counter()
            if kind == "console":
                continue
            printed, error = run_in_shell(code, place) if kind == "sh" else ask(session, code)
            yield Outcome(kind, code, shown, printed, error, time.perf_counter() - start)


def ask(session: subprocess.Popen, code: str) -> tuple[str, str]:
    """What the session prints for a block, and its error."""
    session.stdin.write(json.dumps(code) + "\n")
    session.stdin.flush()
    while answer := session.stdout.readline():
        if answer.startswith("["):  # other lines come from programs that the block started
            return tuple(json.loads(answer))
    return "", "The session has ended."


def run_in_shell(code: str, place: dict) -> tuple[str, str]:
    """What a block for the shell prints, and its error; lines that install something are left out."""
    lines = "".join(line for line in code.splitlines(keepends=True) if not INSTALLS.match(line))
    stop_at_errors = "-c" if lines.startswith("#!") else "-ec"  # a whole script handles its own exit codes
    done = subprocess.run(["sh", stop_at_errors, lines], capture_output=True, check=False, **place)
    return done.stdout, f"{done.stderr}Exit code {done.returncode}\n" if done.returncode else ""


def with_outcomes(text: str, outcomes: list[Outcome]) -> str:
    """The text of a page that shows what its blocks print now."""
    for one in outcomes:
        if one.differs and not one.error:
            text = text.replace(f"```text\n{one.shown}```", f"```text\n{wrapped(one.printed)}```", 1)
    return text


def wrapped(printed: str) -> str:
    """What was printed, with long lines broken at spaces."""
    wrap = textwrap.TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False).wrap
    return "".join(f"{line}\n" for long in printed.rstrip().splitlines() for line in wrap(long) or [""])


if __name__ == "__main__":
    sys.exit(main())
