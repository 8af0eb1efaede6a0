"""The comparison of kernels with their stored times fails where one is slower, and only there."""

import json

import pytest
from benchmark_runs import run_smallest, smallest_tables

pytestmark = pytest.mark.bench


def test_a_slower_kernel_fails_by_name_and_keeps_what_was_stored(tmp_path):
    path = tmp_path / "kernels.json"
    records = smallest_tables("kernels", tmp_path)["kernels"]
    path.write_text(json.dumps({"kernels": [own | {"products": 100.0 * own["products"]} for own in records]}))
    assert run_smallest("kernels", tmp_path).returncode == 0
    records[2]["products"] /= 1000.0
    stored = json.dumps({"kernels": [records[2]]})
    path.write_text(stored)
    done = run_smallest("kernels", tmp_path)
    assert done.returncode == 1
    assert "Slower than before:" in done.stderr
    assert f"{records[2]['kernel']}: " in done.stderr
    assert path.read_text() == stored
