"""Every Python block of the README and of the pages in docs/ runs, page by page, in an empty directory.

So does every `sepc` command in a block for the shell, and what a page shows as printed, in a block of text right below,
is compared with what is printed. Blocks marked `py` instead of `python` start Dask, Spark or MLflow and run as tests of
clusters do, and a block for the shell that begins with `#!/bin/sh` runs as a whole. Only a page that speaks of
`SEPC_DATA_HOME` finds data sets there; all others run on any machine.

With `WRITE_PAGES=1` in the environment, pages are rewritten with what their blocks print now.
"""

import ast
import contextlib
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest
from optional import package_or_skip
from warm_python import warm_python

from sepc import Cause
from sepc.cli import main
from sepc.datasets import HOME_VARIABLE
from sepc.lifecycle import Purpose
from sepc.results import Rule

mpl = package_or_skip("matplotlib")

ROOT = Path(__file__).parents[1]
GENERATED = {"_build", "gallery", "generated"}
BLOCK = re.compile(r"^```(python|py|sh)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#|/)([^)#\s]+)(?:#([^)\s]*))?\)")
OURS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if not GENERATED & set(page.parts)]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *OURS]
PAGES = [page for page in DOCUMENTS if BLOCK.search(page.read_text())]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
LONG_PAGES = (
    *("choosing", "classifier", "compare", "edit", "forget", "lifecycle", "mlflow"),
    *("monitor", "monotone", "recourse", "repair", "sign", "trusted"),
)
PAGES_WITH_ENGINES = [page for page in PAGES if "```py\n" in page.read_text()]


def name_of(page):
    return str(page.relative_to(ROOT))


assert ROOT / "README.md" in PAGES


def run_script(script):
    """Run a whole script of a page with the shell, and give what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        command = Path(folder, "sepc")
        command.write_text(f'#!/bin/sh\nexec {shlex.join(warm_python())} -m sepc "$@"\n')
        command.chmod(0o755)
        environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
        ran = subprocess.run(["sh", "-ec", script], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def run_commands(lines):
    """Run a script as a whole, or the lines that call `sepc`; what else a shell would do (install) is not tried."""
    if lines.startswith("#!/bin/sh\n"):
        sys.stdout.write(run_script(lines))
        return
    for line in lines.replace("\\\n", " ").splitlines():
        if line.startswith("sepc "):
            assert main(shlex.split(line, comments=True)[1:]) == 0, line


def run_blocks(page, kinds):
    """Run the page's blocks of these kinds in one namespace, as a reader would, and return it."""
    mpl.use("Agg")
    namespace, text = {"__name__": "__main__"}, page.read_text()
    for kind, code, shown in BLOCK.findall(text):
        if kind not in kinds:
            continue
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if kind == "sh":
                run_commands(code)
            else:
                exec(compile(code, str(page), "exec"), namespace)
        if shown and os.environ.get("WRITE_PAGES"):
            text = text.replace(f"```text\n{shown}```", f"```text\n{broken(printed.getvalue())}```", 1)
        elif shown:
            assert printed.getvalue().split() == shown.split()  # long lines are broken on the page
    if os.environ.get("WRITE_PAGES"):
        page.write_text(text)
    return namespace


def broken(printed):
    """What was printed, with long lines broken at spaces, to fit the built pages."""
    wrap = textwrap.TextWrapper(90, break_long_words=False, break_on_hyphens=False).wrap
    return "".join(f"{line}\n" for long in printed.rstrip().splitlines() for line in wrap(long) or [""])


# These take longest; whether their blocks have names that are gone is looked at on every change.
@pytest.mark.slow_cases(*(f"docs/howto/{name}.md" for name in LONG_PAGES))
@pytest.mark.docs
@pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")  # a page on such columns may show them
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_blocks_run(page, tmp_path, monkeypatch, request):
    if HOME_VARIABLE in page.read_text():  # the page says that it needs data sets
        request.getfixturevalue("home")
    else:
        monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    run_blocks(page, ("python", "sh"))


