"""Every Python block of the README and of the pages in docs/ runs, page by page, in an empty directory."""

import re
from pathlib import Path

import pytest
from optional import package_or_skip

mpl = package_or_skip("matplotlib")

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in DOCUMENTS if BLOCK.search(page.read_text())]


def test_there_are_pages_with_code():
    assert ROOT / "README.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    namespace = {"__name__": "__main__"}
    for code in BLOCK.findall(page.read_text()):
        exec(compile(code, str(page), "exec"), namespace)


def test_tables_are_those_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    write_tables = pytest.importorskip("write_tables")
    shown = [page for page in write_tables.pages() if "<!-- table:" in page.read_text()]
    assert shown
    for page in shown:
        assert write_tables.with_tables(page.read_text()) == page.read_text(), f"run benchmarks/write_tables.py: {page}"
