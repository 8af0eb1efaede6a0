"""Change the source in one place at a time, and count how many changes the tests notice.

The changes (a sign, a comparison, a number) are drawn from all rooms in turn, the same for the same source. One run of
the tests finds which of them reach each place; then the source is changed there, and these tests run until one fails,
and after them the other tests of their files, which may share what was computed before.

    python tools/mutate.py [--commit COMMIT] [--only 3 17] [--reached FOLDER]
"""

import argparse
import ast
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
CHANGES = 60
SECONDS = 600
PROCESSES = 2
QUICK = "not (slow or docs or bench)"
OTHER = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
}
PROBE = """
import os
SEEN = set()
def reached(change):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (change, test) not in SEEN:
        SEEN.add((change, test))
        with open(f"{os.environ['REACHED']}/{os.getpid()}", "a") as file:
            file.write(f"{change} {test}\\n")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="HEAD", help="whose source and tests are used")
    parser.add_argument("--only", type=int, nargs="*", help="the numbers of changes to try")
    parser.add_argument("--reached", type=Path, help="where which tests reach each place is kept between runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sepc-mutate-") as folder:
        trees = [Path(folder, f"tree{i}") for i in range(PROCESSES)]
        try:
            for tree in trees:
                subprocess.run(["git", "worktree", "add", "-q", "--detach", tree, options.commit], cwd=ROOT, check=True)
            chosen = choose(trees[0] / "src" / "sepc")
            tests = reaching(trees[0], chosen, options.reached or Path(folder, "reached"))
            numbers = options.only or range(len(chosen))
            outcomes = [found["outcome"] for found in tried(trees, chosen, tests, numbers)]
            print(f"{sum(own.startswith('noticed') for own in outcomes)} of {len(outcomes)} changes were noticed")
        finally:
            for tree in trees:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=False)


def choose(source: Path) -> list[dict]:
    """Places to change, from all rooms in turn, each with the text that is there and the one that replaces it."""
    rooms = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source.parents[1]).as_posix()
        rooms["/".join(path.relative_to(source).parts[:-1]) or path.stem] += places(name, path.read_text("utf-8"))
    drawn = random.Random(0)
    for found in rooms.values():
        drawn.shuffle(found)
    turns = sorted(room for room, found in rooms.items() if found)
    drawn.shuffle(turns)
    return [rooms[turns[i % len(turns)]][i // len(turns)] for i in range(CHANGES)]


def places(name: str, text: str) -> list[dict]:
    """Every expression within a function that can be changed."""
    lines = [0]
    for line in text.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = {}
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for node in (inner for own in functions for statement in own.body for inner in ast.walk(statement)):
        new = changed(node)
        if new is not None and node.end_col_offset is not None:
            start, end = lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset
            old = text.encode()[start:end].decode()
            if is_of(node, old):
                found[start, end] = {"file": name, "line": node.lineno, "span": (start, end), "old": old, "new": new}
    return [found[key] for key in sorted(found)]


def is_of(node: ast.AST, text: str) -> bool:
    """Whether this is the text of an expression; within f-strings, Python 3.11 gives wrong places."""
    try:
        return ast.dump(ast.parse(f"({text})", mode="eval").body) == ast.dump(node)
    except SyntaxError:
        return False


def changed(node: ast.AST) -> str | None:
    """The text of an expression with another sign, comparison or number; nothing for all others."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OTHER:
        other = ast.Compare(node.left, [OTHER[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OTHER and not has_text(node):
        other = ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        other = node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        other = ast.Constant(node.value + 1 if type(node.value) is int else 1.5 * node.value or 1.0)
    else:
        return None
    return f"({ast.unparse(other)})"


def has_text(node: ast.BinOp) -> bool:
    return any(isinstance(own, ast.JoinedStr) or isinstance(getattr(own, "value", 0), str) for own in ast.walk(node))


def rewritten(tree: Path, changes: list[dict], key: str) -> None:
    """Put other text into files, from the end to the beginning so that places stay where they are."""
    for change in sorted(changes, key=lambda own: own["span"], reverse=True):
        path, (start, end) = tree / change["file"], change["span"]
        content = path.read_bytes()
        path.write_bytes(content[:start] + change[key].encode() + content[end:])


def reaching(tree: Path, chosen: list[dict], kept: Path) -> dict[int, list[str]]:
    """The tests that reach each place, by one run of all quick tests."""
    if not kept.exists():
        kept.mkdir(parents=True)
        for i, change in enumerate(chosen):
            change["probe"] = f"(__import__('sepc_probe').reached({i}), {change['old']})[1]"
        (tree / "src" / "sepc_probe.py").write_text(PROBE)
        rewritten(tree, chosen, "probe")
        pytest(tree, ["-m", QUICK, "-n", str(PROCESSES), "--dist", "worksteal"], None, REACHED=str(kept))
        subprocess.run(["git", "checkout", "-q", "src"], cwd=tree, check=True)
    tests: dict[int, list[str]] = defaultdict(list)
    for line in sorted({line for file in kept.iterdir() for line in file.read_text("utf-8").splitlines()}):
        number, _, test = line.partition(" ")
        tests[int(number)].append(test)
    return tests


def tried(trees: list[Path], chosen: list[dict], tests: dict[int, list[str]], numbers):
    """Each change with whether a test failed, and after how many seconds; as many at a time as there are trees."""
    free: Queue[Path] = Queue()
    for tree in trees:
        free.put(tree)

    def one(number: int) -> dict:
        change, tree, started = chosen[number], free.get(), time.monotonic()
        rewritten(tree, [change], "new")
        try:
            outcome = noticed(tree, tests.get(number, []))
        finally:
            subprocess.run(["git", "checkout", "-q", "src"], cwd=tree, check=True)
            free.put(tree)
        shown = {name: change[name] for name in ("file", "line", "old", "new")}
        found = {"number": number, **shown, "outcome": outcome, "seconds": round(time.monotonic() - started)}
        print(json.dumps(found), flush=True)
        return found

    with ThreadPoolExecutor(len(trees)) as pool:
        yield from pool.map(one, numbers)


def noticed(tree: Path, reached: list[str]) -> str:
    """The first test that fails, or why there is none."""
    files = sorted({test.partition("::")[0] for test in reached})
    until = time.monotonic() + SECONDS
    for some in (reached, files):
        if some:
            code, last = pytest(tree, ["-x", "-m", QUICK, *some], until)
            if code is None:
                return "ten minutes passed"
            if code not in (0, 5):
                return f"noticed by {last}"
    return "not noticed" if reached else "not reached"


def pytest(tree: Path, arguments: list[str], until: float | None, **environment: str) -> tuple[int | None, str]:
    """Run tests of a tree; returns the exit code and the first line about a failure."""
    paths = os.pathsep.join(str(tree / name) for name in ("src", "benchmarks"))
    given = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(arguments))
        file.flush()
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", f"@{file.name}"]
        process = subprocess.Popen(
            command, cwd=tree, env=given, text=True, stdout=-1, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            said = process.communicate(timeout=None if until is None else max(1.0, until - time.monotonic()))[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""
    failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return process.returncode, (failed or [said.strip()[-200:]])[0][:160]


if __name__ == "__main__":
    main()
