"""Every benchmark suite runs at its smallest size and prints what pages show; examples are run by `make docs`."""

import json
import re

import pytest
from benchmark_runs import ROOT, smallest_tables
from optional import package_or_skip

package_or_skip("sepc_benchmarks")

from sepc_benchmarks.__main__ import RESULTS, SUITES, question_of  # noqa: E402

RUN_ELSEWHERE = {
    "comparison": "test_trust_benchmark.py",
    "forged_sizes": "io/test_forged_values.py",
    "kernels": "test_kernel_comparison.py",
}
LONG = {
    *("attacks", "conformal", "exports", "hostile_files", "missing_values", "monitor", "privacy"),
    *("real_tables", "recourse", "reference", "scale", "service", "shapes", "speed"),
}
SHOWN = re.compile(r"<!-- table: (\w+)\.([\w ]+) -->")


@pytest.mark.bench
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in SUITES
        if name not in RUN_ELSEWHERE
    ],
)
def test_suite_prints_and_stores_its_tables(name, tmp_path):
    tables = smallest_tables(name, tmp_path)
    stored = json.loads((RESULTS / f"{name}.json").read_text())
    for title in tables.keys() & stored.keys():
        assert columns(tables[title]) <= columns(stored[title]), "a new run would give the page other columns"


def columns(records):
    return {name for record in records for name in record}


def test_results_are_those_of_the_suites_and_a_page_shows_each():
    stored = {path.stem for path in RESULTS.glob("*.json")} - {"coverage"}
    assert stored == set(SUITES)
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert {name for name, _ in SHOWN.findall(pages)} - {"coverage"} == stored - {"kernels"}  # those are for later runs


def test_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.glob("*.json")) <= 150_000


@pytest.mark.parametrize("name", SUITES)
def test_suites_say_first_what_they_answer_and_how_long_they_take(name):
    question, how_long = question_of(name).split("? ")
    assert question
    assert re.search("hour|minute|Seconds", how_long)