@pytest.mark.slow_cases("docs/howto/scale.md", "docs/howto/mlflow.md")
@pytest.mark.docs
@pytest.mark.usefixtures("spark")
@pytest.mark.filterwarnings("ignore")  # those of Dask, Spark and MLflow
@pytest.mark.parametrize("page", PAGES_WITH_ENGINES, ids=name_of)
def test_code_blocks_with_engines_run(page, tmp_path, monkeypatch):
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    namespace = run_blocks(page, ("python", "py"))
    if "client" in namespace:
        namespace["client"].shutdown()


def names_of_ours(tree):
    """What some code takes from us: modules and names that it imports, and attributes of `sepc`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "sepc":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sepc":
            yield "sepc", node.attr


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_blocks_name_what_there_is(page):
    for kind, code, _ in BLOCK.findall(page.read_text()):
        if kind in ("python", "py"):
            for module, name in names_of_ours(ast.parse(code)):
                is_there = hasattr(importlib.import_module(module), name) or find_spec(f"{module}.{name}")
                assert is_there, f"{module} has no {name}"


def anchors_of(page):
    """The anchors that GitHub and MyST make of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*DOCUMENTS, *NOTEBOOKS], ids=name_of)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        if {"gallery", "generated"} & set(Path(target).parts):  # made by the build, which checks it
            continue
        assert (page.parent / target).exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors_of(page.parent / target), f"{target} has no {anchor}"


def test_tutorial_can_be_read_in_the_ten_minutes_it_says():
    """At 200 words a minute, code included, two minutes are left to install and to run."""
    words = (ROOT / "docs" / "tutorial" / "wdbc.md").read_text().split()
    assert "Ten minutes" in " ".join(words[:5])
    assert len(words) / 200 < 8


def test_glossary_has_every_cause_rule_and_purpose():
    glossary = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    for kind in (Cause, Rule, Purpose):
        missing = [member.name for member in kind if f"`{member.name}`" not in glossary]
        assert not missing, kind


DIFFERENCES = ROOT / "docs" / "explanation" / "differences.md"
CITED_ROWS = re.compile(r"rows?\s+(\d+(?:(?:,\s+|\s+and\s+|\s+to\s+)\d+)*)\s+of\s+docs/explanation/differences\.md")


def rows_where_we_differ():
    return [int(number) for number in re.findall(r"^\| (\d+) \|", DIFFERENCES.read_text(), re.MULTILINE)]


def test_rows_where_we_differ_from_the_paper_are_numbered():
    rows = rows_where_we_differ()
    assert rows == list(range(1, len(rows) + 1))
    assert len(rows) >= 25  # numbers are cited, so none may go


def test_rows_cited_in_the_code_are_on_the_page():
    """Every citation names rows that exist, and nothing cites readings of a page that is not here."""
    rows, n_cited = set(rows_where_we_differ()), 0
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        cited = [int(number) for one in CITED_ROWS.findall(text) for number in re.findall(r"\d+", one)]
        assert set(cited) <= rows, f"{path} cites {sorted(set(cited) - rows)}"
        assert text.count("differences.md") == len(CITED_ROWS.findall(text)), f"{path} cites no row"
        assert not re.search(r"\breadings? \d", text), f"{path} cites a reading"
        n_cited += len(cited)
    assert n_cited


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "howto").glob("*.md")), ids=name_of)
def test_how_tos_are_short_and_hold_no_tables_of_results(page):
    assert len(page.read_text().split()) <= 900
    assert "<!-- table:" not in page.read_text(), "tables of results belong into docs/explanation"


def test_pages_can_be_got_through():
    """Without the changelog and what the build generates; what a page gains, another has to lose."""
    assert sum(len(page.read_text().split()) for page in OURS) <= 60_000


def test_tables_are_those_of_the_results(monkeypatch):
    write_tables = pytest.importorskip("sepc_benchmarks.write_tables")
    shown = [page for page in write_tables.pages() if "<!-- table:" in page.read_text()]
    assert shown
    for page in shown:
        assert write_tables.with_tables(page.read_text()) == page.read_text(), (
            f"run sepc_benchmarks.write_tables: {page}"
        )
