"""Every benchmark runs at its smallest size; examples are run by `make docs`."""

import pytest
from benchmark_runs import FOLDER, smallest_tables

pytestmark = pytest.mark.bench

BENCHMARKS = [path for path in sorted(FOLDER.glob("*.py")) if "\ndef main(" in path.read_text()]
RUN_ELSEWHERE = {"forged_sizes"}  # tests/io/test_forged_values.py
LONG = {
    *("accuracy", "alternatives", "attacks", "audit", "classifier", "column_changes", "cost_model", "far_rows"),
    *("gaps", "growth", "hostile_files", "install_size", "look", "mixed_data", "mlflow_load", "monitor", "n_impure"),
    *("monotone", "privacy", "real_tables", "recourse", "recourse_exchange", "recourse_relations", "recourse_table"),
    *("repair", "scale", "score_command", "shapes", "speed", "sql", "suspects"),
}


def test_there_are_benchmarks():
    assert len(BENCHMARKS) > 5
    assert {path.stem for path in BENCHMARKS} >= RUN_ELSEWHERE | LONG


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.stem in LONG else [])
        for path in BENCHMARKS
        if path.stem not in RUN_ELSEWHERE
    ],
    ids=lambda path: path.stem,
)
def test_benchmark_prints_and_saves_its_tables(path, tmp_path):
    smallest_tables(path, tmp_path)
